// Builds a Trace from what a reader finds in a file, in any order; then determines which spans
// enclose which, and which operator launched which kernel.
//
//   TraceBuilder builder(trace);
//   builder.add(Operator{.name = builder.text("aten::mm"), ...});
//   builder.add(Launch{...}, correlation);
//   builder.add(Kernel{...}, {.external_id = 2, .correlation = correlation});
//   builder.finish();
//
// If a reader's correlations are unique only within a process, the reader combines them with the
// process. Entries of one kind beyond 2^31 are left out.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "programs/traces/trace.h"

namespace ridge::programs {

/// How a kernel identifies its launcher; -1: not given.
struct KernelKeys {
    std::int64_t external_id = -1;  ///< of an operator
    std::int64_t correlation = -1;  ///< of a launch
};

/// Kernels of a replayed CUDA graph find their operators by the capture: the k-th kernel belongs to the
/// k-th launch that was captured, if a capture in the file launched as many and one stream replays them.
class TraceBuilder {
  public:
    explicit TraceBuilder(Trace& trace) : trace_(trace) {}

    TextId text(std::string_view text) { return trace_.texts.add(text); }

    void add(Operator op);
    void add(Kernel kernel, KernelKeys keys);
    void add(const Launch& launch, std::int64_t correlation);

    /// Sorts, nests and joins what was added. Nothing may be added afterwards.
    void finish();

  private:
    void nest();
    void join();
    void join_replays();
    void find_ranges();
    [[nodiscard]] std::int32_t innermost(std::int64_t thread, std::int64_t time) const;
    [[nodiscard]] const Operator& op(std::int32_t index) const {
        return trace_.operators[static_cast<std::size_t>(index)];
    }

    Trace& trace_;
    std::vector<KernelKeys> keys_;
    std::unordered_map<std::int64_t, std::int32_t> calls_;  // by correlation
    std::unordered_map<std::int64_t, std::int32_t> by_id_;  // operators by external id
};

}  // namespace ridge::programs
