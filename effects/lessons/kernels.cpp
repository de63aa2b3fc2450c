// Fewer kernels, fewer bytes: launches, fusion, recomputation.
#include <fmt/format.h>

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
Series chains(const char* id, const char* name, const char* implementation, bool with_norm) {
    const auto chain = [implementation](const char* expression, const char* type) {
        return fmt::format("elementwise expr=\"{}\" dtype={} elements=67108864 impl={}", expression,
                           type, implementation);
    };
    std::vector<Named> points{{"sin^2+cos^2", chain("sin(x)^2 + cos(x)^2", "fp32")},
                              {"gelu(x+y)", chain("gelu(x + y)", "fp32")},
                              {"tanh gelu", chain(tanh_gelu, "fp32")}};
    if (with_norm) {
        points.push_back(
            {"dropout+norm", chain("dropout(x + bias) + r", "fp32") +
                                 fmt::format("; layernorm rows=16384 cols=4096 dtype=fp32 impl={}",
                                             implementation)});
    }
    return named(id, name, points);
}

std::vector<Series> chain_series(const char* prefix) {
    const std::string p(prefix);
    return {chains((p + "eager").c_str(), "eager PyTorch", "torch", true),
            chains((p + "unfused").c_str(), "unfused, bundled", "unfused", false),
            chains((p + "compiled").c_str(), "compiled", "compiled", true),
            chains((p + "fused").c_str(), "fused, bundled", "fused", false)};
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
    const std::vector<double> sizes = doubling(256, 268435456, 4);
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
    plan.text = R"(The same kernel has three regimes.
Up to some ten thousand elements its time hardly changes: {kernel@256} for 256 elements, {kernel@16384} for 16384.
That is the time to start a kernel, wait for memory once and end the kernel; a million times the data takes only {kernel@268435456/kernel@256} times as long.
For larger tensors the L2 serves the data, {bandwidth@4194304} for 4.2 million elements, which is why measurements of a few MB say nothing about DRAM.
Beyond the {l2} of the L2, DRAM sets the limit: {bandwidth@268435456} of {bandwidth}.

How the kernel is launched matters only for small kernels.
For 256 elements a call in a stream takes {stream@256}, a node of a replayed graph {graph@256}, and a call through eager PyTorch, with its dispatch on the host, {eager@256}.
The measured times are {stream@256:measured}, {graph@256:measured} and {eager@256:measured}.
At 268 million elements the slowest of these takes {eager@268435456/kernel@268435456} times as long as the fastest.
So a model of many small kernels is bound by its host, whatever the GPU: make the kernels larger (batch), fewer (fusion) or cheaper to launch (graphs).

Course notes give 0.01 ms for 1 million elements of 4 bytes, from the DRAM bandwidth; that tensor fits in the L2 and takes {kernel@1048576} here.)";
    return plan;
}

Plan fusion_plan(const Subject&) {
    const std::vector<std::string> names{"sin^2+cos^2", "gelu(x+y)", "tanh gelu", "dropout+norm"};
    Plan plan;
    plan.figures.push_back({.title = "Chains of operations, 67 million elements, fp32",
                            .x = {.title = "Chain", .names = names},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = chain_series("")});
    plan.figures.push_back({.title = "DRAM traffic of the same chains",
                            .x = {.title = "Chain", .names = names},
                            .y = {.title = "Traffic", .unit = "GB"},
                            .quantity = Quantity::traffic,
                            .unit = giga,
                            .series = chain_series("bytes_")});
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
        R"(An elementwise operation does one or a few FLOP for every 8 bytes that it moves, so its traffic sets its time.
A chain of such operations writes every intermediate result to DRAM and reads it back.
When the chain is fused into one kernel, the intermediate results stay in registers.

sin(x)^2 + cos(x)^2 takes {kernels} kernels, which read or write a tensor {passes} times; fused, it takes one kernel and {fused_passes} passes.
On {gpu} the unfused chain takes {unfused@sin^2+cos^2} and the fused kernel {fused@sin^2+cos^2}: {unfused@sin^2+cos^2/fused@sin^2+cos^2} times faster, with {bytes_unfused@sin^2+cos^2/bytes_fused@sin^2+cos^2} times less traffic.
The measured ratio of times is {unfused@sin^2+cos^2/fused@sin^2+cos^2:measured}.
The ratio of times stays near the ratio of bytes as long as the fused kernel is still bound by memory; sines cost enough arithmetic to bring it close to the other bound.

GeLU written out in its tanh form takes {gelu_kernels} kernels and {gelu_passes} passes: {eager@tanh gelu} in eager PyTorch against {compiled@tanh gelu} compiled, a factor of {eager@tanh gelu/compiled@tanh gelu}.
The measured factor is {eager@tanh gelu/compiled@tanh gelu:measured}.
The bundled fused kernel of the same expression takes {fused@tanh gelu}, because it computes x^3 as two multiplications, as PyTorch does; with a call of the general power function it took 220 us on an H200, so arithmetic can undo what fusion saves.
PyTorch has one kernel for the whole of GeLU, so gelu(x + y) takes two kernels with 5 passes, or 3 passes when fused: {eager@gelu(x+y)} and {compiled@gelu(x+y)}.
If y is a bias, a vector that costs almost nothing to read, there are 4 passes against 2; notes that count 5 against 3 in this case treat the bias as a full tensor.

Bias, dropout, residual and normalisation, which end every block of a transformer, take {eager@dropout+norm} eager and {compiled@dropout+norm} compiled into two kernels, a factor of {eager@dropout+norm/compiled@dropout+norm}; one kernel for all of it would save one more write and one more read.
The measured factor is {eager@dropout+norm/compiled@dropout+norm:measured}.
Fusion does not help operations that are bound by tensor cores. It needs no new mathematics: the saving can be counted before any code is written.)";
    return plan;
}

Plan recomputation_plan(const Subject& subject) {
    Plan plan;
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
         .series = {sweep("chain_stored", "activations stored", {1, 2, 3, 4}, stored_passes),
                    sweep("chain_again", "recomputed", {1, 2, 3, 4}, recomputed_passes)}});
    add_checkpointing(plan, subject);
    plan.formula = "n functions stored: 2 n + 2 accesses; recomputed: 5 for any n";
    plan.ratio = {.what = "Time of three sigmoids, stored over recomputed",
                  .above = "chain_stored@3",
                  .below = "chain_again@3"};
    plan.text = R"(Backpropagation needs the activations of the forward pass.
They can be kept in memory, which costs a write now and a read later, or be computed again from the input, which costs arithmetic.
If arithmetic units are idle anyway, recomputing is faster.

Three sigmoids in a row, with the activations stored by one forward kernel, take {stored@3} accesses to full tensors in both passes together; recomputed in the backward kernel they take {again@3}, and that number does not grow with the chain: for eight sigmoids it is {stored@8} against {again@8}.
With one kernel per sigmoid, as a framework runs them, the forward pass also reads what it has just written: three sigmoids take {chain_stored@3} forward and backward on {gpu}.
Recomputed, with one kernel for each pass, they take {chain_again@3}: {chain_stored@3/chain_again@3} times faster, although it does more arithmetic.
The measured ratio is {chain_stored@3/chain_again@3:measured}.

For whole networks the same trade is called checkpointing: keep the input of each layer and recompute the rest when its gradient is needed.
A training step of GPT-2 with 16 sequences of 1024 tokens needs {peak_stored@16} with everything stored and {peak_again@16} with the layers recomputed, {peak_stored@16/peak_again@16} times less.
Its kernels take {step_stored@16} with everything stored and {step_again@16} with recomputation, {step_again@16/step_stored@16} times as long: a second forward pass adds about a third to the work of the products.
Measured with PyTorch, the memory is {peak_stored@16:measured} and {peak_again@16:measured}, and the step takes {step_again@16/step_stored@16:measured} times as long.
The memory saved can be spent on a larger batch, which is why checkpointing often trains faster in the end.
FlashAttention uses the same idea: it stores no scores, and its backward pass computes them again.)";
    return plan;
}

}  // namespace ridge::effects
