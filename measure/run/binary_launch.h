// A kernel of a CUDA binary, launched on the GPU with arguments of its own: what `ridge kernel
// --measure` profiles.
//
//   launch_binary({.image = bytes, .function = "add", .grid = {1024, 1, 1}, .block = {256, 1, 1},
//                  .arguments = {{.buffer_bytes = 1 << 28}, {.value = {0, 16, 0, 0}}}, .times = 24});
//
// Method: the runtime loads the binary (a cubin of this GPU, or PTX, which the driver compiles).
// Buffers hold random floats between 0 and 1, the same in each run. All launches run on one stream,
// one after the other.
//
// Errors: DeviceError if a call fails, also if the kernel reads or writes outside its buffers, and
// if this build has no CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ridge::measure {

/// Its bytes, or a pointer to a buffer of so many bytes.
struct BinaryArgument {
    std::int64_t buffer_bytes = 0;
    std::vector<std::byte> value{};
};

struct BinaryLaunch {
    std::string image;     ///< the binary, or PTX
    std::string function;  ///< the kernel's name in it
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::array<std::int64_t, 3> block{1, 1, 1};
    std::int64_t shared_bytes = 0;  ///< beside what the code declares
    std::vector<BinaryArgument> arguments{};
    std::int64_t times = 1;
};

void launch_binary(const BinaryLaunch& launch);

}  // namespace ridge::measure
