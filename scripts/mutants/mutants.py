#!/usr/bin/env python3
"""Tests the tests: small changes to model/, programs/ and answers/, one at a time, and whether a unit test fails for each.

    scripts/mutants/mutants.py draw   [--seed 1] [--count 600] [--fresh 300]  # a copy of the sources in build/mutants/source with the mutants
    scripts/mutants/mutants.py build  [--programs A,B]            # one build of its tests; RIDGE_MUTANT=17 brings mutant 17 to life
    scripts/mutants/mutants.py reach  [--jobs 2] [--longest 600]  # which test cases reach which mutants, and how long each takes
    scripts/mutants/mutants.py kill   [--jobs 2] [--minutes 60]   # runs the cases that reach a mutant until one fails; goes on where it stopped
    scripts/mutants/mutants.py pack   mutants.tar.xz              # for a machine with more cores (below)
    scripts/mutants/mutants.py tests                              # takes today's tests/; then build, reach and kill --again look at the survivors
    scripts/mutants/mutants.py report [--markdown]                # the share found with its 95 % interval, by room, and what survived

Mutants are drawn by seed, in each room (a folder of a library) as many as its share of all places. Those of --fresh lie elsewhere
and are judged by `kill --fresh`, when tests for the survivors of the others are written: they say what the tests find that were
not written for them. Cases run in batches, the quick ones of a program first; a batch that fails, crashes or hangs (five times its usual
time and ten seconds) has found its mutant. Only Catch2 programs count: what the tests of scripts and pages would find is not
counted. A mutant that no case reaches has survived. `equivalent.toml` lists those that no test can find, each with its reason.
Needs python3-clang (libclang) and build/dev/generated.

On a machine with more cores, which needs a compiler and the libraries alone: unpack the tar in an empty folder, add records/ of the
same commit as build/mutants/source/records, then build, reach and kill there. Its mutants.json, cases.json and results.json go
back into build/mutants here.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tarfile
import time
import tomllib

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/mutants"
SOURCE = PLACE / "source"
ORIGINAL = PLACE / "original"  # the files that have mutants, as they were drawn from
LAYERS = ("model", "programs", "answers")
ARGUMENTS = ["-std=c++20", "-w"]
COMMON = "algorithm array cmath cstdint functional map memory optional ostream span string string_view variant vector fmt/format.h"
QUICK = 0.5  # s; slower cases run when the quick ones of all programs found nothing
HEADER = """// Which mutant lives, by RIDGE_MUTANT; RIDGE_MUTANTS_REACHED names a file for the numbers of those that were asked for.
#pragma once
#include <cstdio>
#include <cstdlib>
namespace ridge_mutants {
struct State {
  int chosen = std::getenv("RIDGE_MUTANT") ? std::atoi(std::getenv("RIDGE_MUTANT")) : -1;
  const char* file = std::getenv("RIDGE_MUTANTS_REACHED");
  bool reached[%d] = {};
  ~State() {
    std::FILE* out = file ? std::fopen(file, "a") : nullptr;
    if (out == nullptr) return;
    for (int i = 0; i < %d; ++i)
      if (reached[i]) std::fprintf(out, "%%d\\n", i);
    std::fclose(out);
  }
};
inline State state;
inline bool alive(int number) {
  state.reached[number] = true;
  return number == state.chosen;
}
}  // namespace ridge_mutants
"""


def room_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def load(name):
    return json.loads((PLACE / name).read_text(encoding="utf-8"))


def store(name, value):
    part = PLACE / (name + ".part")
    part.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    part.replace(PLACE / name)


def compile_arguments():
    eigen = next((each for each in ("/usr/include/eigen3", "/usr/local/include/eigen3") if os.path.isdir(each)), None)
    return [*ARGUMENTS, f"-I{ROOT}", f"-I{ROOT}/build/dev/generated", *([f"-isystem{eigen}"] if eigen else [])]


def precompiled():
    """The headers that nearly every file includes, precompiled for libclang."""
    header, out = PLACE / "common.h", PLACE / "common.pch"
    header.write_text("".join(f"#include <{name}>\n" for name in COMMON.split()), encoding="utf-8")
    made = subprocess.run(["clang++", *ARGUMENTS, "-x", "c++-header", header, "-o", out], check=False).returncode == 0
    return ["-include-pch", str(out)] if made else []


def all_sites(jobs):
    names = subprocess.run(["git", "ls-files", *[f"{layer}/*.{kind}" for layer in LAYERS for kind in ("cpp", "h")]], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    units = collections.defaultdict(list)  # a room's files as one, but for the tables of parameters, whose names are not unique
    for name in names:
        units[name if name.endswith("_parameters.cpp") else room_of(name)].append(name)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = pool.map(sites.sites_of, [ROOT] * len(units), units.values(), [compile_arguments() + precompiled()] * len(units))
        return [site for each in found for site in each]


def overlaps(site, others):
    return any(site.begin < each.end and each.begin < site.end for each in others)


def drawn(places, count, generator, taken=()):
    """So many of the places, in each room its share, none within another or one of those taken."""
    rooms = collections.defaultdict(list)
    for site in places:
        rooms[room_of(site.file)].append(site)
    exact = {room: count * len(each) / len(places) for room, each in rooms.items()}
    share = {room: int(value) for room, value in exact.items()}
    for room in sorted(exact, key=lambda room: share[room] - exact[room])[: count - sum(share.values())]:
        share[room] += 1
    chosen, others = collections.defaultdict(list), collections.defaultdict(list)
    for site in taken:
        others[site.file].append(site)
    for room in sorted(rooms):
        order = sorted(rooms[room], key=lambda site: (site.file, site.begin, site.end, site.kind))
        generator.shuffle(order)
        left = share[room]
        for site in order:
            if left and not overlaps(site, chosen[site.file] + others[site.file]):
                chosen[site.file].append(site)
                left -= 1
    return [site for file in sorted(chosen) for site in sorted(chosen[file], key=lambda site: site.begin)]


def compiles(name):
    arguments = [each.replace(f"-I{ROOT}", f"-I{SOURCE}", 1) if each == f"-I{ROOT}" else each for each in compile_arguments()]
    return subprocess.run([os.environ.get("CXX", "c++"), *arguments, "-fsyntax-only", "-x", "c++", str(SOURCE / name)], capture_output=True, check=False).returncode == 0


def write_file(name, chosen):
    (SOURCE / name).unlink(missing_ok=True)  # it may be a link to the original
    (SOURCE / name).write_bytes(b'#include "cmake/mutants.h"\n#line 1\n' + sites.rewritten((ORIGINAL / name).read_bytes(), chosen))


def leave_out(name, chosen):
    """Writes a file again with those of its mutants that compile. Returns the others."""
    stay = []
    for each in chosen:
        write_file(name, [*stay, each])
        if compiles(name):
            stay.append(each)
    write_file(name, stay)
    return [each for each in chosen if each not in stay]


def link_sources(*folders):
    for name in subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            (SOURCE / name).unlink(missing_ok=True)
            os.link(ROOT / name, SOURCE / name)


def draw(options):
    PLACE.mkdir(parents=True, exist_ok=True)
    places = all_sites(options.jobs)
    chosen = drawn(places, options.count, random.Random(options.seed))
    fresh = drawn(places, options.fresh, random.Random(options.seed + 1), chosen)
    for folder in (SOURCE, ORIGINAL):
        shutil.rmtree(folder, ignore_errors=True)
    link_sources()
    (SOURCE / "cmake/mutants.h").write_text(HEADER % (2 * (len(chosen) + len(fresh),)), encoding="utf-8")
    files = collections.defaultdict(list)
    for number, site in enumerate(chosen + fresh):
        files[site.file].append((number, site))
    for name, some in files.items():
        (ORIGINAL / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, ORIGINAL / name)
        write_file(name, some)
    store("mutants.json", {"seed": options.seed, "places": len(places), "drawn": len(chosen), "mutants": {number: {**site.__dict__, "fresh": number >= len(chosen)} for number, site in enumerate(chosen + fresh)}})
    for name in ("cases.json", "results.json"):
        (PLACE / name).unlink(missing_ok=True)
    print(f"{len(chosen)} mutants and {len(fresh)} fresh ones of {len(places)} places, seed {options.seed}")


def build(options):
    """Builds the test programs; mutants that do not compile are left out."""
    folder = PLACE / "binaries"
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1", "-DCMAKE_UNITY_BUILD=ON",
                    "-DCMAKE_CXX_FLAGS=-w", "-DRIDGE_CUDA=OFF", "-DRIDGE_CCACHE=OFF"], check=True, stdout=subprocess.DEVNULL)
    targets = options.programs.split(",") if options.programs else ["all"]
    while True:
        run = subprocess.run(["cmake", "--build", folder, "-j", str(options.jobs), "--target", *targets, "--", "-k", "0"], check=False, capture_output=True, text=True)
        if run.returncode == 0:
            return
        data = load("mutants.json")
        files = collections.defaultdict(list)
        for number, site in data["mutants"].items():
            files[site["file"]].append((int(number), sites.Site(**{key: value for key, value in site.items() if key != "fresh"})))
        wrong = sorted({match for match in re.findall(r"^(\S+):\d+:\d+: error:", run.stdout.replace(f"{SOURCE}/", ""), re.MULTILINE) if match in files})
        gone = []
        for kind in (".h", ".cpp"):  # a file may include a header that does not compile
            some = [name for name in wrong if name.endswith(kind)]
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                gone += [each for left in pool.map(leave_out, some, [files[name] for name in some]) for each in left]
        if not gone:
            raise SystemExit(run.stdout[-4000:] + run.stderr[-1000:])
        for number, site in gone:
            print(f"mutant {number} does not compile: {site.file}:{site.line}: {site.kind}: {site.original}")
            del data["mutants"][str(number)]
        store("mutants.json", data)


def tests(_options):
    link_sources("tests", "docs", "README.md", "records")


def programs():
    listed = json.loads(subprocess.run(["ctest", "--test-dir", PLACE / "binaries", "-LE", "device|install|browser", "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    for test in listed["tests"]:
        command = test.get("command", [])
        if command[1:] == ["--order", "rand"] and os.path.exists(command[0]):
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            yield test["name"], command[0], dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))


def names_in(program):
    helped = subprocess.run([program, "--help"], check=False, capture_output=True, text=True).stdout
    listing = ["--list-test-names-only"] if "--list-test-names-only" in helped else ["--list-tests", "--verbosity", "quiet"]
    return [line for line in subprocess.run([program, *listing], check=False, capture_output=True, text=True).stdout.splitlines() if line.strip()]


def run_cases(program, names, environment, seconds, **more):
    """(exit status or None if it hangs, seconds, the first failure)"""
    pattern = ",".join(re.sub(r"([,\[\]*\\\"])", r"\\\1", name) for name in names)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        try:
            run = subprocess.run([program, pattern, "--abort", "--reporter", "compact"], env={**os.environ, "RIDGE_SEED": "1", **environment, "TMPDIR": folder, **more}, timeout=seconds, check=False,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
        except subprocess.TimeoutExpired:
            return None, time.monotonic() - begin, ""
    failure = next((line for line in run.stdout.decode(errors="replace").splitlines() if ": failed:" in line), "")
    return run.returncode, time.monotonic() - begin, failure.replace(str(SOURCE) + "/", "")[:200]


def reach(options):
    wanted = set(options.programs.split(",")) if options.programs else None
    cases = [(test, program, environment, name) for test, program, environment in programs() if wanted is None or test in wanted for name in names_in(program)]
    folder = PLACE / "reached"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    end = time.monotonic() + 60 * options.minutes

    def one(at):
        test, program, environment, name = cases[at]
        file = folder / str(at)
        status, seconds, _ = run_cases(program, [name], environment, max(0.1, min(options.longest, end - time.monotonic())), RIDGE_MUTANTS_REACHED=str(file))
        reached = sorted({int(line) for line in file.read_text().split()}) if file.exists() else []
        return {"test": test, "program": program, "environment": environment, "name": name, "status": status, "seconds": round(seconds, 3), "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, range(len(cases))))
    failed = [each["name"] for each in found if each["status"] != 0]
    others = [each for each in load("cases.json") if wanted and each["test"] not in wanted] if (PLACE / "cases.json").exists() else []
    store("cases.json", others + [each for each in found if each["status"] == 0])
    print(f"{len(found)} cases, {sum(each['seconds'] for each in found):.0f} s; left out because they fail without a mutant, or take longer: {failed or 'none'}")


def batches(cases):
    """The quick cases of each program, then the slow ones, cheap batches first."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case["seconds"] > QUICK, case["program"]].append(case)
    return sorted(groups.values(), key=lambda group: (group[0]["seconds"] > QUICK, sum(case["seconds"] for case in group)))


def judge(number, cases, end, sample):
    """The case that finds a mutant, or nothing; how many ran, and in how many seconds. None if the time is over before."""
    ran, spent = 0, 0.0
    quick, slow = [], []
    for group in batches(cases):
        (slow if sum(case["seconds"] for case in group) > 1.0 else quick).append(group)
    attempts = [(group, {}) for group in quick] + [(group, {"RIDGE_ONE_IN": "5"}) for group in slow] + [(group, {}) for group in ([] if sample else slow)]  # a fifth finds most
    for group, more in attempts:
        if time.monotonic() > end:
            return None
        limit = 5 * sum(case["seconds"] for case in group) + 10
        status, seconds, failure = run_cases(group[0]["program"], [case["name"] for case in group], group[0]["environment"], limit, RIDGE_MUTANT=str(number), **more)
        ran, spent = ran + (0 if more and not sample else len(group)), spent + seconds
        if status != 0:
            return {"found": failure or "no message", "test": group[0]["test"], "how": "hangs" if status is None else "crashes" if status < 0 else "fails", "ran": ran, "seconds": round(spent, 1)}
    return {"found": None, "ran": ran, "seconds": round(spent, 1)}


def kill(options):
    mutants, cases = load("mutants.json")["mutants"], load("cases.json")
    results = load("results.json") if (PLACE / "results.json").exists() else {}
    wanted = set(options.programs.split(",")) if options.programs else None
    by_mutant = collections.defaultdict(list)
    for case in cases:
        if (wanted is None or case["test"] in wanted) and case["seconds"] <= options.longest:
            for number in case["reached"]:
                by_mutant[number].append(case)
    end = time.monotonic() + 60 * options.minutes

    def is_left(number):
        result = results.get(str(number))
        return mutants[str(number)]["fresh"] == bool(options.fresh) and (result is None or (options.again and result["found"] is None))

    left = [number for number in sorted(map(int, mutants)) if is_left(number)]
    random.Random(load("mutants.json")["seed"]).shuffle(left)  # an unfinished run is a sample, too

    def one(number):
        return number, judge(number, by_mutant[number], end, options.sample)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, number) for number in left]):
            number, result = done.result()
            if result is not None:
                results[str(number)] = result
                store("results.json", results)
    report(options)


def pack(options):
    """What build, reach and kill need, as a tar: the changed sources but the records, the scripts and the state."""
    with tarfile.open(options.file, "w:xz", preset=4) as tar:
        tar.add(SOURCE, "build/mutants/source", filter=lambda each: None if each.name == "build/mutants/source/records" else each)
        for name in ("original", "mutants.json", "cases.json", "results.json"):
            if (PLACE / name).exists():
                tar.add(PLACE / name, f"build/mutants/{name}")
        tar.add(ROOT / "scripts/mutants", "scripts/mutants")


def interval(found, total):
    """Wilson's 95 % interval of a share, E. B. Wilson, J. Am. Stat. Assoc. 22, 209 (1927)."""
    z, share = 1.96, found / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return middle - half, middle + half


def equivalents(mutants):
    """The numbers of the mutants that equivalent.toml lists, by file, line of code, kind and original text."""
    listed = tomllib.loads((pathlib.Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    keys = ("file", "code", "kind", "original")
    listed = {tuple(each[key] for key in keys) for each in listed}
    return {number for number, site in mutants.items() if tuple(" ".join(site[key].split()) for key in keys) in listed}


def share(found, total):
    low, high = interval(found, total)
    return f"{found} of {total} found, {100 * found / total:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def report_of(name, results, mutants, markdown):
    rooms = collections.defaultdict(lambda: [0, 0])
    for number, result in results.items():
        room = room_of(mutants[number]["file"])
        rooms[room][0] += result["found"] is not None
        rooms[room][1] += 1
    found, total = (sum(each[i] for each in rooms.values()) for i in (0, 1))
    same = {number for number in equivalents(mutants) if number in results and results[number]["found"] is None}
    print(f"{name}: {share(found, total)}; without {len(same)} equivalent ones {share(found, total - len(same))}")
    if markdown:
        print("\n| room | judged | found |\n|---|---:|---:|")
    for room in sorted(rooms):
        print(f"| {room} | {rooms[room][1]} | {100 * rooms[room][0] / rooms[room][1]:.0f} % |" if markdown else f"  {room}: {rooms[room][0]} of {rooms[room][1]}")
    if not markdown:
        for number, result in sorted(results.items(), key=lambda each: int(each[0])):
            if result["found"] is None and number not in same:
                site = mutants[number]
                print(f"  {number} {site['file']}:{site['line']}: {site['kind']}: {' '.join(site['original'].split())[:100]} ({result['ran']} cases)")


def report(options):
    data, results = load("mutants.json"), load("results.json")
    for name, fresh in (("drawn", False), ("fresh", True)):
        some = {number: result for number, result in results.items() if data["mutants"][number]["fresh"] == fresh}
        if some:
            report_of(f"{name}, seed {data['seed'] + fresh}", some, data["mutants"], options.markdown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("draw", "build", "tests", "reach", "kill", "pack", "report"))
    parser.add_argument("file", nargs="?", default=str(PLACE / "mutants.tar.xz"), help="pack: the tar")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--fresh", type=int, nargs="?", const=300, default=0, help="draw: so many more, of the next seed; kill: these")
    parser.add_argument("--longest", type=float, default=600, help="reach, kill: without cases that take longer, in seconds")
    parser.add_argument("--again", action="store_true", help="kill: also those that survived before")
    parser.add_argument("--sample", action="store_true", help="kill: of batches that take over a second, a fifth of their draws and table rows alone")
    parser.add_argument("--programs", help="build, reach, kill: only these test programs, with commas between")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    {"draw": draw, "build": build, "reach": reach, "tests": tests, "kill": kill, "pack": pack, "report": report}[options.step](options)


if __name__ == "__main__":
    sys.exit(main())
