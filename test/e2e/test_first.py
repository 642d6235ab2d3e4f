"""One job from sbatch to its output, and what becomes of it when things go wrong."""
import os
import signal

from harness import Cluster, alive, case, check, equal, need_root, wait_for


@case("up.hello")
def hello():
    cluster = Cluster()
    job = cluster.sbatch("echo hello from $SLURMD_NODENAME\n")
    equal(cluster.wait_over(job), "COMPLETED", "state")
    equal(cluster.output(job), "hello from n1\n", "output")


@case("up.leaves_nothing")
def leaves_nothing():
    cluster = Cluster(nodes=2, gpus=2)
    job = cluster.sbatch("trap '' TERM; sleep 1000\n")
    cluster.wait_state(job, "RUNNING")
    cluster.stop()
    equal(cluster.leftovers(), [], "left behind")
    check(not os.path.exists(cluster.state), "the state folder is left")
    check(not os.path.exists(cluster.run_dir), "the run folder is left")


@case("up.state_is_held_once")
def state_is_held_once():
    cluster = Cluster()
    second = cluster.run(*cluster.words)
    equal(second.code, 1, "exit code of the second")
    check(str(cluster.process.pid) in second.err, f"it does not say who holds it: {second.err}")


@case("up.nodes_reach_each_other")
def nodes_reach_each_other():
    need_root()
    cluster = Cluster(nodes=3)
    job = cluster.sbatch("""python3 - <<'END'
import socket
server = socket.create_server((socket.gethostname(), 0))
print(server.getsockname()[1], flush=True)
for _ in range(2):
    connection, _ = server.accept()
    connection.recv(1)
END
""", "-w", "n1")
    port = wait_for(lambda: cluster.exists(f"slurm-{job}.out") and cluster.output(job).strip(), "the server listens")
    for node in ("n2", "n3"):
        other = cluster.sbatch(f"exec 3<>/dev/tcp/n1/{port} && echo x >&3 && echo reached\n", "-w", node)
        equal(cluster.wait_over(other), "COMPLETED", f"state on {node}: {cluster.output(other)}")
    equal(cluster.wait_over(job), "COMPLETED", "state of the server")


@case("job.cancel_kills_everything")
def cancel_kills_everything():
    cluster = Cluster(conf="ClusterName=c\nSlurmctldHost=h\nKillWait=2\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1\n")
    job = cluster.sbatch("""trap '' TERM
setsid bash -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' &
echo $$ > parent
while :; do sleep 1; done
""")
    wait_for(lambda: cluster.exists("child") and cluster.exists("parent") and cluster.file("child").strip(), "it runs")
    pids = [int(cluster.file(name)) for name in ("parent", "child")]
    equal(cluster.run("scancel", job).code, 0, "exit code of scancel")
    check(cluster.wait_over(job).startswith("CANCELLED"), "state")
    wait_for(lambda: not any(alive(pid) for pid in pids), "both are gone")
    check(f"slurmstepd: error: *** JOB {job} ON n1 CANCELLED AT 20" in cluster.output(job), "its output says so")


@case("job.out_of_memory")
def out_of_memory():
    need_root()
    cluster = Cluster()
    job = cluster.sbatch("exec python3 -c \"x = bytearray(300 << 20); print(len(x))\"\n", "--mem=64M")
    equal(cluster.wait_over(job), "OUT_OF_MEMORY", "state")
    check(f"Detected 1 oom_kill event in StepId={job}.batch" in cluster.output(job), "its output says so")


@case("job.output_folder_is_missing")
def output_folder_is_missing():
    cluster = Cluster()
    job = cluster.sbatch("echo never\n", "-o", "logs/%j.out")
    equal(cluster.wait_over(job), "FAILED", "state")
    why = cluster.run("phalanx", "why", job, env={"PATH": os.path.dirname(cluster.words[0]) + ":/usr/bin:/bin"})
    check(f"logs/{job}.out" in why.out, f"the reason does not name the file: {why}")


@case("agent.killed_under_a_job")
def agent_killed_under_a_job():
    cluster = Cluster()
    job = cluster.sbatch("echo one; until [ -e go ]; do sleep 0.1; done; echo two\n")
    wait_for(lambda: cluster.exists(f"slurm-{job}.out") and "one" in cluster.output(job), "it runs")
    cluster.restart("agent", "n1", signal.SIGKILL)
    open(os.path.join(cluster.work, "go"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", "state")
    equal(cluster.output(job), "one\ntwo\n", "output")


@case("controller.killed_under_a_job")
def controller_killed_under_a_job():
    cluster = Cluster()
    job = cluster.sbatch("echo one; until [ -e go ]; do sleep 0.1; done; echo two\n")
    wait_for(lambda: cluster.exists(f"slurm-{job}.out") and "one" in cluster.output(job), "it runs")
    cluster.restart("controller", with_signal=signal.SIGKILL)
    open(os.path.join(cluster.work, "go"), "w").close()
    equal(cluster.wait_over(job), "COMPLETED", "state")
    equal(cluster.output(job), "one\ntwo\n", "output")


@case("step.gang")
def gang():
    cluster = Cluster(nodes=4, gpus=4, cpus=8)
    job = cluster.sbatch("srun bash -c 'echo $SLURM_PROCID $(hostname) $SLURM_LOCALID $CUDA_VISIBLE_DEVICES'\n",
                         "-N4", "--ntasks-per-node=4", "--gpus-per-node=4")
    equal(cluster.wait_over(job), "COMPLETED", f"state; output: {cluster.output(job)}")
    lines = sorted(tuple(line.split()) for line in cluster.output(job).splitlines())
    equal(len(lines), 16, f"lines of {lines}")
    equal(sorted(int(line[0]) for line in lines), list(range(16)), "ranks")
    equal({line[1] for line in lines}, {"n1", "n2", "n3", "n4"}, "hosts")
