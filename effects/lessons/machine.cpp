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
Series chase_of(const model::Machine& machine) {
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
Series by_registers(const model::SmLimits& limits) {
    Series series{.id = "registers", .name = "blocks of 256 threads"};
    // No instruction can address more than 255 registers, whatever a description says.
    const std::int64_t most = std::min<std::int64_t>(limits.registers_per_thread, 256);
    for (std::int64_t registers = 16; registers <= most; registers += 8) {
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

Plan roofline_plan(const Subject&) {
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
    plan.formula = "attainable = min(peak, intensity x bandwidth)";
    plan.ratio = {.what = "Rate of the bf16 product over the rate of ReLU",
                  .above = "products@4096^3 bf16",
                  .below = "memory@relu fp32"};
    plan.text =
        R"(An operation does work (FLOP) and moves bytes; their ratio is its arithmetic intensity.
A GPU has a peak rate and a bandwidth, and no operation can be faster than the lower of the peak and intensity times bandwidth: this is the roofline (Williams, Waterman, Patterson, 2009).
The two roofs meet at the ridge point; on {gpu} it lies at {ridge_bf16} FLOP per byte for bf16 and at {ridge_fp32} for fp32 without tensor cores.

Elementwise operations and softmax lie far to the left.
ReLU in fp32 does one FLOP for 8 bytes and runs at {memory@relu fp32}, which is as fast as the bandwidth allows.
A product of 4096^3 does {products@4096^3 bf16} in bf16, {products@4096^3 bf16/memory@relu fp32} times as many operations per second (measured {products@4096^3 bf16/memory@relu fp32:measured}).

The same operation can lie on either side of the ridge point.
A product with one row reads the whole weight matrix for that row and reaches {products@m = 1 bf16}; with 128 rows it reaches {products@m = 128 bf16}.
Decoding has the same problem: attention of one new token over a cache of 8192 tokens runs at {attention@decode 8192}, attention over a prompt of 16384 tokens at {attention@prefill 16384}.

A roof is a limit, not a promise: fp8 doubles the roof and halves the bytes, but the product of 8192^3 reaches only {products@8192^3 fp8} of {peak_fp8}, because power, not the tensor cores, is the limit.
Peaks here are dense; datasheet figures that are twice as high assume that half of the numbers are zero.)";
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
    const auto square = [](const char* type) {
        return fmt::format("matmul m=4096 n=4096 k=4096 {} impl=library", type);
    };
    plan.figures.push_back({.title = "A product of 4096^3",
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
    const auto vector = subject.machine.vector_peak(model::DataType::fp32);
    const auto tensor = subject.machine.tensor_peak(model::DataType::bf16);
    if (vector && tensor) plan.facts["tensor_ratio"] = format_number(*tensor / *vector, 3);
    plan.formula = "intensity of ReLU = 1 / (2 e) FLOP per byte, e bytes per element";
    plan.ratio = {
        .what = "Time of ReLU in fp32 over bf16", .above = "relu@fp32", .below = "relu@bf16"};
    plan.text = R"(Fewer bits help for two different reasons.

Operations bound by memory gain because they move fewer bytes.
ReLU reads and writes each element once: an intensity of 1/8 FLOP per byte in fp32, 1/4 in bf16, 1/2 in fp8, and a time of {relu@fp32}, {relu@bf16} and {relu@fp8}.
From fp32 to bf16 the time falls by a factor of {relu@fp32/relu@bf16}, measured {relu@fp32/relu@bf16:measured}.

Operations bound by arithmetic gain because a faster unit does the work.
A product in fp32 runs on the FMA pipes at {product@fp32}; the tensor cores run tf32 (fp32 numbers of which 10 bits of the fraction are used) at {product@tf32}, bf16 at {product@bf16} and fp8 at {product@fp8}.
The largest step is from FMA to tensor cores, {product@bf16/product@fp32} times here.
The ratio of the peaks is {tensor_ratio} on this GPU; "more than ten times", as notes say, is true from the A100 on and against fp32, while a V100 has 8 times and tf32 gives half of the bf16 ratio.

Training mixes both effects.
AdamW keeps two moments besides weights and gradients: 16 bytes per parameter in fp32 and 8 in bf16 alone. Mixed precision (weights and moments in fp32, products in bf16) holds {resident@mixed} before the GPT-2 step begins, as fp32 does ({resident@fp32}), but saves memory on the activations: the peak is {peak_memory@mixed} against {peak_memory@fp32}; with everything in bf16 it is {peak_memory@bf16}.
So mixed precision buys speed first and memory second.)";
    return plan;
}

Plan memory_hierarchy_plan(const Subject& subject) {
    Plan plan;
    const model::Machine& machine = subject.machine;
    const plot::Axis set{.title = "Working set", .unit = "B", .scale = plot::Scale::log};
    plan.figures.push_back({.title = "Latency of dependent loads, by working set",
                            .x = set,
                            .y = {.title = "Latency", .unit = "ns", .scale = plot::Scale::log},
                            .quantity = Quantity::latency,
                            .unit = nanosecond,
                            .series = {chase_of(machine)}});
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
    plan.facts["kilobyte"] = format((1.0 * units::KiB) / machine.dram_bandwidth);
    if (machine.pcie_per_direction) {
        plan.facts["kilobyte_host"] = format((1.0 * units::KiB) / *machine.pcie_per_direction);
    }
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
        R"(A GPU has several levels of memory: each level down is larger, slower and shared by more units.
Registers and L1 with shared memory belong to one SM, the L2 of {l2} is shared by all SMs, DRAM of {memory} lies beside the chip, and the host's memory lies behind a link.

In the first figure a single thread follows pointers: each load gives the address of the next one, so nothing overlaps and the time of a load is its latency.
As long as the pointers fit in the L1, a load takes {chase@L1}; from the L2 it takes {chase@L2}, from DRAM {chase@DRAM}.
The measured latencies are {chase@L1:measured}, {chase@L2:measured} and {chase@DRAM:measured}.
Since the A100 the L2 has two partitions, each next to half of the SMs.
A partition keeps copies of the other partition's lines, so a working set of up to half of the L2 is near; of a larger one a part is far away, {chase@L2 far} on average over a working set of six tenths of the L2 (measured {chase@L2 far:measured}).

Bandwidth behaves differently, because many loads are in flight at once.
When all SMs read the same 64 KiB repeatedly, each from its own L1, they get {reread@65536}; they read 8 MiB from the L2 at {reread@8388608} and 1 GiB from DRAM at {reread@1073741824}.
Measured: {reread@65536:measured}, {reread@8388608:measured} and {reread@1073741824:measured}.
{if measured}Between two levels the measured points lie above the line: the blocks of a kernel move through the working set a few KB apart, so data that one block has fetched is already in the upper level when its neighbours need it, which the model does not count.
From top to bottom a load takes {chase@DRAM/chase@L1} times as long, while the bandwidth falls only by a factor of {reread@65536/reread@1073741824}: the deeper the level, the more loads must be in flight to use it.

A real kernel uses a mixture of levels.
A copy that fits in the L2 runs at {copy@4194304}, one that does not fit at {copy@268435456}, {copy@4194304/copy@268435456} times slower (measured {copy@4194304/copy@268435456:measured}).
A copy of 4 KB runs at {copy@1024}, because latency and launch take nearly all of its time.
The step from L2 to DRAM lies at half of the L2's size or less, because the copy has a source and a destination and each partition keeps copies of the other's lines.

The same law holds for the link to the host, with larger numbers: a copy of 1 KB from pinned host memory takes {host@1024} on the copy engine, and {host_call@1024} from the call in a stream to its end.
Measured: {host@1024:measured} and {host_call@1024:measured}.
Dividing 1 KB by the bandwidth of the link would give {kilobyte_host}, and by the bandwidth of DRAM {kilobyte}; a notebook calls the latter the latency of DRAM.
It is the time that the kilobyte takes once data flows; the wait before that is hundreds of times longer.
The same notebook gives L2 and DRAM one bandwidth of 1.5 TB/s; an A100's L2 was measured at 5.4 TB/s.
Other notes give 300 cycles for global memory, which is the latency of a working set that still fits in the L2: DRAM takes 550 cycles on an A100 and 690 on an H200.
They also compare 80 GB of DRAM with the 192 KB of one SM, 400,000 to one; the chip has 108 SMs, which makes it 4000 to one.)";
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
    plan.figures.push_back({.title = "Resident warps per SM, by registers per thread",
                            .x = {.title = "Registers per thread"},
                            .y = {.title = "Warps per SM"},
                            .quantity = Quantity::number,
                            .series = {by_registers(*machine.limits)}});
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
        R"(A load from DRAM takes hundreds of nanoseconds, and a warp that waits for it does nothing else.
To keep the memory busy, the bytes in flight must equal the bytes that arrive during that wait: latency times bandwidth, Little's law.
More warps in flight are one way to reach this, more elements per thread are another.

With one element per thread {gpu} needs many warps: {little1@8} with 8 on each SM, {little1@32} with 32, {little1@last} with as many as an SM can hold.
With four elements per thread, one load of 16 bytes, 8 warps give {little4@8} and 32 warps {little4@32}.
So a low occupancy is not a problem in itself; the bytes in flight matter.

Registers limit how many warps an SM can hold: {registers@32} warps with 32 registers per thread, {registers@128} with 128 and {registers@248} with 248.

The rule of thumb "at least four blocks for each multiprocessor" is about something else: the imbalance of the last wave.
A copy with four blocks of 256 threads per SM reaches {blocks@four each} of {bandwidth}, with 256 blocks per SM {blocks@many}, {blocks@many/blocks@four each} times as much (measured {blocks@many/blocks@four each:measured}): start-up and one latency matter more than imbalance as long as the whole kernel takes a few microseconds.
A persistent kernel with one block per SM breaks the rule and still runs at full speed, because its blocks fetch their next work while the current work is still in progress.)";
    return plan;
}

}  // namespace ridge::effects
