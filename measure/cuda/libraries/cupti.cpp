// Loading CUPTI; see cupti.h.
#include "measure/cuda/libraries/cupti.h"

#include "hardware/error.h"

namespace ridge::measure::cuda {
namespace {

std::string text_of(std::uint32_t version) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

void read_activity(SymbolReader& reader, Cupti& table) {
    reader.read("cuptiGetVersion", table.get_version);
    reader.read("cuptiGetResultString", table.result_string);
    reader.read("cuptiSubscribe_v2", table.subscribe);
    reader.read("cuptiUnsubscribe", table.unsubscribe);
    reader.read("cuptiActivityRegisterCallbacks", table.activity_register);
    reader.read("cuptiActivityEnable", table.activity_enable);
    reader.read("cuptiActivityDisable", table.activity_disable);
    reader.read("cuptiActivityFlushAll", table.activity_flush_all);
    reader.read("cuptiActivityGetNextRecord", table.activity_next);
    reader.read("cuptiActivityGetNumDroppedRecords", table.activity_dropped);
    reader.read("cuptiGetStreamIdEx", table.stream_id);
    reader.read("cuptiActivityEnableRuntimeApi", table.activity_enable_runtime);
    reader.read("cuptiActivityEnableDriverApi", table.activity_enable_driver);
    reader.read("cuptiSetThreadIdType", table.thread_id_type);
    reader.read("cuptiGetTimestamp", table.timestamp);
    reader.read("cuptiGetDeviceId", table.device_id);
    reader.read("cuptiEnableCallback", table.enable_callback);
    reader.read("cuptiGetCallbackName", table.callback_name);
}

void read_profiler(SymbolReader& reader, Cupti& table) {
    reader.read("cuptiProfilerInitialize", table.profiler_initialize);
    reader.read("cuptiProfilerDeviceSupported", table.device_supported);
    reader.read("cuptiProfilerGetCounterAvailability", table.counter_availability);
    reader.read("cuptiDeviceGetChipName", table.chip_name);
    reader.read("cuptiProfilerHostInitialize", table.host_initialize);
    reader.read("cuptiProfilerHostDeinitialize", table.host_deinitialize);
    reader.read("cuptiProfilerHostGetSupportedChips", table.supported_chips);
    reader.read("cuptiProfilerHostConfigAddMetrics", table.add_metrics);
    reader.read("cuptiProfilerHostGetConfigImageSize", table.config_size);
    reader.read("cuptiProfilerHostGetConfigImage", table.config_image);
    reader.read("cuptiProfilerHostGetNumOfPasses", table.number_of_passes);
    reader.read("cuptiProfilerHostEvaluateToGpuValues", table.evaluate);
    reader.read("cuptiRangeProfilerEnable", table.range_enable);
    reader.read("cuptiRangeProfilerDisable", table.range_disable);
    reader.read("cuptiRangeProfilerSetConfig", table.range_config);
    reader.read("cuptiRangeProfilerStart", table.range_start);
    reader.read("cuptiRangeProfilerStop", table.range_stop);
    reader.read("cuptiRangeProfilerDecodeData", table.range_decode);
    reader.read("cuptiRangeProfilerGetCounterDataSize", table.data_size);
    reader.read("cuptiRangeProfilerCounterDataImageInitialize", table.data_initialize);
    reader.read("cuptiRangeProfilerGetCounterDataInfo", table.data_info);
}

void read_sampling(SymbolReader& reader, Cupti& table) {
    reader.read("cuptiPmSamplingEnable", table.sampling_enable);
    reader.read("cuptiPmSamplingDisable", table.sampling_disable);
    reader.read("cuptiPmSamplingSetConfig", table.sampling_config);
    reader.read("cuptiPmSamplingStart", table.sampling_start);
    reader.read("cuptiPmSamplingStop", table.sampling_stop);
    reader.read("cuptiPmSamplingDecodeData", table.sampling_decode);
    reader.read("cuptiPmSamplingGetCounterAvailability", table.sampling_availability);
    reader.read("cuptiPmSamplingGetCounterDataSize", table.sampling_data_size);
    reader.read("cuptiPmSamplingCounterDataImageInitialize", table.sampling_data_initialize);
    reader.read("cuptiPmSamplingGetCounterDataInfo", table.sampling_data_info);
    reader.read("cuptiPmSamplingCounterDataGetSampleInfo", table.sampling_sample_info);
}

void read_stalls(SymbolReader& reader, Cupti& table) {
    reader.read("cuptiPCSamplingGetNumStallReasons", table.stall_reason_count);
    reader.read("cuptiPCSamplingGetStallReasons", table.stall_reasons);
    reader.read("cuptiPCSamplingSetConfigurationAttribute", table.stall_config);
    reader.read("cuptiPCSamplingEnable", table.stall_enable);
    reader.read("cuptiPCSamplingDisable", table.stall_disable);
    reader.read("cuptiPCSamplingGetData", table.stall_data);
    reader.read("cuptiGetSassToSourceCorrelation", table.source_line);
    reader.read("cuptiGetCubinCrc", table.cubin_checksum);
}

Maybe<Cupti> load() {
    const Maybe<SharedLibrary> opened = SharedLibrary::open(
        {.label = "CUPTI",
         .sonames = {"libcupti.so.13"},
         .variable = "RIDGE_CUPTI_PATH",
         .companions = {"libnvperf_host.so", "libnvperf_target.so"},
         .remedy = "install the CUDA 13 toolkit or the Python package nvidia-cuda-cupti"});
    if (const auto* missing = std::get_if<Unavailable>(&opened)) return *missing;
    const auto& library = std::get<SharedLibrary>(opened);
    Cupti table;
    table.path = library.path();
    SymbolReader reader(library);
    read_activity(reader, table);
    read_profiler(reader, table);
    read_sampling(reader, table);
    read_stalls(reader, table);
    if (!reader.missing().empty()) {
        return Unavailable{.reason = table.path + " lacks " + reader.missing(),
                           .remedy = "install CUPTI of CUDA 13.0 or newer"};
    }
    if (table.get_version(&table.version) != CUPTI_SUCCESS || table.version < CUPTI_API_VERSION ||
        table.version / 10000 != CUPTI_API_VERSION / 10000) {
        return Unavailable{.reason = table.path + " is version " + table.version_text() +
                                     ", this program needs " + text_of(CUPTI_API_VERSION) +
                                     " or a newer one of the same major version",
                           .remedy =
                               "install the CUPTI of the CUDA toolkit that ridge was built "
                               "with"};
    }
    return table;
}

}  // namespace

std::string Cupti::version_text() const {
    return text_of(version);
}

void Cupti::require(CUptiResult result, const char* call) const {
    if (result == CUPTI_SUCCESS) return;
    const char* text = nullptr;
    if (result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown error";
    throw DeviceError(call, static_cast<std::int64_t>(result), text);
}

const Maybe<Cupti>& cupti() {
    static const Maybe<Cupti> loaded = load();
    return loaded;
}

}  // namespace ridge::measure::cuda
