// What a program ran, as a profiler recorded it: operators of the framework on the host, kernels and
// copies on the GPU, and which operator launched which kernel.
//
//   const Trace trace = read_trace("trace.json.gz");
//   for (const Kernel& kernel : trace.kernels) {
//       if (kernel.op != none) trace.text(trace.operators[kernel.op].name);   // "aten::mm"
//   }
//
// A kernel belongs to the operator that its `External id` names (the innermost one that launched
// it). Where a kernel carries none, its launch on the host is looked for by correlation, and the
// operator that was open on that thread at that time takes it: so kernels of a replayed graph belong
// to what replayed it.
//
// A damaged file gives what was read before the damage, and says where it broke (`read.damage`).
// Times are nanoseconds; memory holds some hundred bytes an event, each distinct text once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "programs/traces/text_pool.h"
#include "programs/traces/trace_event.h"

namespace ridge::programs {

inline constexpr std::int32_t none = -1;

/// A span of the host: an operator of the framework, or a range that encloses some (an annotation of
/// the user, a module).
struct Operator {
    TextId name = TextId::empty;
    TextId inputs = TextId::empty;  ///< types|dims|strides|values; empty: not recorded
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t external_id = -1;
    std::int64_t sequence = -1;  ///< autograd's number; -1: none
    std::int32_t parent = none;  ///< the operator that encloses it on the same thread
    bool range = false;          ///< an annotation or a module, not an operator
};

enum class KernelKind : std::uint8_t { kernel, copy, fill };

/// What ran on the GPU.
struct Kernel {
    TextId name = TextId::empty;
    KernelKind kind = KernelKind::kernel;
    std::int32_t op = none;      ///< the operator that launched it
    std::int32_t launch = none;  ///< the call that launched it
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t device = 0;
    std::int64_t stream = 0;
    std::int64_t bytes = -1;  ///< of copies and fills
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A call of the CUDA runtime or driver that put work on the GPU.
struct Launch {
    TextId name = TextId::empty;
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
};

struct Trace {
    std::string file;
    TraceHeader header;
    ReadResult read;
    TextPool texts;
    std::vector<Operator>
        operators;                ///< by thread and start, an enclosing one before what it holds
    std::vector<Kernel> kernels;  ///< by start
    std::vector<Launch> launches;

    [[nodiscard]] const std::string& text(TextId id) const { return texts[id]; }
    /// The GPU that most of the kernels ran on; empty where the trace does not name it.
    [[nodiscard]] std::string device_name() const;
};

/// Reads a trace of the PyTorch profiler, packed by gzip or not. InputError when the file cannot be
/// opened or holds no event at all.
[[nodiscard]] Trace read_trace(const std::string& file);

}  // namespace ridge::programs
