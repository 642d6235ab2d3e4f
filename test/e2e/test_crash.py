"""The controller killed while jobs are submitted. The witnesses are outside: the client syncs every acknowledged
submission to a file of its own, and every job appends its number, its submission and its restart count to another."""
import collections
import os
import random
import signal
import threading

from harness import Cluster, case, check, equal, wait_for

JOBS = 200
CLIENTS = 4
MOST_WAITING = 60  # so that the queue does not grow while a controller is down

# Where the controller dies (src/store/crash_point.h) and at which pass: not the first, so that others are under way.
CRASH_POINTS = [
    "before-append:23", "mid-transaction:31", "after-append:27",
    "after-submitted:9", "before-reply:17", "after-reply:17",
    "after-placed:8", "after-launched:8", "before-effect:19", "after-effect:19",
    "after-ended:7", "after-released:7", "after-archive:3",
    "mid-compact:1",
]
COMPACT = "--compact-after=300"  # events: several times in one run


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().split("\n")[:-1]


class Load:
    """Clients that submit until finish() is called and at least JOBS are acknowledged: on one node and on two."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.witness = os.path.join(cluster.work, "ran")
        self.acknowledged = os.path.join(cluster.dir, "acknowledged")
        self.lock = threading.Lock()
        self.finishing = threading.Event()
        with open(os.path.join(cluster.work, "script.sh"), "w") as file:
            file.write(f"#!/bin/bash\n#SBATCH -o /dev/null\n"
                       f"echo $SLURM_JOB_ID $1 ${{SLURM_RESTART_COUNT:-0}} >> {self.witness}\n")
        self.clients = [threading.Thread(target=self.submit, args=(number,), daemon=True) for number in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def submit(self, client):
        count = 0
        while not self.finishing.is_set() or len(lines(self.acknowledged)) < JOBS:
            wait_for(lambda: len(lines(self.acknowledged)) - len(lines(self.witness)) < MOST_WAITING, "jobs run", 300)
            count += 1
            tag = f"{client}.{count}"
            nodes = "-N2" if count % 3 == 0 else "-N1"
            done = self.cluster.run("sbatch", "--parsable", nodes, "script.sh", tag)
            if done.code != 0:  # refused, or nobody there: this one was not acknowledged
                continue
            with self.lock, open(self.acknowledged, "a") as file:
                file.write(f"{done.out.strip()} {tag}\n")
                file.flush()
                os.fsync(file.fileno())

    def finish(self):
        self.finishing.set()
        for client in self.clients:
            client.join()
        self.judge()

    def judge(self):
        promised = [line.split() for line in lines(self.acknowledged)]
        check(len(promised) >= JOBS, f"only {len(promised)} were acknowledged")
        equal(len({job for job, _ in promised}), len(promised), "different numbers")
        wait_for(lambda: {job for job, _ in promised} <= {line.split()[0] for line in lines(self.witness)},
                 "every acknowledged job ran", 300)
        wait_for(lambda: not self.cluster.run("squeue", "-h").out.strip(), "nothing waits or runs", 120)
        ran = [line.split() for line in lines(self.witness)]
        for what, column in (("job", 0), ("submission", 1)):
            twice = [name for name, times in collections.Counter(row[column] for row in ran).items() if times > 1]
            check(not twice, f"{what} ran twice: {twice}")
        wrong = {job for job, tag in promised} - {job for job, tag, _ in ran if [job, tag] in promised}
        check(not wrong, f"ran as another submission: {wrong}")
        rows = self.cluster.run("sacct", "-a", "-X", "-n", "-P", "--format=JobID,State").out.split()
        accounted = collections.Counter(rows)
        wrong = [job for job, *_ in ran if accounted[f"{job}|COMPLETED"] != 1]
        check(not wrong, f"not once in the account: {wrong}")


@case("crash.every_acknowledged_job_runs_once")
def every_acknowledged_job_runs_once():
    cluster = Cluster(nodes=2, gpus=0, cpus=8)
    load = Load(cluster)
    rng = random.Random(11)
    for _ in range(5):
        goal = len(lines(load.acknowledged)) + rng.randrange(10, 35)
        wait_for(lambda: len(lines(load.acknowledged)) >= goal, "submissions go on", 120)
        cluster.restart("controller")
    load.finish()


@case("crash.at_every_named_point")
def at_every_named_point():
    cluster = Cluster(nodes=2, gpus=0, cpus=8)
    load = Load(cluster)
    words = cluster.kill_daemon("controller") + [COMPACT]
    for point in CRASH_POINTS:
        controller = cluster.start_daemon(words, env={"PHALANX_CRASH_AT": point})
        wait_for(lambda: controller.poll() is not None, f"the controller dies at {point}", 180)
        equal(controller.returncode, -signal.SIGKILL, f"how it ended at {point}")
    # A snapshot that is never finished kills the child that writes it; the controller goes on.
    before = len(cluster.log())
    controller = cluster.start_daemon(words, env={"PHALANX_CRASH_AT": "before-rename"})
    wait_for(lambda: "snapshot" in (said := cluster.log()[before:]) and "killed" in said, "the child dies", 180)
    check(controller.poll() is None, "the controller lives")
    cluster.kill_daemon("controller")
    cluster.start_daemon(words)
    load.finish()
