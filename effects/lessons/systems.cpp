// Power, links, generations, and a network of several layers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "effects/lessons/lessons.h"
#include "hardware/algorithms.h"
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

/// The same machine without a power limit: a product of zeros comes near to it.
model::Machine unlimited(const model::Machine& machine) {
    model::Machine free = machine;
    for (auto& pipe : free.matmul.pipes) {
        if (pipe) pipe->sustained_fraction = 1.0;
    }
    return free;
}

/// "2022-03" as a year with a fraction.
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

/// Chips that are labelled in the chart.
constexpr std::array<std::string_view, 7> landmarks{
    "k80", "p100-sxm", "v100-sxm", "tpu-v4", "a100-sxm-40gb", "h100-sxm", "b200"};

struct Chip {
    std::string name;
    double year = 0.0;
    double compute = 0.0;
    double bandwidth = 0.0;
    std::optional<double> link = {};
};

std::vector<Chip> chips_of(const model::Catalogue& catalogue) {
    std::vector<Chip> chips;
    for (const model::CatalogueEntry& entry : catalogue.entries()) {
        const hardware::Description& gpu = catalogue.at(entry.name, model::View::datasheet);
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

/// The layers of an MLP of `width`: forward, backward and weight update, kernel by kernel.
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
    // The gradient of ReLU: the upstream gradient where the result was positive.
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

/// A series over message sizes; `{}` in `words` is the size.
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
    const plot::Axis rate{
        .title = "Message size / time", .unit = "GB/s", .scale = plot::Scale::log};
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
            {.title = "The same as message size over time, two GPUs",
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
        {.title = "Between host and GPU: message size over time",
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

/// One cache moved over each path, and moved in pieces of each size.
void add_cache(Plan& plan, std::int64_t bytes) {
    plan.figures.push_back(
        {.title = "Moving the cache of 8192 tokens of Llama 3.1 8B",
         .x = {.title = "Path",
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
    // A page with 16 tokens of one layer's keys or values is 32 KiB; all keys of a layer are 16
    // MiB.
    const auto pieces = [bytes](const char* id, const char* name, const char* words) {
        return sweep(id, name, {32768, 262144, 4194304, 16777216, 268435456, 1073741824},
                     [bytes, words](std::int64_t piece) {
                         return fmt::format(fmt::runtime(words), piece) +
                                fmt::format(" count={}", bytes / piece);
                     });
    };
    plan.figures.push_back({.title = "The same cache copied in pieces, one after another",
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
    plan.figures.push_back({.title = "SM clock during the same product",
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
                      "The model has one power limit, for normal numbers, and no limit for zeros; "
                      "zeros still draw power for clocks and instructions."};
    plan.text = R"(A transistor uses energy when it switches.
Multiplying zeros switches almost no transistors, multiplying random numbers switches half of the bits in every cycle, and a GPU under load runs at its power limit: energy saved on the data allows a higher clock.

A product of 8192^3 in bf16 takes {time@normal} with normal random numbers on {gpu}; without a power limit it would take {time@zeros}, and products of zeros and other constants come close to that.
Measured: {time@normal:measured} with normal numbers at a clock of {clock@normal:measured}, {time@uniform:measured} with uniform numbers, {time@constant:measured} with one constant everywhere and {time@zeros:measured} with zeros at {clock@zeros:measured}.
So the same program on the same GPU is {time@normal/time@zeros:measured} times slower only because of its data; for an A100, 257 TFLOP/s against 295 TFLOP/s were published for the same size.

When you measure, use random data: zeros make a benchmark look too fast.
When you read a datasheet, remember that a large product does not sustain a peak quoted at the boost clock; on a GPU that was measured, the model takes the sustained share from measurements of each GPU (docs/model.md, sustained fraction).
Memory-bound kernels stay below the power limit, so their data does not matter.)";
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
    plan.ratio = {.what = "Time to fetch the cache, pinned host memory over another GPU",
                  .above = "cache@pinned host",
                  .below = "cache@other GPU",
                  .unmeasured = "it needs two GPUs"};
    plan.text =
        R"(Between two GPUs, or between a GPU and its host, the time of a message is a start time plus its bytes divided by the rate of the link.
The start dominates small messages: a copy engine moves 1 KB to the other GPU in {engine@1024} and 64 KB in {engine@65536}.
The rate dominates large messages: 1 GB moves at {engine_rate@last}, out of {link} one way.
Measured between two GPUs: {engine@1024:measured}, {engine@65536:measured} and {engine_rate@last:measured}.
A link never reaches its nominal rate, because every packet has a header.
Half of the rate is reached when start and bytes take equally long: at some hundreds of KB over NVLink and at about 150 KB over PCIe, whose rate is lower and whose start time is about the same.

NCCL does the same with kernels that copy, because kernels can also add.
A send of 1 KB takes {send@1024}, most of which is the launch, and 1 GB moves at {send_rate@last}.
Measured: {send@1024:measured} and {send_rate@last:measured}.
After an all-reduce, each GPU holds the sum over all GPUs.
In a ring every byte crosses the links 2 (n - 1) / n times: once with two GPUs, nearly twice with many GPUs, whatever their number.
An all-reduce of 1 GB takes {reduce2@last} over two GPUs and {reduce8@last} over eight; for 1 KB it takes {reduce2@1024} and {reduce8@1024}.
Measured over two GPUs: {reduce2@last:measured} and {reduce2@1024:measured}.
An all-reduce is a reduce-scatter followed by an all-gather, each of which moves half as much: the all-gather runs at {gather_rate@last}, the reduce-scatter at {scatter_rate@last} and the all-reduce at {reduce_rate@last}.
Measured: {gather_rate@last:measured}, {scatter_rate@last:measured} and {reduce_rate@last:measured}.
The jumps at medium sizes come from the library changing its protocol, from flags sent with the data (LL), which suits few bytes, to whole slices followed by a fence (Simple).
A switch that adds data on the way (NVLS) can beat the ring, so the bound of the ring does not hold for every GPU.
{if measured}NVLS was off in these measurements.

The host is connected by PCIe, {pcie} one way.
The copy engine itself takes {host@1024} for 1 KB and moves 1 GB from pinned memory at {host_rate@last}.
Measured: {host@1024:measured} and {host_rate@last:measured}.
A program sees the whole call: {call@1024} for 1 KB between two events in a stream, nearly all of it spent in the driver, in the framework and on waking an idle stream.
Measured: {call@1024:measured}.
The operating system may move or swap pageable memory, so the driver first copies the data, piece by piece, to its own pinned buffer: 1 GB moves at {pageable_rate@last} to the GPU and at {pageable_back@last} back, and the call blocks the host meanwhile.
Measured: {pageable_rate@last:measured} and {pageable_back@last:measured}.
Up to about 32 MB, a buffer that is sent repeatedly still lies in the host's cache and moves faster, at {pageable_rate@16777216}, which makes a careless benchmark look too good.
So pin memory that is copied often, and copy asynchronously.

For serving: the cache of 8192 tokens of a model with 8 billion parameters is {cache}.
Moving it to another GPU takes {cache@other GPU}; fetching it from pinned host memory takes {cache@pinned host}, {cache@pinned host/cache@other GPU} times as long, and from pageable memory {cache@pageable host}; copying it within DRAM takes {cache@within DRAM}.
The measured ratio of PCIe to NVLink is {cache@pinned host/cache@other GPU:measured}.
A paged cache is scattered: copied page by page, 32 KB each, it takes {pieces@32768} instead of {pieces@last} to the other GPU, and the extra time is all start time; in pieces of 16 MB, one per layer, hardly anything is lost: {pieces@16777216}.
Measured: {pieces@32768:measured}, {pieces@last:measured} and {pieces@16777216:measured}.
Serving engines that hand over caches therefore first gather pages into large buffers, or let a kernel do the scattered copy.
Recomputing the cache from the prompt is another option; the break-even point depends on the length.)";
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
        const auto found = algorithms::find(chips, name, &Chip::name);
        return found == chips.end() ? nullptr : &*found;
    };
    const Chip* first = at("p100-sxm");
    if (first == nullptr || !first->link) {
        plan.refused = "the catalogue lacks p100-sxm, the chip to which the others are compared";
        return plan;
    }
    for (const Chip& chip : chips) {
        const bool known =
            algorithms::find(landmarks, std::string_view(chip.name)) != landmarks.end();
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
                            .y = {.title = "Relative to a P100", .scale = plot::Scale::log},
                            .quantity = Quantity::number,
                            .series = {std::move(compute), std::move(bandwidth), std::move(link)}});
    plan.figures.push_back(
        {.title = "Peak FLOP per byte of DRAM bandwidth",
         .x = {.title = "Year announced"},
         .y = {.title = "Ridge point", .unit = "FLOP/B", .scale = plot::Scale::log},
         .quantity = Quantity::number,
         .series = {std::move(ridge)}});
    plan.facts["chips"] = std::to_string(chips.size());
    plan.formula = "ridge point = peak / bandwidth";
    plan.ratio = {.what = "Ridge point of a B200 over a P100",
                  .above = "ridge@b200",
                  .below = "ridge@p100-sxm",
                  .unmeasured = "these are datasheet figures"};
    plan.text =
        R"(The catalogue has {chips} dated chips, from the K20 and K80 to the B200 and the TPUs.
Over the years all three lines rise, but at different rates.

From the P100 of 2016 to the B200 of 2024, dense compute in 16 bits grew {compute@b200} times, DRAM bandwidth {dram@b200} times and the link between GPUs {link@b200} times.
So the ridge point, the FLOP per byte that an operation needs to keep the chip busy, rose from {ridge@p100-sxm} to {ridge@b200} FLOP per byte; it was {ridge@v100-sxm} on a V100, {ridge@a100-sxm-80gb} on an A100 and {ridge@h100-sxm} on an H100.
This is the memory wall (Gholami and others count 60,000 times for compute and 100 times for DRAM over twenty years): an operation that was bound by arithmetic on an old chip is bound by memory on a new one.

The largest jump came from a new unit, not from more of the old ones: the tensor cores of the V100; formats of 8 and 4 bits, not shown here, double the rate again.
Memory bandwidth grew through stacked memory, from GDDR5 on a K80 through HBM2 to HBM3e.
TPUs follow the same trend: {ridge@tpu-v4} FLOP per byte for v4, {ridge@tpu-v6e} for v6e.

All figures come from datasheets, so there is nothing to measure, and they are the same for every GPU that you choose.)";
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
        R"(A multilayer perceptron is the smallest network worth profiling: matrix products with ReLU between them.
The forward pass has one product per layer, X W^T; the backward pass has two, one for the gradient of the input (G W) and one for the gradient of the weights (G^T X).
So the backward pass does twice the product work of the forward pass, and a whole step three times as much as the forward pass.

For 4 layers of 4096 and a batch of 1024 in bf16 on {gpu}, the forward pass with its ReLU takes {part@forward}, the ReLU mask of the backward pass {part@ReLU'}, the gradients of inputs {part@grad input}, the gradients of weights {part@grad weight} and the update of the weights {part@update}.

More steps or layers only repeat the same work, so the time grows in proportion: {steps@1} for one step and {steps@8} for eight, {layers@4} for 4 layers and {layers@32} for 32.
Batch and width behave differently.
From a batch of 16 to a batch of 1024, 64 times the work, the time grows from {batch@16} to {batch@1024}, {batch@1024/batch@16} times (measured {batch@1024/batch@16:measured}): below a few hundred rows the products do little work for the weights that they read, and the update costs the same for any batch.
Above that the time is linear in the batch, {batch@16384} at 16384.
With the width, the work grows as its square: {width@2048}, {width@4096}, {width@8192}.

A profiler shows these kernels by name. The table below lists the kernel that the model assumes next to the one that the library launched.
The name of a kernel says nearly everything about it.
In nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT, a cuBLAS kernel for Hopper, a block computes a tile of 256 x 128, steps by 64 along k, keeps 4 stages of that in flight, works in clusters of 1 x 2 blocks that share what they load, and takes its operands transposed (T) or as they lie in memory (N).
In cutlass_80_simt_sgemm_256x128_8x4_nn_align1, a kernel for the A100 shown in a notebook, simt means that it uses no tensor cores, s that numbers are fp32, nn that neither operand is transposed and align1 that elements are loaded one by one; a kernel with tensorop, hmma or gmma in its name uses tensor cores.
With few rows the tiles get smaller, and if even small tiles would leave SMs idle, the sum over k is split: the name says splitK, and a splitKreduce kernel that adds the parts follows.
Therefore the gradient of a weight, whose k is the batch, and the forward pass of the same layer run different kernels.
ReLU and the update are elementwise kernels (vectorized_elementwise_kernel in PyTorch). `ridge trace` reads a recorded program kernel by kernel.)";
    return plan;
}

}  // namespace ridge::effects
