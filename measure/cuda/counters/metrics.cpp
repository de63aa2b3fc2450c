// The metric table and the profiler's host side; see metrics.h.
#include "measure/cuda/counters/metrics.h"

#include <algorithm>
#include <array>

#include "hardware/error.h"

namespace ridge::measure::cuda {
namespace {

constexpr double sector = 32.0;       // bytes
constexpr double warp = 32.0;         // threads
constexpr double packed_fma = 4.0;    // FLOP of one HFMA2 thread instruction
constexpr double packed_other = 2.0;  // FLOP of one HADD2 or HMUL2

using enum CounterGroup;

constexpr std::array table{
    Metric{"gpu__time_duration.sum", traffic, Meaning::duration},
    Metric{"sm__cycles_elapsed.avg.per_second", traffic, Meaning::sm_clock},
    Metric{"dram__cycles_elapsed.avg.per_second", traffic, Meaning::dram_clock},
    Metric{"dram__bytes_read.sum", traffic, Meaning::dram_read},
    Metric{"dram__bytes_write.sum", traffic, Meaning::dram_write},
    Metric{"dram__bytes_op_read.sum", traffic,
           Meaning::dram_read},  // only on GB202 and its relatives
    Metric{"dram__bytes_op_write.sum", traffic, Meaning::dram_write},  // as above
    Metric{"l1tex__m_xbar2l1tex_read_bytes.sum", traffic, Meaning::sm_l2},
    Metric{"l1tex__m_l1tex2xbar_write_bytes.sum", traffic, Meaning::sm_l2},
    Metric{"lts__t_sectors_srcunit_tex.sum", traffic, Meaning::l2, sector},
    Metric{"lts__t_sectors_srcunit_tex_op_read.sum", traffic, Meaning::informative},
    Metric{"lts__t_sectors_srcunit_tex_op_write.sum", traffic, Meaning::informative},
    Metric{"sm__warps_active.avg.pct_of_peak_sustained_active", traffic, Meaning::occupancy},
    Metric{"smsp__sass_data_bytes_mem_shared.sum", traffic, Meaning::shared},
    Metric{"smsp__sass_data_bytes_mem_shared_op_gmma.sum", traffic, Meaning::shared},

    Metric{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", arithmetic, Meaning::fma},
    Metric{"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", arithmetic, Meaning::fma},
    Metric{"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", arithmetic, Meaning::fma, 2.0},
    Metric{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", arithmetic, Meaning::fma},
    Metric{"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", arithmetic, Meaning::fma},
    Metric{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", arithmetic, Meaning::fma, 2.0},
    Metric{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", arithmetic, Meaning::packed_other,
           packed_other},
    Metric{"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", arithmetic, Meaning::packed_other,
           packed_other},
    Metric{"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", arithmetic, Meaning::packed_fma,
           packed_fma},
    Metric{"sm__inst_executed_pipe_xu.sum", arithmetic, Meaning::special, warp},

    Metric{"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum", tensor, Meaning::tensor},
    Metric{"sm__ops_path_tensor_op_hgmma_src_fp16.sum", tensor, Meaning::tensor},
    Metric{"sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum", tensor, Meaning::tensor},
    Metric{"sm__ops_path_tensor_src_fp8.sum", tensor, Meaning::tensor},
    Metric{"sm__ops_path_tensor_op_igmma_src_int8.sum", tensor, Meaning::tensor},
    Metric{"sm__ops_path_tensor_src_fp64.sum", tensor, Meaning::tensor},
    Metric{"sm__inst_executed_pipe_tensor_op_hmma.sum", tensor, Meaning::hmma_instructions},
    Metric{"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", tensor,
           Meaning::hfma_on_tensor_pipe},
    Metric{"sm__inst_executed_pipe_tensor_op_gmma.sum", tensor, Meaning::gmma_instructions},
    Metric{"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_"
           "peak_sustained_elapsed",
           tensor, Meaning::tensor_active},
};

constexpr std::array by_type{
    Metric{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", tensor, Meaning::tensor_by_type},
    Metric{"sm__ops_path_tensor_src_fp16.sum", tensor, Meaning::tensor_by_type},
    Metric{"sm__ops_path_tensor_src_tf32_dst_fp32.sum", tensor, Meaning::tensor_by_type},
    Metric{"sm__ops_path_tensor_src_fp64.sum", tensor, Meaning::tensor_by_type},
    Metric{"sm__ops_path_tensor_src_fp8.sum", tensor, Meaning::tensor_by_type},
    Metric{"sm__ops_path_tensor_src_int8.sum", tensor, Meaning::tensor_by_type},
};

constexpr auto by_type_ = Meaning::tensor_by_type;

// Each takes one pass on GH100; all types of mma.sync together take four. The first also holds
// wgmma of tf32, the last also rare types.
constexpr std::array of_one_pass{
    Metric{"sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum", tensor, by_type_},
    Metric{"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", tensor, by_type_},
    Metric{"sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32.sum", tensor, by_type_},
    Metric{"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum", tensor, by_type_},
};
constexpr std::array beside_first{
    Metric{"sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum", tensor, by_type_},
};
constexpr std::array beside_last{
    Metric{"sm__ops_path_tensor_op_igmma_src_int8.sum", tensor, by_type_},
    Metric{"sm__ops_path_tensor_src_fp64.sum", tensor, by_type_},
};

}  // namespace

bool is_sum(Meaning meaning) {
    switch (meaning) {
        case Meaning::occupancy:
        case Meaning::tensor_active:
        case Meaning::sm_clock:
        case Meaning::dram_clock:
            return false;
        default:
            return true;
    }
}

std::vector<Metric> metrics_of(std::span<const CounterGroup> groups) {
    std::vector<Metric> chosen;
    for (const Metric& metric : table) {
        const bool always =
            metric.meaning == Meaning::duration || metric.meaning == Meaning::hfma_on_tensor_pipe;
        const bool wanted =
            always || std::find(groups.begin(), groups.end(), metric.group) != groups.end();
        if (wanted) chosen.push_back(metric);
    }
    return chosen;
}

std::span<const Metric> tensor_types() {
    return by_type;
}

std::vector<std::vector<Metric>> single_tensor_types() {
    std::vector<std::vector<Metric>> sets;
    for (const Metric& type : of_one_pass) sets.push_back({type});
    sets.front().insert(sets.front().end(), beside_first.begin(), beside_first.end());
    sets.back().insert(sets.back().end(), beside_last.begin(), beside_last.end());
    return sets;
}

std::vector<const char*> names_of(std::span<const Metric> metrics) {
    std::vector<const char*> names;
    for (const Metric& metric : metrics) names.push_back(metric.name.data());
    return names;
}

std::vector<std::string> supported_chips(const Cupti& cupti) {
    auto parameters = sized<CUpti_Profiler_Host_GetSupportedChips_Params>(
        CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
    cupti.require(cupti.supported_chips(&parameters), "cuptiProfilerHostGetSupportedChips");
    return {parameters.ppChipNames, parameters.ppChipNames + parameters.numChips};
}

HostProfiler::HostProfiler(const Cupti& cupti, const std::string& chip,
                           std::span<const std::uint8_t> availability, CUpti_ProfilerType type)
    : cupti_(&cupti) {
    auto parameters = sized<CUpti_Profiler_Host_Initialize_Params>(
        CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    parameters.profilerType = type;
    parameters.pChipName = chip.c_str();
    parameters.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    const CUptiResult result = cupti.host_initialize(&parameters);
    if (result == CUPTI_ERROR_NOT_INITIALIZED) {
        throw DeviceError("cuptiProfilerHostInitialize", result,
                          "libnvperf_host.so was not found beside " + cupti.path);
    }
    cupti.require(result, "cuptiProfilerHostInitialize");
    object_ = parameters.pHostObject;
}

HostProfiler::~HostProfiler() {
    auto parameters = sized<CUpti_Profiler_Host_Deinitialize_Params>(
        CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    parameters.pHostObject = object_;
    cupti_->host_deinitialize(&parameters);
}

CUptiResult HostProfiler::add(std::span<const Metric> metrics) const {
    std::vector<const char*> names = names_of(metrics);
    auto parameters = sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    parameters.pHostObject = object_;
    parameters.ppMetricNames = names.data();
    parameters.numMetrics = names.size();
    return cupti_->add_metrics(&parameters);
}

std::vector<std::uint8_t> HostProfiler::image() const {
    auto size = sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = object_;
    cupti_->require(cupti_->config_size(&size), "cuptiProfilerHostGetConfigImageSize");
    std::vector<std::uint8_t> image(size.configImageSize);
    auto parameters = sized<CUpti_Profiler_Host_GetConfigImage_Params>(
        CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    parameters.pHostObject = object_;
    parameters.configImageSize = image.size();
    parameters.pConfigImage = image.data();
    cupti_->require(cupti_->config_image(&parameters), "cuptiProfilerHostGetConfigImage");
    return image;
}

std::vector<double> HostProfiler::evaluate(std::span<const Metric> metrics,
                                           std::span<const std::uint8_t> data,
                                           std::size_t range) const {
    std::vector<const char*> names = names_of(metrics);
    std::vector<double> values(names.size());
    auto parameters = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
        CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    parameters.pHostObject = object_;
    parameters.pCounterDataImage = data.data();
    parameters.counterDataImageSize = data.size();
    parameters.rangeIndex = range;
    parameters.ppMetricNames = names.data();
    parameters.numMetrics = names.size();
    parameters.pMetricValues = values.data();
    cupti_->require(cupti_->evaluate(&parameters), "cuptiProfilerHostEvaluateToGpuValues");
    return values;
}

// A list with one unknown name is refused as a whole and makes the object unusable, so each metric
// is tried on a new object.
std::vector<Metric> accepted_metrics(const Cupti& cupti, const std::string& chip,
                                     std::span<const Metric> metrics,
                                     std::span<const std::uint8_t> availability) {
    std::vector<Metric> accepted;
    for (const Metric& metric : metrics) {
        const HostProfiler host(cupti, chip, availability);
        if (host.add({&metric, 1}) == CUPTI_SUCCESS) accepted.push_back(metric);
    }
    return accepted;
}

ProfilePlan plan_profile(const Cupti& cupti, const std::string& chip, std::vector<Metric> accepted,
                         std::span<const std::uint8_t> availability) {
    ProfilePlan plan{.metrics = std::move(accepted), .image = {}, .passes = 0};
    if (plan.metrics.empty()) return plan;
    const HostProfiler host(cupti, chip, availability);
    cupti.require(host.add(plan.metrics), "cuptiProfilerHostConfigAddMetrics");
    plan.image = host.image();
    auto parameters = sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(
        CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    parameters.configImageSize = plan.image.size();
    parameters.pConfigImage = plan.image.data();
    cupti.require(cupti.number_of_passes(&parameters), "cuptiProfilerHostGetNumOfPasses");
    plan.passes = parameters.numOfPasses;
    return plan;
}

}  // namespace ridge::measure::cuda
