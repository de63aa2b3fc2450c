// What a GPU is: roofs, number formats, memory levels, warps in flight.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "effects/lessons/lessons.h"
#include "hardware/algorithms.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/bundled/access.h"
#include "model/machine/occupancy.h"
#include "model/roof/memory_time.h"
#include "programs/configs/presets.h"
#include "programs/model_step.h"

namespace ridge::effects {
namespace {

using si::giga;
using si::microsecond;
using si::nanosecond;
using si::tera;

Series standing(const char* id, const char* name, const std::vector<Named>& points) {
    Series series = named(id, name, points);
    series.joined = true;
    return series;
}

/// Resident and peak bytes of a GPT-2 step, by the number format of its weights.
void add_training_memory(Plan& plan) {
    const programs::Architecture gpt2 = programs::find_model("gpt2");
    struct Way {
        const char* name;
        model::DataType type;
        bool mixed;
    };
    Series resident{.id = "resident", .name = "weights, optimizer", .joined = false};
    Series peak{.id = "peak_memory", .name = "peak", .joined = false};
    double x = 0.0;
    for (const Way& way :
         {Way{"fp32", model::DataType::fp32, false}, Way{"mixed", model::DataType::bf16, true},
          Way{"bf16", model::DataType::bf16, false}}) {
        programs::Request request{.phase = programs::Phase::train, .batch = 8, .seq = 1024};
        request.type = way.type;
        request.mixed = way.mixed;
        const programs::StepMemory memory = programs::memory_of(programs::make_step(gpt2, request));
        x += 1.0;
        resident.points.push_back(
            {.x = x, .name = way.name, .value = static_cast<double>(memory.resident)});
        peak.points.push_back(
            {.x = x, .name = way.name, .value = static_cast<double>(memory.peak)});
    }
    plan.figures.push_back({.title = "A training step of GPT-2, 8 x 1024 tokens, AdamW",
                            .x = {.title = "Numbers", .names = {"fp32", "mixed", "bf16"}},
                            .y = {.title = "Memory", .unit = "GiB"},
                            .quantity = Quantity::memory,
                            .unit = (1.0 * units::GiB).base(),
                            .series = {std::move(resident), std::move(peak)}});
}

/// Working sets from 8 KiB to 1 GiB, two for every doubling.
std::vector<double> working_sets() {
    std::vector<double> bytes;
    for (int doublings = 13; doublings < 30; ++doublings) {
        bytes.push_back(std::ldexp(1.0, doublings));
        bytes.push_back(std::ldexp(1.5, doublings));
    }
    bytes.push_back(std::ldexp(1.0, 30));
    return bytes;
}

/// One thread that follows pointers, by the bytes that hold the pointers; points inside a memory
/// level carry its name.
Series chase_of(const model::Machine& machine, std::int64_t asked) {
    Series series = sweep(
        "chase", "one thread, dependent loads", working_sets(),
        [](std::int64_t bytes) {
            return fmt::format("access pattern=chase elements={}", bytes / 4);
        },
        [](std::int64_t bytes) { return static_cast<double>(model::bundled::chase_loads(bytes)); });
    const double l2 = machine.l2.size.base();
    const auto name = [&series](double bytes, const char* level) {
        const auto at = algorithms::find_if(
            series.points, [bytes](const Point& point) { return point.x >= bytes; });
        if (at == series.points.end()) return;
        at->name = level;
        at->labelled = true;
    };
    series.points.push_back({.x = static_cast<double>(asked),
                             .name = "asked",
                             .work = fmt::format("access pattern=chase elements={}", asked / 4),
                             .amount = static_cast<double>(model::bundled::chase_loads(asked))});
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    name(32768.0, "L1");
    if (l2 > 0.0) name(l2 / 16.0, "L2");
    if (machine.l2.partitions > 1.0) name(0.6 * l2, "L2 far");
    name(1073741824.0, "DRAM");
    return series;
}

/// All SMs reading the same bytes repeatedly.
Series reread_series() {
    return sweep(
        "reread", "read by all SMs", working_sets(),
        [](std::int64_t bytes) {
            return fmt::format("access pattern=reread elements={}", bytes / 4);
        },
        [](std::int64_t) { return static_cast<double>(model::bundled::reread_bytes); });
}

constexpr std::array<std::int64_t, 9> resident_warps{1, 2, 4, 8, 16, 24, 32, 48, 64};

/// Bandwidth of a stream whose threads keep `elements` words of 4 bytes in flight each way.
Series little(const model::MemoryParameters& memory, std::int64_t elements, std::int64_t most) {
    Series series{
        .id = "little" + std::to_string(elements),
        .name = fmt::format("{} element{} per thread", elements, elements == 1 ? "" : "s")};
    const Bytes half = 1.0 * units::GiB;
    for (const std::int64_t warps : resident_warps) {
        if (warps > most) continue;
        const model::KernelTime time = model::stream_time(
            memory, {.read = half, .write = half, .l2_read = half, .l2_write = half},
            {.threads_per_block = 32.0,
             .blocks_per_sm = static_cast<double>(warps),
             .bytes_per_thread = static_cast<double>(elements) * 8.0 * units::B},
            model::L2State::cold);
        series.points.push_back(
            {.x = static_cast<double>(warps), .value = 2.0 * half.base() / time.total.base()});
    }
    return series;
}

/// Resident warps by registers per thread, in blocks of 256 threads.
Series by_registers(const model::SmLimits& limits, std::int64_t asked) {
    Series series{.id = "registers", .name = "blocks of 256 threads"};
    // No instruction can address more than 255 registers, whatever a description says.
    const std::int64_t most = std::min<std::int64_t>(limits.registers_per_thread, 256);
    std::vector<double> counts{static_cast<double>(16)};
    for (std::int64_t count = 24; count <= most; count += 8) {
        counts.push_back(static_cast<double>(count));
    }
    for (const double count : with(std::move(counts), std::min(asked, most))) {
        const auto registers = static_cast<std::int64_t>(count);
        const model::Occupancy found =
            model::occupancy({.threads = 256, .registers = registers}, limits);
        series.points.push_back(
            {.x = static_cast<double>(registers), .value = static_cast<double>(found.warps)});
    }
    return series;
}

/// Copies from DRAM by number of blocks; some points carry names.
Series copies_by_blocks(std::int64_t sm_count) {
    // A block of the bundled copy handles 1024 words.
    std::vector<double> blocks;
    for (const double each : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0}) {
        const double count = each * static_cast<double>(sm_count);
        if (count >= 1.0) blocks.push_back(count);
    }
    Series copies = sweep("blocks", "blocks of 256 threads", blocks, [](std::int64_t count) {
        return fmt::format("copy dtype=fp32 elements={} l2=cold", 1024 * count);
    });
    for (Point& point : copies.points) {
        const double each = point.x / static_cast<double>(sm_count);
        if (each == 1.0) point.name = "one each";
        if (each == 4.0) point.name = "four each";
        if (each == 16.0) point.name = "sixteen each";
        if (each == 256.0) point.name = "many";
    }
    return copies;
}

}  // namespace

Plan roofline_plan(const Subject& subject) {
    Plan plan;
    const char* square = "matmul m=4096 n=4096 k=4096 dtype={} impl=library";
    Figure figure{.title = "Where operations lie", .quantity = Quantity::rate, .unit = tera};
    figure.roofline = true;
    figure.series = {
        standing(
            "memory", "elementwise, rows",
            {{"relu fp32", "elementwise expr=relu(x) dtype=fp32 elements=268435456 impl=fused"},
             {"gelu bf16",
              "elementwise expr=\"gelu_tanh(x + bias)\" elements=268435456 impl=fused"},
             {"layernorm bf16", "layernorm rows=65536 cols=4096 impl=fused"},
             {"softmax bf16", "softmax rows=65536 cols=4096 impl=fused"}}),
        standing("products", "products",
                 {{"m = 1 bf16", "matmul m=1 n=4096 k=4096 l2=cold impl=library"},
                  {"m = 128 bf16", "matmul m=128 n=4096 k=4096 l2=cold impl=library"},
                  {"asked", fmt::format("matmul m={} n=4096 k=4096 l2=cold impl=library",
                                        subject.at(knob::rows))},
                  {"4096^3 fp32", fmt::format(fmt::runtime(square), "fp32")},
                  {"4096^3 tf32", fmt::format(fmt::runtime(square), "tf32")},
                  {"4096^3 bf16", fmt::format(fmt::runtime(square), "bf16")},
                  {"8192^3 fp8",
                   "matmul m=8192 n=8192 k=8192 dtype=fp8 b_layout=column "
                   "impl=library"}}),
        standing(
            "attention", "attention",
            {{"prefill 16384", "attention heads=16 seq=16384 head_dim=128 dtype=bf16 impl=mma"},
             {"decode 8192",
              "attention batch=64 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 head_dim=128 "
              "dtype=bf16 impl=mma l2=cold"}})};
    plan.figures.push_back(std::move(figure));
    plan.facts["rows"] =
        fmt::format("{} row{}", subject.at(knob::rows), subject.at(knob::rows) == 1 ? "" : "s");
    plan.formula = "attainable = min(peak, intensity x bandwidth)";
    plan.ratio = {.what = "Rate of the bf16 product over the rate of ReLU",
                  .above = "products@4096^3 bf16",
                  .below = "memory@relu fp32"};
    plan.text =
        R"([products@4096^3 bf16/memory@relu fp32 > 1.05] On {gpu} a product of 4096^3 runs at {products@4096^3 bf16} and ReLU at {memory@relu fp32}, {products@4096^3 bf16/memory@relu fp32} times less: what an operation does for each byte that it moves decides.
| A product of 4096^3 runs at {products@4096^3 bf16} on {gpu}, ReLU at {memory@relu fp32}.

The two roofs, bandwidth and peak, meet at {ridge_bf16} FLOP per byte in bf16 and at {ridge_fp32} in fp32 without tensor cores.
[products@asked/products@4096^3 bf16 < 0.95] With {rows} a product reads a whole matrix for little work and reaches {products@asked}.
| With {rows} a product reaches {products@asked}.
[attention@prefill 16384/attention@decode 8192 > 1.05] Decoding over a cache of 8192 tokens runs at {attention@decode 8192}, a prompt of 16384 tokens at {attention@prefill 16384}.)";
    return plan;
}

Plan precision_plan(const Subject& subject) {
    Plan plan;
    const auto relu = [](const char* type) {
        return fmt::format("elementwise expr=relu(x) dtype={} elements=268435456 impl=fused", type);
    };
    const std::vector<Named> relus{
        {"fp32", relu("fp32")}, {"bf16", relu("bf16")}, {"fp8", relu("fp8")}};
    plan.figures.push_back({.title = "ReLU over 268 million elements",
                            .x = {.title = "Type", .names = {"fp32", "bf16", "fp8"}},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = {named("relu", "ReLU", relus)}});
    const auto square = [n = subject.at(knob::size)](const char* type) {
        return fmt::format("matmul m={0} n={0} k={0} {1} impl=library", n, type);
    };
    plan.figures.push_back({.title = "A product of $size^3",
                            .x = {.title = "Type", .names = {"fp32", "tf32", "bf16", "fp8"}},
                            .y = {.title = "Rate", .unit = "TFLOP/s", .scale = plot::Scale::log},
                            .quantity = Quantity::rate,
                            .unit = tera,
                            .series = {named("product", "product",
                                             {{"fp32", square("dtype=fp32")},
                                              {"tf32", square("dtype=tf32")},
                                              {"bf16", square("dtype=bf16")},
                                              {"fp8", square("dtype=fp8 b_layout=column")}})}});
    add_training_memory(plan);
    plan.formula = "intensity of ReLU = 1 / (2 e) FLOP per byte, e bytes per element";
    plan.ratio = {.what = "Rate of the product in bf16 over fp32",
                  .above = "product@bf16",
                  .below = "product@fp32"};
    plan.text =
        R"([product@bf16/product@fp32 > 1.05] A product of $size^3 runs at {product@bf16} in bf16 on {gpu} and at {product@fp32} in fp32, which has no tensor cores: {product@bf16/product@fp32} times as fast.
| A product of $size^3 runs at {product@bf16} in bf16 on {gpu} and at {product@fp32} in fp32.

In tf32 it runs at {product@tf32}.
In fp8 it runs at {product@fp8}.
[relu@fp32/relu@bf16 ~ 2] ReLU is bound by memory: half of the bytes take half of the time, {relu@bf16} instead of {relu@fp32}.
| [relu@fp32/relu@bf16 > 1.05] ReLU is bound by memory and gains a factor of {relu@fp32/relu@bf16}: {relu@bf16} instead of {relu@fp32}.
A GPT-2 training step holds {resident@mixed} before it begins in mixed precision and {resident@fp32} in fp32; its peaks are {peak_memory@mixed} and {peak_memory@fp32}, with everything in bf16 {peak_memory@bf16}.)";
    return plan;
}

Plan memory_hierarchy_plan(const Subject& subject) {
    Plan plan;
    const model::Machine& machine = subject.machine;
    const std::int64_t asked = subject.at(knob::bytes) / 128 * 128;
    plan.facts["set"] = format_capacity(Bytes::from_base(static_cast<double>(asked)));
    const plot::Axis set{.title = "Working set", .unit = "B", .scale = plot::Scale::log};
    plan.figures.push_back({.title = "Latency of dependent loads, by working set",
                            .x = set,
                            .y = {.title = "Latency", .unit = "ns", .scale = plot::Scale::log},
                            .quantity = Quantity::latency,
                            .unit = nanosecond,
                            .series = {chase_of(machine, asked)}});
    plan.figures.push_back({.title = "Bandwidth of all SMs together, by working set",
                            .x = set,
                            .y = {.title = "Bandwidth", .unit = "GB/s", .scale = plot::Scale::log},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {reread_series()}});
    plan.figures.push_back(
        {.title = "A repeated copy, by the size of its source",
         .x = {.title = "Elements of 4 bytes", .scale = plot::Scale::log},
         .y = {.title = "Bandwidth", .unit = "GB/s", .scale = plot::Scale::log},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {
             sweep("copy", "read and written",
                   {1024, 4096, 16384, 65536, 262144, 1048576, 2097152, 4194304, 8388608, 16777216,
                    67108864, 268435456},
                   [](std::int64_t n) { return fmt::format("copy dtype=fp32 elements={}", n); })}});
    const auto from_host = [](const char* how) {
        return [how](std::int64_t bytes) {
            return fmt::format("host_to_device bytes={} {}", bytes, how);
        };
    };
    const std::vector<double> sizes = doubling(1024, 1073741824, 4);
    plan.figures.push_back(
        {.title = "Copy from pinned host memory",
         .x = {.title = "Bytes", .unit = "B", .scale = plot::Scale::log},
         .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("host", "the copy itself", sizes, from_host("launch=kernel")),
                    sweep("host_call", "call in a stream", sizes, from_host("launch=stream"))}});
    plan.formula =
        "latency = sum of (share of loads that a level serves x its latency); "
        "time of a transfer = start + bytes / bandwidth";
    plan.ratio = {.what = "Time of a dependent load from DRAM over L1",
                  .above = "chase@DRAM",
                  .below = "chase@L1",
                  .why =
                      "The load from DRAM causes the difference: {chase@DRAM} predicted and "
                      "{chase@DRAM:measured} measured."};
    plan.text =
        R"([chase@DRAM/chase@L1 > 1.05] A dependent load takes {chase@L1} from the L1 of {gpu}, {chase@L2} from the L2 and {chase@DRAM} from DRAM: {chase@DRAM/chase@L1} times as long from end to end.

The measured latencies are {chase@L1:measured}, {chase@L2:measured} and {chase@DRAM:measured}.
A load from a working set of {set} takes {chase@asked}.
[chase@L2 far/chase@L2 > 1.05] Of a working set of six tenths of the L2 a part lies in the half that is far away: {chase@L2 far} on average.
[reread@65536/reread@1073741824 > 1.05; chase@DRAM/chase@L1 > 1.05] All SMs together read 64 KiB, each from its own L1, at {reread@65536} and 1 GiB from DRAM at {reread@1073741824}: the deeper the level, the more loads must be in flight.
Measured: {reread@65536:measured} and {reread@1073741824:measured}.
{if measured}Between two levels the measured bandwidth lies above the line: blocks move through the working set a few KB apart and find in the upper level what a neighbour has fetched, which the model does not count.
A copy of 1 KB from pinned host memory takes {host@1024} on the copy engine and {host_call@1024} as a call.)";
    return plan;
}

Plan occupancy_plan(const Subject& subject) {
    Plan plan;
    const model::Machine& machine = subject.machine;
    if (!machine.memory || !machine.limits || machine.sm_count == 0) {
        plan.refused =
            "its description has no thread and register limits, or no parameters "
            "of its memory";
        return plan;
    }
    plan.figures.push_back({.title = "Bandwidth of a stream, by resident warps per SM",
                            .x = {.title = "Warps per SM", .scale = plot::Scale::log},
                            .y = {.title = "Bandwidth", .unit = "GB/s"},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {little(*machine.memory, 1, machine.limits->warps),
                                       little(*machine.memory, 4, machine.limits->warps),
                                       little(*machine.memory, 8, machine.limits->warps)}});
    plan.figures.push_back(
        {.title = "Resident warps per SM, by registers per thread",
         .x = {.title = "Registers per thread"},
         .y = {.title = "Warps per SM"},
         .quantity = Quantity::number,
         .series = {by_registers(*machine.limits, subject.at(knob::registers))}});
    plan.figures.push_back({.title = "A copy from DRAM, by number of blocks",
                            .x = {.title = "Blocks", .scale = plot::Scale::log},
                            .y = {.title = "Bandwidth", .unit = "GB/s"},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {copies_by_blocks(machine.sm_count)}});
    plan.facts["first_load"] = format(machine.memory->bundled.first_dram);
    plan.formula = "bytes in flight = latency x bandwidth (Little's law)";
    plan.ratio = {
        .what = "Bandwidth with many blocks over four per SM",
        .above = "blocks@many",
        .below = "blocks@four each",
        .why =
            "The short copies cause the difference. With four blocks per SM {blocks@four "
            "each:measured} is measured and {blocks@four each} predicted; with one block "
            "{blocks@one each:measured} and {blocks@one each}. Such a copy takes a few "
            "microseconds: the start of a kernel and the wait for its first load from DRAM. "
            "For that wait the model has one value, {first_load}, fitted to bundled kernels "
            "of every kind on an H200 and also used for related GPUs."};
    if (machine.memory->torch) {
        plan.ratio.why += fmt::format(" For PyTorch's kernels, fitted separately, it has {}.",
                                      format(machine.memory->torch->first_dram));
    }
    plan.text =
        R"([blocks@many/blocks@four each > 1.05] A copy with four blocks of 256 threads on each SM of {gpu} reaches {blocks@four each}, one with 256 blocks on each {blocks@many} of {bandwidth}: the start and the first wait are paid once.
| [blocks@many/blocks@four each ~ 1] A copy with four blocks of 256 threads on each SM of {gpu} reaches {blocks@four each}, one with 256 blocks {blocks@many}: on this GPU that is about the same.
| A copy with four blocks of 256 threads on each SM of {gpu} reaches {blocks@four each}, one with 256 blocks {blocks@many}: on this GPU more blocks do not help.

The measured ratio is {blocks@many/blocks@four each:measured}.
[little1@32/little1@8 > 1.05; little4@8/little1@8 > 1.05] With one number in flight for each thread 8 warps on an SM bring {little1@8} and 32 warps {little1@32}; with four numbers 8 warps bring {little4@8}.
| [little1@32/little1@8 ~ 1] With one number in flight for each thread 8 warps on an SM bring {little1@8} and 32 warps {little1@32}: few warps suffice here, because the DRAM is slow for so many SMs.
| With one number in flight for each thread 8 warps on an SM bring {little1@8} and 32 warps {little1@32}.
With $registers registers in each thread an SM holds {registers@$registers} warps; with 32 registers {registers@32}.
What counts is the bytes in flight, not the occupancy itself: latency times bandwidth (Little's law).)";
    return plan;
}

}  // namespace ridge::effects
