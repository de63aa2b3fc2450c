// Registers and shared memory of kernels, from the output of `nvcc --ptxas-options=-v` or from the
// binary itself.
//
//   compiled_kernel("libmine.so", "copy")      // needs cuobjdump
//   compiled_kernel("matmul.cubin", "")
//   compiled_kernel("build.log", "")           // the only kernel in it
//   compiled_kernel("-", "copy")               // of standard input, the one whose name contains this
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

struct CompiledKernel {
    std::string name;
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;  ///< static
    std::int64_t spilled_bytes = 0;
};

/// All kernels that the text describes, in its order.
[[nodiscard]] std::vector<CompiledKernel> compiled_kernels(std::string_view text);

/// InputError if the file has no kernel, or several and `function` names none of them.
[[nodiscard]] CompiledKernel compiled_kernel(const std::string& file, const std::string& function);

}  // namespace ridge::cli
