// The range profiler; see counters.h.
#include "measure/cuda/counters/counters.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "hardware/error.h"
#include "measure/cuda/libraries/driver.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

Unavailable no_permission() {
    return {.reason = "the driver lets only administrators read hardware counters",
            .remedy =
                "run as root or with CAP_SYS_ADMIN (containers: --cap-add=SYS_ADMIN), or "
                "load the driver with NVreg_RestrictProfilingToAdminUsers=0"};
}

/// The fair refusals among the results of the profiler.
std::optional<Unavailable> refusal_of(CUptiResult result) {
    switch (result) {
        case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
            return no_permission();
        case CUPTI_ERROR_HARDWARE_BUSY:
            return Unavailable{.reason = "another program holds the GPU's counters",
                               .remedy = "stop other profilers; for DCGM: dcgmi profile --pause"};
        default:
            return std::nullopt;
    }
}

std::optional<Unavailable> unsupported(const Cupti& cupti, CUdevice device) {
    auto parameters = sized<CUpti_Profiler_DeviceSupported_Params>(
        CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
    parameters.cuDevice = device;
    parameters.api = CUPTI_PROFILER_RANGE_PROFILING;
    cupti.require(cupti.device_supported(&parameters), "cuptiProfilerDeviceSupported");
    if (parameters.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return std::nullopt;
    const std::array causes{
        std::pair{parameters.architecture, "this architecture"},
        std::pair{parameters.sli, "SLI"},
        std::pair{parameters.vGpu, "this virtual GPU"},
        std::pair{parameters.confidentialCompute, "confidential computing"},
        std::pair{parameters.cmp, "mining GPUs"},
        std::pair{parameters.wsl, "this Windows subsystem"},
    };
    for (const auto& [level, cause] : causes) {
        if (level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) {
            return Unavailable{.reason = std::string("CUPTI has no range profiler for ") + cause};
        }
    }
    return Unavailable{.reason = "CUPTI has no range profiler for this device"};
}

Maybe<std::vector<std::uint8_t>> availability_image(const Cupti& cupti, CUcontext context) {
    auto parameters = sized<CUpti_Profiler_GetCounterAvailability_Params>(
        CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    parameters.ctx = context;
    std::vector<std::uint8_t> image;
    for (int round = 0; round < 2; ++round) {
        const CUptiResult result = cupti.counter_availability(&parameters);
        if (const auto refusal = refusal_of(result)) return *refusal;
        cupti.require(result, "cuptiProfilerGetCounterAvailability");
        if (round == 0) image.resize(parameters.counterAvailabilityImageSize);
        parameters.pCounterAvailabilityImage = image.data();
    }
    return image;
}

struct Busy {
    Unavailable reason;
};

/// A range profiler of one context, switched on for its lifetime.
class RangeProfiler {
  public:
    explicit RangeProfiler(const Cupti& cupti) : cupti_(&cupti) {
        auto parameters =
            sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
        parameters.ctx = current_context();
        check(cupti.range_enable(&parameters), "cuptiRangeProfilerEnable");
        object_ = parameters.pRangeProfilerObject;
    }
    ~RangeProfiler() {
        auto parameters = sized<CUpti_RangeProfiler_Disable_Params>(
            CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        cupti_->range_disable(&parameters);
    }
    RangeProfiler(const RangeProfiler&) = delete;
    RangeProfiler& operator=(const RangeProfiler&) = delete;

    [[nodiscard]] std::vector<std::uint8_t> empty_data(std::span<const Metric> metrics,
                                                       std::size_t ranges) const {
        std::vector<const char*> names = names_of(metrics);
        auto size = sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(
            CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
        size.pRangeProfilerObject = object_;
        size.pMetricNames = names.data();
        size.numMetrics = names.size();
        size.maxNumOfRanges = ranges;
        size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
        check(cupti_->data_size(&size), "cuptiRangeProfilerGetCounterDataSize");
        std::vector<std::uint8_t> data(size.counterDataSize);
        auto parameters = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
            CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        parameters.counterDataSize = data.size();
        parameters.pCounterData = data.data();
        check(cupti_->data_initialize(&parameters), "cuptiRangeProfilerCounterDataImageInitialize");
        return data;
    }

    void configure(const ProfilePlan& plan, std::vector<std::uint8_t>& data,
                   std::size_t ranges) const {
        auto parameters = sized<CUpti_RangeProfiler_SetConfig_Params>(
            CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        parameters.configSize = plan.image.size();
        parameters.pConfig = plan.image.data();
        parameters.counterDataImageSize = data.size();
        parameters.pCounterDataImage = data.data();
        parameters.range = CUPTI_AutoRange;
        parameters.replayMode = CUPTI_UserReplay;
        parameters.maxRangesPerPass = ranges;
        parameters.numNestingLevels = 1;
        parameters.minNestingLevel = 1;
        parameters.passIndex = 0;
        parameters.targetNestingLevel = 1;
        check(cupti_->range_config(&parameters), "cuptiRangeProfilerSetConfig");
    }

    void start() const {
        auto parameters =
            sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        check(cupti_->range_start(&parameters), "cuptiRangeProfilerStart");
    }

    /// Whether every pass has run.
    [[nodiscard]] bool stop() const {
        auto parameters =
            sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        check(cupti_->range_stop(&parameters), "cuptiRangeProfilerStop");
        return parameters.isAllPassSubmitted != 0;
    }

    void decode() const {
        auto parameters = sized<CUpti_RangeProfiler_DecodeData_Params>(
            CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
        parameters.pRangeProfilerObject = object_;
        check(cupti_->range_decode(&parameters), "cuptiRangeProfilerDecodeData");
        if (parameters.numOfRangeDropped > 0) {
            throw DeviceError("the profiler dropped " +
                              std::to_string(parameters.numOfRangeDropped) + " kernels");
        }
    }

  private:
    void check(CUptiResult result, const char* call) const {
        if (const auto refusal = refusal_of(result)) throw Busy{*refusal};
        cupti_->require(result, call);
    }

    const Cupti* cupti_;
    CUpti_RangeProfiler_Object* object_ = nullptr;
};

std::size_t ranges_in(const Cupti& cupti, const std::vector<std::uint8_t>& data) {
    auto parameters = sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    parameters.pCounterDataImage = data.data();
    parameters.counterDataImageSize = data.size();
    cupti.require(cupti.data_info(&parameters), "cuptiRangeProfilerGetCounterDataInfo");
    return parameters.numTotalRanges;
}

}  // namespace

Maybe<std::unique_ptr<CounterProfiler>> CounterProfiler::open(int ordinal) {
    const auto& found = cupti();
    if (const auto* missing = std::get_if<Unavailable>(&found)) return *missing;
    const auto& table = std::get<Cupti>(found);
    const CUcontext context = current_context();
    auto start =
        sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    const CUptiResult started = table.profiler_initialize(&start);
    if (const auto refusal = refusal_of(started)) return *refusal;
    table.require(started, "cuptiProfilerInitialize");
    if (auto refusal = unsupported(table, ordinal)) return *std::move(refusal);
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = static_cast<std::size_t>(ordinal);
    table.require(table.chip_name(&chip), "cuptiDeviceGetChipName");
    auto image = availability_image(table, context);
    if (auto* missing = std::get_if<Unavailable>(&image)) return *std::move(missing);
    return std::unique_ptr<CounterProfiler>(new CounterProfiler(
        table, chip.pChipName, std::get<std::vector<std::uint8_t>>(std::move(image))));
}

const ProfilePlan& CounterProfiler::plan_of(const std::string& key,
                                            std::span<const Metric> metrics) {
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    ProfilePlan plan = plan_profile(
        *cupti_, chip_, accepted_metrics(*cupti_, chip_, metrics, availability_), availability_);
    return plans_.emplace(key, std::move(plan)).first->second;
}

std::vector<std::vector<double>> CounterProfiler::rows(const ProfiledRun& run,
                                                       const ProfilePlan& plan) {
    const std::size_t kernels = std::max<std::size_t>(run.kernels, 1);
    const std::size_t most = kernels + run.settling_kernels + 2;
    std::vector<std::uint8_t> data;
    {
        const RangeProfiler profiler(*cupti_);
        data = profiler.empty_data(plan.metrics, most);
        profiler.configure(plan, data, most);
        for (bool finished = false; !finished;) {
            profiler.start();
            if (run.settle) run.settle();
            require(cudaStreamSynchronize(run.stream), "cudaStreamSynchronize");
            run.launch(run.stream);
            require(cudaStreamSynchronize(run.stream), "cudaStreamSynchronize");
            finished = profiler.stop();
        }
        profiler.decode();
    }
    const HostProfiler host(*cupti_, chip_, availability_);
    std::vector<std::vector<double>> rows;
    const std::size_t ranges = ranges_in(*cupti_, data);
    for (std::size_t i = ranges - std::min(ranges, kernels); i < ranges; ++i) {
        rows.push_back(host.evaluate(plan.metrics, data, i));
    }
    return rows;
}

Maybe<Counters> CounterProfiler::collect(const ProfiledRun& run,
                                         std::span<const CounterGroup> groups) {
    const std::vector<Metric> wanted = metrics_of(groups);
    std::string key;
    for (const CounterGroup group : groups) key += std::to_string(static_cast<int>(group));
    std::vector<KernelValues> kernels;
    try {
        const ProfilePlan& plan = plan_of(key, wanted);
        for (auto& row : rows(run, plan)) kernels.push_back({plan.metrics, std::move(row)});
        if (kernels.empty()) {
            return Unavailable{.reason = "the profiler saw no kernel of this operation"};
        }
        const bool tensor =
            std::find(groups.begin(), groups.end(), CounterGroup::tensor) != groups.end();
        if (tensor && needs_tensor_types(kernels)) {
            const ProfilePlan& types = plan_of("types", tensor_types());
            if (types.passes > 0) {
                for (auto& row : rows(run, types)) {
                    kernels.push_back({types.metrics, std::move(row)});
                }
            }
        }
    } catch (const Busy& busy) {
        return busy.reason;
    }
    return combine(kernels);
}

}  // namespace ridge::measure::cuda
