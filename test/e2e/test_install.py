"""What stands on a machine after `cmake --install`, and what `phalanx up` finds there by itself."""
import atexit
import glob
import os
import platform
import re
import shutil
import subprocess

import harness
from harness import Cluster, Skip, case, check, equal

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SLURM = ["sacct", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"]


def install(folder):
    """Installs the build under test; returns the prefix."""
    build = os.path.dirname(harness.BIN)
    if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        raise Skip(f"{build} is not a build tree")
    prefix = os.path.join(folder, "prefix")
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True)
    check(done.returncode == 0, f"cmake --install: {done.stdout}{done.stderr}")
    return prefix


@case("install.runs_from_its_prefix")
def runs_from_its_prefix():
    folder = os.path.join("/tmp", f"phx-install-{os.getpid()}")
    try:
        prefix = install(folder)
        equal(sorted(os.listdir(os.path.join(prefix, "bin"))), ["phalanx", "phalanx-spawn", "slurm"], "programs")
        equal(sorted(os.listdir(os.path.join(prefix, "bin", "slurm"))), SLURM, "Slurm's names")
        for name in SLURM:
            link = os.path.join(prefix, "bin", "slurm", name)
            equal(os.path.realpath(link), os.path.join(os.path.realpath(prefix), "bin", "phalanx"), f"link {name}")
        cluster = Cluster(nodes=2, bin=os.path.join(prefix, "bin"))
        check(f"PATH={prefix}/bin/slurm:$PATH" in cluster.log(), "it says where Slurm's names are")
        agent = cluster.daemon("agent", "n1")
        equal(os.path.realpath(f"/proc/{agent}/exe"), f"{prefix}/bin/phalanx", "the agent's program")
        job = cluster.sbatch("srun -N2 hostname | sort\n", "-N2")
        equal(cluster.wait_over(job), "COMPLETED", f"state: {cluster.output(job)}")
        equal(cluster.output(job), "n1\nn2\n", "output")
        equal(cluster.run("srun", "echo", "hello").out, "hello\n", "srun")
        for words in (["sinfo"], ["squeue"], ["sacct"], ["scontrol", "show", "config"]):
            equal(cluster.run(*words).code, 0, f"exit code of {words}")
    finally:
        harness.stop_everything()
        shutil.rmtree(folder, ignore_errors=True)


@case("install.is_what_the_manual_says")
def is_what_the_manual_says():
    """docs/install.md names files, folders and commands: they are there."""
    with open(os.path.join(ROOT, "docs/install.md")) as file:
        manual = file.read()
    cluster = Cluster(ephemeral=False)
    for name in re.findall(r"^\| `([^`]+)`", manual, re.M):
        check(os.path.exists(os.path.join(cluster.state, "controller", name)), f"{name} is not in the state folder")
    for line in re.findall(r"^    (.*)$", manual, re.M):
        words = line.split("#")[0].split()
        words = words[1:] if words and words[0] == "sudo" else words
        if words[:1] != ["phalanx"]:
            continue
        usage = cluster.run("phalanx", words[1], "--help")
        equal(usage.code, 0, f"phalanx {words[1]} --help")
        for option in [word for word in words if word.startswith("--")]:
            check(option in usage.out, f"`{line.strip()}`: there is no {option}")


# --- a machine with GPUs, as NVIDIA's library tells it

def fake_driver():
    """A folder with a libnvidia-ml.so.1 that says what FAKE_NVML_… tell it to (src/agent/testing/fake_nvml.c)."""
    built = glob.glob(os.path.join(os.path.dirname(harness.BIN), "src/agent/libnvidia-ml.so.1"))
    if built:
        return os.path.dirname(built[0])
    folder = os.path.join("/tmp", f"phx-nvml-{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = os.path.join(ROOT, "src/agent/testing/fake_nvml.c")
    done = subprocess.run(["cc", "-shared", "-fPIC", "-o", os.path.join(folder, "libnvidia-ml.so.1"), source],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"no fake driver, and none can be built: {done.stderr.strip()}")
    return folder


def with_gpus(count, **more):
    folder = fake_driver()
    env = {"LD_LIBRARY_PATH": folder, "FAKE_NVML_GPUS": str(count)}
    env.update({f"FAKE_NVML_{name}": value for name, value in more.items()})
    return Cluster(emulate=False, env=env)


@case("up.finds_gpus")
def finds_gpus():
    cluster = with_gpus(4)
    check("4 GPUs by NVML (NVIDIA RTX PRO 6000 Blackwell)" in cluster.log(), f"it says so: {cluster.log()}")
    node = platform.node().split(".")[0]
    gres = cluster.run("sinfo", "-h", "-o", "%G").out.strip()
    check(gres.startswith("gpu:") and gres.split("(")[0].endswith(":4"), f"sinfo: {gres}")
    check("rtx_pro_6000" in gres, f"the type comes from the product's name: {gres}")
    show = 'echo "$CUDA_VISIBLE_DEVICES|$SLURM_JOB_GPUS|$SLURM_GPUS_ON_NODE"\n'
    job = cluster.sbatch(show, "--gpus=1", "--wait")
    equal(cluster.output(job).split("|")[0], "0", "what CUDA may see")
    equal(cluster.output(job).split("|")[2], "1\n", "how many")
    job = cluster.sbatch(show + "srun -n2 --gpus-per-task=2 bash -c 'echo $SLURM_PROCID:$CUDA_VISIBLE_DEVICES' | sort\n",
                         "--gpus=4", "-n2", "--wait")
    equal(cluster.output(job).splitlines()[0].split("|")[0], "0,1,2,3", "what CUDA may see")
    equal(cluster.output(job).splitlines()[1:], ["0:0,1", "1:2,3"], "by task")
    job = cluster.sbatch('echo "[$CUDA_VISIBLE_DEVICES][${SLURM_JOB_GPUS-none}]"\n', "--wait")
    check("[none]" in cluster.output(job), f"a job that asked for none has none: {cluster.output(job)}")
    check(not re.search(r"\[\d", cluster.output(job)), f"and sees none: {cluster.output(job)}")
    check(node in cluster.run("sinfo", "-h", "-N", "-o", "%N").out, "the node has the machine's name")
    picture = cluster.run("phalanx", "top", "--once").out
    check("emulated" not in picture, f"these are not emulated: {picture}")


@case("up.does_not_offer_sick_or_busy_gpus")
def sick_gpus():
    cluster = with_gpus(4, FAILING="1", MIG="2", PIDS="3:1")
    picture = cluster.run("phalanx", "top", "--once").out
    check("· x x x" in picture, f"one of four can be used: {picture}")
    too_many = cluster.run("sbatch", "--parsable", "--gpus=2", "--wrap", "true")
    one = cluster.sbatch("echo $SLURM_JOB_GPUS\n", "--gpus=1")
    equal(cluster.wait_over(one), "COMPLETED", "one GPU is free")
    if too_many.code == 0:
        equal(cluster.job_state(too_many.out.strip()), "PENDING", "two are not")
        why = cluster.run("phalanx", "why", too_many.out.strip()).out
        check("gpu" in why.lower(), f"why: {why}")


@case("up.without_gpus_says_so")
def without_gpus():
    if glob.glob("/dev/nvidia[0-9]*"):
        raise Skip("this machine has GPUs")
    cluster = Cluster(emulate=False)
    check("no GPUs: it runs CPU work" in cluster.log(), f"it says so: {cluster.log()}")
    job = cluster.sbatch("echo cpu work\n")
    equal(cluster.wait_over(job), "COMPLETED", "CPU work runs")
    refused = cluster.run("sbatch", "--gpus=1", "--wrap", "true")
    equal(refused.code, 1, f"a job that wants one: {refused}")
    check(refused.err.strip(), "is told why")
