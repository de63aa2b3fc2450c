// Time of one prediction, by class of operation and GPU; targets: under 1 us, a matmul under 1.5 us.
//
//   bench_predict --benchmark_filter=matmul
#include <benchmark/benchmark.h>

#include <array>
#include <functional>
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"

namespace {

using namespace ridge;

struct Case {
    const char* name;
    const char* operation;
};

constexpr std::array cases{
    Case{"matmul", "matmul m=4096 n=4096 k=4096 dtype=bf16"},
    Case{"matmul_odd", "matmul m=1793 n=1793 k=1000 dtype=fp16 batch=3"},
    Case{"attention_prefill",
         "attention batch=1 heads=32 kv_heads=8 seq=4096 head_dim=128 causal=1"},
    Case{"attention_decode",
         "attention batch=8 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 head_dim=128"},
    Case{"attention_backward",
         "attention batch=1 heads=32 seq=4096 head_dim=128 direction=backward"},
    Case{"elementwise", "elementwise expr='gelu(x + bias)' elements=16777216"},
    Case{"softmax", "softmax rows=4096 cols=4096"},
    Case{"layernorm", "layernorm rows=4096 cols=4096"},
    Case{"transpose", "transpose rows=4096 cols=4096"},
    Case{"all_reduce", "all_reduce bytes=1073741824 gpus=8"}};

void predict_one(benchmark::State& state, const std::string& gpu, const std::string& text) {
    const model::Catalogue catalogue = model::catalogue();
    const model::Machine machine = model::make_machine(catalogue.at(gpu));
    const model::OperationText parsed = model::parse_operation(text);
    const model::Operation operation = model::make_operation(parsed.kind, parsed.parameters);
    const model::Execution execution = model::make_execution(parsed.parameters);
    for ([[maybe_unused]] auto turn : state) {
        benchmark::DoNotOptimize(model::predict(operation, execution, machine));
    }
    if (!std::holds_alternative<model::Prediction>(model::predict(operation, execution, machine))) {
        state.SkipWithError("not modelled");
    }
}

const bool registered = [] {
    for (const char* gpu : {"h100-sxm", "a100-sxm-80gb"}) {
        for (const Case& each : cases) {
            const std::string name = std::string("predict/") + each.name + "/" + gpu;
            benchmark::RegisterBenchmark(name.c_str(), predict_one, std::string(gpu),
                                         std::string(each.operation));
        }
    }
    return true;
}();

}  // namespace
