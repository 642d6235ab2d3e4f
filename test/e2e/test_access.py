"""Another user's job. Whatever an ordinary user tries is refused, says so and changes nothing: by the commands, by
files and by the raw socket, where everything but the kernel's word about the caller can be forged."""
import json
import os
import pwd
import stat

from harness import Cluster, Skip, case, check, equal, need_root, wait_for

# Sends requests over a Unix socket: standard input has a list of [method, path, headers, body]; the answers are printed
# as a list of [status, text].
ASK = r"""
import http.client, json, socket, sys
answers = []
for method, path, headers, body in json.load(sys.stdin):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(sys.argv[1])
    connection.request(method, path, body=body or None, headers=headers)
    answer = connection.getresponse()
    answers.append([answer.status, "" if answer.status == 101 else answer.read().decode(errors="replace")])
    connection.sock.close()
print(json.dumps(answers))
"""
WEBSOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
SECRET = "the-owners-secret-7c1f"


def two_users():
    need_root()
    found = []
    for name in ("daemon", "nobody", "bin", "sys"):
        try:
            found.append(pwd.getpwnam(name))
        except KeyError:
            continue
    if len(found) < 2:
        raise Skip("there are no two ordinary users")
    return found[0], found[1]


class Scene:
    """A job of the owner runs, and another is held; the other user would like to change that."""

    def __init__(self):
        self.owner, self.other = two_users()
        self.cluster = Cluster(cpus=8)
        self.log = os.path.join(self.cluster.work, "running.out")
        script = f"echo {SECRET}; echo $$ > pid; until [ -e go ]; do sleep 0.05; done\n"
        env = {"OWNERS_PASSWORD": SECRET}
        self.running = self.cluster.sbatch(script, "-n2", "-J", "precious", "-o", self.log, user=self.owner.pw_name,
                                           umask=0o077, env=env)
        self.held = self.cluster.sbatch(script, "-H", "-J", "precious", user=self.owner.pw_name, umask=0o077, env=env)
        wait_for(lambda: self.cluster.exists("pid") and self.cluster.file("pid").strip(), "the job runs")
        self.before = self.picture()

    def picture(self):
        """What must not change, as root sees it."""
        rows = self.cluster.run("squeue", "-h", "-t", "all", "-o", "%i %u %T %r %p %l %N %j").out
        node = self.cluster.run("sinfo", "-h", "-N", "-o", "%N %T %E").out
        steps = self.cluster.run("squeue", "-h", "-s", "-o", "%i").out
        return rows, node, steps

    def unchanged(self, what):
        equal(self.picture(), self.before, f"after {what}")

    def run(self, *words, **options):
        return self.cluster.run(*words, user=self.other.pw_name, **options)

    def ask_all(self, requests, socket=None, user=None):
        """Status and text of each answer to the other user."""
        done = self.cluster.run("/usr/bin/python3", "-c", ASK, socket or self.cluster.socket, stdin=json.dumps(requests),
                                user=user or self.other.pw_name)
        check(done.code == 0, f"{requests}: {done}")
        return json.loads(done.out)

    def ask(self, path, body="", headers=None, method="POST", socket=None, user=None):
        text = body if isinstance(body, str) else json.dumps(body)
        return self.ask_all([[method, path, headers or {}, text]], socket, user)[0]

    def finish(self):
        """The owner may do all of it."""
        mine = {"user": self.owner.pw_name}
        equal(self.cluster.run("srun", f"--jobid={self.running}", "--overlap", "-n1", "id", "-un", **mine).out,
              f"{self.owner.pw_name}\n", "the owner's own step")
        equal(self.cluster.run("scontrol", "update", f"JobId={self.held}", "TimeLimit=5", **mine).code, 0, "update")
        equal(self.cluster.run("scontrol", "release", self.held, **mine).code, 0, "release")
        open(os.path.join(self.cluster.work, "go"), "w").close()
        for job in (self.running, self.held):
            equal(self.cluster.wait_over(job), "COMPLETED", f"state of {job}")


@case("access.commands_on_another_users_job")
def commands():
    scene = Scene()
    running, held = scene.running, scene.held
    owner = scene.owner
    forged = {"SLURM_JOB_ID": running, "SLURM_JOBID": running, "SLURM_JOB_UID": str(owner.pw_uid),
              "SLURM_JOB_USER": owner.pw_name, "USER": owner.pw_name, "LOGNAME": owner.pw_name}
    table = [
        ["scancel", running],
        ["scancel", held],
        ["scancel", "-s", "KILL", running],
        ["scancel", "--batch", "-s", "TERM", running],
        ["scancel", f"{running}.batch"],
        ["scontrol", "hold", held],
        ["scontrol", "release", held],
        ["scontrol", "uhold", held],
        ["scontrol", "requeue", running],
        ["scontrol", "requeuehold", running],
        ["scontrol", "update", f"JobId={running}", "TimeLimit=1"],
        ["scontrol", "update", f"JobId={held}", "TimeLimit=1"],
        ["scontrol", "update", f"JobId={held}", "Priority=0"],
        ["scontrol", "update", f"JobId={held}", "Nice=100"],
        ["scontrol", "suspend", running],
        ["scontrol", "write", "batch_script", running, "-"],
        ["scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=mine"],
        ["scontrol", "update", "PartitionName=main", "State=DOWN"],
        ["scontrol", "reconfigure"],
        ["scontrol", "shutdown"],
        ["srun", f"--jobid={running}", "--overlap", "-n1", "id"],
        ["srun", f"--jobid={running}", "--overlap", "--pty", "-n1", "id"],
        ["sattach", f"{running}.0"],
        ["sbatch", f"--uid={owner.pw_uid}", "--wrap", "id"],
        ["phalanx", "token", f"--uid={owner.pw_uid}"],
        ["phalanx", "token", "--uid=0"],
        ["phalanx", "token", "--agent"],
        ["kill", "-9", scene.cluster.file("pid").strip()],
    ]
    for words in table:
        if words[0] == "sattach":  # not there yet: then nobody can use it either
            if not os.path.exists(os.path.join(scene.cluster.bin, "slurm", "sattach")):
                continue
        for env in ({}, forged):
            done = scene.run(*words, env=env)
            check(done.code != 0, f"{words} with {env}: {done}")
            check(done.err.strip(), f"{words} says nothing")
            check(SECRET not in done.out + done.err, f"{words} tells the secret")
            scene.unchanged(words)
    step = scene.run("srun", "-n1", "id", "-un", env=forged)  # inside the job, or so the environment says
    check(step.code != 0 and "denied" in step.err, f"srun in a forged environment: {step}")
    # Filters choose among one's own.
    for words in (["scancel", "-u", owner.pw_name], ["scancel", "-n", "precious"], ["scancel", "--me"]):
        scene.run(*words)
        scene.unchanged(words)
    denied = scene.run("scancel", running)
    check("Access/permission denied" in denied.err, f"scancel in Slurm's words: {denied}")
    scene.finish()


@case("access.files_of_another_users_job")
def files():
    scene = Scene()
    cluster = scene.cluster
    equal(stat.S_IMODE(os.stat(scene.log).st_mode), 0o600, "mode of the output: the owner's umask")
    equal(os.stat(scene.log).st_uid, scene.owner.pw_uid, "owner of the output")
    with open(os.path.join("/proc", cluster.file("pid").strip(), "environ"), "rb") as file:
        check(SECRET.encode() in file.read(), "the secret is in the job's environment")
    places = [scene.log, os.path.join("/proc", cluster.file("pid").strip(), "environ")]
    for top in (cluster.state, cluster.run_dir):
        for folder, _, names in os.walk(top):
            places += [os.path.join(folder, name) for name in names]
    secret = 0
    for path in places:
        if not os.path.exists(path) or stat.S_ISSOCK(os.stat(path).st_mode):
            continue
        with open(path, "rb") as file:
            secret += SECRET.encode() in file.read()
        seen = scene.run("cat", path)
        check(SECRET not in seen.out, f"{path} tells the secret")
        check(seen.code == 0 or "denied" in seen.err, f"{path}: {seen}")
        touched = scene.run("sh", "-c", f"echo x >> '{path}'")
        check(touched.code != 0, f"{path} can be written")
    check(secret >= 4, f"the secret is in {secret} files: output, environment, script, journal")
    for name in ("token.key", "join.token", "journal.db"):
        path = os.path.join(cluster.state, "controller", name)
        check(os.path.exists(path), f"{path} is not there")
        check(scene.run("cat", path).code != 0, f"{path} can be read")
    sockets = [path for path in places if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode)]
    spawners = [path for path in sockets if "/spawn/" in path]
    check(spawners, f"the sockets of supervisors are among {sockets}")
    for sock in spawners:
        status = scene.run("/usr/bin/python3", "-c", "import socket, sys; "
                           "socket.socket(socket.AF_UNIX).connect(sys.argv[1])", sock)
        check("PermissionError" in status.err, f"{sock} can be reached: {status}")
    scene.unchanged("reading")
    scene.finish()


@case("access.forged_identity_on_the_raw_socket")
def forged_identity():
    scene = Scene()
    cluster, owner, other, running = scene.cluster, scene.owner, scene.other, scene.running
    who = {"uid": owner.pw_uid, "user": owner.pw_name, "gid": owner.pw_gid, "kind": "unix_user", "operator_": True}
    own_token = scene.run("phalanx", "token").out.strip()
    check(own_token, "one's own token")
    claims = {"": {}}
    claims["names"] = {"X-Remote-User": owner.pw_name, "X-Remote-Group": "root", "X-Forwarded-User": "root",
                       "Phalanx-User": "root", "Phalanx-Uid": "0", "X-SLURM-USER-NAME": owner.pw_name}
    claims["impersonate"] = {"Impersonate-User": owner.pw_name, "Impersonate-Uid": str(owner.pw_uid)}
    claims["own token"] = {"Authorization": f"Bearer {own_token}"}
    claims["on behalf"] = {"On-Behalf-Of": str(owner.pw_uid)}
    claims["own token on behalf"] = {"Authorization": f"Bearer {own_token}", "On-Behalf-Of": str(owner.pw_uid)}
    claims["no token"] = {"Authorization": "Bearer x.y", "On-Behalf-Of": str(owner.pw_uid)}
    claims["other signature"] = {"Authorization": f"Bearer {own_token[:-4]}AAAA"}
    requests = [
        ("/slurm/v1/run", {"tool": "scancel", "args": [running]}),
        ("/slurm/v1/run", {"tool": "scontrol", "args": ["hold", scene.held]}),
        ("/slurm/v1/run", {"tool": "scontrol", "args": ["update", f"JobId={running}", "TimeLimit=1"]}),
        ("/slurm/v1/step", {"job": running, "tokens": [], "program": "id", "key": "k"}),
        ("/slurm/v1/finish", {"job": running, "exit_code": 0}),
        ("/slurm/v1/step_over", {"job": running, "step": 0, "exit_code": 0}),
        ("/v1/token", {"uid": owner.pw_uid}),
        ("/v1/token", {"uid": 0}),
        ("/v1/token", {"agent": True}),
        ("/agent/v1/step-key", ""),
    ]
    bodies = []
    for path, body in requests:
        forged = [{**body, "who": who}, {**body, **who}] if body and path != "/v1/token" else []
        bodies += [(path, variant) for variant in [body] + forged]
    for name, headers in claims.items():
        answers = scene.ask_all([["POST", path, headers, json.dumps(body) if body else ""] for path, body in bodies])
        for (path, body), (status, answer) in zip(bodies, answers):
            said = json.loads(answer)
            check(status >= 400 or said.get("code", 0) != 0, f"{path} {body} with {name}: {status} {answer}")
            check(said.get("error") or said.get("err") or said.get("message"), f"{path} with {name} says nothing")
            check("token" not in said, f"{path} with {name} gives a token")
        status, answer = scene.ask("/agent/v1", "", {**headers, **WEBSOCKET}, method="GET")
        check(status in (401, 403), f"the agents' door with {name}: {status} {answer}")
        scene.unchanged(f"requests with {name}")
    scene.finish()


def submission(**more):
    return {"tool": "Sbatch", "script": "#!/bin/sh\nid -u\n", "script_name": "sbatch", "work_dir": "/tmp", **more}


@case("access.submitting_as_somebody_else")
def submitting():
    scene = Scene()
    cluster, owner, other = scene.cluster, scene.owner, scene.other
    who = {"uid": owner.pw_uid, "user": owner.pw_name, "gid": owner.pw_gid}
    for extra in ({"who": who}, who, {"owner": who}, {"spec": {"owner": who}}):
        status, answer = scene.ask("/slurm/v1/submit", submission(**extra))
        if status != 200:
            continue
        job = json.loads(answer)["job"]
        user = cluster.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%u").out.strip()
        equal(user, other.pw_name, f"whose job it is, with {extra}")
    # A key that somebody else has used neither gives his job nor takes it away.
    status, answer = scene.ask("/slurm/v1/submit", submission(key="the same key"), user=owner.pw_name)
    equal(status, 200, answer)
    his = json.loads(answer)["job"]
    status, answer = scene.ask("/slurm/v1/submit", submission(key="the same key"))
    check(status != 200 or json.loads(answer)["job"] != his, f"his job with his key: {answer}")
    scene.finish()


@case("access.steps_of_another_users_job")
def steps():
    """The agent's own socket: only the owner may use the controller's grant, and nobody may change it."""
    scene = Scene()
    cluster, owner = scene.cluster, scene.owner
    tokens = [{"text": text} for text in ("--overlap", "-n1")]
    status, answer = scene.ask("/slurm/v1/step", {"job": scene.running, "program": "id", "key": "k1", "tokens": tokens},
                               user=owner.pw_name)
    equal(status, 200, answer)
    grant = json.loads(answer)["nodes"][0]
    socket = grant["agent_url"].removeprefix("unix:")
    text, signature = grant["token"].rsplit(".", 1)
    tokens = {"none": None, "nonsense": "x.y", "his": grant["token"], "another signature": f"{text}.{signature[::-1]}",
              "changed": f"{text[:-2]}.{signature}", "own": scene.run("phalanx", "token").out.strip()}
    for name, token in tokens.items():
        headers = {**WEBSOCKET, **({"Authorization": f"Bearer {token}"} if token else {})}
        status, answer = scene.ask("/step/v1", "", headers, method="GET", socket=socket)
        equal(status, 403, f"with {name}: {answer}")
    status, _ = scene.ask("/step/v1", "", {**WEBSOCKET, "Authorization": f"Bearer {grant['token']}"}, method="GET",
                          socket=socket, user=owner.pw_name)
    equal(status, 101, "the owner with his grant")
    open(os.path.join(cluster.work, "go"), "w").close()
    cluster.run("scontrol", "release", scene.held)
    equal(cluster.wait_over(scene.running), "COMPLETED", "state")
