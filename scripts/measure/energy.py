#!/usr/bin/env python3
"""Measures power and energy of PyTorch's kernels in steady work, and writes records that ridge reads.

    energy.py OUT --part train --seed 40 --window 2 --seconds 240
    energy.py OUT --part judge --seed 4101 --window 3 --seconds 200

`energy_plan.py`, beside this script, defines the cases; `energy_counter.py` reads NVML's energy counter.
OUT/PART-SEED/ gets one file of records for each operation; each has a field `energy` beside its times, and idle power.
OUT/steps.json holds the raw readings of the counter while the load goes on and off, to see its period and its lag.

Method. A graph of about 20 ms of the operation is replayed without a pause, at least 20 ms of work ahead, for a warm-up and a
window of at least `--window` seconds. Meanwhile the counter is polled, and clocks, power and temperature every 100 ms.
Energy of one run is the power of the window times the time of one run in it. Idle power, with the clocks up and a
context open, is measured first and stands in each record; nothing is subtracted. A case that fails is printed and left
out. What the folder already holds is not measured again. The operands stay what they are from run to run (L2 state `warm`).

Limits: results are not compared with a reference. Nothing of the GPU is set.
"""
import argparse
import collections
import gc
import importlib.util
import json
import math
import pathlib
import sys
import time

import torch

import energy_plan
from energy_counter import Counter, mean_of, window_of

QUEUED_SECONDS = 0.02  # of work, more than a poll takes (3 ms in a virtual machine)
FEWEST_AHEAD, MOST_AHEAD = 3, 32
RAREST_POLL = 0.03
REPLAY_SECONDS = 0.02
MOST_REPEATS = 200  # more would fill the queue of launches, and the host would wait instead of polling


def load_kernels():
    """The functions of torch-kernels.py, whose name is no identifier."""
    path = pathlib.Path(__file__).with_name("torch-kernels.py")
    spec = importlib.util.spec_from_file_location("torch_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def repeats_of(run):
    """How many runs last about as long as a replay should, and the time of one."""
    for _ in range(3):
        run()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(5):
        run()
    stop.record()
    torch.cuda.synchronize()
    once = start.elapsed_time(stop) * 1e-3 / 5
    return max(1, min(MOST_REPEATS, round(REPLAY_SECONDS / max(once, 1e-6)))), max(once, 1e-6)


def replay_of(run, repeats, capture):
    """A function that queues so many runs: a graph, or single calls where the operation cannot be captured."""
    if not capture:
        return lambda: [run() for _ in range(repeats)] and None, "calls"
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                run()
        return graph.replay, "graph"
    except Exception:  # noqa: BLE001: what cannot be captured is launched
        torch.cuda.synchronize()

        def calls():
            for _ in range(repeats):
                run()
        return calls, "calls"


def work(counter, replay, seconds, warm, window):
    """Times of finished replays, of about so many seconds each, while the counter is polled; the first `warm` seconds
    are not part of the window."""
    ahead = min(MOST_AHEAD, max(FEWEST_AHEAD, math.ceil(QUEUED_SECONDS / seconds) + 1))
    queue, finished, start = collections.deque(), [], time.monotonic()
    while time.monotonic() - start < warm + window:
        replay()
        event = torch.cuda.Event()
        event.record()
        queue.append(event)
        if time.monotonic() - counter.before > RAREST_POLL:  # a launch may wait for the GPU
            counter.poll()
        while len(queue) >= ahead:
            if queue[0].query():
                queue.popleft()
                finished.append(time.monotonic())
            else:
                counter.poll()
                time.sleep(2e-4)
    torch.cuda.synchronize()
    return [at for at in finished if at >= start + warm]


def measured(counter, case, pattern, options):
    """(times of one run, energy field, method) of a case."""
    energy_plan.use(pattern)
    torch.manual_seed(7)
    with torch.inference_mode("backward" not in case.op and not case.op.startswith("adamw")):
        run = case.make()
        repeats, once = repeats_of(run)
        # A failed capture would leave the random generator unusable.
        replay, method = replay_of(run, repeats, capture="backward" not in case.op and not case.op.startswith("cross_entropy"))
        replay()
        torch.cuda.synchronize()
        counter.restart()
        finished = work(counter, replay, repeats * once, options.warm, options.window)
    found = window_of(counter.readings, finished[0], finished[-1])
    if found is None:
        raise RuntimeError("the energy counter did not move twice in the window")
    found_once = (finished[-1] - finished[0]) / (len(finished) - 1) / repeats
    span = counter.states, finished[0], finished[-1]
    state = {"temperature_celsius": mean_of(counter.states, "temperature_celsius", *span[1:]),
             "clock_hz": mean_of(counter.states, "sm_clock_hz", *span[1:]),
             "sensor_w": mean_of(counter.states, "power_w", *span[1:])}
    reasons = sorted({word for each in counter.states for word in each.get("clock_reasons", [])})
    times = [(b - a) / repeats for a, b in zip(finished, finished[1:])][-50:]
    return times, {**found, "energy_j": found["power_w"] * found_once, "time_s": found_once, "runs": repeats * (len(finished) - 1),
                   **state, "power_limit_w": counter.states[-1].get("power_limit_w"), "clock_reasons": reasons}, method


def record_of(kernels, case, pattern, found, seed, device, idle):
    times, energy, method = found
    summary = kernels.summary_of(times)
    energy = {key: value for key, value in {**energy, **idle}.items() if value is not None and value != []}
    return {"schema": 1, "op": case.op, "implementation": case.implementation, "l2": "warm", "launch": "kernel",
            "pattern": pattern, "seed": seed, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tool": f"energy.py, PyTorch {torch.__version__}",
            "software": "pytorch-" + torch.__version__.split("+")[0], "device": device,
            "geometry": {"kernels": [], "split": 1},
            "no_counters": {"reason": "not requested", "remedy": ""}, "before": {}, "after": {},
            "timing": {"method": method, "statistics": summary, "discarded": 0, "converged": True,
                       "seconds": energy["seconds"], "times_s": times}, "energy": energy}


def steps(counter, out):
    """Raw readings while a product runs for a second between two seconds of nothing, and in turns of 0.1 s."""
    energy_plan.use("normal")
    run = energy_plan.square("bf16", 8192).make()
    run()
    torch.cuda.synchronize()
    counter.restart()
    marks = []
    for seconds, busy in [(1.0, False), (1.5, True), (1.0, False)] + [(0.1, True), (0.1, False)] * 5:
        marks.append((time.monotonic(), busy))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if busy:
                run()
                run()
                torch.cuda.synchronize()
            counter.poll()
    readings = [(at - marks[0][0], joules - counter.readings[0][1], gap) for at, joules, gap in counter.readings]
    sensor = [(each["at"] - marks[0][0], each.get("power_w"), each.get("sm_clock_hz")) for each in counter.states]
    out.write_text(json.dumps({"marks": [(at - marks[0][0], busy) for at, busy in marks], "readings": readings,
                               "sensor": sensor}))


def idle_of(counter):
    """Idle power of a GPU that has a context: at once after work, when the clocks are still up, and later."""
    run = energy_plan.square("bf16", 4096).make()
    for _ in range(50):
        run()
    torch.cuda.synchronize()
    up = counter.idle(1.0)
    time.sleep(0.5)
    rest = counter.idle(2.0)
    print("idle:", up, rest, counter.state(), flush=True)
    return {"idle_up_w": up and up["power_w"], "idle_w": rest and rest["power_w"]}


def recorded(folder):
    """(op, pattern) of the records that the folder already holds."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(record["op"], record["pattern"]) for record in map(json.loads, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--part", choices=["train", "drawn", "judge", "few", "limit"], default="train")
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--warm", type=float, default=0.4, help="seconds before the window")
    parser.add_argument("--window", type=float, default=3.0, help="seconds of the window")
    parser.add_argument("--seconds", type=float, default=240.0, help="of the whole run")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    cases = energy_plan.cases_of(options.part, options.seed)
    if options.list:
        for case, pattern in cases:
            print(pattern, case.implementation, case.op)
        return 0
    start, kernels, counter = time.monotonic(), load_kernels(), Counter()
    options.out.mkdir(parents=True, exist_ok=True)
    device = kernels.describe_device()
    print(device, counter.state(), flush=True)
    energy_plan.use("normal")
    idle = idle_of(counter)
    if options.part == "train":
        steps(counter, options.out / "steps.json")
    folder = options.out / f"{options.part}-{options.seed}"
    known = recorded(folder)
    cases = [(case, pattern) for case, pattern in cases if (case.op, pattern) not in known]
    for number, (case, pattern) in enumerate(cases):
        if time.monotonic() - start > options.seconds:
            print(f"out of time after {number} of {len(cases)} cases", flush=True)
            break
        try:
            found = measured(counter, case, pattern, options)
            record = record_of(kernels, case, pattern, found, options.seed, device, idle)
            kernels.write_records(folder, [record])
            energy = record["energy"]
            print(f"{time.monotonic() - start:5.0f} s {energy['power_w']:6.1f} W +-{100 * energy['error']:.1f} % "
                  f"{energy['time_s'] * 1e6:9.1f} us {energy.get('clock_hz', 0) / 1e6:5.0f} MHz "
                  f"{energy.get('temperature_celsius', 0):3.0f} C {found[2]:5} {pattern:8} {case.op}", flush=True)
        except Exception as error:  # noqa: BLE001: a refused call is no reason to stop
            print(f"left out: {case.op}: {str(error).splitlines()[0][:150] if str(error) else error!r}", flush=True)
            torch.cuda.synchronize()
        gc.collect()
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
