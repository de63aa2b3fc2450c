// A kernel's machine code as text, from any file that holds it.
//
//   read_machine_code("matmul.cubin")     // nvdisasm -hex -c
//   read_machine_code("a.out")            // cuobjdump -sass
//   read_machine_code("matmul.ptx", "sm_90")   // ptxas, then nvdisasm
//   read_machine_code("matmul.sass")      // the text itself; "-" reads standard input
//
// The tools of NVIDIA's CUDA are looked for on PATH, in CUDA_HOME and /usr/local/cuda, and in the
// Python packages nvidia-cuda-nvdisasm, nvidia-cuda-cuobjdump and triton. InputError says which one
// is missing and how to get it.
#pragma once

#include <string>
#include <vector>

#include "kernel/code/cubin.h"

namespace ridge::cli {

struct MachineCode {
    std::string text;
    std::string made_by;                         ///< the tool, or "text"
    std::vector<kernel::CubinKernel> kernels{};  ///< what a CUDA binary says beside its code
};

/// `architecture` is for PTX only: "sm_90".
[[nodiscard]] MachineCode read_machine_code(const std::string& file,
                                            const std::string& architecture);

/// What `cuobjdump -res-usage` says about the kernels of an executable or library.
[[nodiscard]] std::string resource_usage(const std::string& file);

}  // namespace ridge::cli
