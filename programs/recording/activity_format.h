// The file in which `ridge profile` records what a process did on its GPUs: one file per process,
// appended to while the process runs.
//
// A file starts with the 16 bytes of `magic`, followed by records. A record is a header of four
// bytes (tag in the lowest byte, payload length above it) and the payload, all in little-endian
// order. The first record is a text that lists all records with their fields, so a file describes
// itself. Later versions may append fields to a record: a reader skips bytes and tags that it does
// not know, and leaves fields that a file lacks at their defaults. Each record is self-contained,
// so a file that was cut off within a record is valid up to that record.
//
// Each text and each launch shape is stored once; later records refer to it by its number in the
// order of the file (texts from 1, where 0 is the empty text; shapes from 0). Times are nanoseconds
// since 1970.
//
//   KernelActivity kernel;
//   FieldReader reader(payload);
//   describe(reader, kernel);            // one function writes, reads and prints the fields
//
// Limits: a payload has at most 16 MiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace ridge::programs {

inline constexpr std::string_view activity_magic{"ridge activity\n\1", 16};
inline constexpr std::size_t longest_payload = (std::size_t{1} << 24U) - 1;

enum class ActivityTag : std::uint8_t {
    schema = 1,     ///< a text: the fields of every record
    process = 2,    ///< written once, directly after the schema
    text = 3,       ///< the bytes of a text
    device = 4,     ///< a GPU
    shape = 5,      ///< properties shared by launches of one kernel with one grid and block
    kernel = 6,     ///< one execution of a kernel, or of a whole graph
    copy = 7,       ///< one copy
    fill = 8,       ///< one memset
    call = 9,       ///< one call of the CUDA runtime or driver that started work on the GPU
    push = 10,      ///< an NVTX range opens on a thread
    pop = 11,       ///< the innermost range of a thread closes
    start = 12,     ///< a range that need not be nested opens
    stop = 13,      ///< that range closes
    lost = 14,      ///< records that the driver dropped or did not give times for
    note = 15,      ///< what could not be recorded, and why
    counters = 16,  ///< hardware counters of one launch
    sample = 17,    ///< rates of the whole GPU over a short interval
    finish = 18,    ///< the process ended normally
    metrics = 19,   ///< all values of one counted launch, by the profiler's names
    stalls = 20     ///< samples of what warps wait for at one instruction
};

/// Contents of a file: times of everything, or counters of some launches, whose times are not used.
enum class RecordingMode : std::uint32_t { times = 0, counters = 1 };

struct ProcessActivity {
    std::uint32_t mode = 0;  ///< RecordingMode
    std::uint32_t pid = 0;
    std::int32_t rank = -1;   ///< -1: not given by the process
    std::int32_t world = -1;  ///< number of processes; -1: not given
    std::uint64_t run = 0;    ///< the same in all files of one `ridge profile` run
    std::uint64_t time_ns = 0;
    std::string_view host{};
};

struct DeviceActivity {
    std::uint32_t device = 0;
    std::uint32_t multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t uuid_high = 0;
    std::uint64_t uuid_low = 0;
    std::string_view name{};
};

struct ShapeActivity {
    std::uint32_t name = 0;  ///< text, readable: "void copy<float>(float*)"
    std::uint32_t grid_x = 0;
    std::uint32_t grid_y = 0;
    std::uint32_t grid_z = 0;
    std::uint32_t block_x = 0;
    std::uint32_t block_y = 0;
    std::uint32_t block_z = 0;
    std::uint32_t registers = 0;
    std::uint32_t shared_bytes = 0;  ///< static and dynamic

    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 is of a comparison that the compiler writes
    friend auto operator<=>(const ShapeActivity&, const ShapeActivity&) = default;
};

struct KernelActivity {
    std::uint64_t start_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint32_t shape = 0;
    std::uint32_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    std::uint64_t graph_node = 0;
};

struct TransferActivity {
    std::uint64_t start_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t bytes = 0;
    std::uint32_t name = 0;  ///< text: "Memcpy DtoH (Device -> Pinned)"
    std::uint32_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    std::uint64_t graph_node = 0;
};

struct CallActivity {
    std::uint64_t start_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint32_t name = 0;  ///< text
    std::uint32_t correlation = 0;
    std::uint32_t thread = 0;
};

struct PushActivity {
    std::uint64_t time_ns = 0;
    std::uint32_t name = 0;  ///< text
    std::uint32_t thread = 0;
};

struct PopActivity {
    std::uint64_t time_ns = 0;
    std::uint32_t thread = 0;
};

struct StartActivity {
    std::uint64_t time_ns = 0;
    std::uint64_t id = 0;
    std::uint32_t name = 0;  ///< text
    std::uint32_t thread = 0;
};

struct StopActivity {
    std::uint64_t time_ns = 0;
    std::uint64_t id = 0;
};

struct LostActivity {
    std::uint64_t records = 0;
};

struct NoteActivity {
    std::string_view text{};
};

/// Sums over the GPU; a negative value means not counted. One launch has only the counters of one
/// set, those that fit in one pass.
struct CounterActivity {
    std::uint32_t shape = 0;
    std::uint32_t passes = 0;
    double duration_ns = -1.0;  ///< during counting, not in a normal run
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double l2_bytes = -1.0;
    double shared_bytes = -1.0;
    double tensor_flop = -1.0;
    double vector_flop = -1.0;  ///< includes the packed FMA unless those fields are given below
    double special_results = -1.0;
    double occupancy = -1.0;              ///< share of the warps that an SM can hold
    double tensor_active = -1.0;          ///< share of cycles
    double packed_fma_flop = -1.0;        ///< of two-wide FMA, including operations with constants
    double packed_on_tensor_pipe = -1.0;  ///< the part of packed_fma_flop on the tensor pipe
    double tensor_type_flop = -1.0;       ///< from the counter of its type; replaces `tensor_flop`
    std::uint32_t set = 0;                ///< number of the counter set
    std::uint32_t missing = 0;            ///< sets that this launch still lacks, one bit each
};

struct SampleActivity {
    std::uint64_t start_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint32_t device = 0;
    std::uint32_t reserved = 0;
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double sm_active = -1.0;      ///< share of SMs with a resident warp
    double tensor_active = -1.0;  ///< share of cycles in which the tensor pipe is active
};

/// The values of one set for one launch, by the names that the profiler gives them. A launch has one
/// such record for each set that it was counted with.
struct MetricActivity {
    std::uint32_t shape = 0;
    std::uint32_t names = 0;    ///< text: the names, one blank between two of them
    std::string_view values{};  ///< a double for each name
};

/// Samples of the warps that stood at one instruction of a kernel, by what they waited for
/// ("long_scoreboard"; "selected" if they issued), over all launches.
struct StallActivity {
    std::uint64_t address = 0;  ///< from the start of the kernel's code
    std::uint32_t kernel = 0;   ///< text, as in the kernel's shape
    std::uint32_t file = 0;     ///< text: the source file; empty without line information
    std::uint32_t line = 0;
    std::uint32_t names = 0;    ///< text: the reasons, one blank between two of them
    std::string_view values{};  ///< a double for each reason
};

struct FinishActivity {
    std::uint64_t time_ns = 0;
};

// The fields of each record, in file order.

template <class Fields>
void describe(Fields& fields, ProcessActivity& v) {
    fields("mode", v.mode)("pid", v.pid)("rank", v.rank)("world", v.world)("run", v.run);
    fields("time_ns", v.time_ns)("host", v.host);
}
template <class Fields>
void describe(Fields& fields, DeviceActivity& v) {
    fields("device", v.device)("multiprocessors", v.multiprocessors);
    fields("memory_bytes", v.memory_bytes)("major", v.major)("minor", v.minor);
    fields("uuid_high", v.uuid_high)("uuid_low", v.uuid_low)("name", v.name);
}
template <class Fields>
void describe(Fields& fields, ShapeActivity& v) {
    fields("name", v.name)("grid_x", v.grid_x)("grid_y", v.grid_y)("grid_z", v.grid_z);
    fields("block_x", v.block_x)("block_y", v.block_y)("block_z", v.block_z);
    fields("registers", v.registers)("shared_bytes", v.shared_bytes);
}
template <class Fields>
void describe(Fields& fields, KernelActivity& v) {
    fields("start_ns", v.start_ns)("duration_ns", v.duration_ns)("shape", v.shape);
    fields("correlation", v.correlation)("device", v.device)("stream", v.stream);
    fields("graph_node", v.graph_node);
}
template <class Fields>
void describe(Fields& fields, TransferActivity& v) {
    fields("start_ns", v.start_ns)("duration_ns", v.duration_ns)("bytes", v.bytes);
    fields("name", v.name)("correlation", v.correlation)("device", v.device);
    fields("stream", v.stream)("graph_node", v.graph_node);
}
template <class Fields>
void describe(Fields& fields, CallActivity& v) {
    fields("start_ns", v.start_ns)("duration_ns", v.duration_ns)("name", v.name);
    fields("correlation", v.correlation)("thread", v.thread);
}
template <class Fields>
void describe(Fields& fields, PushActivity& v) {
    fields("time_ns", v.time_ns)("name", v.name)("thread", v.thread);
}
template <class Fields>
void describe(Fields& fields, PopActivity& v) {
    fields("time_ns", v.time_ns)("thread", v.thread);
}
template <class Fields>
void describe(Fields& fields, StartActivity& v) {
    fields("time_ns", v.time_ns)("id", v.id)("name", v.name)("thread", v.thread);
}
template <class Fields>
void describe(Fields& fields, StopActivity& v) {
    fields("time_ns", v.time_ns)("id", v.id);
}
template <class Fields>
void describe(Fields& fields, LostActivity& v) {
    fields("records", v.records);
}
template <class Fields>
void describe(Fields& fields, NoteActivity& v) {
    fields("text", v.text);
}
template <class Fields>
void describe(Fields& fields, CounterActivity& v) {
    fields("shape", v.shape)("passes", v.passes)("duration_ns", v.duration_ns);
    fields("dram_read_bytes", v.dram_read_bytes)("dram_write_bytes", v.dram_write_bytes);
    fields("l2_bytes", v.l2_bytes)("shared_bytes", v.shared_bytes);
    fields("tensor_flop", v.tensor_flop)("vector_flop", v.vector_flop);
    fields("special_results", v.special_results)("occupancy", v.occupancy);
    fields("tensor_active", v.tensor_active)("packed_fma_flop", v.packed_fma_flop);
    fields("packed_on_tensor_pipe", v.packed_on_tensor_pipe);
    fields("tensor_type_flop", v.tensor_type_flop)("set", v.set)("missing", v.missing);
}
template <class Fields>
void describe(Fields& fields, SampleActivity& v) {
    fields("start_ns", v.start_ns)("duration_ns", v.duration_ns)("device", v.device);
    fields("reserved", v.reserved)("dram_read_bytes", v.dram_read_bytes);
    fields("dram_write_bytes", v.dram_write_bytes)("sm_active", v.sm_active);
    fields("tensor_active", v.tensor_active);
}
template <class Fields>
void describe(Fields& fields, MetricActivity& v) {
    fields("shape", v.shape)("names", v.names)("values", v.values);
}
template <class Fields>
void describe(Fields& fields, StallActivity& v) {
    fields("address", v.address)("kernel", v.kernel)("file", v.file)("line", v.line);
    fields("names", v.names)("values", v.values);
}
template <class Fields>
void describe(Fields& fields, FinishActivity& v) {
    fields("time_ns", v.time_ns);
}

/// Fills fields from a payload; fields beyond its end keep their values. A text takes all bytes
/// that are left.
class FieldReader {
  public:
    explicit FieldReader(std::string_view payload) : left_(payload) {}

    template <class Value>
    FieldReader& operator()(const char* /*name*/, Value& value) {
        if constexpr (std::is_same_v<Value, std::string_view>) {
            value = left_;
            left_ = {};
        } else if (left_.size() >= sizeof value) {
            std::memcpy(&value, left_.data(), sizeof value);
            left_.remove_prefix(sizeof value);
        } else {
            left_ = {};
        }
        return *this;
    }

  private:
    std::string_view left_;
};

/// Appends fields to `bytes`.
class FieldWriter {
  public:
    explicit FieldWriter(std::string& bytes) : bytes_(bytes) {}

    template <class Value>
    FieldWriter& operator()(const char* /*name*/, const Value& value) {
        if constexpr (std::is_same_v<Value, std::string_view>) {
            bytes_.append(value);
        } else {
            std::array<char, sizeof value> raw;
            std::memcpy(raw.data(), &value, raw.size());
            bytes_.append(raw.data(), raw.size());
        }
        return *this;
    }

  private:
    std::string& bytes_;
};

/// The records and their fields as text, one record per line.
[[nodiscard]] std::string activity_schema();

}  // namespace ridge::programs
