"""What the end-to-end cases share: a cluster in a temporary folder, waiting for conditions, running commands.

A case is a function with @case("name"). It makes its Clusters; all that it started is stopped by process id when it is
over, and a case that leaves a process, a network namespace or a control group behind has failed.
"""
import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

BIN = ""
CASES = []
DEADLINE = float(os.environ.get("PHALANX_E2E_SECONDS", "90"))  # for each condition
_clusters = []


class Skip(Exception):
    pass


class Case:
    def __init__(self, name, function):
        self.name, self.function = name, function


def case(name):
    def add(function):
        CASES.append(Case(name, function))
        return function
    return add


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(got, wanted, what="value"):
    check(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")


def wait_for(condition, what, seconds=None):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + (seconds or DEADLINE)
    pause = 0.02
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(pause)  # between two questions; the condition decides
        pause = min(pause * 1.5, 0.25)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes_with(text):
    """Ids of living processes whose command line or environment holds the text."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        pid = int(path.rsplit("/", 1)[1])
        if pid == os.getpid() or not alive(pid):
            continue
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                with open(f"{path}/{name}", "rb") as file:
                    if text.encode() in file.read():
                        found.append(pid)
                        break
    return found


def bin_for(user, folder):
    """The build's bin folder, or a copy in `folder` where that user cannot reach it."""
    if user is None or subprocess.run(["test", "-x", os.path.join(BIN, "phalanx")], user=user).returncode == 0:
        return BIN
    copy = os.path.join(folder, "bin")
    shutil.copytree(BIN, copy, symlinks=True)
    return copy


def drop_to(user):
    """Options of subprocess for a process of that user: its group and no others, as after a login."""
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    if os.geteuid() != 0 or entry.pw_uid == os.geteuid():
        return {}
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"code {self.code}, out {self.out!r}, err {self.err!r}"


class Cluster:
    """`phalanx up --ephemeral` in a folder of its own, ready when the constructor returns. A daemon that a case kills
    stays away until the case starts it, unless it asks for `keep_alive`."""

    def __init__(self, *options, nodes=None, gpus=None, cpus=None, ephemeral=True, emulate=True, conf=None, gres=None,
                 user=None, bin=None, env=None, keep_alive=False):
        self.dir = tempfile.mkdtemp(prefix="phx-e2e-")
        os.chmod(self.dir, 0o777)
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work, 0o777)
        os.chmod(self.work, 0o777)
        self.state = os.path.join(self.dir, "state")
        self.run_dir = os.path.join(self.dir, "run")
        self.socket = os.path.join(self.run_dir, "controller.sock")
        self.log_path = os.path.join(self.dir, "log")
        self.bin = bin or bin_for(user, self.dir)
        self.env = {**os.environ, **(env or {})}  # of the daemons
        self.words = [os.path.join(self.bin, "phalanx"), "up", "--state", self.state, "--run", self.run_dir]
        if ephemeral:
            self.words.append("--ephemeral")
        if not keep_alive:
            self.words.append("--no-restart")
        if conf is not None:
            self.config = os.path.join(self.dir, "etc")
            os.mkdir(self.config)
            for name, text in (("slurm.conf", conf), ("gres.conf", gres)):
                if text is not None:
                    with open(os.path.join(self.config, name), "w") as file:
                        file.write(text)
            self.words += ["--config", self.config, "--emulate"]
        elif emulate:
            self.words += ["--emulate", "--nodes", str(nodes or 1), "--gpus-per-node", str(gpus or 0)]
        if cpus:
            self.words += ["--cpus-per-node", str(cpus)]
        self.words += list(options)
        self.user = user
        self.process = None
        _clusters.append(self)
        self.start()

    # --- daemons

    def start(self):
        log = open(self.log_path, "a")
        self.log_begin = log.tell()
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                                        start_new_session=True, **drop_to(self.user))
        log.close()
        wait_for(self.ready, "the cluster is ready")

    def ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"phalanx up ended with {self.process.returncode}")
        return "phalanx: ready" in self.log()

    def log(self):
        """What the daemons have said since the last start."""
        with open(self.log_path) as file:
            file.seek(self.log_begin)
            return file.read()

    def daemon(self, kind, node=None):
        """The process id of `phalanx controller` or of an agent."""
        for pid in processes_with(f"phalanx\0{kind}\0"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline") as file:
                    words = file.read().split("\0")
                ours = any(self.dir in word for word in words)
                if ours and words[1] == kind and (node is None or f"--name={node}" in words):
                    return pid
        return None

    def restart(self, kind, node=None, with_signal=signal.SIGKILL):
        """Kills a daemon and starts it again with the same arguments."""
        self.start_daemon(self.kill_daemon(kind, node, with_signal))

    def kill_daemon(self, kind, node=None, with_signal=signal.SIGKILL):
        """Returns the words that start it again."""
        pid = self.daemon(kind, node)
        check(pid, f"no {kind} runs")
        with open(f"/proc/{pid}/cmdline") as file:
            words = file.read().split("\0")[:-1]
        os.kill(pid, with_signal)
        wait_for(lambda: self.is_gone(pid), f"the {kind} ends")
        return words

    def is_gone(self, pid):
        """Reaped: a process that is only dead may have threads that still hold its locks."""
        for process in getattr(self, "others", []):
            process.poll()
        return not os.path.exists(f"/proc/{pid}")

    def start_daemon(self, words, env=None):
        words = [word for word in words if not word.startswith("--parent=")]
        log = open(self.log_path, "a")
        process = subprocess.Popen([os.path.join(self.bin, "phalanx"), *words[1:]], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, env={**self.env, **(env or {})}, start_new_session=True)
        log.close()
        self.others = getattr(self, "others", []) + [process]
        return process

    def stop(self):
        # Agents before what they depend on, as `phalanx up` does itself.
        others = getattr(self, "others", [])
        for process in sorted(others, key=lambda p: "controller" in p.args):
            self.stop_one(process)
        self.others = []
        if self.process:
            self.stop_one(self.process)
            self.process = None

    @staticmethod
    def stop_one(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def leftovers(self):
        left = [f"process {pid}" for pid in processes_with(self.dir)]
        return left + [f"namespace {name}" for name in self.networks(others="") if not alive(name.split("-")[1])]

    def networks(self, others=None):
        """Network namespaces of this cluster, and those whose bridge names `others` ("": nobody)."""
        found = []
        for path in glob.glob("/run/netns/phx-*"):
            owner = ""
            with contextlib.suppress(OSError):
                with open(f"/sys/class/net/phx{path.split('-')[1]}/ifalias") as file:
                    owner = file.read().strip()
            if owner in (others, self.run_dir):
                found.append(os.path.basename(path))
        return found

    # --- commands

    def environment(self):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SRUN", "PHALANX"))}
        keep["PATH"] = os.path.join(self.bin, "slurm") + ":" + self.bin + ":" + os.environ.get("PATH", "/usr/bin:/bin")
        keep["PHALANX_SOCKET"] = self.socket
        return keep

    def run(self, *words, stdin="", user=None, env=None, timeout=DEADLINE, cwd=None, umask=-1):
        return Result(subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout, umask=umask,
                                     cwd=cwd or self.work, env={**self.environment(), **(env or {})}, **drop_to(user)))

    def background(self, *words, **options):
        return subprocess.Popen(words, cwd=self.work, env=self.environment(), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options)

    def sbatch(self, script, *options, user=None, env=None, umask=-1):
        """Submits a script and returns the job's number."""
        text = script if script.startswith("#!") else "#!/bin/bash\n" + script
        result = self.run("sbatch", "--parsable", *options, stdin=text, user=user, env=env, umask=umask)
        check(result.code == 0, f"sbatch: {result}")
        return result.out.strip().split(";")[0]

    def job_state(self, job):
        result = self.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T")
        if result.code == 0 and result.out.strip():
            return result.out.split()[0]
        return self.run("sacct", "-X", "-n", "-P", "-j", str(job), "--format=State").out.strip().split("\n")[0]

    def wait_state(self, job, *states):
        return wait_for(lambda: (s := self.job_state(job)) and s.split()[0] in states and s,
                        f"job {job} is {' or '.join(states)}")

    def wait_over(self, job):
        return self.wait_state(job, "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")

    def file(self, name):
        with open(os.path.join(self.work, name), errors="replace") as file:
            return file.read()

    def output(self, job):
        return self.file(f"slurm-{job}.out")

    def exists(self, name):
        return os.path.exists(os.path.join(self.work, name))


def ordinary_user():
    """A user without rights, to submit as."""
    need_root()
    for name in ("nobody", "daemon"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Skip("there is no ordinary user")


def stop_everything(show=False):
    while _clusters:
        cluster = _clusters.pop()
        cluster.stop()
        if show:
            for line in cluster.log().splitlines()[-40:]:
                print(f"  > {line}", flush=True)
        for pid in processes_with(cluster.dir):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(cluster.dir, ignore_errors=True)
