#include "measure/cuda/inject/sampler.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/error.h"
#include "measure/cuda/counters/range_profiler.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::size_t device = 0;
constexpr std::uint32_t most_samples = 20'000;                   // per decoding
constexpr std::size_t largest_buffer = std::size_t{256} << 20U;  // bytes, on the device
constexpr std::size_t smallest_buffer = std::size_t{1} << 20U;

// In the order of SampleActivity's fields.
constexpr std::array sampled{
    Metric{"dram__bytes_read.sum"}, Metric{"dram__bytes_write.sum"},
    Metric{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    Metric{"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"}};

}  // namespace

void Sampler::check(CUptiResult result, const char* call) const {
    if (const auto refusal = refusal_of(result)) throw Busy{*refusal};
    session_->cupti().require(result, call);
}

void Sampler::set_up() {
    const Cupti& cupti = session_->cupti();
    auto initialize =
        sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    check(cupti.profiler_initialize(&initialize), "cuptiProfilerInitialize");
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = device;
    check(cupti.chip_name(&chip), "cuptiDeviceGetChipName");
    chip_ = chip.pChipName;
    auto available = sized<CUpti_PmSampling_GetCounterAvailability_Params>(
        CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
    available.deviceIndex = device;
    check(cupti.sampling_availability(&available), "cuptiPmSamplingGetCounterAvailability");
    std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = image.data();
    check(cupti.sampling_availability(&available), "cuptiPmSamplingGetCounterAvailability");
    constexpr auto type = CUPTI_PROFILER_TYPE_PM_SAMPLING;
    for (const Metric& metric : sampled) {
        const HostProfiler alone(cupti, chip_, image, type);
        if (alone.add({&metric, 1}) == CUPTI_SUCCESS) metrics_.push_back(metric);
    }
    if (metrics_.empty()) {
        throw Busy{{.reason = "CUPTI samples no counter of a " + chip_, .remedy = ""}};
    }
    host_ = std::make_unique<HostProfiler>(cupti, chip_, image, type);
    check(host_->add(metrics_), "cuptiProfilerHostConfigAddMetrics");
}

void Sampler::start() {
    const Cupti& cupti = session_->cupti();
    set_up();
    auto enable = sized<CUpti_PmSampling_Enable_Params>(CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
    enable.deviceIndex = device;
    check(cupti.sampling_enable(&enable), "cuptiPmSamplingEnable");
    object_ = enable.pPmSamplingObject;
    config_ = host_->image();
    configure();
    std::vector<const char*> names = names_of(metrics_);
    auto size = sized<CUpti_PmSampling_GetCounterDataSize_Params>(
        CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pPmSamplingObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxSamples = most_samples;
    check(cupti.sampling_data_size(&size), "cuptiPmSamplingGetCounterDataSize");
    data_.resize(size.counterDataSize);
    reset_data();
    auto begin = sized<CUpti_PmSampling_Start_Params>(CUpti_PmSampling_Start_Params_STRUCT_SIZE);
    begin.pPmSamplingObject = object_;
    check(cupti.sampling_start(&begin), "cuptiPmSamplingStart");
    state_ = State::running;
}

/// Some systems refuse large buffers with a misleading error, so smaller ones are tried.
void Sampler::configure() {
    auto config =
        sized<CUpti_PmSampling_SetConfig_Params>(CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
    config.pPmSamplingObject = object_;
    config.configSize = config_.size();
    config.pConfig = config_.data();
    config.samplingInterval = static_cast<std::uint64_t>(session_->options().sample_ns);
    config.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    config.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
    CUptiResult result = CUPTI_ERROR_UNKNOWN;
    for (std::size_t size = largest_buffer; size >= smallest_buffer; size /= 4) {
        config.hardwareBufferSize = size;
        result = session_->cupti().sampling_config(&config);
        if (result == CUPTI_SUCCESS) return;
    }
    check(result, "cuptiPmSamplingSetConfig");
}

void Sampler::reset_data() {
    auto parameters = sized<CUpti_PmSampling_CounterDataImage_Initialize_Params>(
        CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    parameters.pPmSamplingObject = object_;
    parameters.counterDataSize = data_.size();
    parameters.pCounterData = data_.data();
    check(session_->cupti().sampling_data_initialize(&parameters),
          "cuptiPmSamplingCounterDataImageInitialize");
}

void Sampler::write_samples() {
    const Cupti& cupti = session_->cupti();
    auto info = sized<CUpti_PmSampling_GetCounterDataInfo_Params>(
        CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    check(cupti.sampling_data_info(&info), "cuptiPmSamplingGetCounterDataInfo");
    for (std::size_t i = 0; i < info.numCompletedSamples; ++i) {
        auto span = sized<CUpti_PmSampling_CounterData_GetSampleInfo_Params>(
            CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
        span.pPmSamplingObject = object_;
        span.pCounterDataImage = data_.data();
        span.counterDataImageSize = data_.size();
        span.sampleIndex = i;
        check(cupti.sampling_sample_info(&span), "cuptiPmSamplingCounterDataGetSampleInfo");
        const std::vector<double> values = host_->evaluate(metrics_, data_, i);
        if (std::exchange(first_, false)) continue;
        programs::SampleActivity sample{.start_ns = span.startTimestamp,
                                        .duration_ns = span.endTimestamp - span.startTimestamp,
                                        .device = device};
        constexpr double percent = 0.01;
        for (std::size_t m = 0; m < metrics_.size(); ++m) {
            if (metrics_[m].name == sampled[0].name) sample.dram_read_bytes = values[m];
            if (metrics_[m].name == sampled[1].name) sample.dram_write_bytes = values[m];
            if (metrics_[m].name == sampled[2].name) sample.sm_active = percent * values[m];
            if (metrics_[m].name == sampled[3].name) sample.tensor_active = percent * values[m];
        }
        session_->writer().write(sample);
    }
}

void Sampler::decode() {
    bool more = true;
    for (int turn = 0; more && turn < 100; ++turn) {
        auto parameters = sized<CUpti_PmSampling_DecodeData_Params>(
            CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
        parameters.pPmSamplingObject = object_;
        parameters.pCounterDataImage = data_.data();
        parameters.counterDataImageSize = data_.size();
        check(session_->cupti().sampling_decode(&parameters), "cuptiPmSamplingDecodeData");
        if (parameters.overflow != 0) {
            session_->note(
                "some samples are missing because they came faster than they were read; "
                "use a longer interval");
        }
        write_samples();
        reset_data();
        more =
            parameters.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
    }
}

void Sampler::collect() {
    const std::lock_guard lock(mutex_);
    try {
        if (state_ == State::idle) {
            start();
            step_ = SamplingStep::started;
        } else if (state_ == State::running) {
            decode();
            step_ = SamplingStep::decoded;
        }
    } catch (const Busy& busy) {
        state_ = State::ended;
        session_->note("no time line of counters: " + busy.reason.reason + "; " +
                       busy.reason.remedy);
    } catch (const std::exception& error) {
        state_ = State::ended;
        session_->note(std::string("no time line of counters: ") + error.what());
    }
}

void Sampler::stop(SamplingStep safe) {
    if (safe == SamplingStep::decoded) collect();
    const std::lock_guard lock(mutex_);
    const State before = std::exchange(state_, State::ended);
    if (before != State::ended && first_) {
        session_->note("no samples: the program ended before the first were read");
    }
    if (before != State::running || safe != step_) return;
    auto parameters = sized<CUpti_PmSampling_Stop_Params>(CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
    parameters.pPmSamplingObject = object_;
    session_->cupti().sampling_stop(&parameters);
    auto disable =
        sized<CUpti_PmSampling_Disable_Params>(CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
    disable.pPmSamplingObject = object_;
    session_->cupti().sampling_disable(&disable);
}

}  // namespace ridge::measure::cuda
