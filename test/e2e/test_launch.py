"""Nodes that refuse to prepare or do not answer: nothing of the attempt stays, and the work starts elsewhere or waits
with its reason. The witnesses are outside: the job's own file, the nodes' folders, and the processes."""
import contextlib
import glob
import os
import signal
import time

from harness import Cluster, alive, case, check, equal, processes_with, wait_for

# Says where and as which attempt it runs, then waits for the file `go`.
GANG = """#SBATCH --gpus-per-node=2
echo "$SLURM_JOB_NODELIST" >> ran
srun -n $SLURM_NNODES hostname | sort > hosts
until [ -e go ]; do sleep 0.05; done
"""


def rooms(cluster):
    """What each node keeps of attempts: {"n1": ["job_1_a2"]}; the number after `a` is the attempt's."""
    found = {}
    for path in sorted(glob.glob(os.path.join(cluster.state, "nodes", "*", "jobs", "*"))):
        found.setdefault(path.split("/")[-3], []).append(path.split("/")[-1])
    return found


@contextlib.contextmanager
def broken(cluster, node):
    """A node that cannot write down what it was told to prepare: its disk is full, its folder is gone."""
    folder = os.path.join(cluster.run_dir, "nodes", node, "attempts")
    os.rename(folder, folder + ".aside")
    open(folder, "w").close()
    yield
    os.unlink(folder)
    os.rename(folder + ".aside", folder)


@contextlib.contextmanager
def stopped(cluster, node):
    """An agent that does not answer; its link stays open."""
    pid = cluster.daemon("agent", node)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


def cells(cluster, node):
    """A node's GPUs in `phalanx top`: "A" for held, "·" for free."""
    for line in cluster.run("phalanx", "top", "--once").out.splitlines():
        words = line.split()
        if words and words[0] == node:
            return words[2:words.index("cpu")]
    return []


def chosen(cluster, *options):
    """The nodes that such work gets while all are idle, and the others. Nodes that joined first come first."""
    cluster.sbatch("scontrol show hostnames > chosen\n", "--wait", *options)
    first = cluster.file("chosen").split()
    wait_for(lambda: not rooms(cluster), "the probe is gone")
    wait_for(lambda: cluster.run("sinfo", "-h", "-t", "idle", "-o", "%D").out.strip() == "3", "and that is known")
    return first, sorted({"n1", "n2", "n3"} - set(first))


def ran(cluster):
    return cluster.file("ran").split() if cluster.exists("ran") else []


def finish(cluster, job):
    open(os.path.join(cluster.work, "go"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", f"state: {cluster.output(job)}")


@case("launch.refused_starts_elsewhere")
def refused_starts_elsewhere():
    cluster = Cluster(nodes=3, gpus=2)
    (first, bad), others = chosen(cluster, "-N2")
    with broken(cluster, bad):
        job = cluster.sbatch(GANG, "-N2")
        wait_for(lambda: cluster.exists("hosts") and len(cluster.file("hosts").split()) == 2, "it runs")
        equal(cluster.file("hosts").split(), sorted([first] + others), "its nodes")
        equal(len(ran(cluster)), 1, "it ran once")
        equal(rooms(cluster), {node: [f"job_{job}_a2"] for node in sorted([first] + others)}, "what nodes keep")
        equal(cells(cluster, bad), ["·", "·"], "GPUs of the node that refused")
        check("is running on" in cluster.run("phalanx", "why", job).out, "phalanx why")
    finish(cluster, job)


@case("launch.refused_waits_with_its_reason")
def refused_waits():
    cluster = Cluster(nodes=2, gpus=2)
    with broken(cluster, "n2"):
        job = cluster.sbatch(GANG, "-N2")
        reason = wait_for(lambda: (r := cluster.run("squeue", "-h", "-j", job, "-o", "%r").out) and "ailed" in r and r,
                          "it is held after some tries")
        check("n2" in cluster.run("phalanx", "why", job).out, "why names the node")
        check("cannot create" in cluster.run("phalanx", "why", job).out, "why names the cause")
        equal(cluster.job_state(job), "PENDING", f"state ({reason})")
        equal((ran(cluster), rooms(cluster)), ([], {}), "nothing ran, nothing stays")
        equal((cells(cluster, "n1"), cells(cluster, "n2")), (["·", "·"], ["·", "·"]), "GPUs")
        small = cluster.sbatch("echo $SLURM_JOB_GPUS\n", "-w", "n1", "--gpus=2")
        equal(cluster.wait_over(small), "COMPLETED", "another one gets them")
    equal(cluster.run("scontrol", "release", job).code, 0, "exit code of release")
    wait_for(lambda: ran(cluster), "it runs")
    check(not rooms(cluster)["n1"][0].endswith("_a1"), f"a higher attempt: {rooms(cluster)}")
    finish(cluster, job)
    equal(ran(cluster), ["n[1-2]"], "it ran once")


# A node is given up after 20 seconds of silence; then what it may still do is presumed over.
IMPATIENT = """ClusterName=c
SlurmctldHost=h
SlurmdTimeout=20
GresTypes=gpu
NodeName=n[1-3] CPUs=4 Gres=gpu:2
PartitionName=p Nodes=n[1-3] Default=YES
"""


def free_and_idle(cluster, node):
    return cells(cluster, node) == ["·", "·"] and "idle" in cluster.run("sinfo", "-h", "-n", node, "-o", "%T").out


@case("launch.silent_node_is_left_out")
def silent_node_is_left_out():
    """The first node of a gang is told to prepare and does not answer. What it was told is worth nothing afterwards."""
    cluster = Cluster(conf=IMPATIENT)
    (silent, second), others = chosen(cluster, "-N2")
    with stopped(cluster, silent) as agent:
        job = cluster.sbatch(GANG, "-N2")
        wait_for(lambda: ran(cluster), "it runs elsewhere", 150)
        wait_for(lambda: cluster.exists("hosts") and len(cluster.file("hosts").split()) == 2, "both ranks")
        equal(cluster.file("hosts").split(), sorted([second] + others), "where it runs")
        equal(rooms(cluster), {node: [f"job_{job}_a2"] for node in sorted([second] + others)}, "what nodes keep")
    wait_for(lambda: free_and_idle(cluster, silent), "the node serves again, and its GPUs are free")
    check(alive(agent), "its agent lives")
    check(silent not in rooms(cluster), f"the stale order left something: {rooms(cluster)}")
    finish(cluster, job)
    equal(len(ran(cluster)), 1, "it ran once")
    after = cluster.sbatch("echo $SLURM_JOB_GPUS\n", "-w", silent, "--gpus=2")
    equal(cluster.wait_over(after), "COMPLETED", "the node takes work")


@case("launch.lost_node_does_not_start_what_it_missed")
def lost_node_does_not_start():
    """Work for one node is told to start at once. If the node was lost by then, the work goes elsewhere, and the order,
    found when the agent wakes up, starts nothing."""
    cluster = Cluster(conf=IMPATIENT)
    (silent,), others = chosen(cluster, "-N1")
    with stopped(cluster, silent) as agent:
        job = cluster.sbatch("hostname >> ran; until [ -e go ]; do sleep 0.05; done\n")
        wait_for(lambda: ran(cluster), "it runs elsewhere", 150)
        check(ran(cluster)[0] in others, f"where it runs: {ran(cluster)}")
    wait_for(lambda: free_and_idle(cluster, silent), "the node serves again")
    check(alive(agent), "its agent lives")
    equal(rooms(cluster), {ran(cluster)[0]: [f"job_{job}_a2"]}, "what nodes keep")
    finish(cluster, job)
    equal(len(ran(cluster)), 1, "it ran once")
    wait_for(lambda: not processes_with(cluster.work), "no process of it is left")


PATIENT = IMPATIENT.replace("SlurmdTimeout=20", "SlurmdTimeout=300")
# Says where it runs and as which process, then how long it ran once it may end.
HOLDER = """now() {{ python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000)'; }}
echo $SLURMD_NODENAME >> {name}.ran; echo $$ > {name}.pid; began=$(now)
until [ -e {name}.go ]; do sleep 0.05; done
echo $(( $(now) - began )) > {name}.ms
"""


def seen_silent(cluster, node):
    """A node that does not respond has a star."""
    return cluster.run("sinfo", "-h", "-n", node, "-o", "%T").out.strip().endswith("*")


def holders(cluster, *options):
    """A job on all GPUs of each node: {"n1": id}."""
    jobs = {}
    for node in ("n1", "n2", "n3"):
        jobs[node] = cluster.sbatch(HOLDER.format(name=node), "-w", node, "--gpus=2", *options)
    wait_for(lambda: all(cluster.exists(f"{node}.pid") and cluster.file(f"{node}.pid").strip() for node in jobs), "they run")
    return jobs


@case("launch.silent_node_keeps_its_work_until_the_timeout")
def silent_node_keeps_its_work():
    """Silence for longer than a launch may take, and shorter than SlurmdTimeout: nothing is given away, the work goes on,
    and what it cost is what it ran."""
    cluster = Cluster(conf=PATIENT)
    jobs = holders(cluster)
    pid = int(cluster.file("n2.pid"))
    with stopped(cluster, "n2"):
        silence = time.monotonic()
        wait_for(lambda: seen_silent(cluster, "n2"), "the node is suspected")
        waits = cluster.sbatch("hostname > stolen\n", "--gpus=1")
        wait_for(lambda: time.monotonic() > silence + 65, "the silence lasts", 90)
        equal([cluster.job_state(job) for job in jobs.values()], ["RUNNING"] * 3, "states")
        equal(cluster.job_state(waits), "PENDING", "nobody gets the GPUs")
        check(alive(pid), "its script goes on")
    wait_for(lambda: not seen_silent(cluster, "n2"), "the node is back")
    check(alive(pid), "its script still goes on")
    open(os.path.join(cluster.work, "n2.go"), "w").close()
    equal(cluster.wait_over(jobs["n2"]), "COMPLETED", "state")
    equal(cluster.file("n2.ran"), "n2\n", "it ran once")
    ran_for = int(cluster.file("n2.ms")) / 1000
    elapsed = int(cluster.run("sacct", "-X", "-n", "-P", "-j", jobs["n2"], "--format=ElapsedRaw").out)
    check(int(ran_for) <= elapsed <= ran_for + 2, f"elapsed {elapsed} s; it ran {ran_for} s")
    equal(cluster.wait_over(waits), "COMPLETED", "who waited")
    equal(cluster.file("stolen"), "n2\n", "where")


@case("launch.silent_node_is_given_up_at_the_timeout")
def silent_node_is_given_up():
    """At SlurmdTimeout its work is over: what may come back waits and runs elsewhere, the rest failed with its node. What
    went on there meanwhile is ended when the agent is back."""
    cluster = Cluster(conf=IMPATIENT)
    again = cluster.sbatch(HOLDER.format(name="again"), "--gpus=1", "--mem=50", "--requeue")
    wait_for(lambda: cluster.exists("again.pid") and cluster.file("again.pid").strip(), "it runs")
    node = cluster.file("again.ran").strip()
    once = cluster.sbatch(HOLDER.format(name="once"), "-w", node, "--gpus=1", "--mem=50", "--no-requeue")
    wait_for(lambda: cluster.exists("once.pid") and cluster.file("once.pid").strip(), "the other one too")
    before = [int(cluster.file(f"{name}.pid")) for name in ("again", "once")]
    with stopped(cluster, node):
        wait_for(lambda: seen_silent(cluster, node), "the node is suspected")
        equal([cluster.job_state(job) for job in (again, once)], ["RUNNING"] * 2, "states before the timeout")
        equal(cluster.wait_over(once), "NODE_FAIL", "without requeue")
        wait_for(lambda: len(cluster.file("again.ran").split()) == 2, "the other one runs elsewhere")
        check(all(alive(pid) for pid in before), "nobody could end what runs there")
    wait_for(lambda: not any(alive(pid) for pid in before), "what was given up is ended")
    wait_for(lambda: free_and_idle(cluster, node), "the node serves again")
    check(cluster.file("again.ran").split()[1] != node, "where it runs now")
    equal(cluster.job_state(again), "RUNNING", "the second attempt does not notice")
    open(os.path.join(cluster.work, "again.go"), "w").close()
    equal(cluster.wait_over(again), "COMPLETED", "state")
    equal(len(cluster.file("again.ran").split()), 2, "it ran twice, as it may")
