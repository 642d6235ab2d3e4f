"""What the tools share: which files are ours, what a file includes, a cache of clean verdicts, and workers.

Standard library only (Python 3.11, Debian 12). Nothing here prints.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__", "node_modules"}


def sources(*suffixes, root=ROOT):
    """Our files, relative to the root and sorted: what git tracks or would track; without git, everything."""
    git = ["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"]
    names = []
    try:
        if not (root / ".git").exists():  # a copy, perhaps inside another checkout's build folder
            raise OSError("no repository")
        listing = subprocess.run(git, capture_output=True, check=True).stdout
        names = [name for name in listing.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    wanted = [n for n in names if not suffixes or n.endswith(suffixes)]
    return sorted(n for n in set(wanted) if (root / n).is_file())


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def include_closure(name, root=ROOT):
    """`name` and every header of ours that it includes, directly or not, as sorted names below the root."""
    seen, todo = set(), [name]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for included in INCLUDE.findall((root / current).read_text(errors="replace")):
            beside = os.path.join(os.path.dirname(current), included)
            if os.path.isabs(included):  # in the groups that CMake writes
                included = os.path.relpath(included, root)
            todo += [c for c in (os.path.join("src", included), included, beside) if (root / c).is_file()][:1]
    return sorted(os.path.normpath(n) for n in seen)


class Cache:
    """Remembers which (file, everything it includes, command) was found clean, in build/cache/<name>/."""

    def __init__(self, name, salt, root=ROOT):
        self.folder = root / "build" / "cache" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.salt, self.root = salt, root

    def key(self, name, command):
        digest = hashlib.sha256(repr((self.salt, command)).encode())
        for member in include_closure(name, self.root):
            digest.update(member.encode() + b"\0" + (self.root / member).read_bytes())
        return digest.hexdigest()

    def clean(self, key):
        return (self.folder / key).exists()

    def remember(self, key):
        (self.folder / key).touch()


def compile_commands(build, root=ROOT):
    """{source name: compiler arguments without the compiler, -c, -o and their operands}"""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        name = os.path.relpath(entry["file"], root)
        words = shlex.split(entry["command"])
        while words and os.path.basename(words[0]) == "ccache":
            words.pop(0)
        arguments, skip = [], False
        for word in words[1:]:
            if skip or word in ("-o", "-c"):
                skip = word == "-o" and not skip
            elif word != entry["file"]:
                arguments.append(word)
        commands.setdefault(name, arguments)
    return commands


def each(work, items, jobs):
    """work(item) for every item on `jobs` threads; results in the order of the items."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(work, items))


def cpus():
    return len(os.sched_getaffinity(0))
