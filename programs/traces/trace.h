// A recorded program run, as a profiler wrote it: operators of the framework on the host, kernels
// and copies on the GPU, and which operator launched which kernel.
//
//   const Trace trace = read_trace("trace.json.gz");   // written by any supported profiler
//   for (const Kernel& kernel : trace.kernels) {
//       if (kernel.op != none) trace.text(trace.operators[kernel.op].name);   // "aten::mm"
//   }
//
// A kernel belongs to the operator given by its `External id` (the innermost one that launched it).
// If a kernel has none, its launch on the host is found by correlation, and the kernel belongs to
// the operator that was open on that thread at that time: so kernels of a replayed graph belong to
// the operator that replayed it.
//
// From a damaged file, everything before the damage is read, and `read.damage` says where it is.
// Times are nanoseconds; an event takes some hundred bytes of memory, and each distinct text is
// stored once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "programs/traces/counters.h"
#include "programs/traces/execution_trace.h"
#include "programs/traces/text_pool.h"

namespace ridge::programs {

inline constexpr std::int32_t none = -1;
inline constexpr std::size_t longest_text = std::size_t{1} << 16U;  ///< longer texts are cut

/// A span on the host: an operator of the framework, or a range that encloses operators (a user
/// annotation, a module).
struct Operator {
    TextId name = TextId::empty;
    TextId inputs = TextId::empty;  ///< types|dims|strides|values; empty: not recorded
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t external_id = -1;
    std::int64_t sequence = -1;         ///< autograd's number; -1: none
    std::int64_t record = -1;           ///< its number in an execution trace; -1: none
    TextId collective = TextId::empty;  ///< as for a kernel
    std::int32_t parent = none;         ///< the operator that encloses it on the same thread
    bool range = false;                 ///< an annotation or a module, not an operator
};

enum class ActivityKind : std::uint8_t { kernel, copy, fill };

/// Work that ran on the GPU.
struct Kernel {
    TextId name = TextId::empty;
    ActivityKind kind = ActivityKind::kernel;
    std::int32_t op = none;      ///< the operator that launched it
    std::int32_t range = none;   ///< the innermost annotation or module around its launch
    std::int32_t launch = none;  ///< the call that launched it
    std::int32_t replay = none;  ///< the same, of a graph that replays its operator's kernels
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t device = 0;
    std::int64_t stream = 0;
    std::int64_t bytes = -1;            ///< of copies and fills
    std::int64_t dram_bytes = -1;       ///< counted by the hardware; -1: not counted
    std::int32_t counters = none;       ///< index in `Trace::counters` of all that was counted
    TextId collective = TextId::empty;  ///< kind|elements in|elements out|type|GPUs of a collective
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A call of the CUDA runtime or driver that started work on the GPU.
struct Launch {
    TextId name = TextId::empty;
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
};

/// The profiler that recorded the trace, which determines what the trace contains.
enum class TraceSource : std::uint8_t {
    pytorch,         ///< operators with shapes, kernels, launches
    nsight_systems,  ///< ranges, kernels, launches
    nsight_compute,  ///< kernels one at a time, with counters but without a timeline
    activity,        ///< kernels, launches and ranges from CUPTI
    xla,  ///< JAX: kernels with the compiled program that they belong to; shapes if it is in the file
    rocprofv3  ///< kernels, copies, launches and ranges of ROCm
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
    std::int64_t world_size = 0;  ///< from distributedInfo; 0: not given
    std::int64_t rank = -1;
};

/// How far the file could be read.
struct ReadResult {
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
    std::string damage;  ///< what is damaged, and at which byte; empty: all was read
};

struct Trace {
    std::string file;
    TraceSource recorder = TraceSource::pytorch;
    TraceHeader header;
    ReadResult read;
    TextPool texts;
    std::vector<Operator> operators;  ///< by thread and start; a parent comes before its children
    std::vector<Kernel> kernels;      ///< by start
    std::vector<Launch> launches;
    std::vector<KernelCounters> counters;  ///< per launch, one entry per kernel, grid and block
    std::vector<DeviceSample> samples;     ///< counters of whole GPUs over time
    ExecutionTrace execution{};            ///< what operators read and write, if that was recorded
    std::vector<std::string> notes;        ///< what could not be recorded, and why

    [[nodiscard]] const std::string& text(TextId id) const { return texts[id]; }
    /// The GPU that most of the kernels ran on; empty if the trace does not name it.
    [[nodiscard]] std::string device_name() const;
    /// Its compute capability, 90 for 9.0; 0 if the trace does not tell.
    [[nodiscard]] std::int64_t capability() const;
    /// Whether the kernels start when the program started them, so that idle time is meaningful.
    [[nodiscard]] bool has_timeline() const { return recorder != TraceSource::nsight_compute; }
};

/// Reads a file of the PyTorch profiler or of JAX (JSON or `.xplane.pb`, plain or gzip), Nsight Systems
/// (SQLite), Nsight Compute or rocprofv3 (CSV) or `ridge profile` (an activity file); the beginning of the file decides which.
/// Throws InputError if the file cannot be opened or is empty of events.
[[nodiscard]] Trace read_trace(const std::string& file);

}  // namespace ridge::programs
