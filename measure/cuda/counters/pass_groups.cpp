#include "measure/cuda/counters/pass_groups.h"

#include <nvperf_host.h>

#include <nvperf_cuda_host.h>

#include <set>

#include "measure/cuda/libraries/shared_library.h"

namespace ridge::measure::cuda {
namespace {

struct Functions {
    Pointer<decltype(NVPW_InitializeHost)> initialize = nullptr;
    Pointer<decltype(NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize)> scratch = nullptr;
    Pointer<decltype(NVPW_CUDA_MetricsEvaluator_Initialize)> evaluator = nullptr;
    Pointer<decltype(NVPW_MetricsEvaluator_Destroy)> evaluator_destroy = nullptr;
    Pointer<decltype(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest)> request = nullptr;
    Pointer<decltype(NVPW_MetricsEvaluator_GetMetricRawDependencies)> dependencies = nullptr;
    Pointer<decltype(NVPW_CUDA_RawMetricsConfig_Create_V2)> config = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_Destroy)> config_destroy = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_BeginPassGroup)> begin = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_AddMetrics)> add = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_EndPassGroup)> end = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_GenerateConfigImage)> generate = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_GetNumPasses_V2)> passes = nullptr;
    Pointer<decltype(NVPW_RawMetricsConfig_GetConfigImage)> image = nullptr;
};

bool fill(Functions& table) {
    const auto found = SharedLibrary::open({.label = "nvperf_host",
                                            .sonames = {"libnvperf_host.so"},
                                            .remedy = "it is part of CUPTI"});
    const auto* const library = std::get_if<SharedLibrary>(&found);
    if (library == nullptr) return false;
    SymbolReader reader(*library);
    reader.read("NVPW_InitializeHost", table.initialize);
    reader.read("NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", table.scratch);
    reader.read("NVPW_CUDA_MetricsEvaluator_Initialize", table.evaluator);
    reader.read("NVPW_MetricsEvaluator_Destroy", table.evaluator_destroy);
    reader.read("NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", table.request);
    reader.read("NVPW_MetricsEvaluator_GetMetricRawDependencies", table.dependencies);
    reader.read("NVPW_CUDA_RawMetricsConfig_Create_V2", table.config);
    reader.read("NVPW_RawMetricsConfig_Destroy", table.config_destroy);
    reader.read("NVPW_RawMetricsConfig_BeginPassGroup", table.begin);
    reader.read("NVPW_RawMetricsConfig_AddMetrics", table.add);
    reader.read("NVPW_RawMetricsConfig_EndPassGroup", table.end);
    reader.read("NVPW_RawMetricsConfig_GenerateConfigImage", table.generate);
    reader.read("NVPW_RawMetricsConfig_GetNumPasses_V2", table.passes);
    reader.read("NVPW_RawMetricsConfig_GetConfigImage", table.image);
    return reader.missing().empty();
}

bool is_done(NVPA_Status status) {
    return status == NVPA_STATUS_SUCCESS;
}

/// Finds the raw counters that a metric needs.
class Evaluator {
  public:
    Evaluator(const Functions& call, const std::string& chip) : call_(&call) {
        auto size = sized<NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params>(
            NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params_STRUCT_SIZE);
        size.pChipName = chip.c_str();
        if (!is_done(call.scratch(&size))) return;
        scratch_.resize(size.scratchBufferSize);
        auto made = sized<NVPW_CUDA_MetricsEvaluator_Initialize_Params>(
            NVPW_CUDA_MetricsEvaluator_Initialize_Params_STRUCT_SIZE);
        made.pChipName = chip.c_str();
        made.scratchBufferSize = scratch_.size();
        made.pScratchBuffer = scratch_.data();
        if (is_done(call.evaluator(&made))) object_ = made.pMetricsEvaluator;
    }
    ~Evaluator() {
        auto parameters = sized<NVPW_MetricsEvaluator_Destroy_Params>(
            NVPW_MetricsEvaluator_Destroy_Params_STRUCT_SIZE);
        parameters.pMetricsEvaluator = object_;
        if (object_ != nullptr) call_->evaluator_destroy(&parameters);
    }
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    /// Adds the raw counters of `metric`; returns false if the metric is unknown.
    [[nodiscard]] bool add_counters(const Metric& metric, std::set<std::string>& counters) const {
        if (object_ == nullptr) return false;
        NVPW_MetricEvalRequest request{};
        auto named = sized<NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params>(
            NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params_STRUCT_SIZE);
        named.pMetricsEvaluator = object_;
        named.pMetricName = metric.name.data();
        named.pMetricEvalRequest = &request;
        named.metricEvalRequestStructSize = NVPW_MetricEvalRequest_STRUCT_SIZE;
        if (!is_done(call_->request(&named))) return false;
        auto raw = sized<NVPW_MetricsEvaluator_GetMetricRawDependencies_Params>(
            NVPW_MetricsEvaluator_GetMetricRawDependencies_Params_STRUCT_SIZE);
        raw.pMetricsEvaluator = object_;
        raw.pMetricEvalRequests = &request;
        raw.numMetricEvalRequests = 1;
        raw.metricEvalRequestStructSize = NVPW_MetricEvalRequest_STRUCT_SIZE;
        raw.metricEvalRequestStrideSize = sizeof request;
        if (!is_done(call_->dependencies(&raw))) return false;
        std::vector<const char*> names(raw.numRawDependencies);
        raw.ppRawDependencies = names.data();
        if (!is_done(call_->dependencies(&raw))) return false;
        counters.insert(names.begin(), names.end());
        return true;
    }

  private:
    const Functions* call_;
    std::vector<std::uint8_t> scratch_{};
    NVPW_MetricsEvaluator* object_ = nullptr;
};

class RawConfig {
  public:
    RawConfig(const Functions& call, const std::string& chip) : call_(&call) {
        auto parameters = sized<NVPW_CUDA_RawMetricsConfig_Create_V2_Params>(
            NVPW_CUDA_RawMetricsConfig_Create_V2_Params_STRUCT_SIZE);
        parameters.activityKind = NVPA_ACTIVITY_KIND_PROFILER;
        parameters.pChipName = chip.c_str();
        if (is_done(call.config(&parameters))) object_ = parameters.pRawMetricsConfig;
    }
    ~RawConfig() {
        auto parameters = sized<NVPW_RawMetricsConfig_Destroy_Params>(
            NVPW_RawMetricsConfig_Destroy_Params_STRUCT_SIZE);
        parameters.pRawMetricsConfig = object_;
        if (object_ != nullptr) call_->config_destroy(&parameters);
    }
    RawConfig(const RawConfig&) = delete;
    RawConfig& operator=(const RawConfig&) = delete;

    [[nodiscard]] bool add_group(const std::set<std::string>& counters) const {
        if (object_ == nullptr || counters.empty()) return false;
        auto begin = sized<NVPW_RawMetricsConfig_BeginPassGroup_Params>(
            NVPW_RawMetricsConfig_BeginPassGroup_Params_STRUCT_SIZE);
        begin.pRawMetricsConfig = object_;
        std::vector<NVPA_RawMetricRequest> requests;
        for (const std::string& counter : counters) {
            auto request = sized<NVPA_RawMetricRequest>(NVPA_RAW_METRIC_REQUEST_STRUCT_SIZE);
            request.pMetricName = counter.c_str();
            request.isolated = 1;
            request.keepInstances = 1;
            requests.push_back(request);
        }
        auto add = sized<NVPW_RawMetricsConfig_AddMetrics_Params>(
            NVPW_RawMetricsConfig_AddMetrics_Params_STRUCT_SIZE);
        add.pRawMetricsConfig = object_;
        add.pRawMetricRequests = requests.data();
        add.numMetricRequests = requests.size();
        auto end = sized<NVPW_RawMetricsConfig_EndPassGroup_Params>(
            NVPW_RawMetricsConfig_EndPassGroup_Params_STRUCT_SIZE);
        end.pRawMetricsConfig = object_;
        return is_done(call_->begin(&begin)) && is_done(call_->add(&add)) &&
               is_done(call_->end(&end));
    }

    /// The image; empty unless it takes exactly this many passes.
    [[nodiscard]] std::vector<std::uint8_t> image(std::size_t passes) const {
        auto generate = sized<NVPW_RawMetricsConfig_GenerateConfigImage_Params>(
            NVPW_RawMetricsConfig_GenerateConfigImage_Params_STRUCT_SIZE);
        generate.pRawMetricsConfig = object_;
        auto count = sized<NVPW_RawMetricsConfig_GetNumPasses_V2_Params>(
            NVPW_RawMetricsConfig_GetNumPasses_V2_Params_STRUCT_SIZE);
        count.pRawMetricsConfig = object_;
        auto get = sized<NVPW_RawMetricsConfig_GetConfigImage_Params>(
            NVPW_RawMetricsConfig_GetConfigImage_Params_STRUCT_SIZE);
        get.pRawMetricsConfig = object_;
        if (!is_done(call_->generate(&generate)) || !is_done(call_->passes(&count)) ||
            count.numPasses != passes || !is_done(call_->image(&get))) {
            return {};
        }
        std::vector<std::uint8_t> image(get.bytesCopied);
        get.bytesAllocated = image.size();
        get.pBuffer = image.data();
        if (!is_done(call_->image(&get))) image.clear();
        return image;
    }

  private:
    const Functions* call_;
    NVPA_RawMetricsConfig* object_ = nullptr;
};

}  // namespace

std::vector<std::uint8_t> image_of_groups(const std::string& chip,
                                          std::span<const std::vector<Metric>> groups) {
    Functions call;
    auto host = sized<NVPW_InitializeHost_Params>(NVPW_InitializeHost_Params_STRUCT_SIZE);
    if (groups.empty() || !fill(call) || !is_done(call.initialize(&host))) return {};
    const Evaluator evaluator(call, chip);
    const RawConfig config(call, chip);
    for (const std::vector<Metric>& group : groups) {
        std::set<std::string> counters;
        for (const Metric& metric : group) {
            if (!evaluator.add_counters(metric, counters)) return {};
        }
        if (!config.add_group(counters)) return {};
    }
    return config.image(groups.size());
}

}  // namespace ridge::measure::cuda
