#!/usr/bin/env python3
"""Tests the tests: small changes to model/, programs/ and answers/, one at a time, and whether a unit test fails for each.

    scripts/mutants/mutants.py draw  [--seed 1] [--count 600]   # a copy of the sources in build/mutants/source, with the mutants in it
    scripts/mutants/mutants.py build                            # one build of it; RIDGE_MUTANT=17 brings mutant 17 to life
    scripts/mutants/mutants.py reach [--jobs 2] [--programs A,B] # which test cases reach which mutants, and how long each case takes
    scripts/mutants/mutants.py kill  [--jobs 2] [--minutes 60]  # runs the cases that reach a mutant until one fails; goes on where it stopped
    scripts/mutants/mutants.py report [--markdown]              # the share found with its 95 % interval, by room, and what survived

Mutants are drawn by seed, in each room (a folder of a library) as many as its share of all places. A test case runs in a
process of its own, those first that reach few mutants; ten times its usual time and five seconds is its limit, and a case that
hangs or crashes has found its mutant. Only Catch2 programs count: what the tests of scripts and pages would find is not
counted. A mutant that no case reaches has survived. Needs python3-clang (libclang).
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
import time

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/mutants"
SOURCE = PLACE / "source"
LAYERS = ("model", "programs", "answers")
ARGUMENTS = ["-std=c++20", "-w"]
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


def all_sites(jobs):
    names = subprocess.run(["git", "ls-files", *[f"{layer}/*.{kind}" for layer in LAYERS for kind in ("cpp", "h")]], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = pool.map(sites.sites_of, [ROOT] * len(names), names, [compile_arguments()] * len(names), chunksize=4)
        return [site for each in found for site in each]


def overlaps(site, others):
    return any(site.begin < each.end and each.begin < site.end for each in others)


def drawn(places, count, generator):
    """So many of the places, in each room its share, none within another."""
    rooms = collections.defaultdict(list)
    for site in places:
        rooms[room_of(site.file)].append(site)
    exact = {room: count * len(each) / len(places) for room, each in rooms.items()}
    share = {room: int(value) for room, value in exact.items()}
    for room in sorted(exact, key=lambda room: share[room] - exact[room])[: count - sum(share.values())]:
        share[room] += 1
    chosen = collections.defaultdict(list)
    for room in sorted(rooms):
        order = sorted(rooms[room], key=lambda site: (site.file, site.begin, site.end, site.kind))
        generator.shuffle(order)
        left = share[room]
        for site in order:
            if left and not overlaps(site, chosen[site.file]):
                chosen[site.file].append(site)
                left -= 1
    return [site for file in sorted(chosen) for site in sorted(chosen[file], key=lambda site: site.begin)]


def compiles(name):
    arguments = [each.replace(f"-I{ROOT}", f"-I{SOURCE}", 1) if each == f"-I{ROOT}" else each for each in compile_arguments()]
    return subprocess.run([os.environ.get("CXX", "c++"), *arguments, "-fsyntax-only", "-include", str(SOURCE / "cmake/mutants.h"), "-x", "c++", str(SOURCE / name)], capture_output=True, check=False).returncode == 0


def write_file(name, chosen):
    (SOURCE / name).unlink(missing_ok=True)  # it may be a link to the original
    (SOURCE / name).write_bytes(sites.rewritten((ROOT / name).read_bytes(), chosen))


def put_in(name, chosen):
    """Writes a file with its mutants; one that does not compile is left out. Returns those that stay."""
    write_file(name, chosen)
    if compiles(name):
        return chosen
    stay = []
    for each in chosen:
        write_file(name, [*stay, each])
        if compiles(name):
            stay.append(each)
    write_file(name, stay)
    return stay


def copy_sources():
    shutil.rmtree(SOURCE, ignore_errors=True)
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(ROOT / name, SOURCE / name)


def draw(options):
    PLACE.mkdir(parents=True, exist_ok=True)
    places = all_sites(options.jobs)
    chosen = drawn(places, options.count, random.Random(options.seed))
    copy_sources()
    (SOURCE / "cmake/mutants.h").write_text(HEADER % (len(chosen), len(chosen)), encoding="utf-8")
    files = collections.defaultdict(list)
    for number, site in enumerate(chosen):
        files[site.file].append((number, site))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        stay = sorted(each for some in pool.map(put_in, files.keys(), files.values()) for each in some)
    counts = collections.Counter(room_of(site.file) for site in places)
    store("mutants.json", {"seed": options.seed, "places": len(places), "rooms": counts, "drawn": len(chosen), "mutants": {number: site.__dict__ for number, site in stay}})
    print(f"{len(stay)} mutants of {len(places)} places, seed {options.seed}; {len(chosen) - len(stay)} do not compile")


def build(options):
    header = SOURCE / "cmake/mutants.h"
    subprocess.run(["cmake", "-S", SOURCE, "-B", PLACE / "binaries", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1", "-DCMAKE_UNITY_BUILD=ON",
                    f"-DCMAKE_CXX_FLAGS=-w -include {header}", "-DRIDGE_CUDA=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", PLACE / "binaries", "-j", str(options.jobs)], check=True)


def programs():
    listed = json.loads(subprocess.run(["ctest", "--test-dir", PLACE / "binaries", "-LE", "device|install|browser", "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    for test in listed["tests"]:
        command = test.get("command", [])
        if command[1:] == ["--order", "rand"]:
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            yield test["name"], command[0], dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))


def names_in(program):
    helped = subprocess.run([program, "--help"], check=False, capture_output=True, text=True).stdout
    listing = ["--list-test-names-only"] if "--list-test-names-only" in helped else ["--list-tests", "--verbosity", "quiet"]
    return [line for line in subprocess.run([program, *listing], check=False, capture_output=True, text=True).stdout.splitlines() if line.strip()]


def run_case(program, name, environment, seconds, **more):
    """(exit status or None if it hangs, seconds)"""
    pattern = re.sub(r"([,\[\]*\\\"])", r"\\\1", name)
    begin = time.monotonic()
    try:
        run = subprocess.run([program, pattern, "--abort"], env={**os.environ, "RIDGE_SEED": "1", **environment, **more}, timeout=seconds, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return run.returncode, time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return None, time.monotonic() - begin


def reach(options):
    wanted = set(options.programs.split(",")) if options.programs else None
    cases = [(test, program, environment, name) for test, program, environment in programs() if wanted is None or test in wanted for name in names_in(program)]
    folder = PLACE / "reached"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def one(at):
        test, program, environment, name = cases[at]
        file = folder / str(at)
        status, seconds = run_case(program, name, environment, 600, RIDGE_MUTANTS_REACHED=str(file))
        reached = sorted({int(line) for line in file.read_text().split()}) if file.exists() else []
        return {"test": test, "program": program, "environment": environment, "name": name, "status": status, "seconds": round(seconds, 3), "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, range(len(cases))))
    failed = [each["name"] for each in found if each["status"] != 0]
    store("cases.json", [each for each in found if each["status"] == 0])
    print(f"{len(found)} cases, {sum(each['seconds'] for each in found):.0f} s; left out because they fail without a mutant: {failed or 'none'}")


def judge(number, cases):
    """The case that finds a mutant, or nothing; how many ran, and in how many seconds."""
    ran, spent = 0, 0.0
    for case in cases:
        status, seconds = run_case(case["program"], case["name"], case["environment"], 10 * case["seconds"] + 5, RIDGE_MUTANT=str(number))
        ran, spent = ran + 1, spent + seconds
        if status != 0:
            return {"found": case["name"], "test": case["test"], "how": "hangs" if status is None else "crashes" if status < 0 else "fails", "ran": ran, "seconds": round(spent, 1)}
    return {"found": None, "ran": ran, "seconds": round(spent, 1)}


def kill(options):
    mutants, cases = load("mutants.json")["mutants"], load("cases.json")
    results = load("results.json") if (PLACE / "results.json").exists() else {}
    by_mutant = collections.defaultdict(list)
    for case in cases:
        for number in case["reached"]:
            by_mutant[number].append(case)
    for number, some in by_mutant.items():
        layer = mutants[str(number)]["file"].split("/")[0] if str(number) in mutants else ""
        some.sort(key=lambda case: (case["seconds"] > 2, layer not in case["test"], case["seconds"] * len(case["reached"])))
    end = time.monotonic() + 60 * options.minutes
    left = [number for number in sorted(map(int, mutants)) if str(number) not in results]
    random.Random(load("mutants.json")["seed"]).shuffle(left)  # an unfinished run is a sample, too

    def one(number):
        return (number, judge(number, by_mutant[number])) if time.monotonic() < end else (number, None)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, result in pool.map(one, left):
            if result is not None:
                results[str(number)] = result
                store("results.json", results)
    report(options)


def interval(found, total):
    """Wilson's 95 % interval of a share, E. B. Wilson, J. Am. Stat. Assoc. 22, 209 (1927)."""
    z, share = 1.96, found / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return middle - half, middle + half


def report(options):
    data, results = load("mutants.json"), load("results.json")
    rooms = collections.defaultdict(lambda: [0, 0])
    for number, result in results.items():
        room = room_of(data["mutants"][number]["file"])
        rooms[room][0] += result["found"] is not None
        rooms[room][1] += 1
    found, total = (sum(each[i] for each in rooms.values()) for i in (0, 1))
    if not total:
        raise SystemExit("mutants: none was judged yet")
    low, high = interval(found, total)
    print(f"{found} of {total} mutants found, {100 * found / total:.1f} % ({100 * low:.1f} to {100 * high:.1f}); {len(data['mutants'])} in the build, seed {data['seed']}")
    if options.markdown:
        print("\n| room | judged | found |\n|---|---:|---:|")
    for room in sorted(rooms):
        print(f"| {room} | {rooms[room][1]} | {100 * rooms[room][0] / rooms[room][1]:.0f} % |" if options.markdown else f"  {room}: {rooms[room][0]} of {rooms[room][1]}")
    if not options.markdown:
        for number, result in sorted(results.items(), key=lambda each: int(each[0])):
            if result["found"] is None:
                site = data["mutants"][number]
                print(f"  {number} {site['file']}:{site['line']}: {site['kind']}: {' '.join(site['original'].split())[:100]} ({result['ran']} cases)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("draw", "build", "reach", "kill", "report"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--programs", help="reach: only the cases of these, with commas between")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    {"draw": draw, "build": build, "reach": reach, "kill": kill, "report": report}[options.step](options)


if __name__ == "__main__":
    sys.exit(main())
