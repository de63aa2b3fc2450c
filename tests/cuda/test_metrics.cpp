// Checks that the profiler knows every metric name and that the sets fit into the passes that they
// claim. The profiler's host side answers both without a GPU or a driver. If libcupti itself is
// missing, the tests say so and check nothing.
#include <algorithm>
#include <array>

#include "measure/cuda/counters/counters.h"
#include "measure/cuda/counters/metrics.h"
#include "measure/cuda/inject/counter_sets.h"
#include "tests/catch.h"
#include "tests/cuda/counter_groups.h"

using namespace ridge::measure;
using namespace ridge::measure::cuda;
using ridge::test::all_groups;

namespace {

const Cupti* cupti_or_skip() {
    const auto& found = cupti();
    if (const auto* missing = std::get_if<Unavailable>(&found)) {
        WARN("skipped: " << missing->reason);
        return nullptr;
    }
    return &std::get<Cupti>(found);
}

bool holds(const std::vector<Metric>& metrics, Meaning meaning) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [&](const Metric& metric) { return metric.meaning == meaning; });
}

/// A kernel with these values; all other metrics are zero.
KernelValues kernel(const std::vector<Metric>& metrics,
                    const std::vector<std::pair<std::string_view, double>>& values) {
    KernelValues made{.metrics = metrics, .values = std::vector<double>(metrics.size())};
    for (const auto& [name, value] : values) {
        bool known = false;
        for (std::size_t i = 0; i < metrics.size(); ++i) {
            if (metrics[i].name != name) continue;
            made.values[i] = value;
            known = true;
        }
        REQUIRE(known);
    }
    return made;
}

}  // namespace

TEST_CASE("GH100 takes every metric in four passes") {
    const Cupti* table = cupti_or_skip();
    if (table == nullptr) return;
    const auto newer = [](const Metric& metric) {
        return metric.name.find("dram__bytes_op_") != std::string_view::npos;
    };
    for (const Metric& metric : metrics_of(all_groups)) {
        INFO(metric.name);
        const bool known = !accepted_metrics(*table, "GH100", {&metric, 1}).empty();
        CHECK(known == !newer(metric));
    }
    const auto passes = [&](std::span<const CounterGroup> groups) {
        return plan_profile(*table, "GH100", accepted_metrics(*table, "GH100", metrics_of(groups)))
            .passes;
    };
    CHECK(passes(all_groups) == 4);  // one pass is for the bytes over the crossbar
    for (const CounterGroup group : all_groups) CHECK(passes({&group, 1}) <= 3);
    const auto types = accepted_metrics(*table, "GH100", tensor_types());
    CHECK(types.size() == tensor_types().size());
    CHECK(plan_profile(*table, "GH100", types).passes <= 7);
    for (const std::vector<Metric>& type : single_tensor_types()) {
        INFO(type.front().name);
        const auto known = accepted_metrics(*table, "GH100", type);
        REQUIRE(known.size() == type.size());
        CHECK(plan_profile(*table, "GH100", known).passes == 1);
    }
}

TEST_CASE(
    "On GH100 nine single-pass sets serve every kernel, and one more set each type of tensor "
    "work") {
    const Cupti* table = cupti_or_skip();
    if (table == nullptr) return;
    const CounterSets sets(*table, "GH100");
    CHECK(sets.common() == 0b1'1111'1100'0011U);  // two of bytes and work, seven of causes
    CHECK(sets.by_type() == 0b111100U);
    CHECK(sets.size() == 13);
    for (unsigned set = 0; set < sets.size(); ++set) CHECK(sets[set].passes == 1);
    CHECK(sets.together().passes == sets.size());
    CHECK(sets.pass_of(0) == 0);
    CHECK(sets.pass_of(1) == 12);  // set 1 holds the counters of software, which come last
    CHECK(sets.pass_of(2) == 1);
    CHECK(holds(sets[0].metrics, Meaning::dram_write));
    CHECK(holds(sets[0].metrics, Meaning::occupancy));
    CHECK(holds(sets[1].metrics, Meaning::fma));
    constexpr auto pipe =
        "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_"
        "peak_sustained_elapsed";
    const std::array plain{kernel(sets[0].metrics, {}), kernel(sets[1].metrics, {})};
    CHECK(sets.types_of(plain) == 0);
    const std::array busy{kernel(sets[0].metrics, {{pipe, 3.0}})};
    CHECK(sets.types_of(busy) == 0b111100U);
    CHECK(sets.likeliest_type("void wmma_kernel<__half>", 0b111100U) == 0b1000U);
    CHECK(sets.likeliest_type("nvjet_sm90_tst", 0b111100U) == 0b100U);
    const std::array fp8{
        kernel(sets[0].metrics, {{pipe, 3.0}, {"sm__ops_path_tensor_src_fp8.sum", 8e6}})};
    CHECK(sets.types_of(fp8) == 0);
    const std::array wgmma{
        kernel(sets[0].metrics, {{pipe, 9.0}, {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", 8e6}})};
    CHECK(sets.types_of(wgmma) == 0);
    const std::array fp64{
        kernel(sets[1].metrics, {{"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 256.0}})};
    CHECK(sets.types_of(fp64) == 0b100000U);
}

TEST_CASE("Every supported chip from Ampere on reports traffic and arithmetic") {
    const Cupti* table = cupti_or_skip();
    if (table == nullptr) return;
    int checked = 0;
    for (const std::string& chip : supported_chips(*table)) {
        const bool data_center = chip == "GA100" || chip == "GH100" || chip.rfind("GB1", 0) == 0;
        const bool integrated = chip.back() == 'B';
        const bool old = chip.rfind("GV", 0) == 0 || chip.rfind("TU", 0) == 0;
        if (old || integrated) continue;
        INFO(chip);
        const auto accepted = accepted_metrics(*table, chip, metrics_of(all_groups));
        CHECK(holds(accepted, Meaning::duration));
        CHECK(holds(accepted, Meaning::sm_l2));
        CHECK(holds(accepted, Meaning::l2));
        CHECK(holds(accepted, Meaning::fma));
        CHECK(holds(accepted, Meaning::dram_read));
        CHECK(holds(accepted, Meaning::dram_write));
        CHECK(holds(accepted, Meaning::occupancy));
        CHECK(holds(accepted, Meaning::sm_clock));
        const bool ampere_or_ada = chip.rfind("GA", 0) == 0 || chip.rfind("AD", 0) == 0;
        CHECK(plan_profile(*table, chip, accepted).passes <= (ampere_or_ada ? 6 : 4));
        if (data_center) CHECK_FALSE(accepted_metrics(*table, chip, tensor_types()).empty());
        ++checked;
    }
    CHECK(checked >= 10);
}

TEST_CASE("An unknown metric is left out and the others are kept") {
    const Cupti* table = cupti_or_skip();
    if (table == nullptr) return;
    const std::array metrics{Metric{"dram__bytes_read.sum"}, Metric{"dram__bytes_dreamt.sum"}};
    const auto accepted = accepted_metrics(*table, "GH100", metrics);
    REQUIRE(accepted.size() == 1);
    CHECK(accepted.front().name == "dram__bytes_read.sum");
}

TEST_CASE("Combined counters add sums and weight shares by duration") {
    const std::vector<Metric> metrics = metrics_of(all_groups);
    constexpr auto duration = "gpu__time_duration.sum";
    constexpr auto sectors = "lts__t_sectors_srcunit_tex.sum";
    constexpr auto loaded = "l1tex__m_xbar2l1tex_read_bytes.sum";
    constexpr auto stored = "l1tex__m_l1tex2xbar_write_bytes.sum";
    constexpr auto occupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
    const std::array kernels{
        kernel(metrics, {{duration, 100.0}, {sectors, 10.0}, {loaded, 512.0}, {occupancy, 50.0}}),
        kernel(metrics, {{duration, 300.0}, {sectors, 30.0}, {stored, 64.0}, {occupancy, 10.0}})};
    const Counters counters = combine(kernels);
    REQUIRE(counters.l2);
    CHECK(counters.l2->base() == Approx(40.0 * 32.0));
    REQUIRE(counters.sm_l2);
    CHECK(counters.sm_l2->base() == Approx(512.0 + 64.0));
    REQUIRE(counters.occupancy);
    CHECK(*counters.occupancy == Approx(0.2));  // (100 x 50 % + 300 x 10 %) / 400
    CHECK(counters.metrics.at(sectors) == Approx(40.0));
}

TEST_CASE("An FMA is two FLOP, a packed FMA four, and a packed FMA that builds a constant none") {
    const std::vector<Metric> metrics = metrics_of(all_groups);
    constexpr auto ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
    constexpr auto hfma = "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum";
    constexpr auto on_tensor_pipe = "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";
    const std::array constants{
        kernel(metrics, {{ffma, 1000.0}, {hfma, 256.0}, {on_tensor_pipe, 8.0}})};
    CHECK(combine(constants).fma->base() == Approx(2000.0));
    // 80 warp instructions of arithmetic, half of them on the tensor pipe, and one that builds a
    // constant.
    const std::array packed{kernel(metrics, {{hfma, 81.0 * 32.0}, {on_tensor_pipe, 41.0}})};
    CHECK(combine(packed).fma->base() == Approx(4.0 * 80.0 * 32.0));
}

TEST_CASE("mma.sync work needs the counters by type, wgmma work does not") {
    const std::vector<Metric> metrics = metrics_of(all_groups);
    constexpr auto hmma = "sm__inst_executed_pipe_tensor_op_hmma.sum";
    constexpr auto vector_half = "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";
    constexpr auto gmma = "sm__inst_executed_pipe_tensor_op_gmma.sum";
    constexpr auto hgmma_flop = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum";
    const std::array mma_sync{kernel(metrics, {{hmma, 500.0}})};
    CHECK(needs_tensor_types(mma_sync));
    const std::array wgmma{kernel(metrics, {{hmma, 500.0}, {gmma, 500.0}, {hgmma_flop, 8e6}})};
    CHECK_FALSE(needs_tensor_types(wgmma));
    CHECK(combine(wgmma).tensor->base() == Approx(8e6));
    const std::array vectors{kernel(metrics, {{hmma, 40.0}, {vector_half, 40.0}})};
    CHECK_FALSE(needs_tensor_types(vectors));
}
