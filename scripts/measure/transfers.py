#!/usr/bin/env python3
"""Measures copies and collectives of one or two GPUs and writes records that ridge reads.

    transfers.py OUT                # OUT/host_to_device.jsonl, OUT/send.jsonl, OUT/all_reduce.jsonl ...
    transfers.py OUT --parts host   # on a machine with one GPU: only copies from and to the host

Messages of 1 KB to 1 GB: copies between host and GPU from pinned and pageable memory, copies from GPU to GPU by
their copy engines, and NCCL's all-reduce, all-gather, reduce-scatter, all-to-all and send over two GPUs.

Method. `launch=kernel` is the time on the device, from the driver's activity records (torch.profiler). For a
collective it is the shorter of the two GPUs' kernels, because the one that starts first waits for the other.
`launch=stream` is the time between two events around one call in an idle stream, including the host's share.
Copies of pageable memory have only this time, because the host moves the bytes during the call. `launch=graph` is
a replayed graph of many calls, divided by their number; replays are queued without a pause, so that the GPUs
stay in step. The result of every copy and collective is checked before it is timed.

OUT/host_clock.json holds the time from a call to its end by the host's clock, per message size.

Limits: one process per GPU for collectives; adding in the switch (NVLS) is off (NCCL_NVLS_ENABLE=0).
"""
import argparse
import json
import os
import pathlib
import statistics
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from siblings import sibling  # noqa: E402

SIZES = [1 << power for power in range(10, 31, 2)]
FINE = [1 << power for power in range(10, 31)]
PORT = 29533
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "send", "all_to_all"]


KERNELS = sibling("torch-kernels.py")


def record(op, implementation, launch, method, times, device, names=()):
    geometry = {"kernels": [{"name": name, "grid": [1, 1, 1], "block_threads": 0, "registers": 0,
                             "shared_bytes": 0, "repeat": 1} for name in names], "split": 1}
    return {"schema": 1, "op": op, "implementation": implementation, "l2": "warm", "launch": launch,
            "pattern": "normal", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tool": f"transfers.py, PyTorch {torch.__version__}",
            "software": "pytorch-" + torch.__version__.split("+")[0], "device": device,
            "geometry": geometry, "no_counters": {"reason": "not requested", "remedy": ""},
            "before": {}, "after": {},
            "timing": {"method": method, "statistics": KERNELS.summary_of(times), "discarded": 0,
                       "converged": False, "seconds": sum(times), "times_s": times}}


def device_events(profile, wanted):
    """(name, seconds) of the activities whose category or name `wanted` accepts, in order of time."""
    return [(each["name"], each["dur"] * 1e-6) for each in KERNELS.events_of(profile, wanted)]


def profiled():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])


def filled(nbytes, device, pinned=False):
    """Bytes without a pattern, so that an incomplete copy is noticed."""
    data = torch.randint(0, 255, (nbytes,), dtype=torch.uint8,
                         device="cuda:0" if device == "cpu" and nbytes > 1 << 20 else device)
    data = data.to(device)
    return data.pin_memory() if pinned else data


class Copies:
    """Copies between the host and a GPU, or between two GPUs, each timed in three ways."""

    WAYS = {"host_to_device library": ("cpu pinned", "cuda:0"), "device_to_host library": ("cuda:0", "cpu pinned"),
            "host_to_device pageable": ("cpu", "cuda:0"), "device_to_host pageable": ("cuda:0", "cpu"),
            "send copy_engine": ("cuda:0", "cuda:1")}

    def __init__(self, way):
        self.operation, self.implementation = way.split(" ")
        source, destination = self.WAYS[way]
        largest = max(SIZES)
        self.source = filled(largest, source.split(" ")[0], "pinned" in source)
        self.destination = torch.zeros(largest, dtype=torch.uint8, device=destination.split(" ")[0])
        if "pinned" in destination:
            self.destination = self.destination.pin_memory()
        self.asynchronous = self.implementation != "pageable"

    def copy(self, nbytes):
        self.destination[:nbytes].copy_(self.source[:nbytes], non_blocking=self.asynchronous)

    def check(self, nbytes):
        self.destination.zero_()
        self.copy(nbytes)
        self.wait()
        same = torch.equal(self.destination[:nbytes].cpu(), self.source[:nbytes].cpu())
        rest = nbytes == len(self.destination) or int(self.destination[nbytes]) == 0
        if not (same and rest):
            raise RuntimeError(f"{self.operation} of {nbytes} bytes left bytes that differ from its source")

    @staticmethod
    def wait():
        for index in range(torch.cuda.device_count()):
            torch.cuda.synchronize(index)

    def repeats(self, nbytes):
        return 25 if nbytes <= 1 << 24 else 5

    def in_stream(self, nbytes):
        """Seconds between events around one call, and from the call to its end by the host's clock."""
        times, host = [], []
        for _ in range(self.repeats(nbytes) + 3):
            self.wait()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start = time.perf_counter()
            begin.record()
            self.copy(nbytes)
            end.record()
            end.synchronize()
            host.append(time.perf_counter() - start)
            times.append(begin.elapsed_time(end) * 1e-3)
        return times[3:], statistics.median(host[3:])

    def on_device(self, sizes):
        """(size, name, seconds of each run) from activity records."""
        with profiled() as profile:
            for nbytes in sizes:
                for _ in range(self.repeats(nbytes) + 1):
                    self.copy(nbytes)
                    self.wait()
        events = device_events(profile, lambda each: each.get("cat") == "gpu_memcpy")
        runs = [self.repeats(nbytes) + 1 for nbytes in sizes]
        if len(events) != sum(runs):
            print(f"{self.operation}: {len(events)} activities of {sum(runs)} calls, left out", flush=True)
            return
        for nbytes, count in zip(sizes, runs):
            part, events = events[:count], events[count:]
            yield nbytes, part[-1][0], [seconds for _, seconds in part[1:]]

    def measure(self, device):
        records, host = [], {}
        for nbytes in (SIZES[0], SIZES[5], SIZES[-1]):
            self.check(nbytes)
        for nbytes in FINE:
            times, host[nbytes] = self.in_stream(nbytes)
            records.append(record(f"{self.operation} bytes={nbytes}", self.implementation, "stream",
                                  "events", times, device))
        if self.asynchronous:
            for nbytes, name, times in self.on_device(FINE):
                records.append(record(f"{self.operation} bytes={nbytes}", self.implementation, "kernel",
                                      "activity", times, device, [name]))
        return records, host


class Collective:
    """One of NCCL's collectives over two ranks, in bf16."""

    def __init__(self, name, rank, nbytes):
        elements = nbytes // 2
        self.name, self.rank = name, rank
        whole = torch.full((elements,), 1.0 + rank, dtype=torch.bfloat16, device="cuda")
        part = torch.full((elements // 2,), 1.0 + rank, dtype=torch.bfloat16, device="cuda")
        self.whole, self.part = whole, part
        self.received = torch.zeros_like(whole) if name in ("send", "all_to_all") else None

    def run(self):
        if self.name == "all_reduce":
            dist.all_reduce(self.whole)
        elif self.name == "all_gather":
            dist.all_gather_into_tensor(self.whole, self.part)
        elif self.name == "reduce_scatter":
            dist.reduce_scatter_tensor(self.part, self.whole)
        elif self.name == "all_to_all":
            dist.all_to_all_single(self.received, self.whole)
        elif self.rank == 0:
            dist.send(self.whole, 1)
        else:
            dist.recv(self.received, 0)

    def check(self):
        """Checks the result of one run: the inputs are 1 on rank 0 and 2 on rank 1."""
        self.run()
        torch.cuda.synchronize()
        ends = {"all_reduce": lambda: (self.whole, (3.0, 3.0)), "all_gather": lambda: (self.whole, (1.0, 2.0)),
                "reduce_scatter": lambda: (self.part, (3.0, 3.0)),
                "all_to_all": lambda: (self.received, (1.0, 2.0)),
                "send": lambda: (self.received, (1.0, 1.0))}
        if self.name == "send" and self.rank == 0:
            return
        got, (first, second) = ends[self.name]()
        middle = got.numel() // 2
        if not (bool((got[:middle] == first).all()) and bool((got[middle:] == second).all())):
            raise RuntimeError(f"{self.name} of {self.whole.numel() * 2} bytes left a wrong result")


def kernel_times(name, rank, sizes, meet):
    """[collective, bytes, kernel, seconds of each call] from activity records."""
    calls = 12
    with profiled() as profile:
        for nbytes in sizes:
            collective = Collective(name, rank, nbytes)
            torch.cuda.synchronize()
            meet.wait()
            for _ in range(calls):
                collective.run()
            torch.cuda.synchronize()
    events = device_events(profile, lambda each: each.get("cat") == "kernel" and "nccl" in each["name"].lower())
    if len(events) != calls * len(sizes):
        print(f"rank {rank} {name}: {len(events)} kernels of {calls * len(sizes)}, left out", flush=True)
        return []
    return [[name, nbytes, events[index * calls][0], [each for _, each in events[index * calls:(index + 1) * calls]]]
            for index, nbytes in enumerate(sizes)]


def graph_times(collective, nbytes, meet):
    """Seconds per call of replayed graphs, queued one after another."""
    repeat = 20 if nbytes <= 1 << 22 else 4 if nbytes <= 1 << 27 else 1
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            collective.run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        for _ in range(repeat):
            collective.run()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(15)]
    torch.cuda.synchronize()
    meet.wait()
    with torch.cuda.stream(stream):
        for event in events:
            graph.replay()
            event.record()
    torch.cuda.synchronize()
    pairs = list(zip(events, events[1:]))[3:]
    return [one.elapsed_time(following) * 1e-3 / repeat for one, following in pairs]


def sizes_of(name):
    return FINE if name == "all_reduce" else SIZES


def rank_main(rank, out, seconds, meet):
    started = time.monotonic()
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{PORT}", rank=rank, world_size=2,
                            device_id=torch.device("cuda", rank))
    found = {"graph": [], "kernel": []}

    def late():
        passed = torch.tensor([time.monotonic() - started > seconds], device="cuda", dtype=torch.int32)
        dist.all_reduce(passed)
        return bool(int(passed))

    def save():
        (out / f"rank{rank}.json").write_text(json.dumps(found), encoding="utf-8")

    for name in COLLECTIVES:
        if late():
            print(f"out of time before {name}", flush=True)
            break
        for nbytes in sizes_of(name):
            Collective(name, rank, nbytes).check()
        found["kernel"] += kernel_times(name, rank, sizes_of(name), meet)
        save()
    for name in COLLECTIVES:
        if late():
            print(f"out of time before the graphs of {name}", flush=True)
            break
        try:
            for nbytes in sizes_of(name):
                found["graph"].append([name, nbytes, graph_times(Collective(name, rank, nbytes), nbytes, meet)])
        except RuntimeError as error:
            print(f"rank {rank} {name}: no graph: {str(error).splitlines()[0][:120]}", flush=True)
            break
        save()
    save()
    print(f"rank {rank}: {time.monotonic() - started:.0f} s", flush=True)
    meet.wait()
    os._exit(0)  # an orderly end would wait for the communicator that a captured graph holds


def collective_records(out, device):
    ranks = [json.loads((out / f"rank{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]
    records = []
    for one, other in zip(ranks[0]["kernel"], ranks[1]["kernel"]):
        name, nbytes, kernel, times = one
        shorter = [min(pair) for pair in zip(times, other[3])][4:]
        records.append(record(f"{name} bytes={nbytes}", "library", "kernel", "activity", shorter, device, [kernel]))
    for one, other in zip(ranks[0]["graph"], ranks[1]["graph"]):
        longer = [max(pair) for pair in zip(one[2], other[2])]
        records.append(record(f"{one[0]} bytes={one[1]}", "library", "graph", "graph", longer, device))
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["host", "peer", "collectives"])
    parser.add_argument("--seconds", type=float, default=45.0, help="no further collective starts after this time")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    device = KERNELS.describe_device()
    started, clocks = time.monotonic(), {}
    for way in Copies.WAYS:
        peer = way.startswith("send")
        if ("peer" if peer else "host") not in options.parts:
            continue
        if peer and torch.cuda.device_count() > 1:
            print("peer access:", torch.cuda.can_device_access_peer(0, 1), flush=True)
        elif peer:
            print("only one GPU: no copies between GPUs", flush=True)
            continue
        records, clocks[way] = Copies(way).measure(device)
        KERNELS.write_records(options.out, records)
        (options.out / "host_clock.json").write_text(json.dumps(clocks, indent=1), encoding="utf-8")
        torch.cuda.empty_cache()
        print(f"{way}: {len(records)} records after {time.monotonic() - started:.0f} s", flush=True)
    if "collectives" in options.parts and torch.cuda.device_count() > 1:
        meet = torch.multiprocessing.get_context("spawn").Barrier(2)
        torch.multiprocessing.start_processes(rank_main, args=(options.out, options.seconds, meet), nprocs=2,
                                              start_method="spawn")
        records = collective_records(options.out, device)
        KERNELS.write_records(options.out, records)
        print(f"collectives: {len(records)} records after {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
