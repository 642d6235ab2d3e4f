"""slurm.conf while the cluster runs: read again, refused whole, and what it keeps back."""
import os

from harness import Cluster, case, check, equal, ordinary_user, wait_for

CONF = """ClusterName=c
SlurmctldHost=h
NodeName=n1 CPUs=4
NodeName=n2 CPUs=4 State=DRAIN Reason="new fans"
PartitionName=p Nodes=n1,n2 MaxTime=60
"""


def write(cluster, text):
    with open(os.path.join(cluster.config, "slurm.conf"), "w") as file:
        file.write(text)


def shows(cluster, what, *words):
    text = cluster.run("scontrol", "show", *what.split()).out
    return all(word in text for word in words)


@case("config.reconfigure")
def reconfigure():
    c = Cluster(conf=CONF)
    check(shows(c, "node n2", "DRAIN", "Reason=new fans"), "n2 starts drained")
    job = c.sbatch("srun sh -c 'while [ ! -e go ]; do sleep 0.05; done'", "-N1")
    c.wait_state(job, "RUNNING")

    shorter = CONF.replace("MaxTime=60", "MaxTime=10")
    write(c, shorter + "KillWiat=3\nSlurmctldPrt=7\n")
    got = c.run("scontrol", "reconfigure")
    equal(got.code, 1)
    check("slurm.conf:6:1: error: KillWiat is not a key of slurm.conf; did you mean KillWait?" in got.err, got)
    check("slurm.conf:7:1: error: SlurmctldPrt is not a key" in got.err, f"the second error: {got}")
    check(shows(c, "partition p", "MaxTime=01:00:00"), "nothing has changed")

    write(c, shorter.replace("NodeName=n1 CPUs=4", "NodeName=n1 CPUs=2") + "NodeName=n3 CPUs=1\nSuspendTime=5\n")
    if os.geteuid() == 0:
        refused = c.run("scontrol", "reconfigure", user=ordinary_user().pw_name)
        equal(refused.code, 1)
        check("only operators may" in refused.err, refused)
        check(shows(c, "partition p", "MaxTime=01:00:00"), "nothing has changed")
    got = c.run("scontrol", "reconfigure")
    equal(got.code, 0, str(got))
    equal(got.out, "node n3 is new: it is used when its agent joins\n")
    check("slurm.conf:7:1: warning: Phalanx does not act upon SuspendTime" in got.err, got)
    check(shows(c, "partition p", "MaxTime=00:10:00"), "the partition is as the file says")
    wait_for(lambda: shows(c, "node n1", "CPUTot=2"), "n1 has joined again with what the file says")
    check(shows(c, "node n3", "NOT_RESPONDING"), "n3 is known and has no agent")

    with open(os.path.join(c.work, "go"), "w"):
        pass
    c.wait_over(job)
    equal(c.job_state(job), "COMPLETED")
    c.restart("controller")
    wait_for(lambda: shows(c, "partition p", "MaxTime=00:10:00"), "a restart reads the same files")


@case("config.several-partitions")
def several_partitions():
    c = Cluster(conf="""ClusterName=c
SlurmctldHost=h
NodeName=n1 CPUs=2
NodeName=n[2-3] CPUs=4
PartitionName=small Nodes=n1 Default=YES
PartitionName=short Nodes=n[2-3] MaxNodes=1
PartitionName=large Nodes=n[2-3]
""")
    def runs_in(*options):
        job = c.sbatch("true", *options)
        c.wait_state(job, "COMPLETED")
        return c.run("sacct", "-X", "-n", "-o", "partition", "-j", str(job)).out.strip()
    equal(runs_in("-p", "small,large"), "small")
    equal(runs_in("-p", "small,large", "-c4"), "large")
    equal(runs_in("-p", "short,large", "-N2"), "large")
    busy = c.sbatch("srun sh -c 'while [ ! -e go ]; do sleep 0.05; done'", "-p", "small", "-n2", "--time=60")
    c.wait_state(busy, "RUNNING")
    equal(runs_in("-p", "small,large", "-c2"), "large")
    refused = c.run("sbatch", "-p", "small,large", "-c9", "--wrap", "true")
    equal(refused.code, 1)
    check("small" in refused.err, refused)


@case("config.without-files")
def without_files():
    c = Cluster(nodes=1, cpus=1)
    got = c.run("scontrol", "reconfigure")
    equal(got.code, 1)
    check("started without --config" in got.err, got)
