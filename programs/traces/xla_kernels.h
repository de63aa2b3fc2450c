// Kernels of programs that XLA compiled, as JAX's profiler describes them in both of its files.
//
//   XlaKernels kernels(trace, builder);
//   kernels.add({.name = "loop_add_fusion", .module = "jit_step", .details = "regs:26 grid:512,1,1 block:256,1,1",
//                .stream = 14, .start_ns = 18491863, .duration_ns = 3936});
//
// The name of a kernel is that of its fusion; the compiled program is the operator that it belongs to. Where the file
// holds the compiled programs, the operator has the shapes of the instruction. Kernels of a library in a replayed graph
// are named by the library: they are the library's calls of the program, in the order of its schedule, if one replay has
// as many kernels without an instruction as the program has such calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "programs/traces/hlo.h"
#include "programs/traces/trace_builder.h"

namespace ridge::programs {

struct XlaKernel {
    std::string_view name{};
    std::string_view module{};     ///< the compiled program; empty: not given
    std::string_view operation{};  ///< its instruction, or the graph that holds it
    std::string_view details{};    ///< "regs:26 static_shared:0 ... grid:512,1,1 block:256,1,1"
    std::string_view copied{};     ///< "kind_src:pageable kind_dst:device size:4096 ..."
    std::int64_t device = 0;
    std::int64_t stream = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t correlation = -1;  ///< of its launch
};

class XlaKernels {
  public:
    XlaKernels(Trace& trace, TraceBuilder& builder) : trace_(trace), builder_(builder) {}

    /// To be given before the kernels.
    void take_programs(HloModules programs) { programs_ = std::move(programs); }
    void add(const XlaKernel& kernel);
    /// After the last kernel, before the builder finishes.
    void finish();

    /// The number in "/device:GPU:3"; -1: this is no GPU.
    [[nodiscard]] static std::int64_t device_of(std::string_view process);

  private:
    /// A kernel whose instruction its name does not tell.
    struct Unnamed {
        std::string module;
        std::int64_t correlation = -1;
        Operator op;
    };
    void add_replay(std::span<Unnamed> replay);

    Trace& trace_;
    TraceBuilder& builder_;
    HloModules programs_{};
    std::vector<Unnamed> unnamed_;
    std::int64_t added_ = 0;
    std::string text_;
};

}  // namespace ridge::programs
