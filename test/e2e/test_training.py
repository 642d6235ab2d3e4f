"""What Phalanx is for: a real training, and users' own scripts as they are."""
import os
import re
import subprocess

from harness import Cluster, Skip, case, check, equal, need_root, wait_for

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))

# A lab of four nodes with eight GPUs each, and two partitions; GPU accounting as its owner wrote it.
LAB = """ClusterName=kentino-lab
SlurmctldHost=head01

SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu

AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityWeightFairshare=10000
PriorityWeightAge=1000

ProctrackType=proctrack/cgroup

NodeName=node[01-04] CPUs=128 RealMemory=1024000 Sockets=2 \\
    CoresPerSocket=64 ThreadsPerCore=1 Gres=gpu:rtxpro6000:8 State=UNKNOWN
PartitionName=train Nodes=node[01-03] Default=YES MaxTime=48:00:00 State=UP
PartitionName=interactive Nodes=node04 MaxTime=04:00:00 \\
    PriorityTier=10 State=UP
"""
LAB_GRES = "AutoDetect=nvml\nNodeName=node[01-04] Name=gpu Type=rtxpro6000 File=/dev/nvidia[0-7]\n"

# Stands in for torchrun and `python -m torch.distributed.run`: one line per launcher with what it was given.
LAUNCHER = """#!/bin/bash
echo "launcher $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME gpus=$CUDA_VISIBLE_DEVICES args=$*" >> "$WITNESS"
"""


def stand_ins(cluster):
    folder = os.path.join(cluster.work, "bin")
    os.mkdir(folder)
    for name in ("torchrun", "python"):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(LAUNCHER)
        os.chmod(path, 0o755)
    witness = os.path.join(cluster.work, "witness")
    return witness, {"PATH": folder + ":" + cluster.environment()["PATH"], "WITNESS": witness}


def launchers(witness):
    with open(witness) as file:
        return sorted(file.read().splitlines())


@case("training.digits")
def digits():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        raise Skip("python3-torch is not installed")
    data = os.path.join(ROOT, "build/e2e-digits.csv.gz")
    if not os.path.exists(data):
        done = subprocess.run([os.path.join(ROOT, "tools/digits.sh"), data], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip("the registry does not give the data set: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    cluster = Cluster(nodes=2, gpus=4)
    done = cluster.run("sbatch", "--parsable", "-o", os.path.join(cluster.work, "train.out"), "examples/train.sbatch",
                       cwd=ROOT, env={"DIGITS": data, "EPOCHS": "12"})
    check(done.code == 0, f"sbatch: {done}")
    job = done.out.strip()
    wait_for(lambda: cluster.job_state(job).split()[0] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"),
             "the training is over", 600)
    log = cluster.file("train.out")
    equal(cluster.job_state(job), "COMPLETED", f"state; its log: {log}")
    accuracy = re.search(r"held-out accuracy ([0-9.]+)", log)
    check(accuracy and float(accuracy.group(1)) >= 0.95, f"accuracy at least 0.95: {log}")
    equal(sorted(re.findall(r"rank (\d) of 4 on (n\d)", log)), [("0", "n1"), ("1", "n1"), ("2", "n2"), ("3", "n2")], "ranks")
    tres = cluster.run("sacct", "-X", "-n", "-P", "-j", job, "--format=AllocTRES%200").out
    check("gres/gpu=4" in tres, f"four GPUs in the account: {tres}")


@case("scripts.one_launcher_per_node")
def one_launcher_per_node():
    """A script that asks for a partition which the cluster does not have, and its sizes overridden."""
    need_root()
    cluster = Cluster(conf=LAB, gres=LAB_GRES)
    witness, env = stand_ins(cluster)
    script = """#SBATCH --job-name=train-llm
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=48:00:00
#SBATCH --partition=gpu

# Упрощённая схема: один torchrun на узел, 8 процессов на узел.
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks-per-node=1 --gpus-per-node=8 \\
  torchrun \\
    --nnodes="$SLURM_NNODES" \\
    --nproc_per_node=8 \\
    --rdzv_endpoint="${MASTER_ADDR}:29500" \\
    train.py
"""
    refused = cluster.run("sbatch", stdin="#!/bin/bash\n" + script)
    equal((refused.code, refused.out), (1, ""), "exit code and output with partition gpu")
    check("Invalid partition name specified" in refused.err, f"Slurm's words: {refused.err}")
    check("train" in refused.err and "interactive" in refused.err, f"the message names those that exist: {refused.err}")
    equal(cluster.run("squeue", "-h", "-t", "all").out, "", "nothing was submitted")
    job = cluster.sbatch(script, "-p", "train", "-N", "2", env=env)
    equal(cluster.wait_over(job), "COMPLETED", f"state: {cluster.output(job)}")
    lines = launchers(witness)
    equal(len(lines), 2, f"launchers: {lines}")
    for rank, node in enumerate(("node01", "node02")):
        check(f"launcher {rank} of 2 on {node} gpus=0,1,2,3,4,5,6,7" in lines[rank], lines[rank])
        check("--nnodes=2 --nproc_per_node=8" in lines[rank] and "node01:29500" in lines[rank], lines[rank])


def kept_about(cluster, job):
    return "\n".join(line for line in cluster.run("phalanx", "why", job).out.splitlines() if line.startswith("Warning: "))


def warning_of(cluster, job):
    """What is kept about launchers: the same sentence in `phalanx why` and in `scontrol show job`."""
    why = re.findall(r"^Warning: (.*launchers.*)$", cluster.run("phalanx", "why", job).out, re.M)
    show = re.findall(r"^ *Warning=(.*launchers.*)$", cluster.run("scontrol", "show", "job", job).out, re.M)
    equal(show, why, "scontrol and why")
    check(len(why) <= 1, f"one sentence: {why}")
    return why[0] if why else ""


@case("scripts.launchers_times_processes")
def launchers_times_processes():
    """Eight tasks per node and eight processes per launcher: warned in one sentence, kept, and not on stderr."""
    need_root()
    cluster = Cluster(conf=LAB, gres=LAB_GRES)
    witness, env = stand_ins(cluster)
    script = """#SBATCH --job-name=qwen-finetune
#SBATCH --partition=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:rtxpro6000:8
#SBATCH --time=12:00:00
#SBATCH --output=logs/%j.out

srun python -m torch.distributed.run \\
    --nnodes=2 --nproc-per-node=8 \\
    --rdzv-endpoint=$(scontrol show hostnames | head -1):29500 \\
    train.py --config configs/qwen72b.yaml
"""
    text = "#!/bin/bash\n" + script
    done = cluster.run("sbatch", "--parsable", stdin=text, env=env)
    equal((done.code, done.err), (0, ""), "a client that fails on any stderr")
    job = done.out.strip()
    warning = warning_of(cluster, job)
    for part in ("16 launchers", "8 processes", "16 GPUs", "--ntasks-per-node=1?"):
        check(part in warning, f"the warning says {part}: {warning}")
    check("logs" in kept_about(cluster, job), "the folder that is missing is warned about, and that is kept")
    equal(cluster.wait_over(job), "FAILED", "logs/ does not exist")
    wait_for(lambda: not cluster.run("squeue", "-h", "-j", job).out.strip(), "it has left the queue")
    equal(warning_of(cluster, job), warning, "the warning afterwards")
    for command in (["phalanx", "why", job], ["scontrol", "show", "job", job]):
        said = cluster.run(*command).out
        check(f"logs/{job}.out" in said and "No such file" in said, f"{command} says why it failed: {said}")

    # Only where somebody looks: on a terminal, or if asked.
    spoken = cluster.run("sbatch", "-v", "--parsable", "--hold", stdin=text, env=env)
    check(spoken.code == 0 and warning in spoken.err, f"with -v: {spoken}")
    with open(os.path.join(cluster.work, "qwen.sbatch"), "w") as file:
        file.write(text)
    terminal = cluster.run("script", "-qec", "sbatch --hold qwen.sbatch", "/dev/null", env=env)
    check(warning in terminal.out.replace("\r", ""), f"on a terminal: {terminal}")
    cluster.run("scancel", "--me")

    # As under Slurm it is done as it was asked for; with the option it is what was meant.
    os.mkdir(os.path.join(cluster.work, "logs"), 0o777)
    for options, count in (([], 16), (["--ntasks-per-node=1"], 2)):
        if os.path.exists(witness):
            os.unlink(witness)
        job = cluster.sbatch(script, *options, env=env)
        equal(cluster.wait_over(job), "COMPLETED", f"state with {options}")
        lines = launchers(witness)
        equal(len(lines), count, f"launchers with {options}: {lines}")
        check(all("--nproc-per-node=8" in line and "node01:29500" in line for line in lines), f"{lines}")
    equal(warning_of(cluster, job), "", "no warning about what was meant")
