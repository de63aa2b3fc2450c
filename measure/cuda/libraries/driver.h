// The few driver functions that the CUDA runtime does not offer, looked up through it at run time.
//
// Method: cudaGetDriverEntryPointByVersion, so nothing links against libcuda and the program starts
// without a driver.
//
//   const std::vector<KernelLaunch> launches = kernels_of(graph.handle());
//
// Errors: DeviceError when the driver lacks an entry point.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "measure/record/observation.h"

namespace ridge::measure::cuda {

[[nodiscard]] CUcontext current_context();

/// The kernels of a captured graph, in the order of capture; identical launches are counted
/// together.
[[nodiscard]] std::vector<KernelLaunch> kernels_of(cudaGraph_t graph);

/// A kernel's name, demangled, without return type and this project's namespaces.
[[nodiscard]] std::string readable_name(const std::string& mangled);

}  // namespace ridge::measure::cuda
