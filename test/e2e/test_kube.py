"""kubectl, as people have it, against a live cluster: objects, Jobs, watches, refusals.

Each case runs with every kubectl that tools/kubectl.sh can fetch: 1.31 sends JSON, 1.35 protobuf and asks for WatchList.
"""
import http.client
import json
import os
import socket
import subprocess

import harness
from harness import Cluster, Skip, case, check, equal, need_root, wait_for

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
VERSIONS = ("31", "35")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=harness.DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Kubectl:
    """kubectl of one version, as one user."""

    def __init__(self, cluster, version, uid=None):
        found = subprocess.run([os.path.join(ROOT, "tools/kubectl.sh"), version], capture_output=True, text=True)
        if found.returncode != 0:
            raise Skip(found.stderr.strip())
        self.program = found.stdout.strip()
        self.cluster, self.version = cluster, version
        connection = UnixConnection(cluster.socket)
        connection.request("POST", "/v1/token", json.dumps({} if uid is None else {"uid": uid}))
        self.token = json.loads(connection.getresponse().read())["token"]
        self.home = os.path.join(cluster.dir, f"home-{version}-{uid}")
        os.makedirs(self.home, exist_ok=True)

    def port(self):
        with open(os.path.join(self.cluster.state, "controller/port")) as file:
            return int(file.read())

    def command(self, *words):
        return [self.program, f"--server=http://bearer:{self.token}@127.0.0.1:{self.port()}", *words]

    def environment(self):
        return {"HOME": self.home, "KUBECONFIG": ""}

    def run(self, *words, stdin=""):
        return self.cluster.run(*self.command(*words), stdin=stdin, env=self.environment())

    def __call__(self, *words, stdin=""):
        result = self.run(*words, stdin=stdin)
        check(result.code == 0, f"kubectl 1.{self.version} {' '.join(words)}: {result}")
        return result.out

    def refused(self, text, *words, stdin=""):
        result = self.run(*words, stdin=stdin)
        check(result.code != 0, f"kubectl {' '.join(words)} is not refused: {result}")
        check(text in result.err, f"kubectl {' '.join(words)} does not say {text!r}: {result}")

    def object(self, *words):
        return json.loads(self("get", *words, "-o", "json"))


class Watch:
    """A raw watch of ConfigMaps, as client libraries keep it."""

    def __init__(self, k, version):
        path = f"/api/v1/namespaces/default/configmaps?watch=true&resourceVersion={version}"
        self.connection = http.client.HTTPConnection("127.0.0.1", k.port(), timeout=harness.DEADLINE)
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + k.token})
        self.answer = self.connection.getresponse()

    def expect(self, kind, name):
        event = json.loads(self.answer.readline())
        equal((event["type"], event["object"]["metadata"]["name"]), (kind, name), "event")
        return event["object"]["metadata"]["resourceVersion"]


def each_kubectl(name):
    """A case that gets a cluster of two emulated GPUs, and runs once for each version."""
    def add(function):
        for version in VERSIONS:
            def run(version=version):
                cluster = Cluster("--port=0", nodes=1, gpus=2)
                function(Kubectl(cluster, version))
            case(f"kube.{name}.1_{version}")(run)
        return function
    return add


def config_map(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "test"}},
                       "data": data})


def job(k, name, command, spec=None, container=None, pod=None):
    return json.dumps({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {**(spec or {}), "template": {"spec": {
            "restartPolicy": "Never", **(pod or {}),
            "containers": [{"name": "main", "image": "host", "command": ["/bin/sh", "-c", command],
                            "workingDir": k.cluster.work, **(container or {})}]}}}})


def gpus(count):
    return {"resources": {"limits": {"nvidia.com/gpu": count, "memory": "64Mi"}}}


@each_kubectl("discovery")
def discovery(k):
    resources = k("api-resources")
    for name in ("configmaps", "jobs", "pods", "namespaces", "events"):
        check(name in resources, f"no {name} in {resources}")
    check("Server Version: v1." in k("version"), "no server version")
    check("default" in k("get", "namespaces"), "the namespace default does not exist")
    k.refused('no matches for kind "Deployment"', "create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}))


@each_kubectl("kubeconfig")
def kubeconfig(k):
    made = k.cluster.run(os.path.join(harness.BIN, "phalanx"), "kubeconfig")
    equal(made.code, 0, f"exit code of phalanx kubeconfig: {made}")
    path = os.path.join(k.cluster.work, "config")
    with open(path, "w") as file:
        file.write(made.out)
    words = [k.program, "--kubeconfig", path, "create", "configmap", "made", "--from-literal=a=1"]
    result = k.cluster.run(*words, env={"HOME": k.home})
    equal(result.code, 0, f"exit code of kubectl with it: {result}")


@each_kubectl("config_maps")
def config_maps(k):
    k("create", "configmap", "made", "--from-literal=mode=fast", "--from-literal=empty=")
    equal(k.object("cm", "made")["data"], {"mode": "fast", "empty": ""}, "data")
    k.refused("already exists", "create", "configmap", "made", "--from-literal=a=1")
    check("created" in k("apply", "-f", "-", stdin=config_map("settings", mode="fast")), "apply")
    check("unchanged" in k("apply", "-f", "-", stdin=config_map("settings", mode="fast")), "the same again")
    check("configured" in k("apply", "-f", "-", stdin=config_map("settings", mode="slow")), "changed")
    check("slow" in k("describe", "cm", "settings"), "describe")
    k("patch", "cm", "settings", "--type=json", "-p", '[{"op":"add","path":"/data/extra","value":"1"}]')
    k("patch", "cm", "settings", "--type=merge", "-p", '{"data":{"mode":null}}')
    equal(k.object("cm", "settings")["data"], {"extra": "1"}, "data after patches")
    k("label", "cm", "settings", "tier=gold")
    check("settings" in k("get", "cm", "-l", "tier=gold"), "selected by label")
    check("settings" not in k("get", "cm", "-l", "tier!=gold"), "not selected")
    old = config_map("settings", a="1").replace('"name"', '"resourceVersion": "1", "name"', 1)
    k.refused("Conflict", "replace", "-f", "-", stdin=old)
    k("delete", "cm", "made", "settings")
    k.refused("NotFound", "get", "cm", "settings")


@each_kubectl("refusals")
def refusals(k):
    def bad(text, *rest, **parts):
        k.refused(text, "create", "-f", "-", stdin=job(k, "bad", "true", *rest, **parts))
    bad('use image "host"', container={"image": "nginx"})
    bad('unknown field "spec.foo"', {"foo": 1})
    bad("volumes: is not supported", pod={"volumes": [{"name": "x", "emptyDir": {}}]})
    bad("limits.nvidia.com/gpu", container=gpus("$GPU_PER_NODE"))
    bad("spec.completions", {"parallelism": 4})
    bad("gpu", container=gpus(64))  # more than any node has
    k.refused("without --server-side", "apply", "--server-side", "-f", "-", stdin=config_map("a"))
    k.refused('"nowhere" not found', "-n", "nowhere", "create", "configmap", "a", "--from-literal=a=1")


@each_kubectl("users")
def users(k):
    need_root()
    anna, bob = Kubectl(k.cluster, k.version, 1001), Kubectl(k.cluster, k.version, 1002)
    anna("create", "configmap", "hers", "--from-literal=a=1")
    bob.refused("forbidden", "delete", "configmap", "hers")
    bob.refused("forbidden", "label", "configmap", "hers", "x=y")
    bob.refused("forbidden", "create", "namespace", "team")
    work = job(k, "work", "true", {"suspend": True})
    k("create", "namespace", "team")
    bob.refused("no mapping to users", "-n", "team", "create", "-f", "-", stdin=work)
    k("annotate", "namespace", "team", "phalanx/run-as=submitter")
    bob("-n", "team", "create", "-f", "-", stdin=work)
    anna.refused("forbidden", "-n", "team", "delete", "job", "work")
    k.refused("still holds", "delete", "namespace", "team")
    bob("-n", "team", "delete", "job", "work")
    k("delete", "namespace", "team")
    anna.token = "no.such.token"
    anna.refused("logged in", "get", "--raw", "/api/v1/configmaps")


@each_kubectl("watch_goes_on_over_a_kill")
def watch_goes_on_over_a_kill(k):
    k("create", "configmap", "zero", "--from-literal=a=1")
    before = json.loads(k("get", "--raw", "/api/v1/configmaps"))["metadata"]["resourceVersion"]
    watch = Watch(k, before)
    k("create", "configmap", "one", "--from-literal=a=1")
    version = watch.expect("ADDED", "one")
    port = k.port()
    k.cluster.restart("controller")
    wait_for(lambda: k.run("get", "cm").code == 0, "the controller answers again")
    equal(k.port(), port, "the port, which kubeconfigs name")
    watch = Watch(k, version)
    equal(watch.answer.status, 200, "status of the watch that goes on")
    k("create", "configmap", "two", "--from-literal=a=1")
    watch.expect("ADDED", "two")
    k("delete", "configmap", "one", "two")
    watch.expect("DELETED", "one")
    watch.expect("DELETED", "two")
    equal(Watch(k, 1).answer.status, 410, "status of a watch from before the restart")


@each_kubectl("get_w")
def get_w(k):
    process = k.cluster.background(*k.command("get", "cm", "-w", "--output-watch-events"))
    try:
        k("create", "configmap", "first", "--from-literal=a=1")
        while "first" not in (line := process.stdout.readline()):
            check(line, "kubectl get -w has ended")
        k("delete", "configmap", "first")
        check("DELETED" in process.stdout.readline(), "the deletion is not shown")
    finally:
        process.kill()
        process.wait()


@each_kubectl("waiting_job")
def waiting_job(k):
    k("create", "-f", "-", stdin=job(k, "holds", "sleep 600", container=gpus(2)))
    wait_for(lambda: "1/1" in k("get", "pods", "-l", "job-name=holds"), "the first Job runs")
    k("create", "-f", "-", stdin=job(k, "waits", "true", {"parallelism": 2, "completions": 2}, gpus(1)))
    wait_for(lambda: "pod waits-0: needs 1 gpu" in k("describe", "job", "waits"), "describe says why")
    check("needs 1 gpu" in k("describe", "pod", "waits-0"), "describe of the Pod says why")
    check("0/2" in k("get", "job", "waits"), "completions")
    check("waits-0" in k.cluster.run("squeue").out, "squeue shows it")
    k("patch", "job", "waits", "--type=strategic", "-p", '{"spec":{"suspend":true}}')
    wait_for(lambda: "Suspended" in k("get", "job", "waits"), "it is suspended")
    k.refused("field is immutable", "patch", "job", "waits", "--type=merge", "-p",
              '{"spec":{"template":{"spec":{"activeDeadlineSeconds":5}}}}')
    k("delete", "job", "waits", "holds")
    equal(k.run("get", "jobs,pods").out, "", "what is left")


@each_kubectl("job_completes")
def job_completes(k):
    k("create", "-f", "-", stdin=job(
        k, "hello", "echo $GREETING $CUDA_VISIBLE_DEVICES",
        container={**gpus(1), "env": [{"name": "GREETING", "value": "hello"}]}))
    k("wait", "--for=condition=Complete", "job/hello", f"--timeout={harness.DEADLINE:.0f}s")
    check("1/1" in k("get", "job", "hello"), "completions")
    wait_for(lambda: "Completed" in k("get", "pods", "-l", "job-name=hello"), "its Pod stays visible")
    equal(k.cluster.file("hello-0.log"), "hello 0\n", "output")


@each_kubectl("job_fails")
def job_fails(k):
    k("create", "-f", "-", stdin=job(k, "fails", "exit 3", {"backoffLimit": 0}))
    k("wait", "--for=condition=Failed", "job/fails", f"--timeout={harness.DEADLINE:.0f}s")
    pod = k.object("pods", "-l", "job-name=fails")["items"][0]
    equal(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3, "exit code")


@each_kubectl("delete_ends_processes")
def delete_ends_processes(k):
    k("create", "-f", "-", stdin=job(k, "sleeps", "sh -c 'echo $PPID' > pid; exec sleep 600"))
    wait_for(lambda: k.cluster.exists("pid") and k.cluster.file("pid").strip(), "it runs")
    pid = int(k.cluster.file("pid"))
    k("delete", "job", "sleeps")
    check(not harness.alive(pid), "its process still lives")
