// Converts CUPTI's activity buffers to records of the activity file.
#pragma once

#include "measure/cuda/libraries/cupti.h"

namespace ridge::measure::cuda {

/// Called when CUPTI needs an empty buffer.
void CUPTIAPI give_activity_buffer(std::uint8_t** buffer, std::size_t* size,
                                   std::size_t* most_records);
/// Called when CUPTI returns a buffer; its records are written to the session's file.
void CUPTIAPI take_activity_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t size, std::size_t valid);

/// Whether a call of the runtime or driver puts work on a GPU, judged by its name.
[[nodiscard]] bool is_launch_call(const char* name);

}  // namespace ridge::measure::cuda
