"""The agent's part: steps over restarts and losses, what a node announces, what is left after a kill."""
import glob
import hashlib
import os
import signal

from harness import (Cluster, alive, case, check, equal, need_root, ordinary_user, processes_with, wait_for)


@case("step.loses_no_byte_over_an_agent_restart")
def loses_no_byte():
    cluster = Cluster()
    lines = 20000
    source = "".join(f"{i} {'x' * 60}\n" for i in range(lines))
    job = cluster.sbatch(f"""srun bash -c 'for ((i = 0; i < {lines}; i++)); do
  printf "%d %s\\n" $i {'x' * 60}
  if ((i == 1000)); then : > half; until [ -e go ]; do sleep 0.05; done; fi
done'
""")
    wait_for(lambda: cluster.exists("half"), "it has begun")
    cluster.restart("agent", "n1")
    open(os.path.join(cluster.work, "go"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", "state")
    got = cluster.output(job)
    equal(hashlib.sha256(got.encode()).hexdigest(), hashlib.sha256(source.encode()).hexdigest(), "output")


@case("step.ends_when_srun_is_killed")
def ends_when_srun_is_killed():
    cluster = Cluster()
    job = cluster.sbatch("""srun bash -c 'echo $$ > task; sleep 1000' &
echo $! > srun
wait
[ -e more ] || until [ -e more ]; do sleep 0.1; done
""")
    wait_for(lambda: cluster.exists("task") and cluster.file("task").strip(), "the step runs")
    task = int(cluster.file("task"))
    os.kill(int(cluster.file("srun")), signal.SIGKILL)
    wait_for(lambda: not alive(task), "the task is gone")
    open(os.path.join(cluster.work, "more"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", "state")


@case("step.that_ignores_sigterm_is_killed_after_srun")
def ignores_sigterm():
    cluster = Cluster(conf="ClusterName=c\nSlurmctldHost=h\nKillWait=1\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1\n")
    job = cluster.sbatch("""srun bash -c 'trap "echo asked >> asked" TERM; echo $$ > task; while :; do sleep 0.1; done' &
echo $! > srun
wait
until [ -e more ]; do sleep 0.1; done
""")
    wait_for(lambda: cluster.exists("task") and cluster.file("task").strip(), "the step runs")
    task = int(cluster.file("task"))
    os.kill(int(cluster.file("srun")), signal.SIGKILL)
    wait_for(lambda: not alive(task), "the task is gone")
    check(cluster.exists("asked"), "it was asked first")
    open(os.path.join(cluster.work, "more"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", "state")


@case("step.that_loses_its_supervisor_says_so")
def lost_supervisor():
    cluster = Cluster()
    job = cluster.sbatch("""srun bash -c 'echo $PPID > new; mv new supervisor; sleep 1000'
echo code $?
""")
    wait_for(lambda: cluster.exists("supervisor"), "the step runs")
    os.kill(int(cluster.file("supervisor")), signal.SIGKILL)
    equal(cluster.wait_over(job), "COMPLETED", "state")
    said = cluster.output(job)
    check("code 137" in said and f"StepId={job}.0 lost its supervisor" in said, f"output: {said}")


@case("step.standard_input")
def standard_input():
    cluster = Cluster()
    text = "".join(f"line {i}\n" for i in range(30000))
    result = cluster.run("srun", "-n2", "cat", stdin=text)
    equal(result.code, 0, f"exit code ({result.err})")
    equal(len(result.out), 2 * len(text), "length of what two tasks copied")


@case("step.exit_codes")
def exit_codes():
    cluster = Cluster()
    equal(cluster.run("srun", "sh", "-c", "exit 7").code, 7, "exit 7")
    equal(cluster.run("srun", "sh", "-c", "kill -9 $$").code, 137, "signal 9")
    missing = cluster.run("srun", "no-such-program")
    equal(missing.code, 2, f"no such program ({missing.err})")
    check("no-such-program" in missing.err, f"it does not name the program: {missing.err}")


@case("step.out_of_memory")
def step_out_of_memory():
    need_root()
    cluster = Cluster()
    result = cluster.run("srun", "--mem=64M", "python3", "-c", "x = bytearray(300 << 20); print(len(x))")
    check(result.code != 0, f"it did not fail: {result}")
    check("ut of memory" in result.err.lower() or "oom" in result.err.lower(), f"it does not say why: {result.err}")


@case("step.tasks_know_their_process_and_umask")
def own_process():
    cluster = Cluster(cpus=4)
    check_it = '[ "$SLURM_TASK_PID" = $$ ]'
    result = cluster.run("srun", "-n3", "sh", "-c", f'{check_it} && [ "$SLURM_UMASK" = "$(umask)" ] || env | grep SLURM')
    equal((result.code, result.out), (0, ""), f"of tasks ({result.err})")
    equal(cluster.run("sbatch", "--wait", "--output=/dev/null", "--wrap", check_it).code, 0, "of the script")


@case("step.ranks_go_round_the_nodes")
def cyclic():
    cluster = Cluster(nodes=2, cpus=4)
    out = cluster.run("srun", "-N2", "-n4", "-m", "cyclic", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME").out
    where = dict(line.split() for line in out.splitlines())
    check(where["0"] != where["1"] and where["0"] == where["2"], f"one rank after the other on the next node: {where}")


@case("step.memory_is_named_where_a_child_was_killed")
def step_memory_of_a_child():
    need_root()
    cluster = Cluster()
    result = cluster.run("srun", "--mem=64M", "bash", "-c", 'python3 -c "x = bytearray(300 << 20)"; exit 3')
    equal(result.code, 253, f"out of memory ({result.err})")
    check("oom_kill" in result.err, f"it does not say why: {result.err}")


@case("step.memory_of_its_own_ends_it")
def step_memory():
    need_root()
    cluster = Cluster()
    script = 'srun --mem=64M python3 -c "x = bytearray(200 << 20)"; echo step $?; python3 -c "x = bytearray(200 << 20)"; echo job $?'
    result = cluster.run("sbatch", "--wait", "--mem=500M", "--output=memory.out", "--wrap", script)
    equal(result.code, 0, "the script's last word")
    with open(os.path.join(cluster.work, "memory.out")) as file:
        output = file.read()
    check("step 253" in output and "job 0" in output, f"the step's limit is not its own: {output}")


@case("step.leaves_no_process")
def leaves_no_process():
    cluster = Cluster()
    result = cluster.run("srun", "bash", "-c", "setsid sleep 1234 > /dev/null 2>&1 & echo $!")
    equal(result.code, 0, "exit code")
    wait_for(lambda: not alive(int(result.out)), "what the task left is gone")


@case("job.of_an_ordinary_user")
def of_an_ordinary_user():
    user = ordinary_user()
    cluster = Cluster()
    job = cluster.sbatch("id -un; id -u; echo secret > mine; stat -c %U mine\n", user=user.pw_name)
    equal(cluster.wait_over(job), "COMPLETED", "state")
    equal(cluster.output(job), f"{user.pw_name}\n{user.pw_uid}\n{user.pw_name}\n", "output")
    equal(os.stat(os.path.join(cluster.work, f"slurm-{job}.out")).st_uid, user.pw_uid, "owner of the output")
    step = cluster.run("srun", "id", "-un", user=user.pw_name)
    equal(step.out, f"{user.pw_name}\n", f"who runs a step ({step.err})")


@case("job.work_folder_is_missing")
def work_folder_is_missing():
    cluster = Cluster()
    job = cluster.sbatch("pwd > " + cluster.work + "/where\n", "-D", "/no/such/folder", "-o", "/dev/null")
    equal(cluster.wait_over(job), "COMPLETED", "state")
    equal(cluster.file("where"), "/tmp\n", "where it ran")


@case("job.program_is_missing")
def program_is_missing():
    cluster = Cluster()
    job = cluster.sbatch("#!/no/such/shell\n")
    equal(cluster.wait_over(job), "FAILED", "state")


@case("job.large_environment")
def large_environment():
    cluster = Cluster()
    job = cluster.sbatch("echo ${#BIG}; srun bash -c 'echo ${#BIG}'\n", env={"BIG": "y" * 100_000})
    equal(cluster.wait_over(job), "COMPLETED", f"state; output: {cluster.output(job)}")
    equal(cluster.output(job), "100000\n100000\n", "output")


@case("up.killed_leaves_nothing_after_the_next_start")
def killed_up():
    cluster = Cluster(nodes=2)
    job = cluster.sbatch("sleep 1000\n")
    cluster.wait_state(job, "RUNNING")
    cluster.process.kill()
    cluster.process.wait()
    cluster.process = None
    wait_for(lambda: not processes_with(cluster.dir), "daemons and work have ended")
    cluster.start()
    equal([name for name in cluster.leftovers() if "namespace" in name], [], "left behind by the first")
    job = cluster.sbatch("echo again\n")
    equal(cluster.wait_over(job), "COMPLETED", "state")


@case("up.jobs_outlive_it")
def jobs_outlive_it():
    cluster = Cluster("--shared-network", ephemeral=False)
    job = cluster.sbatch("echo one; until [ -e go ]; do sleep 0.1; done; echo two\n")
    wait_for(lambda: cluster.exists(f"slurm-{job}.out") and "one" in cluster.output(job), "it runs")
    cluster.stop()
    open(os.path.join(cluster.work, "go"), "w").close()
    wait_for(lambda: "two" in cluster.output(job), "it goes on without daemons")
    cluster.start()
    equal(cluster.wait_over(job), "COMPLETED", "state")
    wait_for(lambda: not cluster.run("squeue", "-h").out.strip(), "its node has cleaned up")
    cluster.stop()
    wait_for(lambda: not processes_with(cluster.dir), "nothing is guarded, and nobody guards it")
    cluster.start()


@case("up.networks_of_work_outlive_it")
def networks_outlive_it():
    need_root()
    cluster = Cluster(nodes=2, ephemeral=False)
    served = """python3 - <<'END'
import socket
server = socket.create_server((socket.gethostname(), 0))
open("port", "w").write(str(server.getsockname()[1]) + "\\n")
for _ in range(3):
    connection, _ = server.accept()
    connection.recv(1)
END
"""
    server = cluster.sbatch(served, "-w", "n1")
    client = cluster.sbatch("""call() { exec 3<>/dev/tcp/n1/$(cat port) && echo x >&3 && echo $1 >> reached; }
until [ -s port ]; do sleep 0.05; done
call before
until [ -e down ]; do sleep 0.05; done
call without
""", "-w", "n2")
    wait_for(lambda: cluster.exists("reached"), "they reach each other")
    cluster.stop()
    equal(len(cluster.networks()), 2, "networks while work goes on")
    open(os.path.join(cluster.work, "down"), "w").close()
    wait_for(lambda: "without" in cluster.file("reached"), "they reach each other without daemons")
    cluster.start()
    equal(len(cluster.networks()), 2, "the same networks, not more")
    equal(cluster.wait_over(client), "COMPLETED", "state")
    after = cluster.sbatch("exec 3<>/dev/tcp/n1/$(cat port) && echo x >&3 && echo after >> reached\n", "-w", "n2")
    equal(cluster.wait_over(after), "COMPLETED", f"new work reaches it: {cluster.output(after)}")
    equal(cluster.wait_over(server), "COMPLETED", "state of the server")
    cluster.stop()
    wait_for(lambda: not cluster.networks(), "nothing stays when no work is left")


@case("up.port_of_an_earlier_start_is_forgotten")
def port_is_forgotten():
    cluster = Cluster("--port=0", ephemeral=False)
    port = os.path.join(cluster.state, "controller", "port")
    check(os.path.exists(port), "the port is written down")
    cluster.stop()
    cluster.words.remove("--port=0")
    cluster.start()
    check(not os.path.exists(port), "without a port there is none to read")


@case("up.as_an_ordinary_user")
def as_an_ordinary_user():
    user = ordinary_user()
    cluster = Cluster("--nodes=2", user=user.pw_name)
    job = cluster.sbatch("hostname; id -un\n", "-w", "n2", user=user.pw_name)
    equal(cluster.wait_over(job), "COMPLETED", "state")
    check(user.pw_name in cluster.output(job), f"output: {cluster.output(job)}")


@case("up.with_slurm_conf")
def with_slurm_conf():
    conf = """ClusterName=lab
SlurmctldHost=head
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
KillWait=2
DefMemPerCPU=100
NodeName=g[1-2] CPUs=16 Sockets=2 CoresPerSocket=8 RealMemory=8000 Gres=gpu:h100:4 Feature=ib
NodeName=c1 CPUs=8 RealMemory=4000
PartitionName=gpu Nodes=g[1-2] Default=YES MaxTime=1:00:00
PartitionName=cpu Nodes=c1
"""
    cluster = Cluster(conf=conf)
    info = cluster.run("sinfo", "-h", "-N", "-o", "%N %P %c %m %G %f")
    lines = sorted(info.out.split("\n"))
    check(any(line.startswith("g1 gpu* 16 8000 gpu:h100:4") for line in lines), f"sinfo: {info.out}")
    job = cluster.sbatch("trap '' TERM; echo $SLURM_JOB_GPUS; while :; do sleep 1; done\n", "--gres=gpu:h100:2")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: cluster.output(job).strip(), "it runs")
    cluster.run("scancel", job)
    check(cluster.wait_over(job).startswith("CANCELLED"), "state")


@case("up.leaves_no_control_group")
def leaves_no_control_group():
    need_root()
    cluster = Cluster(nodes=2)
    job = cluster.sbatch("srun true\n")
    equal(cluster.wait_over(job), "COMPLETED", "state")
    before = set(glob.glob("/sys/fs/cgroup/**/phalanx/n[12]-*", recursive=True))
    agents = [cluster.daemon("agent", node) for node in ("n1", "n2")]
    check(all(agents), "the agents run")
    cluster.stop()
    after = set(glob.glob("/sys/fs/cgroup/**/phalanx/n[12]-*", recursive=True))
    check(len(before - after) > 0 or not before, f"control groups are left: {sorted(after)[:3]}")
