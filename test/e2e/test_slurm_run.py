"""sbatch, srun and salloc from the command line to the process: exit codes, messages, streams, signals, restarts."""
import os
import signal

from harness import Cluster, case, check, equal, wait_for


@case("srun.exit-codes")
def srun_exit_codes():
    c = Cluster(nodes=2, cpus=8)
    table = [
        (["srun", "bash", "-c", "exit 7"], 7, "task 0: Exited with exit code 7"),
        (["srun", "-n4", "bash", "-c", "exit $SLURM_PROCID"], 3, "task 3: Exited with exit code 3"),
        (["srun", "bash", "-c", "kill -9 $$"], 137, "task 0: Killed"),
        (["srun", "bash", "-c", "kill -TERM $$"], 143, "task 0: Terminated"),
        (["srun", "-K", "-n2", "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 5; sleep 60"], 143, "task 1: Terminated"),
        (["srun", "-W1", "-n2", "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 0; sleep 60"], 137, "First task exited 1s"),
        (["srun", "/etc/passwd"], 13, "Permission denied"),
        (["srun", "-n1"], 1, "No command given to execute"),
        (["srun", "--frob", "true"], 255, "unrecognized option '--frob'"),
        (["srun", "true", ":", "true"], 1, "heterogeneous"),
        (["srun", "--jobid=999999", "true"], 1, "Invalid job id specified"),
    ]
    for words, code, message in table:
        got = c.run(*words)
        equal(got.code, code, " ".join(words))
        check(message in got.err, f"{words}: {got}")


@case("srun.streams")
def srun_streams():
    c = Cluster(nodes=2, cpus=8)
    got = c.run("srun", "-N2", "-n2", "-l", "cat", stdin="one\ntwo\n")
    equal(sorted(got.out.splitlines()), ["0: one", "0: two", "1: one", "1: two"])
    equal(c.run("srun", "-n2", "-i", "1", "-l", "cat", stdin="x\n").out, "1: x\n")
    big = "".join(f"{i}\n" for i in range(400_000))
    check(c.run("srun", "cat", stdin=big).out == big, "megabytes through stdin and stdout")
    c.run("srun", "-n2", "-o", "of.%t.%N", "bash", "-c", "echo $SLURM_PROCID")
    names = sorted(n for n in os.listdir(c.work) if n.startswith("of."))
    equal([c.file(n) for n in names], ["0\n", "1\n"])
    c.run("srun", "-N2", "-n2", "-o", "one", "bash", "-c", "echo out; echo err >&2")
    equal(sorted(c.file("one").split()), ["err", "err", "out", "out"])
    equal(c.run("srun", "printf", "no newline").out, "no newline")


@case("srun.pty-has-the-size-of-the-terminal")
def srun_pty():
    c = Cluster(nodes=1, cpus=2)
    got = c.run("script", "-qec", 'stty rows 33 cols 101; srun --pty bash -c "stty size; exit 4"', "/dev/null")
    check("33 101" in got.out, got)
    equal(got.code, 4)


@case("srun.steps-share-or-wait")
def srun_steps():
    c = Cluster(nodes=1, cpus=8)
    job = c.sbatch("""#SBATCH -n2
srun -n1 --exact bash -c 'touch a; while [ ! -e b ]; do sleep 0.05; done' &
srun -n1 --exact bash -c 'touch b; while [ ! -e a ]; do sleep 0.05; done' &
wait
srun -n2 bash -c 'touch held; while [ ! -e go ]; do sleep 0.05; done' &
while [ ! -e held ]; do sleep 0.05; done
srun --overlap -n1 echo shared
srun -n2 echo waited 2> waiting &
while ! grep -q "step creation temporarily disabled" waiting; do sleep 0.05; done
touch go
wait
""")
    equal(c.wait_over(job), "COMPLETED")
    check("shared" in c.output(job) and c.output(job).count("waited") == 2, c.output(job))
    check("holds 2 cpus" in c.file("waiting"), c.file("waiting"))
    equal(c.run("srun", "--exclusive", "sh", "-c", "echo $SLURM_CPUS_ON_NODE").out, "8\n", "CPUs of a step that is its job's all")
    job = c.sbatch("srun -c1 -n1 sh -c 'echo $SLURM_CPUS_PER_TASK'; srun -n1 sh -c 'echo $SLURM_CPUS_PER_TASK'\n", "-W", "-n2", "-c3")
    equal(c.output(job), "1\n3\n", "CPUs per task of a step that asks for its own, and of one that does not")


@case("srun.in-each-element-of-an-array")
def srun_in_arrays():
    c = Cluster(nodes=1, cpus=8)
    job = c.sbatch("srun sh -c 'echo $SLURM_ARRAY_TASK_ID $SLURM_JOB_ID.$SLURM_STEP_ID'\n", "-W", "-a", "0-3", "-o", "out-%a")
    for index in range(4):
        word, step = c.file(f"out-{index}").split()
        equal(word, str(index), "the element")
        equal(step, f"{job}.0" if index == 3 else f"{int(job) + 1 + index}.0", "its step")


@case("sbatch.looks-a-script-up-in-path")
def script_in_path():
    c = Cluster(nodes=1)
    folder = os.path.join(c.work, "a folder with a long name", "bin")
    os.makedirs(folder)
    with open(os.path.join(folder, "inpath.sh"), "w") as file:
        file.write("#!/bin/sh\necho found $HOSTNAME $TMPDIR\n")
    path = "/nowhere/at/all/that/is/longer/than/short:" + folder + ":" + c.environment()["PATH"]
    result = c.run("sbatch", "-W", "-o", "out", "inpath.sh", env={"PATH": path, "HOSTNAME": "login07", "TMPDIR": "/no/such"})
    equal(result.code, 0, f"exit code ({result.err})")
    equal(c.file("out"), "found n1 /tmp\n", "output: what named the submit host does not")
    result = c.run("sbatch", "missing.sh", env={"PATH": path})
    check(result.code == 1 and "missing.sh" in result.err, f"a script that is nowhere: {result}")


@case("srun.ctrl-c-twice-ends-the-step")
def srun_interrupt():
    c = Cluster(nodes=1, cpus=4)
    srun = c.background("srun", "-n2", "bash", "-c", "touch up.$SLURM_PROCID; exec sleep 600")
    wait_for(lambda: c.exists("up.0") and c.exists("up.1"), "the tasks run")
    srun.send_signal(signal.SIGINT)
    check("one more within 1 sec" in srun.stderr.readline(), "what a second one would do")
    check("tasks 0-1: running" in srun.stderr.readline(), "where the tasks are")
    srun.send_signal(signal.SIGINT)
    srun.communicate(timeout=60)
    equal(srun.returncode, 130)


@case("srun.survives-its-agent-and-the-controller")
def srun_restarts():
    c = Cluster(nodes=1, cpus=4)
    node = c.run("srun", "hostname").out.strip()
    loop = "for i in 1 2 3 4 5 6; do echo $SLURM_PROCID.$i; sleep 0.5; done; exit 3"
    for kind, name in (("agent", node), ("controller", None)):
        srun = c.background("srun", "-n2", "bash", "-c", loop)
        wait_for(lambda: "bash" in c.run("squeue", "-h", "-t", "R", "-o", "%j").out, "it runs")
        c.restart(kind, name)
        out, err = srun.communicate(timeout=60)
        equal(srun.returncode, 3, f"{kind} restarted: {err}")
        equal(sorted(out.split()), [f"{rank}.{i}" for rank in (0, 1) for i in range(1, 7)])


@case("sbatch.wait-and-messages")
def sbatch_wait():
    c = Cluster(nodes=1, cpus=4)
    got = c.run("sbatch", "--wait", "--wrap", "exit 5")
    equal((got.code, got.out), (5, "Submitted batch job 1\n"))
    equal(c.run("sbatch", "--wait", "-a0-2", "--wrap", "exit $SLURM_ARRAY_TASK_ID").code, 2)
    equal(c.run("sbatch", "--wait", "--wrap", "kill -9 $$").code, 1)
    table = [
        (["-p", "nosuch", "--wrap", "true"], 1, "Batch job submission failed: Invalid partition name specified"),
        (["--gres=tpu:1", "--wrap", "true"], 1, "Invalid generic resource (gres) specification"),
        (["-c99", "--wrap", "true"], 1, "Requested node configuration is not available"),
        (["-d", "afterok:999", "--wrap", "true"], 1, "Job dependency problem"),
        (["-t", "abc", "--wrap", "true"], 255, "time"),
        (["--wrap", "true", "script"], 1, "Script arguments not permitted with --wrap option"),
        (["nosuch.sh"], 1, "Unable to open file nosuch.sh"),
    ]
    for words, code, message in table:
        got = c.run("sbatch", *words)
        equal((got.code, got.out), (code, ""), " ".join(words))
        check(message in got.err, f"{words}: {got}")
    got = c.run("sbatch", "--parsable", "-o", "nodir/x", "--wrap", "true")
    check(got.out.strip().isdigit() and got.err == "", f"nothing but the number without a terminal: {got}")


@case("sbatch.export-and-nesting")
def sbatch_export():
    c = Cluster(nodes=1, cpus=4)
    show = "echo [$MINE] [$OTHER] [$SLURM_NTASKS]"
    env = {"MINE": "1", "OTHER": "2"}
    for option, wanted in (("ALL", "[1] [2] []"), ("NONE", "[] [] []"), ("MINE", "[1] [] []"), ("ALL,OTHER=x y", "[1] [x y] []")):
        job = c.sbatch(show, f"--export={option}", env=env)
        c.wait_over(job)
        equal(c.output(job).strip(), wanted, option)
    outer = c.sbatch(f"#SBATCH -n2 --mem=200\nsbatch --wait -o inner --mem-per-cpu=50 --wrap '{show}; srun -n1 echo step'")
    equal(c.wait_over(outer), "COMPLETED")
    equal(c.file("inner"), "[] [] []\nstep\n")


@case("salloc.messages-and-codes")
def salloc():
    c = Cluster(nodes=2, cpus=4)
    got = c.run("salloc", "-N2", "-n2", "srun", "-l", "hostname")
    equal((got.code, len(got.out.splitlines())), (0, 2))
    check("salloc: Granted job allocation 1\n" in got.err and "Relinquishing job allocation 1" in got.err, got)
    equal(c.run("salloc", "bash", "-c", "exit 4").code, 4)
    got = c.run("salloc", "nosuchcmd")
    equal(got.code, 1)
    check('Unable to find command "nosuchcmd"' in got.err, got)
    got = c.run("salloc", "--no-shell", "-n2", "-J", "keep")
    equal(got.code, 0)
    job = c.run("squeue", "-h", "-n", "keep", "-o", "%i").out.strip()
    equal(c.run("srun", f"--jobid={job}", "-n1", "echo", "hi").out, "hi\n")
    c.run("scancel", job)
    holder = c.background("salloc", "sleep", "600")
    wait_for(lambda: "interacti" in c.run("squeue", "-h", "-t", "R", "-o", "%j").out, "it runs")
    c.run("scancel", "-n", "interactive")
    out, err = holder.communicate(timeout=60)
    check("has been revoked." in err, err)


@case("sacct.says-what-was-really-used")
def sacct_used():
    c = Cluster(nodes=1, cpus=4)
    job = c.sbatch("""#SBATCH -n1
srun bash -c 'x=$(head -c 60000000 /dev/zero | tr "\\\\0" a); while [ $SECONDS -lt 2 ]; do :; done'
""")
    equal(c.wait_over(job), "COMPLETED")
    rows = wait_for(lambda: c.run("sacct", "-nP", "--units=K", "-j", job, "-o",
                                  "JobID,TotalCPU,MaxRSS,MaxRSSNode").out
                    if c.run("sacct", "-nP", "-j", f"{job}.0", "-o", "MaxRSS").out.strip() else None,
                    "sacct says what was used")
    table = {row.split("|")[0]: row.split("|")[1:] for row in rows.splitlines()}
    total, memory, node = table[f"{job}.0"]
    check(total > "00:00.500", table)  # two seconds, on a machine that may be busy
    check(int(memory.rstrip("K")) > 50_000, table)
    equal(node, "n1")
    equal(table[job][1:], ["", ""])
    check(table[job][0] >= total, table)


@case("sinfo.says-load-and-free-memory")
def sinfo_vitals():
    c = Cluster(nodes=1, cpus=4)
    load, free = wait_for(lambda: (lambda w: w if "N/A" not in w else None)(
        c.run("sinfo", "-hN", "-o", "%O %e").out.split()), "a heartbeat")
    check(float(load) >= 0 and int(free) > 0, (load, free))
