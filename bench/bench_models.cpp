// Time of whole models: reading a family's file and a config (target: under 1 ms each), a step of a
// model with 80 layers (target: under 0.1 ms), and the serving front over 64 batches and 4 degrees of
// tensor parallelism (target: under 50 ms).
//
//   bench_models --benchmark_filter=front
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "programs/configs/presets.h"
#include "programs/families/family.h"
#include "programs/serving.h"

namespace {

using namespace ridge;
using programs::Phase;
using programs::Software;

const model::Machine& machine() {
    static const model::Machine made = model::make_machine(model::catalogue().at("h200-sxm"));
    return made;
}

void step(benchmark::State& state, const programs::Request& request) {
    const programs::Architecture a = programs::find_model("llama-3.3-70b");
    for ([[maybe_unused]] auto turn : state) {
        const programs::ModelStep made = make_step(a, request);
        benchmark::DoNotOptimize(memory_of(made));
        benchmark::DoNotOptimize(predict(made, machine(), programs::host_beside("h200-sxm")));
    }
}

/// Every embedded family in turn, each from its text and its bases' texts, as if never read before.
void families(benchmark::State& state) {
    std::vector<hardware::EmbeddedFile> files;
    for (const auto& file : programs::embedded_families()) {
        if (file.text.find("\nmodel_types = [") != std::string_view::npos) files.push_back(file);
    }
    std::size_t next = 0;
    for ([[maybe_unused]] auto turn : state) {
        const auto& file = files[next++ % files.size()];
        benchmark::DoNotOptimize(programs::read_family(file.text, std::string(file.path)));
    }
}

void config(benchmark::State& state, const char* name) {
    for ([[maybe_unused]] auto turn : state) {
        benchmark::DoNotOptimize(programs::find_model(name));
    }
}

void front(benchmark::State& state, const char* name) {
    const programs::Architecture a = programs::find_model(name);
    programs::Load load{.request = {.software = Software::serving}, .gpus = {1, 2, 4, 8}};
    for (std::int64_t batch = 1; batch <= 64; ++batch) load.batches.push_back(batch);
    for ([[maybe_unused]] auto turn : state) {
        benchmark::DoNotOptimize(serve(a, load, machine(), 0));
    }
}

BENCHMARK(families)->Unit(benchmark::kMicrosecond)->Name("model/family/read");
BENCHMARK_CAPTURE(config, dense, "llama-3.3-70b")
    ->Unit(benchmark::kMicrosecond)
    ->Name("model/config/llama-3.3-70b");
BENCHMARK_CAPTURE(config, experts, "deepseek-v3")
    ->Unit(benchmark::kMicrosecond)
    ->Name("model/config/deepseek-v3");
BENCHMARK_CAPTURE(step, prefill, programs::Request{.batch = 1, .seq = 2048})
    ->Unit(benchmark::kMicrosecond)
    ->Name("model/step/prefill, 80 layers");
BENCHMARK_CAPTURE(step, decode, programs::Request{.phase = Phase::decode, .batch = 8, .seq = 2048})
    ->Unit(benchmark::kMicrosecond)
    ->Name("model/step/decode, 80 layers");
BENCHMARK_CAPTURE(step, serving,
                  programs::Request{.phase = Phase::decode,
                                    .software = Software::serving,
                                    .batch = 8,
                                    .seq = 2048})
    ->Unit(benchmark::kMicrosecond)
    ->Name("model/step/serving, 80 layers");
BENCHMARK_CAPTURE(front, dense, "llama-3.3-70b")
    ->Unit(benchmark::kMillisecond)
    ->Name("model/front/llama-3.3-70b");
BENCHMARK_CAPTURE(front, experts, "deepseek-v3")
    ->Unit(benchmark::kMillisecond)
    ->Name("model/front/deepseek-v3");

}  // namespace
