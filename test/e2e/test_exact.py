"""What jobs cost and how they end is what their nodes measured, whichever daemon was away; and whose fault a failed launch
was. The witness of how long a job ran is its own script."""
import json
import os
import signal
import time

from harness import Cluster, alive, case, check, equal, wait_for

# It says how long it ran, by the clock that nobody sets, and is left alone by the daemons that die meanwhile.
SCRIPT = """#!/bin/bash
now() {{ python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000)'; }}
began=$(now); echo running > {name}.began
sleep {seconds}
echo $(( $(now) - began )) > {name}.ms.new; mv {name}.ms.new {name}.ms
"""
OUTAGE = 4  # seconds beyond the end: more than rounding


AMOUNTS = (2, 3, 256)  # GPUs, CPUs and MiB of each job
OPTIONS = ("--gres=gpu:2", "-n1", "-c3", "--mem=256M")


def milliseconds(words):
    return [int(word.replace(".", "")) for word in words]


def ledger(cluster):
    """The parts of the whole: their GPU-, CPU- and memory-seconds, in thousandths."""
    lines = cluster.run("phalanx", "ledger").out.splitlines()[-5:]
    return {line.split()[0]: milliseconds(line.split()[-3:]) for line in lines}


def check_account(cluster, job, ran, at_most):
    """What it ran, between these bounds in seconds, times each amount that it held: to the millisecond, wherever it is told."""
    told = cluster.run("sacct", "-X", "-n", "-P", "-j", job, "--format=GPUSeconds,CPUSeconds,MemorySeconds").out.strip()
    costs = milliseconds(told.split("|"))
    charged = costs[0] / AMOUNTS[0]
    check(ran * 1000 <= charged < at_most * 1000, f"charged {charged} ms; it ran {ran} s, heard after less than {at_most} s")
    equal(costs, [charged * amount for amount in AMOUNTS], "what sacct tells")
    parts = ledger(cluster)
    equal(parts["allocated"], costs, "what the ledger tells")
    whole = parts.pop("capacity")
    equal([sum(column) for column in zip(*parts.values())], whole, f"parts {parts}")
    held = parts["reserved"][0] / AMOUNTS[0]
    equal(parts["reserved"], [held * amount for amount in AMOUNTS], "what was held for it while it did not run")
    check(all(part >= 0 for part in parts["idle"]), f"idle: {parts}")
    return parts


def outage_over_an_end(*kinds, seconds=3, limit=5, at_least=0):
    """A job ends while the controller or its agent is away."""
    cluster = Cluster(nodes=1, gpus=4, cpus=4)
    job = cluster.sbatch(SCRIPT.format(name="job", seconds=seconds), *OPTIONS, "-t", str(limit))
    wait_for(lambda: cluster.exists("job.began"), "the job runs")
    began = time.monotonic()
    daemons = [cluster.kill_daemon(kind) for kind in kinds]
    wait_for(lambda: cluster.exists("job.ms"), "the script ends")
    back = max(time.monotonic() + OUTAGE, began + at_least)
    wait_for(lambda: time.monotonic() > back, "the outage lasts")
    for words in daemons:
        cluster.start_daemon(words)
    equal(wait_for(lambda: cluster.run("sinfo").code == 0 and cluster.wait_over(job), "it is over"), "COMPLETED", "state")
    wait_for(lambda: not cluster.run("squeue", "-h").out.strip(), "its devices are free")
    outage = time.monotonic() - began
    ran = int(cluster.file("job.ms")) / 1000
    state, code, elapsed = cluster.run("sacct", "-X", "-n", "-P", "-j", job, "--format=State,ExitCode,ElapsedRaw").out.split("|")
    equal((state, code), ("COMPLETED", "0:0"), "sacct")
    check(int(ran) <= int(elapsed) < outage - OUTAGE / 2, f"elapsed {elapsed} s; it ran {ran} s, heard after {outage} s")
    parts = check_account(cluster, job, ran, outage - OUTAGE / 2)
    check(parts["reserved"][0] >= OUTAGE * 1000, f"what was held after the end: {parts}")


@case("exact.end_without_a_controller")
def without_controller():
    outage_over_an_end("controller")


@case("exact.end_without_its_agent")
def without_agent():
    outage_over_an_end("agent")


# Both are away when the limit passes, a minute being the shortest that there is; the script had ended before.
@case("exact.ended_in_time_while_nobody_was_there")
def in_time():
    outage_over_an_end("controller", "agent", seconds=50, limit=1, at_least=63)


@case("exact.the_node_keeps_the_limit_while_the_controller_is_away")
def limit_without_controller():
    cluster = Cluster(nodes=1, gpus=0)
    job = cluster.sbatch("trap 'echo stopped > stopped; exit 0' TERM\necho > running\nwhile :; do sleep 0.1; done\n", "-t", "1")
    wait_for(lambda: cluster.exists("running"), "the job runs")
    words = cluster.kill_daemon("controller")
    wait_for(lambda: cluster.exists("stopped"), "the agent stops it")
    check("DUE TO TIME LIMIT" in cluster.output(job), cluster.output(job))
    cluster.start_daemon(words)
    equal(wait_for(lambda: cluster.run("sinfo").code == 0 and cluster.wait_over(job), "it is over"), "TIMEOUT", "state")


@case("blame.nobodys_bad_jobs_drain_a_node")
def bad_jobs():
    cluster = Cluster(nodes=3, gpus=0)
    empty = cluster.run("sbatch")
    equal((empty.code, empty.out, empty.err), (1, "", "sbatch: error: Batch script is empty!\n"), "an empty script")
    for body in ("{}", json.dumps({"tool": "Sbatch", "script": "", "work_dir": "/tmp"})):
        said = cluster.run("curl", "-s", "-o", "-", "-w", "%{http_code}", "--unix-socket", cluster.socket, "-d", body,
                           "http://x/slurm/v1/submit").out
        check("Batch script is empty" in said and not said.endswith("200"), said)
    jobs = [cluster.sbatch("true", "-D", "/nowhere/at/all", "-o", "/nowhere/%j.out") for _ in range(4)]
    jobs += [cluster.sbatch("#!/no/such/shell\n") for _ in range(4)]
    for job in jobs:
        equal(cluster.wait_over(job), "FAILED", f"job {job}")
    equal(cluster.run("sinfo", "-h", "-R").out, "", "reasons")
    equal(cluster.run("sinfo", "-h", "-t", "idle", "-o", "%D").out.strip(), "3", "nodes that are idle")


@case("nodes.down_stays_down")
def down_stays_down():
    cluster = Cluster(nodes=2, gpus=0)
    equal(cluster.run("scontrol", "update", "nodename=n2", "state=down", "reason=smoke").code, 0, "scontrol")
    cluster.restart("agent", "n2")
    wait_for(lambda: "no controller" not in cluster.log().splitlines()[-1], "its agent is back")
    job = cluster.sbatch("true", "-w", "n1")
    equal(cluster.wait_over(job), "COMPLETED", "work elsewhere")
    equal(cluster.run("sinfo", "-h", "-n", "n2", "-o", "%T").out.strip().rstrip("*"), "down", "state")
    equal(cluster.run("scontrol", "update", "nodename=n2", "state=resume").code, 0, "scontrol")
    wait_for(lambda: cluster.run("sinfo", "-h", "-n", "n2", "-o", "%T").out.strip() == "idle", "it is used again")


@case("up.starts_its_daemons_again")
def starts_again():
    cluster = Cluster(nodes=1, gpus=0, keep_alive=True)
    job = cluster.sbatch("echo $$ > pid; sleep 600\n")
    pid = int(wait_for(lambda: cluster.exists("pid") and cluster.file("pid").strip(), "the job runs"))
    for kind in ("controller", "agent"):
        killed = cluster.daemon(kind)
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: (now := cluster.daemon(kind)) and now != killed, f"another {kind}")
        wait_for(lambda: cluster.run("sinfo", "-h", "-o", "%T").out.strip() in ("mixed", "allocated"), "it serves")
        check("it is started again in" in cluster.log(), cluster.log())
    check(alive(pid), "the job goes on")
    equal(cluster.run("srun", "--overlap", f"--jobid={job}", "echo", "here").out, "here\n", "a step")
    equal(cluster.run("scancel", job).code, 0, "scancel")
    equal(cluster.wait_over(job), "CANCELLED", "state")


@case("up.gives_up_a_daemon_that_never_lives")
def gives_up():
    cluster = Cluster(nodes=1, gpus=0, keep_alive=True, ephemeral=False)
    cluster.sbatch("echo $$ > pid; sleep 600\n")
    pid = int(wait_for(lambda: cluster.exists("pid") and cluster.file("pid").strip(), "the job runs"))

    def given_up():
        if daemon := cluster.daemon("controller"):
            os.kill(daemon, signal.SIGKILL)
        return cluster.process.poll() is not None
    wait_for(given_up, "it gives up")
    equal(cluster.process.returncode, 1, "exit code")
    check("giving up" in cluster.log(), cluster.log())
    check(alive(pid), "the job goes on")
    cluster.start()
    job = cluster.run("squeue", "-h", "-o", "%i").out.strip()
    equal(cluster.run("scancel", job).code, 0, "scancel")
    equal(cluster.wait_over(job), "CANCELLED", "the next start has found it")
