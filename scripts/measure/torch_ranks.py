"""What the scripts share that measure steps on several GPUs: the ranks' meeting, the table, the steps in turn.

    torch_ranks.run("Measures ...", FIELDS, {"first": STEPS, "judge": JUDGES}, fill)

`fill(step, row)` measures one step on every rank and puts what was found into `row`; rank 0 writes the rows. A step
that fails on a rank is a row with the reason. No further step begins once `--seconds` are over on any rank.
"""
import argparse
import csv
import gc
import os
import statistics
import time

import torch
import torch.distributed as dist


def at_a_barrier():
    """Waits until all GPUs are here, with no work left."""
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()


def gathered(value):
    """The values of all ranks."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def with_random_weights(model):
    """The model, whose values were not drawn when it was built."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.02)
    return model


def timed(models, stepper):
    """Microseconds of eight steps that begin together, of dispatching each, and of one small kernel between them.

    `models` is the module torch-models.py.
    """
    probes = []

    def after():
        stepper.after()
        probes.append(models.probe(1))

    walls, sent = models.timed(stepper.step, after, ready=at_a_barrier, repeats=8, seconds=float("inf"))
    return walls, sent, round(statistics.median(probes), 3)


def union_of(spans):
    """Nanoseconds that (start, end) spans cover together."""
    covered, until = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, until))
        until = max(until, end)
    return covered


def times_of(models, stepper):
    """Number and time of kernels, with NCCL's kernels apart, and how long only NCCL's ran."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as run:
        stepper.step()
        torch.cuda.synchronize()
    stepper.after()
    found = {"kernels": 0, "time_us": 0.0, "nccl_kernels": 0, "nccl_us": 0.0}
    spans = {"time_us": [], "nccl_us": []}
    for event in run.profiler.kineto_results.events():
        name = event.name()
        if event.device_type() != torch.autograd.DeviceType.CUDA or event.duration_ns() <= 0:
            continue
        if event.is_user_annotation() or name.startswith(("Memset", *models.ANNOTATIONS)):
            continue
        if "::" in name and "(" not in name and "<" not in name:
            continue  # annotations
        column = "nccl_us" if name.startswith("ncclDevKernel") else "time_us"
        spans[column].append((event.start_ns(), event.end_ns()))
        if not name.startswith("Memcpy"):
            found["nccl_kernels" if column == "nccl_us" else "kernels"] += 1
            found[column] += event.duration_ns() / 1000.0
    found["exposed_us"] = (union_of(spans["time_us"] + spans["nccl_us"]) - union_of(spans["time_us"])) / 1000.0
    return {key: round(value, 1) for key, value in found.items()}


def header():
    """What ran, as the first line of a table."""
    return (f"# {dist.get_world_size()} x {torch.cuda.get_device_name()}, torch {torch.__version__}, NCCL "
            f"{'.'.join(map(str, torch.cuda.nccl.version()))}, NVLS {os.environ.get('NCCL_NVLS_ENABLE', 'as is')}\n")


def any_late(began, seconds):
    late = torch.tensor([time.perf_counter() - began > seconds], device="cuda").int()
    dist.all_reduce(late)
    return bool(late.item())


def run(description, fields, sets, fill):
    """The main function of a script: measures the steps of a set, whose names `--steps` takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--steps", choices=list(sets), default=next(iter(sets)), help="which steps")
    parser.add_argument("--only", default="", help="steps whose `how` begins so")
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    began = time.perf_counter()
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    # The values of weights do not matter until they are drawn.
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor
    rank = dist.get_rank()
    with open(args.csv if rank == 0 else os.devnull, "w", newline="", encoding="utf-8") as file:
        file.write(header())
        out = csv.DictWriter(file, fields, lineterminator="\n")
        out.writeheader()
        for step in [step for step in sets[args.steps] if step[1].startswith(args.only)]:
            if any_late(began, args.seconds):
                break
            row = {"model": step[0], "how": step[1], "gpus": dist.get_world_size()}
            try:
                fill(step, row)
            except Exception as error:  # pylint: disable=broad-except
                row["reason"] = repr(error)[:300]
            if rank == 0:
                out.writerow(row)
                file.flush()
                print(round(time.perf_counter() - began, 1), row, flush=True)
            gc.collect()
            torch.cuda.empty_cache()
    dist.destroy_process_group()
