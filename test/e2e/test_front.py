"""What users of Slurm expect of its commands beyond a job's plain life: requeues after the end, clients that die, labels."""
import os
import signal

from harness import Cluster, case, check, equal, wait_for

CONF = """ClusterName=lab
SlurmctldHost=head
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
InactiveLimit={limit}
NodeName=g[1-2] CPUs=4 RealMemory=4000 Gres=gpu:a100:8
PartitionName=gpu Nodes=g[1-2] Default=YES
"""


@case("client.killed-gives-its-allocation-back")
def killed_client():
    c = Cluster(conf=CONF.format(limit=5))
    held = c.background("salloc", "-J", "held", "sleep", "600")
    alone = c.background("srun", "-J", "alone", "sleep", "600")
    stays = c.background("salloc", "-J", "stays", "sleep", "600")
    running = lambda: c.run("squeue", "-h", "-t", "R", "-o", "%j").out.split()  # noqa: E731
    wait_for(lambda: sorted(running()) == ["alone", "held", "stays"], "all three run")
    # A controller that comes again awaits them, and who still lives keeps what he has.
    c.restart("controller")
    for client in (held, alone):
        os.kill(client.pid, signal.SIGKILL)
    wait_for(lambda: running() == ["stays"], "the dead clients' jobs end", 60)
    states = c.run("sacct", "-nXP", "-o", "JobName,State").out
    check(f"held|CANCELLED by {os.getuid()}" in states, states)
    check(stays.poll() is None, "the third goes on")
    why = c.run("phalanx", "why", "1").out
    check("was away for 5s and is given up" in why, why)
    os.killpg(held.pid, signal.SIGKILL)  # its command, which has no parent any more
    stays.terminate()
    stays.communicate(timeout=60)


@case("requeue.after-the-end")
def requeue_after_the_end():
    c = Cluster(nodes=1, cpus=2)
    job = c.sbatch("echo $SLURM_RESTART_COUNT >> runs; exit 3\n")
    equal(c.wait_over(job), "FAILED")
    wait_for(lambda: c.run("scontrol", "requeue", job).code == 0, "it is requeued")
    wait_for(lambda: c.file("runs").split() == ["1"] or len(c.file("runs").split()) == 2, "it ran again")
    equal(c.wait_over(job), "FAILED")
    rows = wait_for(lambda: c.run("sacct", "-nXP", "-D", "-j", job, "-o", "JobID,State").out, "the account")
    check(f"{job}|FAILED" in rows, rows)
    equal(c.run("scontrol", "requeuehold", job).code, 0)
    equal(c.job_state(job), "PENDING")
    c.run("scancel", job)
    got = c.run("scontrol", "requeue", "999")
    equal((got.code, got.err), (1, "Invalid job id specified for job 999\n"))


@case("front.gpus-over-nodes-labels-and-lines")
def labels():
    c = Cluster(conf=CONF.format(limit=0))
    job = c.sbatch("srun hostname | sort\n", "--gpus=10")
    equal(c.wait_over(job), "COMPLETED")
    equal(c.output(job), "g1\ng2\n")
    row = wait_for(lambda: c.run("sacct", "-nXP", "-j", job, "-o", "NNodes,AllocTRES,SystemComment").out.strip(), "row")
    check(row.startswith("2|") and "gres/gpu=10" in row and row.endswith("|emulated GPUs"), row)
    equal(c.run("sinfo", "-h", "-o", "%G %b").out, "gpu:a100:8 emulated\n")
    check("Emulated=yes" in c.run("scontrol", "show", "node", "g1").out, "scontrol show node")
    check("Emulated=yes" in c.run("scontrol", "show", "job", job).out, "scontrol show job")
    job = c.run("sbatch", "--parsable", "--gpus=1", "--wrap", "echo it's").out.strip()
    c.wait_over(job)
    line = c.run("sacct", "-nXP", "-j", job, "-o", "SubmitLine").out.strip()
    equal(line, "sbatch --parsable --gpus=1 --wrap 'echo it'\\''s'")
    got = c.run("sbatch", "--hint=fast", "--wrap=true")
    check(got.code != 0 and 'unrecognized --hint argument "fast", see --hint=help' in got.err, got)
    check("nomultithread" not in c.run("sbatch", "--hint=help").err, "help goes to standard output")
