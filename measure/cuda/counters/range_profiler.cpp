// The range profiler; see range_profiler.h.
#include "measure/cuda/counters/range_profiler.h"

#include <array>
#include <utility>

#include "hardware/error.h"

namespace ridge::measure::cuda {
namespace {

Unavailable no_permission() {
    return {.reason = "the driver lets only administrators read hardware counters",
            .remedy =
                "run as root or with CAP_SYS_ADMIN (containers: --cap-add=SYS_ADMIN), or "
                "load the driver with NVreg_RestrictProfilingToAdminUsers=0"};
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

}  // namespace

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

Maybe<std::string> chip_of(const Cupti& cupti, int ordinal) {
    auto start =
        sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    const CUptiResult started = cupti.profiler_initialize(&start);
    if (const auto refusal = refusal_of(started)) return *refusal;
    cupti.require(started, "cuptiProfilerInitialize");
    if (auto refusal = unsupported(cupti, ordinal)) return *std::move(refusal);
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = static_cast<std::size_t>(ordinal);
    cupti.require(cupti.chip_name(&chip), "cuptiDeviceGetChipName");
    return std::string(chip.pChipName);
}

Maybe<ProfiledChip> ProfiledChip::of(const Cupti& cupti, int ordinal, CUcontext context) {
    auto chip = chip_of(cupti, ordinal);
    if (auto* missing = std::get_if<Unavailable>(&chip)) return *std::move(missing);
    auto image = availability_image(cupti, context);
    if (auto* missing = std::get_if<Unavailable>(&image)) return *std::move(missing);
    return ProfiledChip{.name = std::get<std::string>(std::move(chip)),
                        .availability = std::get<std::vector<std::uint8_t>>(std::move(image))};
}

RangeProfiler::RangeProfiler(const Cupti& cupti, CUcontext context) : cupti_(&cupti) {
    auto parameters =
        sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    parameters.ctx = context;
    check(cupti.range_enable(&parameters), "cuptiRangeProfilerEnable");
    object_ = parameters.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
    auto parameters =
        sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    cupti_->range_disable(&parameters);
}

std::vector<std::uint8_t> RangeProfiler::empty_data(std::span<const Metric> metrics,
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
    clear(data);
    return data;
}

void RangeProfiler::clear(std::vector<std::uint8_t>& data) const {
    auto parameters = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    parameters.counterDataSize = data.size();
    parameters.pCounterData = data.data();
    check(cupti_->data_initialize(&parameters), "cuptiRangeProfilerCounterDataImageInitialize");
}

void RangeProfiler::configure(const ProfilePlan& plan, std::vector<std::uint8_t>& data,
                              std::size_t ranges, CUpti_ProfilerReplayMode replay,
                              std::size_t pass) const {
    auto parameters = sized<CUpti_RangeProfiler_SetConfig_Params>(
        CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    parameters.configSize = plan.image.size();
    parameters.pConfig = plan.image.data();
    parameters.counterDataImageSize = data.size();
    parameters.pCounterDataImage = data.data();
    parameters.range = CUPTI_AutoRange;
    parameters.replayMode = replay;
    parameters.maxRangesPerPass = ranges;
    parameters.numNestingLevels = 1;
    parameters.minNestingLevel = 1;
    parameters.passIndex = pass;
    parameters.targetNestingLevel = 1;
    check(cupti_->range_config(&parameters), "cuptiRangeProfilerSetConfig");
}

void RangeProfiler::start() const {
    auto parameters =
        sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    check(cupti_->range_start(&parameters), "cuptiRangeProfilerStart");
}

RangeProfiler::Stopped RangeProfiler::stop() const {
    auto parameters =
        sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    check(cupti_->range_stop(&parameters), "cuptiRangeProfilerStop");
    return {.all = parameters.isAllPassSubmitted != 0, .next_pass = parameters.passIndex};
}

void RangeProfiler::decode() const {
    auto parameters = sized<CUpti_RangeProfiler_DecodeData_Params>(
        CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    check(cupti_->range_decode(&parameters), "cuptiRangeProfilerDecodeData");
    if (parameters.numOfRangeDropped > 0) {
        throw DeviceError("the profiler dropped " + std::to_string(parameters.numOfRangeDropped) +
                          " kernels");
    }
}

void RangeProfiler::check(CUptiResult result, const char* call) const {
    if (const auto refusal = refusal_of(result)) throw Busy{*refusal};
    cupti_->require(result, call);
}

std::size_t ranges_in(const Cupti& cupti, const std::vector<std::uint8_t>& data) {
    auto parameters = sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    parameters.pCounterDataImage = data.data();
    parameters.counterDataImageSize = data.size();
    cupti.require(cupti.data_info(&parameters), "cuptiRangeProfilerGetCounterDataInfo");
    return parameters.numTotalRanges;
}

}  // namespace ridge::measure::cuda
