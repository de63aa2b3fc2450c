// What a program ran, as a profiler recorded it: operators of the framework on the host, kernels and
// copies on the GPU, and which operator launched which kernel.
//
//   const Trace trace = read_trace("trace.json.gz");   // whatever profiler wrote it
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
#include <string_view>
#include <vector>

#include "programs/traces/counters.h"
#include "programs/traces/text_pool.h"

namespace ridge::programs {

inline constexpr std::int32_t none = -1;
inline constexpr std::size_t longest_text = std::size_t{1} << 16U;  ///< that is kept

/// A span of the host: an operator of the framework, or a range that encloses some (an annotation of
/// the user, a module).
struct Operator {
    TextId name = TextId::empty;
    TextId inputs = TextId::empty;  ///< types|dims|strides|values; empty: not recorded
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t external_id = -1;
    std::int64_t sequence = -1;         ///< autograd's number; -1: none
    TextId collective = TextId::empty;  ///< as of a kernel
    std::int32_t parent = none;         ///< the operator that encloses it on the same thread
    bool range = false;                 ///< an annotation or a module, not an operator
};

enum class ActivityKind : std::uint8_t { kernel, copy, fill };

/// What ran on the GPU.
struct Kernel {
    TextId name = TextId::empty;
    ActivityKind kind = ActivityKind::kernel;
    std::int32_t op = none;      ///< the operator that launched it
    std::int32_t range = none;   ///< the innermost annotation or module around its launch
    std::int32_t launch = none;  ///< the call that launched it
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t device = 0;
    std::int64_t stream = 0;
    std::int64_t bytes = -1;            ///< of copies and fills
    std::int64_t dram_bytes = -1;       ///< counted by the hardware; -1: not counted
    std::int32_t counters = none;       ///< all that was counted, of `Trace::counters`
    TextId collective = TextId::empty;  ///< kind|elements in|elements out|type|GPUs of a collective
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

/// Who recorded it, which says what can be expected of it.
enum class TraceSource : std::uint8_t {
    pytorch,         ///< operators with shapes, kernels, launches
    nsight_systems,  ///< ranges, kernels, launches
    nsight_compute,  ///< kernels one at a time, with counters and without a time line
    activity         ///< kernels, launches and ranges through CUPTI
};
[[nodiscard]] std::string_view name_of(TraceSource recorder);

/// A GPU as the trace describes it.
struct TraceDevice {
    std::int64_t id = 0;
    std::string name;
    std::int64_t multiprocessors = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t major = 0;
    std::int64_t minor = 0;
};

struct TraceHeader {
    std::vector<TraceDevice> devices;
    std::int64_t world_size = 0;  ///< of distributedInfo; 0: not said
    std::int64_t rank = -1;
};

/// How far the file could be read.
struct ReadResult {
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
    std::string damage;  ///< what broke, and at which byte; empty when all was read
};

struct Trace {
    std::string file;
    TraceSource recorder = TraceSource::pytorch;
    TraceHeader header;
    ReadResult read;
    TextPool texts;
    std::vector<Operator>
        operators;                ///< by thread and start, an enclosing one before what it holds
    std::vector<Kernel> kernels;  ///< by start
    std::vector<Launch> launches;
    std::vector<KernelCounters> counters;  ///< per launch, one entry a kernel, grid and block
    std::vector<DeviceSample> samples;     ///< counters of whole GPUs over time
    std::vector<std::string> notes;        ///< what could not be recorded, and why

    [[nodiscard]] const std::string& text(TextId id) const { return texts[id]; }
    /// The GPU that most of the kernels ran on; empty where the trace does not name it.
    [[nodiscard]] std::string device_name() const;
    /// Whether the kernels' starts are those of the program, so that idle time means something.
    [[nodiscard]] bool has_timeline() const { return recorder != TraceSource::nsight_compute; }
};

/// Reads what the PyTorch profiler (JSON, packed by gzip or not), Nsight Systems (SQLite), Nsight
/// Compute (CSV) or `ridge profile` (an activity file) wrote, told apart by how the file begins.
/// InputError when the file cannot be opened or holds nothing.
[[nodiscard]] Trace read_trace(const std::string& file);

}  // namespace ridge::programs
