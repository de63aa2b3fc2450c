// What a CUDA binary says about its kernels beside their code: registers, shared memory, where their
// arguments lie in the first constant bank.
//
//   const std::vector<CubinKernel> all = read_cubin(bytes, "matmul.cubin");
//   all.front().registers            // 112
//   all.front().parameters[3]        // {.offset = 0x228, .size = 4}
//
// Method: the sections of the ELF file. `.nv.info` holds attributes; the ones read here are those
// that `cuobjdump -elf` calls REGCOUNT, PARAM_CBANK, KPARAM_INFO, MAX_THREADS and REQNTID.
//
// Limits: 64-bit files in little-endian order, as all architectures since 2010 have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::kernel {

struct CubinParameter {
    std::uint32_t offset = 0;  ///< in the first constant bank
    std::uint32_t size = 0;    ///< bytes
};

struct CubinKernel {
    std::string name;
    std::int64_t registers = 0;     ///< of a thread; 0: not said
    std::int64_t shared_bytes = 0;  ///< that the code declares
    std::int64_t threads = 0;       ///< of a block, if the code requires a number
    std::vector<CubinParameter> parameters{};
};

[[nodiscard]] bool is_cubin(std::string_view bytes);

/// In the order of the file. Throws InputError if the file is cut off.
[[nodiscard]] std::vector<CubinKernel> read_cubin(std::string_view bytes, const std::string& file);

}  // namespace ridge::kernel
