// How a framework's wrapper spreads a training step over GPUs: which collectives, in which order, and
// what its Python costs the host.
//
//   const Wrapper& ddp = wrapper_of(request);
//   ddp.bucket           // gradients are reduced whenever that many bytes have gathered
//   ddp.per_collective   // launches of a small kernel that the host needs more for each collective
//
// The numbers are data, calibration/wrappers.toml; the order of collectives follows from the stage of
// ZeRO (model_run.cpp). W21 of docs/models.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hardware/embedded.h"
#include "hardware/quantity.h"
#include "programs/software/request.h"

namespace ridge::programs {

/// calibration/wrappers.toml; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_wrappers();

struct Wrapper {
    std::string name;         ///< "ddp", "zero1", "fsdp2", "dtensor"
    std::string source;       ///< of the numbers
    std::int64_t bucket = 0;  ///< bytes of gradients after which they are reduced; 0: by layer
    std::int64_t first_bucket = 0;
    // Host time, in launches of a small kernel.
    double per_step = 0.0;
    double per_collective = 0.0;
    double per_parameter = 0.0;  ///< in the update
};

/// By name; InputError with the known names.
[[nodiscard]] const Wrapper& find_wrapper(std::string_view name);

/// The one that a step on several GPUs runs under: of ZeRO's stage, or of tensor parallelism.
[[nodiscard]] const Wrapper& wrapper_of(const Request& request);

}  // namespace ridge::programs
