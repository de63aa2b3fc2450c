// What a call of the driver that launches a kernel says about the launch.
//
//   call_of(id, data.functionParams).shape.grid_x    // of cuLaunchKernel and its relatives
#pragma once

#include <cuda.h>

#include <span>

#include "measure/cuda/libraries/cupti.h"
#include "programs/recording/activity_format.h"

namespace ridge::measure::cuda {

struct LaunchCall {
    programs::ShapeActivity shape{};  ///< without name, registers and shared memory
    CUstream stream = nullptr;
    CUfunction function = nullptr;
    void** parameters = nullptr;
    void** extra = nullptr;
};

/// The calls that launch one kernel.
[[nodiscard]] std::span<const CUpti_driver_api_trace_cbid> launch_calls();

/// `id` must be one of these.
[[nodiscard]] LaunchCall call_of(CUpti_CallbackId id, const void* parameters);

}  // namespace ridge::measure::cuda
