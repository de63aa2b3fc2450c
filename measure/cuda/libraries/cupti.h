// The functions of CUPTI that ridge calls. CUPTI is found at run time.
//
// Method: `shared_library.h` opens `libcupti.so.13`; a table holds its functions with the types of
// the headers that this program was compiled with. Activity records and parameter structures are
// specific to one major version, so another version is refused.
//
//   const Maybe<Cupti>& found = cupti();
//   if (const Cupti* table = std::get_if<Cupti>(&found)) table->activity_flush_all(1);
//
// Limits: CUPTI 13. The profiler host functions need no GPU; the others need a driver.
#pragma once

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdint>
#include <string>

#include "measure/cuda/libraries/shared_library.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

template <class Function>
using Pointer = Function*;

struct Cupti {
    std::string path;
    std::uint32_t version = 0;  ///< 130001

    Pointer<decltype(cuptiGetVersion)> get_version = nullptr;
    Pointer<decltype(cuptiGetResultString)> result_string = nullptr;

    Pointer<decltype(cuptiSubscribe_v2)> subscribe = nullptr;
    Pointer<decltype(cuptiUnsubscribe)> unsubscribe = nullptr;
    Pointer<decltype(cuptiActivityRegisterCallbacks)> activity_register = nullptr;
    Pointer<decltype(cuptiActivityEnable)> activity_enable = nullptr;
    Pointer<decltype(cuptiActivityDisable)> activity_disable = nullptr;
    Pointer<decltype(cuptiActivityFlushAll)> activity_flush_all = nullptr;
    Pointer<decltype(cuptiActivityGetNextRecord)> activity_next = nullptr;
    Pointer<decltype(cuptiActivityGetNumDroppedRecords)> activity_dropped = nullptr;
    Pointer<decltype(cuptiGetStreamIdEx)> stream_id = nullptr;
    Pointer<decltype(cuptiActivityEnableRuntimeApi)> activity_enable_runtime = nullptr;
    Pointer<decltype(cuptiActivityEnableDriverApi)> activity_enable_driver = nullptr;
    Pointer<decltype(cuptiSetThreadIdType)> thread_id_type = nullptr;
    Pointer<decltype(cuptiGetTimestamp)> timestamp = nullptr;
    Pointer<decltype(cuptiGetDeviceId)> device_id = nullptr;
    Pointer<decltype(cuptiEnableCallback)> enable_callback = nullptr;
    Pointer<decltype(cuptiGetCallbackName)> callback_name = nullptr;

    Pointer<decltype(cuptiProfilerInitialize)> profiler_initialize = nullptr;
    Pointer<decltype(cuptiProfilerDeviceSupported)> device_supported = nullptr;
    Pointer<decltype(cuptiProfilerGetCounterAvailability)> counter_availability = nullptr;
    Pointer<decltype(cuptiDeviceGetChipName)> chip_name = nullptr;

    Pointer<decltype(cuptiProfilerHostInitialize)> host_initialize = nullptr;
    Pointer<decltype(cuptiProfilerHostDeinitialize)> host_deinitialize = nullptr;
    Pointer<decltype(cuptiProfilerHostGetSupportedChips)> supported_chips = nullptr;
    Pointer<decltype(cuptiProfilerHostConfigAddMetrics)> add_metrics = nullptr;
    Pointer<decltype(cuptiProfilerHostGetConfigImageSize)> config_size = nullptr;
    Pointer<decltype(cuptiProfilerHostGetConfigImage)> config_image = nullptr;
    Pointer<decltype(cuptiProfilerHostGetNumOfPasses)> number_of_passes = nullptr;
    Pointer<decltype(cuptiProfilerHostEvaluateToGpuValues)> evaluate = nullptr;

    Pointer<decltype(cuptiRangeProfilerEnable)> range_enable = nullptr;
    Pointer<decltype(cuptiRangeProfilerDisable)> range_disable = nullptr;
    Pointer<decltype(cuptiRangeProfilerSetConfig)> range_config = nullptr;
    Pointer<decltype(cuptiRangeProfilerStart)> range_start = nullptr;
    Pointer<decltype(cuptiRangeProfilerStop)> range_stop = nullptr;
    Pointer<decltype(cuptiRangeProfilerDecodeData)> range_decode = nullptr;
    Pointer<decltype(cuptiRangeProfilerGetCounterDataSize)> data_size = nullptr;
    Pointer<decltype(cuptiRangeProfilerCounterDataImageInitialize)> data_initialize = nullptr;
    Pointer<decltype(cuptiRangeProfilerGetCounterDataInfo)> data_info = nullptr;

    Pointer<decltype(cuptiPmSamplingEnable)> sampling_enable = nullptr;
    Pointer<decltype(cuptiPmSamplingDisable)> sampling_disable = nullptr;
    Pointer<decltype(cuptiPmSamplingSetConfig)> sampling_config = nullptr;
    Pointer<decltype(cuptiPmSamplingStart)> sampling_start = nullptr;
    Pointer<decltype(cuptiPmSamplingStop)> sampling_stop = nullptr;
    Pointer<decltype(cuptiPmSamplingDecodeData)> sampling_decode = nullptr;
    Pointer<decltype(cuptiPmSamplingGetCounterAvailability)> sampling_availability = nullptr;
    Pointer<decltype(cuptiPmSamplingGetCounterDataSize)> sampling_data_size = nullptr;
    Pointer<decltype(cuptiPmSamplingCounterDataImageInitialize)> sampling_data_initialize = nullptr;
    Pointer<decltype(cuptiPmSamplingGetCounterDataInfo)> sampling_data_info = nullptr;
    Pointer<decltype(cuptiPmSamplingCounterDataGetSampleInfo)> sampling_sample_info = nullptr;

    Pointer<decltype(cuptiPCSamplingGetNumStallReasons)> stall_reason_count = nullptr;
    Pointer<decltype(cuptiPCSamplingGetStallReasons)> stall_reasons = nullptr;
    Pointer<decltype(cuptiPCSamplingSetConfigurationAttribute)> stall_config = nullptr;
    Pointer<decltype(cuptiPCSamplingEnable)> stall_enable = nullptr;
    Pointer<decltype(cuptiPCSamplingDisable)> stall_disable = nullptr;
    Pointer<decltype(cuptiPCSamplingGetData)> stall_data = nullptr;
    Pointer<decltype(cuptiGetSassToSourceCorrelation)> source_line = nullptr;
    Pointer<decltype(cuptiGetCubinCrc)> cubin_checksum = nullptr;

    /// "13.0.1" for 130001.
    [[nodiscard]] std::string version_text() const;
    /// Throws DeviceError with the name of the call unless `result` is CUPTI_SUCCESS.
    void require(CUptiResult result, const char* call) const;
};

/// Loaded once; the answer stays the same for the rest of the process.
[[nodiscard]] const Maybe<Cupti>& cupti();

/// An empty parameter structure with its size set, as every profiler call requires.
template <class Parameters>
[[nodiscard]] Parameters sized(std::size_t bytes) {
    Parameters parameters{};
    parameters.structSize = bytes;
    return parameters;
}

}  // namespace ridge::measure::cuda
