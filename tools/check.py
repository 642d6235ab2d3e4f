"""Builds Phalanx in every way and tests it. Needs a Debian 12, as root or as an ordinary user.

stages, in their order (--stages picks some; those with a star are only in --full):
  packages   Debian packages that are missing are installed (needs root or sudo only then)
  format     clang-format 19 changes nothing
  tidy       the house rules (tools/tidy)
  release    what users run builds without a warning
  purity     no pure library asks for a clock, a file, a socket, a thread, the environment
  headers*   each header compiles alone
  asan       every test under the address and undefined-behaviour sanitizers; fuzzers replay their corpus
  tsan       the tests of the rooms with threads under the thread sanitizer; those of store and net, in --full all
  lint       clang-tidy 19 over some groups of files, drawn at random; in --full over all of them,
             but for includes that are not used (--lint each)
  fuzz*      each fuzzer for a while under libFuzzer (also with --fuzz)
  e2e        the real programs, end to end (test/e2e/run)
  mutants    planted faults that tests must notice (tools/mutants): three drawn at random; in --full all

Without options it takes three quarters of an hour on two cores, and minutes where ccache is warm; --full takes hours.
--quick is for development: packages, format, tidy, and every test in the debug build.
A failed stage does not stop the next. Logs are in build/check/. The last line counts: N passed, N failed, N skipped.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import house

STAGES = ["packages", "format", "tidy", "release", "purity", "headers", "asan", "tsan", "lint", "fuzz", "e2e", "mutants"]
QUICK = ["packages", "format", "tidy", "dev"]
ORDER = ["packages", "format", "tidy", "dev", *STAGES[3:]]
ONLY_FULL = {"headers", "fuzz"}
THREADED_ROOMS = ["store", "net", "server", "agent"]
LOGS = house.ROOT / "build" / "check"
STAGE_SECONDS = 45 * 60
SHOWN_LINES = 80  # of a failing log
SHOWN_TESTS = 20  # failing tests whose output is printed

Case = collections.namedtuple("Case", "name status detail")  # status: passed, failed, skipped
Run = collections.namedtuple("Run", "good output log")


def environment():
    """Ours plus: sanitizers that stop at the first finding, and a compiler cache that other folders can share."""
    settings = {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
        "CCACHE_BASEDIR": str(house.ROOT),
        "CCACHE_NOHASHDIR": "1",
        "CTEST_PROGRESS_OUTPUT": "0",
        "PHALANX_BIN": str(house.ROOT / "build" / "release" / "bin"),
    }
    home = os.environ.get("HOME", "")
    if "CCACHE_DIR" not in os.environ and not os.access(home, os.W_OK):
        settings["CCACHE_DIR"] = str(house.ROOT / "build" / "ccache")
    return {**os.environ, **settings}


def end_group(process):
    """Ends what a stage started, by its process group."""
    for how, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return


def tail(text, lines=SHOWN_LINES):
    kept = text.splitlines()[-lines:]
    return "\n".join("    " + line for line in kept)


def room_tests(rooms):
    return "^(" + "|".join(rooms) + r")\."


class Check:
    def __init__(self, given):
        self.given = given
        self.cases = []
        self.times = []
        self.environment = environment()

    # --- running and counting ---------------------------------------------------------------------------------
    def run(self, log, command, seconds=STAGE_SECONDS):
        path = LOGS / f"{log}.log"
        with path.open("w+", encoding="utf-8", errors="replace") as out:
            out.write("$ " + " ".join(command) + "\n")
            out.flush()
            process = subprocess.Popen(command, cwd=house.ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = 124
                out.write(f"\nended after {seconds} s\n")
            finally:
                if process.poll() is None:
                    end_group(process)
        return Run(code == 0, path.read_text(encoding="utf-8", errors="replace"), path.relative_to(house.ROOT))

    def passed(self, name):
        self.cases.append(Case(name, "passed", ""))

    def skipped(self, name, reason):
        self.cases.append(Case(name, "skipped", reason))
        print(f"  skipped {name}: {reason}", flush=True)

    def failed(self, name, output=""):
        self.cases.append(Case(name, "failed", ""))
        print(f"  FAILED {name}", flush=True)
        if output:
            print(tail(output), flush=True)

    def step(self, name, command, seconds=STAGE_SECONDS):
        """A command that counts as one case."""
        done = self.run(name.replace(" ", "-"), command, seconds)
        if done.good:
            self.passed(name)
        else:
            self.failed(name, done.output)
        return done.good

    # --- building ---------------------------------------------------------------------------------------------
    def configured(self, preset):
        return (house.ROOT / "build" / preset / "build.ninja").is_file()

    def configure(self, preset):
        return self.step(f"{preset} configure", ["cmake", "--preset", preset])

    def programs(self, preset):
        """{name: target} of the executables and archives that ninja can link."""
        listing = subprocess.run(["ninja", "-C", str(house.ROOT / "build" / preset), "-t", "targets", "all"],
                                 capture_output=True, text=True, check=False).stdout
        found = re.findall(r"^([^/\n][^:\n\[]*): C(?:XX)?_(?:STATIC_LIBRARY|EXECUTABLE)_LINKER__", listing, re.M)
        return {os.path.basename(target): target for target in found}

    def build(self, preset, targets):
        ninja = ["ninja", "-C", f"build/{preset}", "-k", "0", f"-j{self.given.jobs}", *targets]
        return self.step(f"{preset} build", ninja)

    def ctest(self, preset, select=(), prefix=()):
        """Every test that CTest knows is a case of its own."""
        report = LOGS / f"{preset}.xml"
        report.unlink(missing_ok=True)
        done = self.run(f"{preset}-test", [*prefix, "ctest", "--test-dir", f"build/{preset}", "-j", str(self.given.jobs),
                                           "--no-tests=error", "--output-junit", str(report), *select])
        if not report.is_file():
            self.failed(f"{preset} tests", done.output)
            return
        shown, failures = 0, 0
        for test in xml.etree.ElementTree.parse(report).iter("testcase"):
            name, output = f"{preset} {test.get('name')}", test.findtext("system-out") or ""
            skip = test.find("skipped")
            if test.get("status") == "run":
                self.passed(name)
            elif skip is not None and skip.get("message", "").startswith("SKIP_"):
                reason = re.search(r": Skipped\n(.+)", output)
                self.skipped(name, reason.group(1) if reason else "it does not say why")
            else:
                failures, shown = failures + 1, shown + 1
                self.failed(name, (output or str(test.get("status"))) if shown <= SHOWN_TESTS else "")
        if not done.good and not failures:
            self.failed(f"{preset} tests", done.output)

    # --- the stages -------------------------------------------------------------------------------------------
    def packages(self):
        if not self.step("packages", ["tools/packages.sh", "build", "check", "run"], 30 * 60):
            self.finish()

    def format(self):
        ours = [n for n in house.sources(".h", ".cc", ".c") if n.startswith(("src/", "test/", "bench/"))]
        self.step("format", ["clang-format-19", "--dry-run", "-Werror", *ours])

    def tidy(self):
        self.step("tidy self-test", ["tools/tidy", "--self-test"])
        self.step("tidy", ["tools/tidy"])

    def release(self):
        if self.configure("release"):
            wanted = [t for n, t in self.programs("release").items() if not n.endswith(("_test", "_fuzz", "_bench"))]
            self.build("release", wanted)

    def purity(self):
        if not self.configured("release"):
            self.skipped("purity", "the release build could not be configured")
            return
        self.ctest("release", ["-R", r"^purity\."])

    def headers(self):
        if not self.configured("dev") and not self.configure("dev"):
            return
        self.step("headers", ["tools/headers", "--jobs", str(self.given.jobs)])

    def dev(self):
        if self.configure("dev"):
            self.build("dev", [])
            self.ctest("dev")

    def asan(self):
        if not self.configure("asan"):
            return
        if self.given.asan == "all":
            self.build("asan", [])
            self.ctest("asan")
            return
        rooms = self.given.asan.split(",")
        programs = self.programs("asan")
        if self.build("asan", [programs[f"{room}_test"] for room in rooms]):
            self.ctest("asan", ["-R", room_tests(rooms)])

    def tsan(self):
        if not self.configure("tsan"):
            return
        programs = self.programs("tsan")
        wanted = THREADED_ROOMS if self.given.tsan == "all" else self.given.tsan.split(",")
        rooms = [room for room in wanted if f"{room}_test" in programs]
        for room in wanted:
            if room not in rooms:
                self.skipped(f"tsan {room}", "this room has no tests")
        if rooms and self.build("tsan", [programs[f"{room}_test"] for room in rooms]):
            # GCC 12's thread sanitizer does not start where addresses are spread over more than 28 bits.
            fixed = ["setarch", "--addr-no-randomize"]
            able = subprocess.run([*fixed, "true"], capture_output=True, check=False).returncode == 0
            self.ctest("tsan", ["-R", room_tests(rooms)], fixed if able else [])

    def lint(self):
        preset = "dev" if self.given.lint == "each" else "release"
        how = [] if self.given.lint == "each" else ["--together"]
        if self.given.lint.isdigit():
            how += ["--random", self.given.lint, "--seed", str(self.given.seed)]
            print(f"  {self.given.lint} groups of files, seed {self.given.seed}", flush=True)
        if self.configured(preset) or self.configure(preset):
            self.step("lint", ["tools/lint", "--jobs", str(self.given.jobs), *how], self.patience())

    def fuzz(self):
        if not self.configure("fuzz"):
            return
        fuzzers = {n: t for n, t in self.programs("fuzz").items() if n.endswith("_fuzz")}
        if not fuzzers:
            self.skipped("fuzz", "there are no fuzzers")
        elif self.build("fuzz", list(fuzzers.values())):
            for name in sorted(fuzzers):
                found = LOGS / "fuzz" / name
                found.mkdir(parents=True, exist_ok=True)
                self.step(f"fuzz {name}", [f"build/fuzz/bin/{name}", f"-max_total_time={self.given.fuzz}", "-timeout=10",
                                           f"-artifact_prefix={found}/", str(found),
                                           f"test/fuzz/{name.removesuffix('_fuzz')}"], self.given.fuzz + 120)

    def e2e(self):
        if not (house.ROOT / "test/e2e/run").is_file():
            self.skipped("e2e", "test/e2e/run does not exist")
            return
        if not (house.ROOT / "build/release/bin/phalanx").is_file():
            self.failed("e2e", "build/release/bin/phalanx was not built")
            return
        done = self.run("e2e", ["test/e2e/run", "--bin", "build/release/bin"])
        bad = self.count_lines("e2e", done)
        if not done.good and not bad:
            self.failed("e2e", done.output)

    def mutants(self):
        if not self.configured("asan"):
            self.skipped("mutants", "the asan build could not be configured")
            return
        which = ["all"] if self.given.mutants == "all" else ["--random", self.given.mutants, "--seed", str(self.given.seed)]
        print(f"  seed {self.given.seed}", flush=True)
        done = self.run("mutants", ["tools/mutate", *which, "--jobs", str(self.given.jobs)], self.patience())
        bad = self.count_lines("mutant", done)
        if not done.good and not bad:
            self.failed("mutants", done.output)

    def patience(self):
        return 8 * 60 * 60 if self.given.full else STAGE_SECONDS

    def count_lines(self, kind, done):
        """Cases from lines `ok NAME`, `not ok NAME why`, `skip NAME why`; the number of those not ok."""
        bad = 0
        for result, name, rest in re.findall(r"^(ok|not ok|skip) (\S+)[ \t]*(.*)$", done.output, re.M):
            name = f"{kind} {name.rstrip(':')}"
            if result == "ok":
                self.passed(name)
            elif result == "skip":
                self.skipped(name, rest or "it does not say why")
            else:
                bad += 1
                self.failed(name, rest)
        if bad:
            print(tail(done.output), flush=True)
        return bad

    # --- all of it ----------------------------------------------------------------------------------------------
    def go(self, stages):
        if os.geteuid() != 0:
            print("not root: tests that need root are skipped and say so")
        for name in stages:
            print(f"== {name}", flush=True)
            begun = time.monotonic()
            getattr(self, name)()
            seconds = time.monotonic() - begun
            self.times.append((name, seconds))
            print(f"   {name}: {seconds:.0f} s", flush=True)
        self.finish()

    def finish(self):
        count = collections.Counter(case.status for case in self.cases)
        print("== summary")
        print("   " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.times))
        for case in self.cases:
            if case.status == "skipped":
                print(f"   skipped {case.name}: {case.detail}")
        for case in self.cases:
            if case.status == "failed":
                print(f"   FAILED {case.name}")
        if count["failed"]:
            print(f"   logs: {LOGS.relative_to(house.ROOT)}/")
        print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
        sys.exit(1 if count["failed"] or not count["passed"] else 0)


def main():
    options = argparse.ArgumentParser(prog="check", description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    options.add_argument("--full", action="store_true", help="every stage, over everything")
    options.add_argument("--stages", metavar="A,B", help="only these, in the order above")
    options.add_argument("--fuzz", nargs="?", type=int, const=20, metavar="SECONDS",
                         help="libFuzzer, so long for each fuzzer (20)")
    options.add_argument("--mutants", metavar="N|all", help="how many planted faults (3; full: all)")
    options.add_argument("--asan", default="all", metavar="ROOMS", help="only the tests of these rooms, by commas (all)")
    options.add_argument("--tsan", metavar="ROOMS", help=f"only the tests of these rooms, by commas (store,net; "
                                                         f"full: all, which is {','.join(THREADED_ROOMS)})")
    options.add_argument("--lint", metavar="N|together|each",
                         help="N groups of files (16); all of them (full); or file by file, which takes longest and also "
                              "finds includes that are not used")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000),
                         help="draws the mutants and what is linted; printed")
    options.add_argument("--jobs", type=int, default=house.cpus(), help="compilers and tests at a time")
    given = options.parse_args()
    given.mutants = given.mutants or ("all" if given.full else "3")
    given.tsan = given.tsan or ("all" if given.full else "store,net")
    given.lint = given.lint or ("together" if given.full else "16")
    stages = QUICK if given.quick else STAGES
    if given.stages:
        named = given.stages.split(",")
        unknown = set(named) - set(STAGES) - set(QUICK)
        if unknown:
            options.error(f"no such stage: {', '.join(sorted(unknown))}")
        stages = [s for s in ORDER if s in named]
    elif not given.full:
        stages = [s for s in stages if s not in ONLY_FULL or (s == "fuzz" and given.fuzz)]
    given.fuzz = given.fuzz or 20
    if not given.mutants.isdigit() and given.mutants != "all":
        options.error("--mutants takes a number or `all`")
    if not given.lint.isdigit() and given.lint not in ("each", "together"):
        options.error("--lint takes each, together, or a number of groups")
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    Check(given).go(stages)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted: 0 results counted")
        sys.exit(130)
