// Power, links, generations, and a network of several layers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "effects/lessons/lessons.h"
#include "hardware/count.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::effects {
namespace {

using si::giga;
using si::mega;
using si::microsecond;
using si::millisecond;

std::string square(const char* type, const char* data) {
    return fmt::format("matmul m=8192 n=8192 k=8192 dtype={} impl=library{}", type, data);
}

/// The same machine without a power limit: what a product of zeros comes near to.
model::Machine unlimited(const model::Machine& machine) {
    model::Machine free = machine;
    for (auto& pipe : free.matmul.pipes) {
        if (pipe) pipe->sustained_fraction = 1.0;
    }
    return free;
}

/// "2022-03" as a year with its fraction.
double year_of(const std::string& date) {
    const auto year = static_cast<double>(parse_count(date.substr(0, 4), "announced"));
    const auto month = static_cast<double>(parse_count(date.substr(5, 2), "announced"));
    return year + (month - 0.5) / 12.0;
}

std::optional<double> compute_of(const model::Machine& machine) {
    using model::DataType;
    for (const DataType type : {DataType::bf16, DataType::fp16}) {
        if (const auto peak = machine.tensor_peak(type)) return peak->base();
    }
    for (const DataType type : {DataType::fp16, DataType::fp32}) {
        if (const auto peak = machine.vector_peak(type)) return peak->base();
    }
    return std::nullopt;
}

/// Chips that carry their name in the picture.
constexpr std::array<std::string_view, 7> landmarks{
    "k80", "p100-sxm", "v100-sxm", "tpu-v4", "a100-sxm-40gb", "h100-sxm", "b200"};

struct Chip {
    std::string name;
    double year = 0.0;
    double compute = 0.0;
    double bandwidth = 0.0;
    std::optional<double> link = {};
};

std::vector<Chip> chips_of(const hardware::Catalogue& catalogue) {
    std::vector<Chip> chips;
    for (const hardware::CatalogueEntry& entry : catalogue.entries()) {
        const hardware::Description& gpu = catalogue.at(entry.name, hardware::View::datasheet);
        const auto announced = gpu.text("product.announced");
        if (!announced) continue;
        const model::Machine machine = model::make_machine(gpu);
        const auto compute = compute_of(machine);
        if (!compute) continue;
        Chip chip{.name = entry.name,
                  .year = year_of(*announced),
                  .compute = *compute,
                  .bandwidth = machine.dram_bandwidth.base()};
        if (machine.link_per_direction) chip.link = machine.link_per_direction->base();
        chips.push_back(std::move(chip));
    }
    std::stable_sort(chips.begin(), chips.end(),
                     [](const Chip& a, const Chip& b) { return a.year < b.year; });
    return chips;
}

/// Layers of an MLP of `width`, forward, backward and the step of its weights, kernel by kernel.
struct Mlp {
    std::int64_t batch = 1024;
    std::int64_t width = 4096;
    std::int64_t layers = 4;
};

std::string product(std::int64_t m, std::int64_t n, std::int64_t k, const char* layouts,
                    std::int64_t count) {
    return fmt::format("matmul m={} n={} k={}{} impl=library count={}; ", m, n, k, layouts, count);
}

std::string forward_of(const Mlp& mlp) {
    return product(mlp.batch, mlp.width, mlp.width, " b_layout=column", mlp.layers) +
           fmt::format("elementwise expr=relu(x) elements={} impl=fused count={}; ",
                       mlp.batch * mlp.width, mlp.layers);
}

std::string inputs_of(const Mlp& mlp) {
    return product(mlp.batch, mlp.width, mlp.width, "", mlp.layers);
}
std::string weights_of(const Mlp& mlp) {
    return product(mlp.width, mlp.width, mlp.batch, " a_layout=column", mlp.layers);
}
std::string mask_of(const Mlp& mlp) {
    // The gradient of ReLU: the upstream one where the result was positive.
    return fmt::format("elementwise expr=\"x * y\" elements={} impl=fused count={}; ",
                       mlp.batch * mlp.width, mlp.layers);
}
std::string update_of(const Mlp& mlp) {
    return fmt::format("elementwise expr=\"x + alpha * y\" elements={} impl=fused count={}; ",
                       mlp.width * mlp.width, mlp.layers);
}

std::string step_of(const Mlp& mlp, std::int64_t steps) {
    std::string once =
        forward_of(mlp) + mask_of(mlp) + inputs_of(mlp) + weights_of(mlp) + update_of(mlp);
    std::string all;
    for (std::int64_t i = 0; i < steps; ++i) all += once;
    return all;
}

/// `{}` in the words is the size of a message.
Series messages(const char* id, const char* name, std::string words, Quantity quantity) {
    const auto amount = [](std::int64_t bytes) { return static_cast<double>(bytes); };
    Series series = sweep(
        id, name, doubling(1024, 1073741824, 4),
        [words = std::move(words)](std::int64_t bytes) {
            return fmt::format(fmt::runtime(words), bytes);
        },
        amount);
    series.quantity = quantity;
    return series;
}

constexpr const char* by_engine = "send bytes={} impl=copy_engine";
constexpr const char* from_pinned = "host_to_device bytes={}";
constexpr const char* pinned_call = "host_to_device bytes={} launch=stream";
constexpr const char* pageable_call = "host_to_device bytes={} impl=pageable launch=stream";

void add_messages(Plan& plan, const Subject& subject) {
    const plot::Axis size{.title = "Message", .unit = "B", .scale = plot::Scale::log};
    const plot::Axis time{.title = "Time", .unit = "us", .scale = plot::Scale::log};
    const plot::Axis rate{.title = "Message over time", .unit = "GB/s", .scale = plot::Scale::log};
    if (subject.machine.link_per_direction) {
        plan.figures.push_back(
            {.title = "Between GPUs: messages of 1 KB to 1 GB",
             .x = size,
             .y = time,
             .quantity = Quantity::time,
             .unit = microsecond,
             .series = {messages("engine", "copy engine", by_engine, Quantity::time),
                        messages("send", "send", "send bytes={} launch=graph", Quantity::time),
                        messages("reduce2", "all-reduce of 2", "all_reduce bytes={} launch=graph",
                                 Quantity::time),
                        messages("reduce8", "all-reduce of 8",
                                 "all_reduce gpus=8 bytes={} launch=graph", Quantity::time)}});
        plan.figures.push_back(
            {.title = "The same as bytes of the message over time, two GPUs",
             .x = size,
             .y = rate,
             .quantity = Quantity::bandwidth,
             .unit = giga,
             .series = {
                 messages("engine_rate", "copy engine", by_engine, Quantity::bandwidth),
                 messages("send_rate", "send", "send bytes={} launch=graph", Quantity::bandwidth),
                 messages("gather_rate", "all-gather", "all_gather bytes={} launch=graph",
                          Quantity::bandwidth),
                 messages("scatter_rate", "reduce-scatter", "reduce_scatter bytes={} launch=graph",
                          Quantity::bandwidth),
                 messages("reduce_rate", "all-reduce", "all_reduce bytes={} launch=graph",
                          Quantity::bandwidth)}});
    }
    if (!subject.machine.pcie_per_direction) return;
    plan.figures.push_back(
        {.title = "From the host to a GPU",
         .x = size,
         .y = time,
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {messages("host", "pinned, the copy itself", from_pinned, Quantity::time),
                    messages("call", "pinned, a call", pinned_call, Quantity::time),
                    messages("pageable", "pageable, a call", pageable_call, Quantity::time)}});
    plan.figures.push_back(
        {.title = "Between host and GPU: bytes of the message over time",
         .x = size,
         .y = rate,
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {
             messages("host_rate", "pinned to GPU", from_pinned, Quantity::bandwidth),
             messages("back_rate", "GPU to pinned", "device_to_host bytes={}", Quantity::bandwidth),
             messages("pageable_rate", "pageable to GPU", pageable_call, Quantity::bandwidth),
             messages("pageable_back", "GPU to pageable",
                      "device_to_host bytes={} impl=pageable launch=stream",
                      Quantity::bandwidth)}});
}

/// One cache by the ways that it can go, and by the pieces that it goes in.
void add_cache(Plan& plan, std::int64_t bytes) {
    plan.figures.push_back(
        {.title = "Moving the cache of 8192 tokens of Llama 3.1 8B",
         .x = {.title = "Way",
               .names = {"other GPU", "NCCL send", "pinned host", "pageable host", "within DRAM"}},
         .y = {.title = "Time", .unit = "ms", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = millisecond,
         .series = {named(
             "cache", "1.07 GB",
             {{"other GPU", fmt::format(fmt::runtime(by_engine), bytes)},
              {"NCCL send", fmt::format("send bytes={} launch=graph", bytes)},
              {"pinned host", fmt::format(fmt::runtime(from_pinned), bytes)},
              {"pageable host", fmt::format(fmt::runtime(pageable_call), bytes)},
              {"within DRAM", fmt::format("copy dtype=bf16 elements={} l2=cold", bytes / 2)}})}});
    // A page of 16 tokens of one layer's keys or values is 32 KiB, a layer's keys are 16 MiB.
    const auto pieces = [bytes](const char* id, const char* name, const char* words) {
        return sweep(id, name, {32768, 262144, 4194304, 16777216, 268435456, 1073741824},
                     [bytes, words](std::int64_t piece) {
                         return fmt::format(fmt::runtime(words), piece) +
                                fmt::format(" count={}", bytes / piece);
                     });
    };
    plan.figures.push_back({.title = "The same cache copied in pieces, one after the other",
                            .x = {.title = "Piece", .unit = "B", .scale = plot::Scale::log},
                            .y = {.title = "Time", .unit = "ms", .scale = plot::Scale::log},
                            .quantity = Quantity::time,
                            .unit = millisecond,
                            .series = {pieces("pieces", "to the other GPU", by_engine),
                                       pieces("pieces_host", "from pinned host", from_pinned)}});
}

}  // namespace

Plan power_plan(const Subject& subject) {
    Plan plan;
    const model::DataType half = subject.machine.tensor_peak(model::DataType::bf16)
                                     ? model::DataType::bf16
                                     : model::DataType::fp16;
    const model::Outcome outcome = model::predict(
        model::Matmul{.m = 8192, .n = 8192, .k = 8192, .type = half, .output = half},
        {.implementation = model::Implementation::library}, unlimited(subject.machine));
    const std::vector<Named> data{{"zeros", square("bf16", " data=zeros")},
                                  {"constant", square("bf16", " data=constant")},
                                  {"uniform", square("bf16", " data=uniform")},
                                  {"normal", square("bf16", "")}};
    const std::vector<std::string> names{"zeros", "constant", "uniform", "normal"};
    Series time = named("time", "8192^3", data);
    if (const auto* p = std::get_if<model::Prediction>(&outcome)) {
        time.points[0].value = time.points[1].value = p->time.base();
    }
    plan.figures.push_back({.title = "One product of 8192^3 in bf16, by its data",
                            .x = {.title = "Data", .names = names},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = {std::move(time)}});
    plan.figures.push_back({.title = "Clock of the multiprocessors meanwhile",
                            .x = {.title = "Data", .names = names},
                            .y = {.title = "Clock", .unit = "MHz"},
                            .quantity = Quantity::clock,
                            .unit = mega,
                            .series = {named("clock", "8192^3", data)}});
    plan.formula = "dynamic power ~ switched bits x clock; the clock falls until the limit is kept";
    plan.ratio = {.what = "Time with normal numbers over zeros",
                  .above = "time@normal",
                  .below = "time@zeros",
                  .why =
                      "The model knows a power limit for normal numbers and none without; zeros "
                      "still draw power for clocks and instructions."};
    plan.text = R"(A transistor takes energy when it switches.
Multiplying zeros switches next to nothing, multiplying random numbers switches half of the bits in every cycle, and a GPU under load is at its power limit: what it saves in one place it spends as clock.

A product of 8192^3 in bf16 takes {time@normal} with normal random numbers on {gpu}; without a power limit it would take {time@zeros}, which is what zeros and other constants come near to.
Measured: {time@normal:measured} with normal numbers at a clock of {clock@normal:measured}, {time@uniform:measured} with uniform ones, {time@constant:measured} with one constant everywhere and {time@zeros:measured} with zeros at {clock@zeros:measured}.
So the same program on the same GPU is {time@normal/time@zeros:measured} times slower for its data alone; on an A100 257 TFLOP/s against 295 were published for the same size.

What follows for measuring: benchmarks must use random data, zeros flatter.
What follows for reading datasheets: a peak at the boost clock is not sustained by a large product; the model takes the share that remains from measurements of each GPU (docs/model.md, sustained fraction).
Memory-bound kernels stay below the limit, their data does not matter.)";
    return plan;
}

Plan transfers_plan(const Subject& subject) {
    Plan plan;
    if (!subject.machine.link_per_direction && !subject.machine.pcie_per_direction) {
        plan.refused = "its description has no links";
        return plan;
    }
    add_messages(plan, subject);
    // 8192 tokens of Llama 3.1 8B: 32 layers, keys and values of 8 heads of 128 in bf16.
    const std::int64_t cache = std::int64_t{8192} * 32 * 2 * 8 * 128 * 2;
    add_cache(plan, cache);
    plan.facts["cache"] = format_traffic(Bytes::from_base(static_cast<double>(cache)));
    if (subject.machine.link_per_direction) {
        plan.facts["link"] = format(*subject.machine.link_per_direction);
    }
    if (subject.machine.pcie_per_direction) {
        plan.facts["pcie"] = format(*subject.machine.pcie_per_direction);
    }
    plan.formula =
        "time = start + steps x latency + bytes on the link / (share x link rate); all-reduce: 2 S "
        "(n - 1) / n on the link";
    plan.ratio = {.what = "Time of the cache from pinned host memory over that between two GPUs",
                  .above = "cache@pinned host",
                  .below = "cache@other GPU",
                  .unmeasured = "it takes two GPUs"};
    plan.text =
        R"(Between two GPUs as between a GPU and its host a message takes a start and then its bytes over the rate of the link.
Small messages are all start: a copy engine moves 1 KB to the other GPU in {engine@1024} and 64 KB in {engine@65536}.
Large ones are all rate: 1 GB goes at {engine_rate@last} of {link} one way.
Measured between two GPUs: {engine@1024:measured}, {engine@65536:measured} and {engine_rate@last:measured}.
A link never carries its nominal rate, because every packet has a header.
Half of the rate is reached where start and bytes take equally long: some hundreds of KB over NVLink and some 150 KB over PCIe, whose rate is lower and whose start is much the same.

NCCL does the same with kernels that copy, since they can also add.
A send of 1 KB takes {send@1024}, of which the launch is most, and 1 GB runs at {send_rate@last}.
Measured: {send@1024:measured} and {send_rate@last:measured}.
An all-reduce leaves the sum over all GPUs on each of them.
Around a ring every byte passes 2 (n - 1) / n times: once between two GPUs, nearly twice among many, whatever their number.
An all-reduce of 1 GB takes {reduce2@last} over two GPUs and {reduce8@last} over eight, one of 1 KB {reduce2@1024} and {reduce8@1024}.
Measured over two: {reduce2@last:measured} and {reduce2@1024:measured}.
It is an all-gather after a reduce-scatter, each of which moves half as much: those run at {gather_rate@last} and {scatter_rate@last}, the all-reduce at {reduce_rate@last}.
Measured: {gather_rate@last:measured}, {scatter_rate@last:measured} and {reduce_rate@last:measured}.
The jumps on the way up are the library changing its protocol, from flags sent with the data (LL), good for few bytes, to whole slices with a fence behind them (Simple).
A switch that adds on the way (NVLS) can beat the ring, so the ring's bound is not that of every GPU; it was off where this was measured.

The host lies behind PCIe, {pcie} one way.
The copy engine itself takes {host@1024} for 1 KB and runs at {host_rate@last} with 1 GB from pinned memory.
Measured: {host@1024:measured} and {host_rate@last:measured}.
What a program sees is the call: {call@1024} for 1 KB between two events in a stream, nearly all of it the driver's, the framework's and the wake-up of an idle stream.
Measured: {call@1024:measured}.
Pageable memory may be moved or swapped by the operating system, so the driver first carries it, piece by piece, to a pinned buffer of its own: 1 GB runs at {pageable_rate@last} and back at {pageable_back@last}, and the call blocks the host meanwhile.
Measured: {pageable_rate@last:measured} and {pageable_back@last:measured}.
Up to some 32 MB the same buffer sent again and again still lies in the host's cache and goes faster, {pageable_rate@16777216}, which flatters a careless benchmark.
So: pin what is copied often, and copy asynchronously.

What that means for serving: the cache of 8192 tokens of a model of 8 billion parameters is {cache}.
Handing it to another GPU takes {cache@other GPU}, fetching it from pinned host memory {cache@pinned host}, {cache@pinned host/cache@other GPU} times as long, from pageable memory {cache@pageable host}, and copying it within DRAM {cache@within DRAM}.
Measured the cable takes {cache@pinned host/cache@other GPU:measured} times as long as the link.
A paged cache is scattered: copied page by page, 32 KB each, it takes {pieces@32768} instead of {pieces@last} to the other GPU, all of it start; by layers of 16 MB hardly anything is lost, {pieces@16777216}.
Measured: {pieces@32768:measured}, {pieces@last:measured} and {pieces@16777216:measured}.
Engines that hand over caches therefore gather pages into large buffers first, or let a kernel do the scattered copy.
Recomputing the cache from the prompt is another way, and the break-even moves with the length.)";
    return plan;
}

Plan scaling_plan(const Subject& subject) {
    Plan plan;
    const std::vector<Chip> chips = chips_of(subject.catalogue);
    Series compute{.id = "compute", .name = "compute, 16 bit", .joined = false};
    Series bandwidth{.id = "dram", .name = "DRAM bandwidth", .joined = false};
    Series link{.id = "link", .name = "link, one way", .joined = false};
    Series ridge{.id = "ridge", .name = "ridge point", .joined = false};
    const auto at = [&chips](std::string_view name) -> const Chip* {
        const auto found = std::ranges::find(chips, name, &Chip::name);
        return found == chips.end() ? nullptr : &*found;
    };
    const Chip* first = at("p100-sxm");
    if (first == nullptr || !first->link) {
        plan.refused = "the catalogue lacks p100-sxm, which the others are compared with";
        return plan;
    }
    for (const Chip& chip : chips) {
        const bool known =
            std::ranges::find(landmarks, std::string_view(chip.name)) != landmarks.end();
        const auto add = [&](Series& series, double value) {
            const bool labelled = known && (&series == &compute || &series == &ridge);
            series.points.push_back(
                {.x = chip.year, .name = chip.name, .value = value, .labelled = labelled});
        };
        add(compute, chip.compute / first->compute);
        add(bandwidth, chip.bandwidth / first->bandwidth);
        if (chip.link) add(link, *chip.link / *first->link);
        add(ridge, chip.compute / chip.bandwidth);
    }
    plan.figures.push_back({.title = "Compute, memory and links over the years",
                            .x = {.title = "Year announced"},
                            .y = {.title = "Times a P100", .scale = plot::Scale::log},
                            .quantity = Quantity::number,
                            .series = {std::move(compute), std::move(bandwidth), std::move(link)}});
    plan.figures.push_back(
        {.title = "FLOP for every byte of DRAM",
         .x = {.title = "Year announced"},
         .y = {.title = "Ridge point", .unit = "FLOP/B", .scale = plot::Scale::log},
         .quantity = Quantity::number,
         .series = {std::move(ridge)}});
    plan.facts["chips"] = std::to_string(chips.size());
    plan.formula = "ridge point = peak / bandwidth";
    plan.ratio = {.what = "Ridge point of a B200 over a P100",
                  .above = "ridge@b200",
                  .below = "ridge@p100-sxm",
                  .unmeasured = "these are figures of datasheets"};
    plan.text =
        R"(The catalogue holds {chips} chips with a date, from the K20 and K80 to the B200 and the TPUs.
Drawn over the years all three lines rise, but not together.

From the P100 of 2016 to the B200 of 2024 dense compute in 16 bits grew {compute@b200} times, the bandwidth of DRAM {dram@b200} times and the link between GPUs {link@b200} times.
So the ridge point, the FLOP that an operation must do for every byte to keep the chip busy, went from {ridge@p100-sxm} to {ridge@b200} FLOP per byte; it was {ridge@v100-sxm} on a V100, {ridge@a100-sxm-80gb} on an A100 and {ridge@h100-sxm} on an H100.
This is the memory wall (Gholami and others count 60,000 times for compute and 100 times for DRAM over twenty years): what was bound by arithmetic on an old chip is bound by memory on a new one.

The largest jump is a new unit and not more of the old ones: the tensor cores of the V100; formats of 8 and 4 bits, not drawn here, double the rate again.
Memory grew by stacking it, from GDDR5 on a K80 over HBM2 to HBM3e.
TPUs follow the same law: {ridge@tpu-v4} FLOP per byte for v4, {ridge@tpu-v6e} for v6e.

All this is from datasheets, so there is nothing to measure; the figures are the same whichever GPU is asked for.)";
    return plan;
}

Plan mlp_plan(const Subject&) {
    const Mlp usual;
    Plan plan;
    plan.figures.push_back(
        {.title = "A training step by kernel: 4 layers of 4096, batch 1024, bf16",
         .x = {.title = "Kernel",
               .names = {"forward", "ReLU'", "grad input", "grad weight", "update"}},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {named("part", "all layers",
                          {{"forward", forward_of(usual)},
                           {"ReLU'", mask_of(usual)},
                           {"grad input", inputs_of(usual)},
                           {"grad weight", weights_of(usual)},
                           {"update", update_of(usual)}})}});
    const auto time = [](const char* id, const char* name, const char* axis,
                         const std::vector<double>& xs, const Work& work, bool logarithmic) {
        Figure figure{.title = fmt::format("Time of training against {}", name),
                      .x = {.title = axis},
                      .y = {.title = "Time", .unit = "us"},
                      .quantity = Quantity::time,
                      .unit = microsecond,
                      .series = {sweep(id, "forward, backward, update", xs, work)}};
        if (logarithmic) figure.x.scale = figure.y.scale = plot::Scale::log;
        return figure;
    };
    plan.figures.push_back(time(
        "steps", "steps", "Steps", {1, 2, 3, 4, 6, 8},
        [](std::int64_t n) { return step_of({}, n); }, false));
    plan.figures.push_back(time(
        "layers", "layers", "Layers", {1, 2, 4, 8, 16, 32},
        [](std::int64_t n) { return step_of({.layers = n}, 1); }, false));
    plan.figures.push_back(time(
        "batch", "batch", "Batch", doubling(16, 16384, 4),
        [](std::int64_t n) { return step_of({.batch = n}, 1); }, true));
    plan.figures.push_back(time(
        "width", "width", "Width", doubling(1024, 8192, 2),
        [](std::int64_t n) { return step_of({.width = n}, 1); }, true));
    for (const std::int64_t batch : {16, 64, 256, 1024, 16384}) {
        const Mlp mlp{.batch = batch, .layers = 1};
        const std::string rows = fmt::format("batch {}", batch);
        plan.kernels.push_back(
            {rows + ", forward", product(mlp.batch, mlp.width, mlp.width, " b_layout=column", 1)});
        plan.kernels.push_back({rows + ", grad input", inputs_of(mlp)});
        plan.kernels.push_back({rows + ", grad weight", weights_of(mlp)});
    }
    plan.formula = "a layer: 2 b w^2 FLOP forward, 4 b w^2 backward; the update moves 6 w^2 bytes";
    plan.ratio = {.what = "Time of a step at batch 1024 over batch 16",
                  .above = "batch@1024",
                  .below = "batch@16"};
    plan.text =
        R"(A multilayer perceptron is the smallest network worth profiling: products with ReLU between them.
The forward pass has one product a layer, X W^T; the backward pass has two, one for the gradient of the input (G W) and one for that of the weights (G^T X).
So backward takes twice the products of forward, and a step three times.

For 4 layers of 4096 and a batch of 1024 in bf16 on {gpu}: forward with its ReLU {part@forward}, the mask of ReLU backward {part@ReLU'}, the gradients of inputs {part@grad input}, those of weights {part@grad weight} and the update of the weights {part@update}.

Steps and layers only repeat, so the time grows as they do: {steps@1} for one step and {steps@8} for eight, {layers@4} for 4 layers and {layers@32} for 32.
Batch and width do not.
From a batch of 16 to one of 1024, 64 times the work, the time grows from {batch@16} to {batch@1024}, {batch@1024/batch@16} times (measured {batch@1024/batch@16:measured}): below a few hundred rows the products read their weights for too little work and the update costs the same whatever the batch.
Then it is linear, {batch@16384} at 16384.
In the width the work grows with the square: {width@2048}, {width@4096}, {width@8192}.

A profiler shows these kernels by name, and the table below lists them: what the model takes beside what the library launched.
A name says nearly everything.
In nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT, a kernel of cuBLAS for Hopper, a block computes a tile of 256 x 128, steps by 64 along k, has 4 stages of that in flight, works in clusters of 1 x 2 blocks that share what they load, and takes its operands transposed (T) or as they lie (N).
In cutlass_80_simt_sgemm_256x128_8x4_nn_align1, a kernel of the A100 that a notebook shows, simt says that no tensor cores work, s that numbers are fp32, nn that neither operand is transposed and align1 that elements are loaded one by one; a name with tensorop, hmma or gmma uses tensor cores.
With few rows the tiles shrink, and where even small tiles would leave multiprocessors idle the sum over k is split: the name says splitK, and a splitKreduce kernel follows that adds the parts.
That is why the gradient of a weight, whose k is the batch, and the forward pass of the same layer run different kernels.
ReLU and the update are elementwise kernels (vectorized_elementwise_kernel in PyTorch), and `ridge trace` reads a recorded program kernel by kernel.)";
    return plan;
}

}  // namespace ridge::effects
