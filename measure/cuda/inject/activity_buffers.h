// From CUPTI's activity buffers to records of the activity file.
#pragma once

#include "measure/cuda/libraries/cupti.h"

namespace ridge::measure::cuda {

/// CUPTI asks for an empty buffer.
void CUPTIAPI give_activity_buffer(std::uint8_t** buffer, std::size_t* size,
                                   std::size_t* most_records);
/// CUPTI hands one back: its records go into the file of the session.
void CUPTIAPI take_activity_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t size, std::size_t valid);

/// Whether a call of the runtime or driver puts work on a GPU, by its name.
[[nodiscard]] bool is_launch_call(const char* name);

}  // namespace ridge::measure::cuda
