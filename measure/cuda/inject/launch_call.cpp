#include "measure/cuda/inject/launch_call.h"

#include <array>

namespace ridge::measure::cuda {
namespace {

constexpr std::array launching{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

/// All three forms of parameters have these field names.
template <class Parameters>
LaunchCall shape_of(const Parameters& launch) {
    return {.shape = {.grid_x = launch.gridDimX,
                      .grid_y = launch.gridDimY,
                      .grid_z = launch.gridDimZ,
                      .block_x = launch.blockDimX,
                      .block_y = launch.blockDimY,
                      .block_z = launch.blockDimZ},
            .stream = launch.hStream};
}

template <class Parameters>
LaunchCall with_arguments(LaunchCall call, const Parameters& launch) {
    call.function = launch.f;
    call.parameters = launch.kernelParams;
    if constexpr (requires { launch.extra; }) call.extra = launch.extra;
    return call;
}

}  // namespace

std::span<const CUpti_driver_api_trace_cbid> launch_calls() {
    return launching;
}

LaunchCall call_of(CUpti_CallbackId id, const void* parameters) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
            const auto& call = *static_cast<const cuLaunchKernelEx_params*>(parameters);
            return with_arguments(shape_of(*call.config), call);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
            const auto& call = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
            return with_arguments(shape_of(call), call);
        }
        default: {
            const auto& call = *static_cast<const cuLaunchKernel_params*>(parameters);
            return with_arguments(shape_of(call), call);
        }
    }
}

}  // namespace ridge::measure::cuda
