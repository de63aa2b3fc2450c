// The launch of a kernel whose machine code is read: from options, from the CUDA binary, and from
// what Triton writes beside it.
//
//   const TritonMetadata triton = triton_metadata("cache/matmul.cubin");    // matmul.json
//   triton.threads, triton.shared_bytes      // 128, 49152
//   constants_of(kernel, "_,_,_,4096,4096,4096", {1024, 1, 1}, {128, 1, 1})     // for a walk
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/code/cubin.h"

namespace ridge::cli {

/// "512" or "16x16x2".
[[nodiscard]] std::array<std::int64_t, 3> sizes_of(const std::string& text, std::string_view field);

struct TritonMetadata {
    std::string name;
    std::int64_t threads = 0;
    std::int64_t shared_bytes = 0;
};
/// Of the `.json` beside a `.cubin`; empty if there is none or it is not Triton's.
[[nodiscard]] std::optional<TritonMetadata> triton_metadata(const std::string& cubin);

/// Words of the first constant bank: the arguments, separated by commas ("_" is not known), and the
/// sizes of the launch. Throws InputError for more arguments than the kernel has.
[[nodiscard]] std::map<std::uint32_t, std::uint32_t> constants_of(
    const kernel::CubinKernel& kernel, std::string_view arguments,
    const std::array<std::int64_t, 3>& grid, const std::array<std::int64_t, 3>& block);

}  // namespace ridge::cli
