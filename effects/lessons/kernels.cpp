// Fewer kernels, fewer bytes: launches, fusion, recomputation.
#include <fmt/format.h>

#include <algorithm>

#include "effects/lessons/lessons.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/expression/expression.h"
#include "programs/configs/presets.h"
#include "programs/model_step.h"

namespace ridge::effects {
namespace {

using si::giga;
using si::microsecond;
using si::millisecond;
constexpr const char* tanh_gelu = "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x^3)))";

/// The four chains of the lesson with one implementation.
Series chains(const std::string& id, const char* name, const char* implementation, bool with_norm,
              std::int64_t elements) {
    const auto chain = [implementation, elements](const char* expression, const char* type) {
        return fmt::format("elementwise expr=\"{}\" dtype={} elements={} impl={}", expression, type,
                           elements, implementation);
    };
    std::vector<Named> points{{"sin^2+cos^2", chain("sin(x)^2 + cos(x)^2", "fp32")},
                              {"gelu(x+y)", chain("gelu(x + y)", "fp32")},
                              {"tanh gelu", chain(tanh_gelu, "fp32")}};
    if (with_norm) {
        points.push_back(
            {"dropout+norm",
             chain("dropout(x + bias) + r", "fp32") +
                 fmt::format("; layernorm rows={} cols=4096 dtype=fp32 impl={}",
                             std::max<std::int64_t>(1, elements / 4096), implementation)});
    }
    return named(id, name, points);
}

std::vector<Series> chain_series(const char* prefix, std::int64_t elements) {
    const std::string p(prefix);
    return {chains(p + "eager", "eager PyTorch", "torch", true, elements),
            chains(p + "unfused", "unfused, bundled", "unfused", false, elements),
            chains(p + "compiled", "compiled", "compiled", true, elements),
            chains(p + "fused", "fused, bundled", "fused", false, elements)};
}

std::string nested(std::int64_t n) {
    return n == 0 ? "x" : "sigmoid(" + nested(n - 1) + ")";
}

std::string over_all(const std::string& expression, const char* how) {
    return fmt::format("elementwise expr=\"{}\" dtype=fp32 elements=67108864 impl={}; ", expression,
                       how);
}

/// Forward: one kernel per sigmoid, each of which stores its result. Backward: reads those results.
std::string stored_passes(std::int64_t n) {
    std::string gradient = "g";
    for (std::int64_t i = 1; i <= n; ++i) gradient += fmt::format(" * (s{0} * (1 - s{0}))", i);
    return over_all(nested(n), "unfused") + over_all(gradient, "fused");
}

/// One kernel for each pass; the backward kernel computes the sigmoids again.
std::string recomputed_passes(std::int64_t n) {
    std::string gradient = "g";
    for (std::int64_t i = 1; i <= n; ++i) {
        gradient += fmt::format(" * ({0} * (1 - {0}))", nested(i));
    }
    return over_all(nested(n), "fused") + over_all(gradient, "fused");
}

/// One training step of GPT-2 with all its layers, with activations stored or recomputed.
void add_checkpointing(Plan& plan, const Subject& subject) {
    const programs::Architecture gpt2 = programs::find_model("gpt2");
    Series time_stored{.id = "step_stored", .name = "everything stored"};
    Series time_again{.id = "step_again", .name = "layers recomputed"};
    Series memory_stored{.id = "peak_stored", .name = "everything stored"};
    Series memory_again{.id = "peak_again", .name = "layers recomputed"};
    for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
        for (const bool again : {false, true}) {
            programs::Request request{.phase = programs::Phase::train, .batch = batch, .seq = 1024};
            request.checkpoint = again ? programs::Checkpoint::full : programs::Checkpoint::none;
            if (subject.machine.sm_count > 0) request.multiprocessors = subject.machine.sm_count;
            const programs::ModelStep step = programs::make_step(gpt2, request);
            const programs::ProgramTime time = programs::predict(step.program, subject.machine);
            const auto x = static_cast<double>(batch);
            const std::string question =
                fmt::format("step of gpt2 phase=train batch={} seq=1024 checkpoint={}", batch,
                            again ? "full" : "none");
            const auto peak = static_cast<double>(programs::memory_of(step).peak);
            if (time.total.time > Time{} && time.total.left_out.empty()) {
                (again ? time_again : time_stored)
                    .points.push_back(
                        {.x = x, .value = time.total.time.base(), .question = question});
            }
            (again ? memory_again : memory_stored)
                .points.push_back({.x = x, .value = peak, .question = question});
        }
    }
    plan.figures.push_back({.title = "Peak memory of a GPT-2 step, 1024 tokens, bf16",
                            .x = {.title = "Batch", .scale = plot::Scale::log},
                            .y = {.title = "Peak", .unit = "GiB", .scale = plot::Scale::log},
                            .quantity = Quantity::memory,
                            .unit = (1.0 * units::GiB).base(),
                            .series = {std::move(memory_stored), std::move(memory_again)}});
    plan.figures.push_back({.title = "Kernels of the same step",
                            .x = {.title = "Batch", .scale = plot::Scale::log},
                            .y = {.title = "Time", .unit = "ms", .scale = plot::Scale::log},
                            .quantity = Quantity::time,
                            .unit = millisecond,
                            .series = {std::move(time_stored), std::move(time_again)}});
}

}  // namespace

Plan launch_plan(const Subject& subject) {
    const std::vector<double> sizes = with(doubling(256, 268435456, 4), subject.at(knob::elements));
    const auto relu = [](const char* how) {
        return [how](std::int64_t elements) {
            return fmt::format("elementwise expr=relu(x) dtype=fp32 elements={} {}", elements, how);
        };
    };
    Plan plan;
    plan.figures.push_back(
        {.title = "ReLU over tensors of 1 KB to 1 GB, fp32",
         .x = {.title = "Elements", .scale = plot::Scale::log},
         .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("kernel", "the kernel itself", sizes, relu("impl=fused")),
                    sweep("graph", "graph node", sizes, relu("impl=fused launch=graph")),
                    sweep("stream", "call in a stream", sizes, relu("impl=fused launch=stream")),
                    sweep("eager", "eager PyTorch", sizes, relu("impl=torch launch=stream"))}});
    plan.figures.push_back(
        {.title = "The same, as bandwidth",
         .x = {.title = "Elements", .scale = plot::Scale::log},
         .y = {.title = "Bandwidth", .unit = "GB/s"},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("bandwidth", "the kernel itself", sizes, relu("impl=fused"))}});
    plan.formula =
        "time = launch + max(latency, bytes / L2 bandwidth, bytes that miss / DRAM "
        "bandwidth), smoothed";
    plan.ratio = {.what = "Time of 268 million elements over 256",
                  .above = "kernel@268435456",
                  .below = "kernel@256",
                  .why =
                      "The small kernel causes the difference: {kernel@256} predicted and "
                      "{kernel@256:measured} measured. To the {floor} of an empty kernel the model "
                      "adds {first_load} for the first load from the L2, one value fitted to "
                      "all bundled kernels, but two warps with one load and one store each wait "
                      "for little more than the latency of the L2, {l2_latency}."};
    if (subject.machine.memory) {
        plan.facts["floor"] = format(subject.machine.memory->launch.kernel);
        plan.facts["first_load"] = format(subject.machine.memory->l2_latency);
    }
    if (subject.machine.l2_latency) plan.facts["l2_latency"] = format(*subject.machine.l2_latency);
    plan.text =
        R"([eager@$elements/kernel@$elements > 1.05] ReLU of $elements numbers takes {kernel@$elements} on {gpu}; called from eager PyTorch it takes {eager@$elements}, as a call in a stream {stream@$elements} and as a node of a graph {graph@$elements}.
| ReLU of $elements numbers takes {kernel@$elements} on {gpu} and {eager@$elements} when called from eager PyTorch.

The measured times are {kernel@$elements:measured}, {eager@$elements:measured}, {stream@$elements:measured} and {graph@$elements:measured}.
[kernel@16384/kernel@256 < 1.3] From 256 to 16384 numbers its time hardly changes: starting, one wait for memory, ending.
[eager@268435456/kernel@268435456 ~ 1] At 268 million numbers the launch no longer matters: {kernel@268435456} and {eager@268435456}.
| [eager@268435456/kernel@268435456 > 1.05] At 268 million numbers the kernel takes {kernel@268435456} and PyTorch's {eager@268435456}.
[bandwidth@4194304/bandwidth@268435456 > 1.05] The L2 serves 4.2 million numbers at {bandwidth@4194304}, DRAM 268 million at {bandwidth@268435456}.)";
    return plan;
}

Plan fusion_plan(const Subject& subject) {
    const std::int64_t elements = subject.at(knob::chain_elements);
    const std::vector<std::string> names{"sin^2+cos^2", "gelu(x+y)", "tanh gelu", "dropout+norm"};
    Plan plan;
    plan.figures.push_back({.title = "Chains of operations, $elements elements, fp32",
                            .x = {.title = "Chain", .names = names},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = chain_series("", elements)});
    plan.figures.push_back({.title = "DRAM traffic of the same chains",
                            .x = {.title = "Chain", .names = names},
                            .y = {.title = "Traffic", .unit = "GB"},
                            .quantity = Quantity::traffic,
                            .unit = giga,
                            .series = chain_series("bytes_", elements)});
    const model::Expression sines = model::parse_expression("sin(x)^2 + cos(x)^2");
    const model::Expression gelu = model::parse_expression(tanh_gelu);
    plan.facts["kernels"] = std::to_string(sines.unfused().kernels);
    plan.facts["passes"] = std::to_string(sines.unfused().passes());
    plan.facts["fused_passes"] = std::to_string(sines.fused().passes());
    plan.facts["gelu_kernels"] = std::to_string(gelu.unfused().kernels);
    plan.facts["gelu_passes"] = std::to_string(gelu.unfused().passes());
    plan.formula =
        "unfused: one kernel per function, each reads its arguments and writes its "
        "result; fused: each input read once, the result written once";
    plan.ratio = {.what = "Time of sin^2 + cos^2 unfused over fused",
                  .above = "unfused@sin^2+cos^2",
                  .below = "fused@sin^2+cos^2"};
    plan.text =
        R"([unfused@sin^2+cos^2/fused@sin^2+cos^2 > 1.05] sin(x)^2 + cos(x)^2 of $elements numbers takes {unfused@sin^2+cos^2} on {gpu} in {kernels} kernels and {fused@sin^2+cos^2} in one: {unfused@sin^2+cos^2/fused@sin^2+cos^2} times faster, with {passes} passes over a tensor against {fused_passes}.
| sin(x)^2 + cos(x)^2 of $elements numbers takes {unfused@sin^2+cos^2} on {gpu} in {kernels} kernels and {fused@sin^2+cos^2} in one.

The measured ratio is {unfused@sin^2+cos^2/fused@sin^2+cos^2:measured}.
[eager@tanh gelu/compiled@tanh gelu > 1.05] GeLU from its formula takes {eager@tanh gelu} in eager PyTorch ({gelu_kernels} kernels) and {compiled@tanh gelu} compiled, a factor of {eager@tanh gelu/compiled@tanh gelu}.
The measured factor is {eager@tanh gelu/compiled@tanh gelu:measured}.
[eager@dropout+norm/compiled@dropout+norm > 1.05] Bias, dropout, residual and normalisation, the end of a transformer's block, take {eager@dropout+norm} and {compiled@dropout+norm}.
[unfused@sin^2+cos^2/fused@sin^2+cos^2 > 1.05] The saving can be counted before any code is written: it is the tensors that no longer pass through memory.)";
    return plan;
}

Plan recomputation_plan(const Subject& subject) {
    Plan plan;
    const std::vector<double> lengths = with({1, 2, 3, 4}, subject.at(knob::functions));
    Series stored{.id = "stored", .name = "activations stored"};
    Series again{.id = "again", .name = "recomputed"};
    std::string chain = "x";
    for (int n = 1; n <= 8; ++n) {
        chain.insert(0, "sigmoid(").push_back(')');
        const model::ChainAccesses counts = model::chain_accesses(model::parse_expression(chain));
        stored.points.push_back(
            {.x = static_cast<double>(n), .value = static_cast<double>(counts.stored)});
        again.points.push_back(
            {.x = static_cast<double>(n), .value = static_cast<double>(counts.recomputed)});
    }
    plan.figures.push_back({.title = "A chain of sigmoids, forward and backward",
                            .x = {.title = "Sigmoids"},
                            .y = {.title = "Tensors read and written"},
                            .quantity = Quantity::number,
                            .series = {std::move(stored), std::move(again)}});
    plan.figures.push_back(
        {.title = "Time of both passes, 67 million elements, fp32",
         .x = {.title = "Sigmoids"},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("chain_stored", "activations stored", lengths, stored_passes),
                    sweep("chain_again", "recomputed", lengths, recomputed_passes)}});
    add_checkpointing(plan, subject);
    plan.formula = "n functions stored: 2 n + 2 accesses; recomputed: 5 for any n";
    plan.ratio = {.what = "Time of $functions sigmoids, stored over recomputed",
                  .above = "chain_stored@$functions",
                  .below = "chain_again@$functions"};
    plan.text =
        R"([chain_stored@$functions/chain_again@$functions > 1.05] Forward and backward through $functions sigmoids take {chain_stored@$functions} on {gpu} with the results stored and {chain_again@$functions} computed again: {chain_stored@$functions/chain_again@$functions} times faster with more arithmetic.
| [chain_stored@$functions/chain_again@$functions ~ 1] Forward and backward through $functions sigmoids take {chain_stored@$functions} on {gpu} with the results stored and {chain_again@$functions} computed again: about the same.
| Forward and backward through $functions sigmoids take {chain_stored@$functions} on {gpu} with the results stored and {chain_again@$functions} computed again: here storing is better.

The measured ratio is {chain_stored@$functions/chain_again@$functions:measured}.
[stored@$functions/again@$functions > 1.05] With one kernel forward, {stored@$functions} tensors are read or written with the results stored, {again@$functions} computed again, whatever the length.
[peak_stored@16/peak_again@16 > 1.05] For whole networks this is checkpointing: a step of GPT-2 with 16 x 1024 tokens peaks at {peak_stored@16}, with its layers recomputed at {peak_again@16}.
[step_again@16/step_stored@16 > 1.05] Its kernels then take {step_again@16} instead of {step_stored@16}, {step_again@16/step_stored@16} times as long.
Measured with PyTorch, the peaks are {peak_stored@16:measured} and {peak_again@16:measured}, the ratio of times {step_again@16/step_stored@16:measured}.)";
    return plan;
}

}  // namespace ridge::effects
