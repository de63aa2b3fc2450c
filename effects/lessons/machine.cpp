// What a GPU is: roofs, number formats, levels of memory, warps in flight.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "effects/lessons/lessons.h"
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

/// Resident and peak bytes of a GPT-2 step, by how its numbers are kept.
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

/// Working sets of 8 KiB to 1 GiB, three for every doubling of four.
std::vector<double> working_sets() {
    std::vector<double> bytes;
    for (int doublings = 13; doublings < 30; ++doublings) {
        bytes.push_back(std::ldexp(1.0, doublings));
        bytes.push_back(std::ldexp(1.5, doublings));
    }
    bytes.push_back(std::ldexp(1.0, 30));
    return bytes;
}

/// One thread that follows pointers, by the bytes that they lie in; levels carry their names.
Series chase_of(const model::Machine& machine) {
    Series series = sweep(
        "chase", "one thread, load after load", working_sets(),
        [](std::int64_t bytes) {
            return fmt::format("access pattern=chase elements={}", bytes / 4);
        },
        [](std::int64_t bytes) { return static_cast<double>(model::bundled::chase_loads(bytes)); });
    const double l2 = machine.l2.size.base();
    const auto name = [&series](double bytes, const char* level) {
        const auto at = std::ranges::find_if(
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

/// All multiprocessors reading the same bytes round and round.
Series reread_series() {
    return sweep(
        "reread", "read by all multiprocessors", working_sets(),
        [](std::int64_t bytes) {
            return fmt::format("access pattern=reread elements={}", bytes / 4);
        },
        [](std::int64_t) { return static_cast<double>(model::bundled::reread_bytes); });
}

constexpr std::array<std::int64_t, 9> resident_warps{1, 2, 4, 8, 16, 24, 32, 48, 64};

/// Bandwidth of a stream whose threads keep `elements` words of 4 bytes in flight each way.
Series little(const model::MemoryParameters& memory, std::int64_t elements, std::int64_t most) {
    Series series{.id = "little" + std::to_string(elements),
                  .name = fmt::format("{} element{} a thread", elements, elements == 1 ? "" : "s")};
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

/// Resident warps by registers of a thread, blocks of 256.
Series by_registers(const model::SmLimits& limits) {
    Series series{.id = "registers", .name = "blocks of 256 threads"};
    // No instruction names more than 255 registers, whatever a description says.
    const std::int64_t most = std::min<std::int64_t>(limits.registers_per_thread, 256);
    for (std::int64_t registers = 16; registers <= most; registers += 8) {
        const model::Occupancy found =
            model::occupancy({.threads = 256, .registers = registers}, limits);
        series.points.push_back(
            {.x = static_cast<double>(registers), .value = static_cast<double>(found.warps)});
    }
    return series;
}

/// Copies out of DRAM by the number of their blocks, of which some carry names.
Series copies_by_blocks(std::int64_t sm_count) {
    // A block of the bundled copy takes 1024 words.
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
    plan.ratio = {.what = "Rate of the bf16 product over that of ReLU",
                  .above = "products@4096^3 bf16",
                  .below = "memory@relu fp32"};
    plan.text =
        R"(An operation does work (FLOP) and moves bytes; their ratio is its arithmetic intensity.
A GPU has a peak rate and a bandwidth, and no operation can be faster than the lower of its peak and intensity times bandwidth: the roofline (Williams, Waterman, Patterson, 2009).
Where the two roofs meet is the ridge point; on {gpu} it lies at {ridge_bf16} FLOP per byte for bf16 and at {ridge_fp32} for fp32 without tensor cores.

Elementwise operations and softmax lie far to the left.
ReLU in fp32 does one FLOP for 8 bytes and runs at {memory@relu fp32}, which is the bandwidth and nothing to be ashamed of.
A product of 4096^3 does {products@4096^3 bf16} in bf16, {products@4096^3 bf16/memory@relu fp32} times as many operations a second (measured {products@4096^3 bf16/memory@relu fp32:measured}).

The same operation can lie on either side.
A product with one row reads the whole weight matrix for it and reaches {products@m = 1 bf16}; with 128 rows it is {products@m = 128 bf16}.
Decoding a token is such a case: attention over a cache of 8192 tokens runs at {attention@decode 8192}, over a prompt of 16384 at {attention@prefill 16384}.

A roof is a limit, not a promise: fp8 doubles the roof and halves the bytes, and the product of 8192^3 gets to {products@8192^3 fp8} of {peak_fp8}, because power and not the tensor cores is what runs out.
Peaks here are dense; figures twice as high on datasheets assume that half of the numbers are zero.)";
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
    plan.formula = "intensity of ReLU = 1 / (2 e) FLOP per byte, e bytes an element";
    plan.ratio = {
        .what = "Time of ReLU in fp32 over bf16", .above = "relu@fp32", .below = "relu@bf16"};
    plan.text = R"(Fewer bits help twice, for two different reasons.

What is bound by memory gains by its bytes.
ReLU reads and writes each element once: an intensity of 1/8 FLOP per byte in fp32, 1/4 in bf16, 1/2 in fp8, and a time of {relu@fp32}, {relu@bf16} and {relu@fp8}.
From fp32 to bf16 that is {relu@fp32/relu@bf16} times faster, measured {relu@fp32/relu@bf16:measured}.

What is bound by arithmetic gains by the unit that does it.
A product in fp32 runs on the FMA pipes, {product@fp32}; the tensor cores take tf32 (fp32 numbers of which 10 bits of the fraction are used) at {product@tf32}, bf16 at {product@bf16} and fp8 at {product@fp8}.
The step from FMA to tensor cores is the large one, {product@bf16/product@fp32} times here.
By peaks it is {tensor_ratio} on this GPU; "more than ten times", as notes have it, is true from the A100 on and against fp32, while a V100 has 8 times and tf32 gives half of it.

Training is a mixture.
AdamW keeps two moments, weights and gradients: 16 bytes a parameter in fp32 and 8 in bf16 alone; mixed precision (weights and moments in fp32, products in bf16) holds {resident@mixed} before the step of GPT-2 begins, as fp32 does ({resident@fp32}), and saves on the activations: a peak of {peak_memory@mixed} against {peak_memory@fp32}; all in bf16 is {peak_memory@bf16}.
So mixed precision buys speed first and memory second.)";
    return plan;
}

Plan memory_hierarchy_plan(const Subject& subject) {
    Plan plan;
    const model::Machine& machine = subject.machine;
    const plot::Axis set{.title = "Working set", .unit = "B", .scale = plot::Scale::log};
    plan.figures.push_back({.title = "A load that waits for the one before, by working set",
                            .x = set,
                            .y = {.title = "Latency", .unit = "ns", .scale = plot::Scale::log},
                            .quantity = Quantity::latency,
                            .unit = nanosecond,
                            .series = {chase_of(machine)}});
    plan.figures.push_back({.title = "What all multiprocessors read together, by working set",
                            .x = set,
                            .y = {.title = "Bandwidth", .unit = "GB/s", .scale = plot::Scale::log},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {reread_series()}});
    plan.figures.push_back(
        {.title = "A copy repeated, by the size of its source",
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
        {.title = "From the host's pinned memory",
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
        "latency = sum of (share that a level answers x its latency); time of a transfer = start + "
        "bytes / bandwidth";
    plan.ratio = {.what = "Time of a dependent load from DRAM over one from L1",
                  .above = "chase@DRAM",
                  .below = "chase@L1",
                  .why =
                      "The load from DRAM makes the difference, {chase@DRAM} predicted and "
                      "{chase@DRAM:measured} measured."};
    plan.text = R"(A GPU's memory is a ladder: each step down is larger, slower and shared by more.
Registers and L1 with shared memory belong to a multiprocessor, the L2 of {l2} to all, DRAM of {memory} lies beside the chip, and the host's memory behind a cable.

The first figure climbs down it with a single thread that follows pointers: each load gives the address of the next, so nothing overlaps and the time of a load is its latency.
As long as the pointers lie in the L1 a load takes {chase@L1}, from the L2 {chase@L2}, from DRAM {chase@DRAM}.
Measured it is {chase@L1:measured}, {chase@L2:measured} and {chase@DRAM:measured}.
Since the A100 the L2 has two partitions, each beside half of the multiprocessors.
A partition keeps copies of the other's lines, so a set of up to half of the L2 is near; of a larger one a part is far away, {chase@L2 far} on average over a set of six tenths of the L2 (measured {chase@L2 far:measured}).

Bandwidth is another matter, because many loads are under way at once.
When all multiprocessors read the same 64 KiB over and over, each out of its own L1, they get {reread@65536}; 8 MiB come out of the L2 at {reread@8388608} and 1 GiB out of DRAM at {reread@1073741824}.
Measured: {reread@65536:measured}, {reread@8388608:measured} and {reread@1073741824:measured}.
Between two levels the measured points lie above the line: the blocks of a kernel move through the set a few KB apart, so what one of them has fetched from below its neighbours find above, which the model does not count.
So from top to bottom a load takes {chase@DRAM/chase@L1} times as long while the bandwidth falls only {reread@65536/reread@1073741824} times: the deeper the level, the more loads must be in flight to use it.

A kernel sees a mixture.
A copy that fits in L2 runs at {copy@4194304}, one that does not at {copy@268435456}, {copy@4194304/copy@268435456} times less (measured {copy@4194304/copy@268435456:measured}).
A copy of 4 KB runs at {copy@1024}, since nothing but latency and the launch is left.
The step from L2 to DRAM lies at half of the L2's size and less, because the copy has a source and a destination and each partition keeps copies of the other's lines.

Behind the cable the same law holds with larger numbers: a copy of 1 KB from pinned host memory takes {host@1024} of the copy engine, and {host_call@1024} from the call in a stream to its end.
Measured: {host@1024:measured} and {host_call@1024:measured}.
Dividing 1 KB by the bandwidth of the link would give {kilobyte_host}, and by that of DRAM {kilobyte}; a notebook calls the latter the latency of DRAM.
It is the time in which the kilobyte passes the pins once it flows; the wait for it is hundreds of times longer.
The same notebook gives L2 and DRAM one bandwidth of 1.5 TB/s; an A100's L2 was measured at 5.4.
Other notes give 300 cycles for global memory, which is the figure of a set that still lies in the L2: DRAM takes 550 cycles on an A100 and 690 on an H200.
And where they set 80 GB of DRAM against the 192 KB of one multiprocessor, 400,000 to one, the chip has 108 of those: 4000 to one.)";
    return plan;
}

Plan occupancy_plan(const Subject& subject) {
    Plan plan;
    const model::Machine& machine = subject.machine;
    if (!machine.memory || !machine.limits || machine.sm_count == 0) {
        plan.refused =
            "its description has no limits of threads and registers, or no parameters "
            "of its memory";
        return plan;
    }
    plan.figures.push_back({.title = "A stream by the warps that an SM holds",
                            .x = {.title = "Warps per SM", .scale = plot::Scale::log},
                            .y = {.title = "Bandwidth", .unit = "GB/s"},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {little(*machine.memory, 1, machine.limits->warps),
                                       little(*machine.memory, 4, machine.limits->warps),
                                       little(*machine.memory, 8, machine.limits->warps)}});
    plan.figures.push_back({.title = "Warps that an SM holds, by registers of a thread",
                            .x = {.title = "Registers"},
                            .y = {.title = "Warps per SM"},
                            .quantity = Quantity::number,
                            .series = {by_registers(*machine.limits)}});
    plan.figures.push_back({.title = "A copy out of DRAM, by its number of blocks",
                            .x = {.title = "Blocks", .scale = plot::Scale::log},
                            .y = {.title = "Bandwidth", .unit = "GB/s"},
                            .quantity = Quantity::bandwidth,
                            .unit = giga,
                            .series = {copies_by_blocks(machine.sm_count)}});
    plan.facts["first_load"] = format(machine.memory->bundled.first_dram);
    plan.formula = "bytes in flight = latency x bandwidth (Little)";
    plan.ratio = {
        .what = "Bandwidth with many blocks over four for each SM",
        .above = "blocks@many",
        .below = "blocks@four each",
        .why =
            "The short copies make the difference. With four blocks for each SM {blocks@four "
            "each:measured} are measured where {blocks@four each} are predicted, with one "
            "{blocks@one each:measured} where {blocks@one each} are: such a copy lasts a few "
            "microseconds, which are the start of a kernel and the wait for its first load out "
            "of DRAM. "
            "For that wait the model has one figure, {first_load}, fitted to bundled kernels of "
            "every kind on an H200 and taken over by its relatives."};
    if (machine.memory->torch) {
        plan.ratio.why += fmt::format(" PyTorch's kernels, fitted apart, wait {}.",
                                      format(machine.memory->torch->first_dram));
    }
    plan.text =
        R"(A load from DRAM takes hundreds of nanoseconds, and a warp that waits for one does nothing.
To keep the memory busy as many bytes must be on their way as arrive during that wait: latency times bandwidth, Little's law.
Warps in flight are one way to have them, more elements a thread another.

With one element a thread {gpu} needs many warps: {little1@8} with 8 on each multiprocessor, {little1@32} with 32, {little1@last} with all that it can hold.
With four elements a thread, one load of 16 bytes, 8 warps give {little4@8} and 32 warps {little4@32}.
So a low occupancy is no fault by itself; what counts is bytes in flight.

What an SM holds is limited by registers: {registers@32} warps where a thread has 32 of them, {registers@128} where it has 128 and {registers@248} where it has 248.

The rule of thumb "at least four blocks for each multiprocessor" is about something else, the imbalance of the last wave.
A copy with four blocks of 256 threads an SM reaches {blocks@four each} of {bandwidth}, with 256 an SM {blocks@many}, {blocks@many/blocks@four each} times as much (measured {blocks@many/blocks@four each:measured}): start-up and one latency weigh more than imbalance as long as the whole kernel takes a few microseconds.
And a persistent kernel with one block an SM breaks the rule and runs at full speed, since its blocks fetch their next work while the last is still under way.)";
    return plan;
}

}  // namespace ridge::effects
