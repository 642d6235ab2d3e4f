"""The controller killed while jobs are submitted. The witnesses are outside: the client syncs every acknowledged number
to a file of its own, and every job appends its number and restart count to another."""
import collections
import os
import random
import threading

from harness import Cluster, case, check, equal, wait_for

JOBS = 200
CLIENTS = 4


def submit_all(cluster, acknowledged, lock, count):
    for _ in range(count):
        done = cluster.run("sbatch", "--parsable", "script.sh")
        while done.code != 0:  # refused or nobody there: this one was not acknowledged; try another
            done = cluster.run("sbatch", "--parsable", "script.sh")
        with lock, open(acknowledged, "a") as file:
            file.write(done.out.strip() + "\n")
            file.flush()
            os.fsync(file.fileno())


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().split("\n")[:-1]


@case("crash.every_acknowledged_job_runs_once")
def every_acknowledged_job_runs_once():
    cluster = Cluster(nodes=2, gpus=0, cpus=8)
    witness = os.path.join(cluster.work, "ran")
    with open(os.path.join(cluster.work, "script.sh"), "w") as file:
        file.write(f"#!/bin/bash\n#SBATCH -o /dev/null\necho $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} >> {witness}\n")
    acknowledged = os.path.join(cluster.dir, "acknowledged")
    lock = threading.Lock()
    clients = [threading.Thread(target=submit_all, args=(cluster, acknowledged, lock, JOBS // CLIENTS))
               for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    rng = random.Random(11)
    for _ in range(5):
        goal = len(lines(acknowledged)) + rng.randrange(10, 35)
        wait_for(lambda: len(lines(acknowledged)) >= min(goal, JOBS), "submissions go on", 120)
        cluster.restart("controller")
    for client in clients:
        client.join()
    numbers = lines(acknowledged)
    equal(len(numbers), JOBS, "acknowledged")
    equal(len(set(numbers)), JOBS, "different numbers")
    wait_for(lambda: set(numbers) <= {line.split()[0] for line in lines(witness)}, "every acknowledged job ran", 300)
    wait_for(lambda: not cluster.run("squeue", "-h").out.strip(), "nothing waits or runs", 120)
    ran = collections.Counter(line.split()[0] for line in lines(witness))
    twice = [number for number, times in ran.items() if times > 1]
    check(not twice, f"ran twice: {twice}")
