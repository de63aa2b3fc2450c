// Durations of individual kernels, from the driver's activity records through CUPTI.
//
// Method: concurrent-kernel records (start and end in ns of the GPU's clock, without launch gaps)
// are enabled only around the traced work and flushed after it. Buffers are 8 MiB.
//
//   Maybe<std::unique_ptr<ActivityTracer>> opened = ActivityTracer::open();
//   const std::vector<KernelRecord> seen = tracer.trace([&] { launch(stream); });
//
// Errors: CUPTI allows one subscriber per process and refuses to work under other profilers; the
// Unavailable then names the owner. Dropped records and records without a time throw DeviceError.
// Limits: one tracer per process. Tracing adds about 2 us per launch, outside the kernels' times.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/cuda/libraries/cupti.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

struct KernelRecord {
    std::string name;  ///< mangled if the compiler mangled it
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t stream = 0;  ///< CUPTI's number of the stream

    [[nodiscard]] Time duration() const {
        return Time::from_base(static_cast<double>(end_ns - start_ns) * 1e-9);
    }
};

class ActivityTracer {
  public:
    [[nodiscard]] static Maybe<std::unique_ptr<ActivityTracer>> open();
    ~ActivityTracer();
    ActivityTracer(const ActivityTracer&) = delete;
    ActivityTracer& operator=(const ActivityTracer&) = delete;

    /// Runs `work`, waits for the device and returns its kernels, ordered by start time.
    [[nodiscard]] std::vector<KernelRecord> trace(const std::function<void()>& work);
    [[nodiscard]] std::uint32_t number_of(CUstream stream) const;

  private:
    ActivityTracer(const Cupti& cupti, CUpti_SubscriberHandle subscriber)
        : cupti_(&cupti), subscriber_(subscriber) {}

    const Cupti* cupti_;
    CUpti_SubscriberHandle subscriber_;
};

}  // namespace ridge::measure::cuda
