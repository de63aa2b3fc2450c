// What the machine code of a kernel costs: instructions by pipe, FLOP, bytes, the chain of a warp,
// and a time for one launch.
//
// Method (equations KM1 to KM6 of docs/kernel.md), after llvm-mca: every instruction counts as often
// as the loops around it run. A pipe is busy for its instructions over its lanes. The chain of a
// warp is walked once for each loop body: an instruction issues after the stall cycles of its
// predecessor and when the scoreboards that it waits for are released; the last round of a loop
// counts for all. A launch takes the longest of the pipes, the issue slots, the bytes through L2
// and DRAM, and the chain times the rounds of blocks.
//
//   const CodeCounts counts = count_code(function, loops);
//   counts.flop                                    // of a thread
//   const auto time = time_of_code(counts, {.blocks = 512, .threads = 128, ...}, roofs, machine);
//
// Limits: without a walk (walk.h) both sides of a branch count, and predicated instructions as if
// they ran. Bytes of DRAM
// are not in the code: they are given, or the time is a lower bound. Caches are not modelled.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/causes/roofs.h"
#include "kernel/code/loops.h"
#include "kernel/code/opcode.h"
#include "kernel/code/walk.h"
#include "model/core/grounds.h"

namespace ridge::kernel {

/// Of one thread, or of one warp where it says so.
struct CodeCounts {
    double instructions = 0.0;                     ///< of a warp
    std::array<double, code_pipe_count> issues{};  ///< of a warp, in full-rate instructions
    double flop = 0.0;                             ///< fp32 and fp16
    double flop64 = 0.0;
    double tensor_flop = 0.0;   ///< of a warp
    double mma_flop = 0.0;      ///< of it by instructions of one warp (mma.sync)
    double global_loads = 0.0;  ///< bytes
    double global_stores = 0.0;
    double copied = 0.0;  ///< bytes by asynchronous copies
    double shared = 0.0;  ///< bytes
    double spilled = 0.0;
    double atomics = 0.0;  ///< instructions
    double barriers = 0.0;
    double bulk_copies = 0.0;             ///< of the copy engine, whose size is in its descriptor
    std::map<double, double> widths{};    ///< bytes of a global access -> instructions
    double chain = 0.0;                   ///< cycles of a warp that runs alone
    std::vector<std::string> unknown{};   ///< opcodes without a pipe
    std::vector<std::string> symbolic{};  ///< loops without a trip count, counted once
    bool has_predicates = false;          ///< of memory or arithmetic
};

/// With a walk, instructions count as often as it issued them, and their FLOP and bytes as often as
/// their predicates were on.
[[nodiscard]] CodeCounts count_code(const Function& function, const std::vector<Loop>& loops,
                                    const Roofs& roofs, const Walk* walk = nullptr);

struct CodeLaunch {
    std::int64_t blocks = 0;
    std::int64_t threads = 0;    ///< of a block
    std::int64_t registers = 0;  ///< of a thread; 0: not known
    std::int64_t shared_bytes = 0;
    std::optional<double> dram_bytes{};
};

struct CodeTerm {
    std::string name;
    double seconds = 0.0;
};

struct CodeTime {
    double seconds = 0.0;
    double low = 0.0;
    double high = 0.0;
    std::vector<CodeTerm> terms;  ///< the longest first
    double resident_warps = 0.0;  ///< of a multiprocessor
    double needed_warps = 0.0;    ///< of a scheduler, to hide the chain; at least 1
    bool is_lower_bound = false;  ///< bytes of DRAM or trips are not known
    model::Grounds evidence{};
};

[[nodiscard]] CodeTime time_of_code(const CodeCounts& counts, const CodeLaunch& launch,
                                    const Roofs& roofs, const model::Machine& machine);

}  // namespace ridge::kernel
