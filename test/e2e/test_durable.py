"""What must survive: snapshots instead of old events, scripts dropped with their last use, a disk that fills up. The
witness is the journal's file itself, read by another program than ours."""
import contextlib
import glob
import os
import sqlite3
import subprocess
import tempfile

from harness import Cluster, Skip, case, check, equal, need_root, wait_for

UNTIL = "while [ ! -e {} ]; do sleep 0.1; done\n"


def journal(cluster, question):
    path = os.path.join(cluster.state, "controller", "journal.db")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
        return db.execute(question).fetchone()[0]


def first_event(cluster):
    return journal(cluster, "SELECT min(seq) FROM events")


def blobs(cluster):
    return journal(cluster, "SELECT count(*) FROM blobs")


def compact(cluster):
    result = cluster.run(os.path.join(cluster.bin, "phalanx"), "compact", "--state", cluster.state)
    check(result.code == 0, f"phalanx compact: {result}")
    return result.out


def metric(cluster, name):
    result = subprocess.run(["curl", "-s", "--unix-socket", cluster.socket, "http://phalanx/metrics"],
                            capture_output=True, text=True)
    for line in result.stdout.splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def crash_controller(cluster, *options, between=lambda: None):
    """kill -9, then a new one with these options besides."""
    words = cluster.kill_daemon("controller")
    between()
    cluster.start_daemon(words + list(options))
    wait_for(lambda: cluster.run("squeue", "-h").code == 0, "the controller answers")


@case("durable.snapshots_take_the_place_of_events")
def snapshots_take_the_place_of_events():
    cluster = Cluster(nodes=1, gpus=2, cpus=4)
    held = cluster.sbatch("echo held ran\n", "-H")
    running = cluster.sbatch(UNTIL.format("go") + "echo done\n", "--gres=gpu:1")
    array = cluster.sbatch("exit 0\n", "-H", "--array=1-20")
    cluster.wait_state(running, "RUNNING")
    over = [cluster.sbatch("exit 3\n") for _ in range(5)]
    for job in over:
        cluster.wait_over(job)
    compact(cluster)
    equal(first_event(cluster), 1, "one snapshot alone deletes nothing; first event")
    last = cluster.sbatch("exit 0\n")
    cluster.wait_over(last)
    compact(cluster)
    check(first_event(cluster) > 1, "the events before the first snapshot are still there")
    equal(metric(cluster, "phalanx_snapshots_total"), 2, "snapshots")
    before = cluster.run("squeue", "-h", "-o", "%i %T %N").out

    def alone():  # nobody has the journal open now
        check("snapshot of event" in compact(cluster), "no snapshot without a controller")

    crash_controller(cluster)
    equal(cluster.run("squeue", "-h", "-o", "%i %T %N").out, before, "what squeue says after kill -9")
    crash_controller(cluster, between=alone)
    equal(cluster.run("squeue", "-h", "-o", "%i %T %N").out, before, "what squeue says after another")
    for job in over:
        equal(cluster.job_state(job), "FAILED", f"job {job}")
    equal(int(cluster.sbatch("exit 0\n")), int(last) + 1, "the next number")
    open(os.path.join(cluster.work, "go"), "w").close()
    cluster.wait_state(running, "COMPLETED")
    for job in (held, array):
        check(cluster.run("scontrol", "release", job).code == 0, f"job {job} cannot be released")
    cluster.wait_state(held, "COMPLETED")
    check("held ran" in cluster.output(held), "its script is not what it was")
    wait_for(lambda: not cluster.run("squeue", "-h").out.strip(), "everything ends")


@case("durable.a_long_journal_is_compacted_by_itself")
def a_long_journal_is_compacted_by_itself():
    cluster = Cluster(nodes=1, cpus=8)
    crash_controller(cluster, "--compact-after=60")
    numbers = []
    while first_event(cluster) == 1:
        numbers.append(cluster.sbatch("exit 0\n"))
        cluster.wait_over(numbers[-1])
        check(len(numbers) < 200, f"no snapshot by itself: {cluster.log()}")
    check(glob.glob(os.path.join(cluster.state, "controller", "journal.db-snapshot-*")), "no snapshot files")
    crash_controller(cluster)
    for job in numbers:
        equal(cluster.job_state(job), "COMPLETED", f"job {job}")
    equal(int(cluster.sbatch("exit 0\n")), int(numbers[-1]) + 1, "the next number")


@case("durable.a_wrong_replay_deletes_nothing")
def a_wrong_replay_deletes_nothing():
    cluster = Cluster(nodes=1)
    state = os.path.join(cluster.state, "controller")
    for number in range(3):
        cluster.wait_over(cluster.sbatch("exit 0\n"))
    last = journal(cluster, "SELECT max(seq) FROM events")
    child = [os.path.join(cluster.bin, "phalanx"), "compact", "--state", state, f"--at={last}", "--expect=" + "0" * 64]
    done = subprocess.run(child, capture_output=True, text=True)
    equal(done.returncode, 3, f"the exit code ({done.stderr})")
    check("nothing was deleted" in done.stderr, done.stderr)
    equal(glob.glob(state + "/journal.db-snapshot-*"), [], "snapshots")
    equal(first_event(cluster), 1, "the first event")


@case("durable.scripts_go_with_their_last_use")
def scripts_go_with_their_last_use():
    cluster = Cluster(nodes=1, cpus=4)
    held = cluster.sbatch("echo one\n", "-H")
    again = cluster.sbatch("echo one\n", "-H")
    equal(blobs(cluster), 2, "one script and one environment")
    big = [cluster.sbatch(f"echo {number}\n") for number in range(10)]
    for job in big:
        cluster.wait_over(job)
    wait_for(lambda: blobs(cluster) == 2, "the scripts of finished jobs go")
    cluster.run("scancel", held)
    crash_controller(cluster)
    cluster.run("scontrol", "release", again)
    cluster.wait_state(again, "COMPLETED")
    check("one" in cluster.output(again), "the other job's script went too early")
    wait_for(lambda: blobs(cluster) == 0, "nothing is kept for nobody")
    equal(cluster.job_state(big[0]), "COMPLETED", "a finished job without its script")


class SmallDisk:
    """A file system of its own that the test can fill."""

    def __init__(self, megabytes):
        self.dir = tempfile.mkdtemp(prefix="phx-disk-")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "phalanx-e2e", self.dir],
                              capture_output=True, text=True)
        if done.returncode != 0:
            os.rmdir(self.dir)
            raise Skip(f"cannot mount a file system here: {done.stderr.strip()}")
        os.chmod(self.dir, 0o755)
        self.filler = os.path.join(self.dir, "filler")

    def leave(self, megabytes):
        """Fills all but so much."""
        with open(self.filler, "a") as file:
            room = os.statvfs(self.dir)
            more = room.f_bavail * room.f_frsize - megabytes * 1000 * 1000
            if more > 0:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, more)

    def empty(self):
        os.unlink(self.filler)

    def remove(self):
        subprocess.run(["umount", "-l", self.dir], check=True)
        os.rmdir(self.dir)


@case("durable.completions_are_kept_on_a_full_disk")
def completions_are_kept_on_a_full_disk():
    need_root()
    disk = SmallDisk(1300)
    cluster = None
    try:
        state = os.path.join(disk.dir, "state")
        cluster = Cluster("--state", state, nodes=1, cpus=4)
        cluster.state = state
        reserve = os.path.join(state, "controller", "journal.db-reserve")
        check(os.path.exists(reserve), "no reserve was set aside")
        first = cluster.sbatch(UNTIL.format("one"))
        second = cluster.sbatch(UNTIL.format("two"))
        waits = cluster.sbatch("exit 0\n", "-H")
        for job in (first, second):
            cluster.wait_state(job, "RUNNING")
        disk.leave(50)
        wait_for(lambda: metric(cluster, "phalanx_disk_low") == 1, "the controller sees it")
        refused = cluster.run("sbatch", stdin="#!/bin/bash\n")
        check(refused.code != 0 and "temporarily unable" in refused.err, f"submission on a full disk: {refused}")
        open(os.path.join(cluster.work, "one"), "w").close()
        cluster.wait_state(first, "COMPLETED")
        check(os.path.exists(reserve), "the reserve went too early")
        check(cluster.run("scancel", waits).code == 0, "a job cannot be cancelled on a full disk")
        disk.leave(0)
        wait_for(lambda: not os.path.exists(reserve), "the reserve is given up")
        open(os.path.join(cluster.work, "two"), "w").close()
        cluster.wait_state(second, "COMPLETED")
        disk.empty()
        wait_for(lambda: metric(cluster, "phalanx_disk_low") == 0 and os.path.exists(reserve), "there is room again")
        cluster.wait_state(cluster.sbatch("exit 0\n"), "COMPLETED")
        crash_controller(cluster)
        for job in (first, second):
            equal(cluster.job_state(job), "COMPLETED", f"job {job}")
        equal(cluster.job_state(waits), "CANCELLED", f"job {waits}")
    finally:
        if cluster:
            cluster.stop()
        disk.remove()
