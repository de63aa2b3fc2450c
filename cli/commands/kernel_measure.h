// `ridge kernel FILE --measure` and `--launch`: a kernel of a .cubin on the GPU at hand.
//
// Method: `--launch COUNT` loads the binary, makes the buffers that the arguments name and launches
// the kernel so often (measure/run/binary_launch.h). `--measure` runs that under `ridge profile
// --counters`, so that the kernel gets its time, counters and causes like one of any program.
//
//   measure_kernel(context, {.file = "add.cubin", .grid = "1024", .args = "64MB,64MB,16777216"});
//
// Errors: InputError for a file that is no .cubin and arguments that do not fit; DeviceError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "kernel/code/cubin.h"
#include "measure/run/binary_launch.h"

namespace ridge::cli {

struct KernelRun {
    std::string file;
    std::string function;
    std::string args;
    std::string grid;
    std::string block;
    std::string shared;
    std::string page;                      ///< of the profile; empty: none
    std::vector<std::string> passed_on{};  ///< to `ridge profile`: GPU and format
};

/// Arguments separated by commas: `_` or a size (64MB) is a buffer, others are numbers of the size
/// that the kernel expects. Arguments that are not named are zero.
[[nodiscard]] std::vector<measure::BinaryArgument> arguments_of(const kernel::CubinKernel& kernel,
                                                                const std::string& text);

[[nodiscard]] int launch_kernel(const KernelRun& run, std::int64_t times);
[[nodiscard]] int measure_kernel(const Context& context, const KernelRun& run);

}  // namespace ridge::cli
