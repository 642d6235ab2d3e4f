"""An ordinary user's own cluster, in the places that nobody names."""
import os
import shutil
import subprocess
import tempfile

import harness
from harness import case, check, drop_to, equal, ordinary_user, wait_for


@case("ordinary-user-without-a-runtime-directory")
def without_a_runtime_directory():
    """As after `su`: no XDG_RUNTIME_DIR. `up` and the commands must mean the same place below /tmp."""
    user = ordinary_user()
    place = f"/tmp/phalanx-{user.pw_uid}"
    if os.path.lexists(place):
        raise harness.Skip(f"{place} is in use")
    home = tempfile.mkdtemp(prefix="phx-e2e-")
    os.chown(home, user.pw_uid, user.pw_gid)
    programs = harness.bin_for(user.pw_name, home)
    env = {"PATH": f"{programs}/slurm:{programs}:/usr/bin:/bin", "HOME": home, "LANG": "C"}
    own = {"env": env, "cwd": home, **drop_to(user.pw_name)}
    with open(os.path.join(home, "log"), "w") as log:
        daemon = subprocess.Popen([f"{programs}/phalanx", "up", "--ephemeral"], stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, start_new_session=True, **own)
    try:
        def ready():
            check(daemon.poll() is None, f"phalanx up ended: {open(log.name).read()}")
            return "phalanx: ready" in open(log.name).read()
        wait_for(ready, "the cluster is ready")
        done = subprocess.run(["srun", "-n1", "id", "-u"], capture_output=True, text=True, timeout=90, **own)
        equal((done.returncode, done.stdout.strip()), (0, str(user.pw_uid)), f"srun, which said {done.stderr!r}")
        # Another user's folder of that name is not believed.
        check(subprocess.run(["sinfo"], capture_output=True, env=env, cwd="/", check=False).returncode != 0,
              "root's sinfo asked the ordinary user's cluster")
    finally:
        daemon.terminate()
        daemon.wait(60)
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
