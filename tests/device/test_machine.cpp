// The measuring machine on a real GPU: results are right for odd and even shapes, times are
// plausible with every method, refusals are values. No speed is asserted.
#include <algorithm>
#include <array>
#include <string>

#include "tests/device/machine.h"

using namespace ridge;
using namespace ridge::measure;
using test::device_or_skip;
using test::prepared;

namespace {

// Rows for `expand`, small enough to be checked completely or in large part.
constexpr std::array everywhere{
    "matmul dtype=fp32 m={1,64,100,257} n={64,132} k={32,100} impl={naive,coalesced,tiled,"
    "register_tiled}",
    "matmul dtype={bf16,fp16} m={1,64,100,257} n={64,136} k={64,200} impl=mma",
    "matmul dtype={bf16,fp16} m=100 n=136 k=200 b_layout=column impl={mma,library}",
    "matmul dtype={fp64,fp32,tf32,fp16,bf16} m=128 n=256 k=192 impl=library",
    "matmul dtype=bf16 m=128 n=256 k=192 a_layout=column impl=library",
    "matmul dtype=bf16 m=128 n=256 k=192 epilogue={bias,bias_relu,bias_gelu,accumulate} "
    "impl=library",
    "matmul dtype=int8 m=128 n=256 k=192 b_layout=column impl=library",
    "matmul dtype=bf16 batch=5 m=100 n=136 k=200 impl={mma,library}",
    "attention dtype={bf16,fp16} heads=4 kv_heads={1,4} seq={63,256} head_dim={64,128} "
    "causal={0,1} impl=mma",
    "attention dtype=bf16 heads=4 seq_q=100 seq_kv=300 head_dim=64 causal=1 impl={mma,standard}",
    "attention dtype=bf16 batch=3 heads=8 kv_heads=2 seq_q=1 seq_kv={100,5000} head_dim=128 "
    "impl=mma",
    "attention dtype=fp32 heads=2 seq=128 head_dim=80 impl=standard",
    "elementwise expr=\"gelu(x + bias)\" dtype={fp32,fp16,bf16} elements={1,1000,100003} "
    "impl={fused,unfused}",
    "elementwise expr=\"sqrt(abs(x)) / (1 + exp(-alpha*y))\" dtype=fp32 elements=5001 "
    "impl={fused,unfused}",
    "elementwise expr=\"sin(x)^2 + cos(x)^2\" dtype=fp32 elements=4099 impl={fused,unfused}",
    "softmax dtype={fp32,bf16,fp16} rows={1,37} cols={1,100,1024,40000} impl={fused,manual}",
    "{layernorm,rmsnorm,sum} dtype={fp32,bf16} rows={1,37} cols={8,100,4096} impl=fused",
    "transpose dtype={fp32,bf16} rows={1,64,1000} cols={64,129} impl={naive,tiled}",
    "copy dtype={fp32,bf16} elements={2,1026,1000000} impl=bundled",
    "gather dtype=bf16 rows={1,1000} cols={2,100,1024} table_rows=5000 impl=bundled",
};

constexpr std::array hopper_only{
    "matmul dtype={bf16,fp16} m={1,100,257,1024} n={64,136,512} k={64,200} impl=wgmma",
    "matmul dtype=bf16 batch=5 m=100 n=136 k=200 b_layout={row,column} impl=wgmma",
    "matmul dtype=fp8 m=128 n=256 k=512 b_layout=column impl=library",
    "attention dtype={bf16,fp16} heads=4 kv_heads={1,4} seq={63,600} head_dim={64,128} "
    "causal={0,1} impl=wgmma",
};

void check_row(Device& device, const char* row) {
    for (const std::string& text : expand(row)) {
        INFO(text);
        const auto unit = prepared(device, parse_question(text));
        const Verification verdict = unit->verify();
        CHECK(verdict.frobenius_error <= verdict.tolerance);
        CHECK(verdict.ok);
    }
}

}  // namespace

TEST_CASE("Every bundled kernel computes what the CPU computes") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* row : everywhere) check_row(*device, row);
    if (device->info().compute_capability != 90) return;
    for (const char* row : hopper_only) check_row(*device, row);
}

TEST_CASE(
    "The three methods agree on a long kernel, and the clock stays within the device's range") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    const auto unit = prepared(
        *device, parse_question("copy dtype=fp32 elements=134217728 impl=bundled l2=cold"));
    REQUIRE(unit->verify().ok);
    std::vector<double> medians;
    for (const Method method : {Method::events, Method::graph, Method::activity}) {
        auto samples = unit->sample({.method = method, .l2 = model::L2State::cold, .count = 9});
        REQUIRE(samples.size() == 9);
        std::sort(samples.begin(), samples.end(),
                  [](const Sample& a, const Sample& b) { return a.time < b.time; });
        medians.push_back(samples[4].time.in(units::us));
        REQUIRE(samples[4].clock);
        CHECK(samples[4].clock->in(units::GHz) > 0.1);
        if (const auto highest = device->info().max_sm_clock) {
            CHECK(*samples[4].clock <= 1.02 * *highest);
        }
    }
    CHECK(medians[1] == Approx(medians[0]).epsilon(0.05));
    CHECK(medians[2] == Approx(medians[0]).epsilon(0.05));
}

TEST_CASE("What the kernels do not support is refused with a reason") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* text : {"matmul dtype=fp64 m=64 n=64 k=64 impl=naive",
                             "matmul dtype=bf16 m=64 n=64 k=63 impl=mma",
                             "attention dtype=bf16 heads=2 seq=64 head_dim=96 impl=mma",
                             "attention dtype=bf16 heads=2 seq=64 head_dim=64 window=8 impl=mma",
                             "softmax dtype=fp64 rows=8 cols=8 impl=fused",
                             "copy dtype=fp32 elements=1000000000000 impl=bundled"}) {
        INFO(text);
        const Question question = parse_question(text);
        const auto outcome =
            device->prepare(question.operation, question.execution, question.pattern);
        const auto* missing = std::get_if<Unavailable>(&outcome);
        REQUIRE(missing != nullptr);
        CHECK_FALSE(missing->reason.empty());
        CHECK(device->usable());
    }
}

TEST_CASE("Every microbenchmark gives its samples") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    using enum Microbenchmark;
    for (const Microbenchmark benchmark :
         {dram_read, dram_write, dram_copy, dram_triad, l2_read, l1_read, shared_read, fma,
          tensor_mma, exp2, pointer_chase, shared_chase, launch_kernel, launch_stream, launch_graph,
          launch_call, launch_submit}) {
        INFO(name_of(benchmark));
        const bool tensor = benchmark == tensor_mma;
        const auto outcome =
            device->run({.benchmark = benchmark,
                         .type = tensor ? model::DataType::bf16 : model::DataType::fp32,
                         .size = 16.0 * units::MiB,
                         .stride = benchmark == pointer_chase ? 128 : 4,
                         .count = 3});
        if (const auto* missing = std::get_if<Unavailable>(&outcome)) {
            CHECK(benchmark == launch_kernel);  // it needs activity records
            WARN(missing->reason);
            continue;
        }
        const auto& result = std::get<MicrobenchmarkResult>(outcome);
        CHECK(result.samples.size() == 3);
        CHECK(result.amount > 0.0);
        CHECK_FALSE(result.kernel.name.empty());
        for (const Sample& sample : result.samples) CHECK(sample.time.in(units::s) > 0.0);
    }
}
