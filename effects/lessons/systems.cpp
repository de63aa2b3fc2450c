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

/// The products of a layer of 4096, by batch.
std::vector<Named> kernels_by_batch() {
    std::vector<Named> kernels;
    for (const std::int64_t batch : {16, 64, 256, 1024, 16384}) {
        const Mlp mlp{.batch = batch, .layers = 1};
        const std::string rows = fmt::format("batch {}", batch);
        kernels.push_back(
            {rows + ", forward", product(mlp.batch, mlp.width, mlp.width, " b_layout=column", 1)});
        kernels.push_back({rows + ", grad input", inputs_of(mlp)});
        kernels.push_back({rows + ", grad weight", weights_of(mlp)});
    }
    return kernels;
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
    plan.text =
        R"([time@normal/time@zeros:measured > 1.05] A product of 8192^3 takes {time@normal:measured} on {gpu} with random numbers and {time@zeros:measured} with zeros, measured: {time@normal/time@zeros:measured} times as long for the same program.
| [time@normal/time@zeros > 1.05] A product of 8192^3 takes {time@normal} on {gpu} with random numbers; without a power limit, near which zeros come, {time@zeros}.
| [time@normal/time@zeros ~ 1] A product of 8192^3 takes {time@normal} on {gpu} whatever its numbers: no power limit is predicted to slow it.

The measured clocks are {clock@normal:measured} and {clock@zeros:measured}: multiplying zeros switches few transistors, and power that is not used allows a higher clock.
When you measure, use random data.
A peak quoted at the boost clock is not what a large product sustains.)";
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
        R"([cache@pinned host/cache@other GPU > 1.05] The cache of 8192 tokens of a model of 8 billion parameters, {cache}, comes from another GPU in {cache@other GPU} and from pinned host memory in {cache@pinned host}: {cache@pinned host/cache@other GPU} times as long ({gpu}).
| The cache of 8192 tokens of a model of 8 billion parameters, {cache}, comes from another GPU in {cache@other GPU} and from pinned host memory in {cache@pinned host} ({gpu}).

The measured ratio is {cache@pinned host/cache@other GPU:measured}.
Small messages are all start: 1 KB takes {engine@1024} to another GPU and {host@1024} from pinned memory, as a call {call@1024}.
Measured: {engine@1024:measured}, {host@1024:measured} and {call@1024:measured}.
[cache@pageable host/cache@pinned host > 1.05] From pageable memory the cache takes {cache@pageable host}, because the driver copies it to a buffer of its own first.
[pieces@32768/pieces@last > 1.05] In pages of 32 KB it takes {pieces@32768} to the other GPU instead of {pieces@last}; all of the difference is start.
An all-reduce of 1 GB takes {reduce2@last} over two GPUs and {reduce8@last} over eight: in a ring every byte crosses the links 2 (n - 1) / n times.
Measured over two GPUs: {reduce2@last:measured}.)";
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
        R"([compute@b200/dram@b200 > 1.05; ridge@b200/ridge@p100-sxm > 1.05] From the P100 of 2016 to the B200 of 2024 arithmetic grew {compute@b200} times, DRAM bandwidth {dram@b200} times and the link between GPUs {link@b200} times, so an operation needs {ridge@b200} FLOP per byte to keep the chip busy instead of {ridge@p100-sxm}.

The ridge point was {ridge@v100-sxm} on a V100, {ridge@a100-sxm-80gb} on an A100 and {ridge@h100-sxm} on an H100; on TPUs {ridge@tpu-v4} for v4 and {ridge@tpu-v6e} for v6e.
What was bound by arithmetic on an old chip is bound by memory on a new one; Gholami and others count 60,000 times for arithmetic and 100 times for DRAM over twenty years.
All figures come from data sheets of {chips} chips and are the same for every GPU that you choose.)";
    return plan;
}

Plan mlp_plan(const Subject& subject) {
    const Mlp asked{.batch = subject.at(knob::batch),
                    .width = subject.at(knob::layer_width),
                    .layers = subject.at(knob::layers)};
    const std::int64_t steps = subject.at(knob::steps);
    Plan plan;
    plan.figures.push_back(
        {.title = "A training step by kernel: $layers layers of $width, batch $batch, bf16",
         .x = {.title = "Kernel",
               .names = {"forward", "ReLU'", "grad input", "grad weight", "update"}},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {named("part", "all layers",
                          {{"forward", forward_of(asked)},
                           {"ReLU'", mask_of(asked)},
                           {"grad input", inputs_of(asked)},
                           {"grad weight", weights_of(asked)},
                           {"update", update_of(asked)}})}});
    plan.figures.push_back({.title = "The steps that were asked for",
                            .x = {.title = "Steps", .names = {"step"}},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = {named("asked", "forward, backward, update",
                                             {{"step", step_of(asked, steps)}})}});
    plan.facts["steps"] = fmt::format("{} step{}", steps, steps == 1 ? " takes" : "s take");
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
    plan.kernels = kernels_by_batch();
    plan.formula = "a layer: 2 b w^2 FLOP forward, 4 b w^2 backward; the update moves 6 w^2 bytes";
    plan.ratio = {.what = "Time of a step at batch 1024 over batch 16",
                  .above = "batch@1024",
                  .below = "batch@16"};
    plan.text =
        R"([batch@1024/batch@16 > 1.05] A training step of 4 layers of 4096 takes {batch@16} on {gpu} with a batch of 16 and {batch@1024} with 1024, 64 times the work: {batch@1024/batch@16} times as long.
| A training step of 4 layers of 4096 takes {batch@16} on {gpu} with a batch of 16 and {batch@1024} with 1024.

The measured ratio is {batch@1024/batch@16:measured}.
With $layers layers of $width, a batch of $batch and bf16, {steps} {asked@step}: forward {part@forward}, mask of ReLU {part@ReLU'}, gradients of inputs {part@grad input} and of weights {part@grad weight}, update {part@update}.
With few rows the products do little work for the weights that they read, and the update costs the same for any batch.
A name says most about a kernel: nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT has a tile of 256 x 128, steps of 64 along k, 4 stages in flight, clusters of 1 x 2 blocks; simt means no tensor cores, align1 loads of one element, splitK a sum over k in parts.)";
    return plan;
}

}  // namespace ridge::effects
