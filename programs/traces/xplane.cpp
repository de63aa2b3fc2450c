#include "programs/traces/xplane.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "hardware/byte_source.h"
#include "programs/traces/trace_builder.h"
#include "programs/traces/xla_kernels.h"

namespace ridge::programs {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// A field with the encoding that it must have: others are skipped, as if they were not there.
constexpr std::uint32_t number(std::uint32_t field) {
    return protozero::tag_and_type(field, pbf_wire_type::varint);
}
constexpr std::uint32_t text(std::uint32_t field) {
    return protozero::tag_and_type(field, pbf_wire_type::length_delimited);
}

// The fields of xplane.proto that are read (tensorflow.profiler, third_party/tsl of openxla/xla).
struct SpaceField {
    static constexpr std::uint32_t planes = 1;
};
struct PlaneField {
    static constexpr std::uint32_t id = 1;
    static constexpr std::uint32_t name = 2;
    static constexpr std::uint32_t lines = 3;
    static constexpr std::uint32_t event_metadata = 4;
    static constexpr std::uint32_t stat_metadata = 5;
    static constexpr std::uint32_t stats = 6;
};
struct LineField {
    static constexpr std::uint32_t id = 1;
    static constexpr std::uint32_t timestamp_ns = 3;
    static constexpr std::uint32_t events = 4;
};
struct EventField {
    static constexpr std::uint32_t metadata_id = 1;
    static constexpr std::uint32_t offset_ps = 2;
    static constexpr std::uint32_t duration_ps = 3;
    static constexpr std::uint32_t stats = 4;
};
struct StatField {
    static constexpr std::uint32_t metadata_id = 1;
    static constexpr std::uint32_t uint64_value = 3;
    static constexpr std::uint32_t int64_value = 4;
    static constexpr std::uint32_t str_value = 5;
    static constexpr std::uint32_t bytes_value = 6;
    static constexpr std::uint32_t ref_value = 7;
};
struct MetadataField {
    static constexpr std::uint32_t name = 2;
    static constexpr std::uint32_t display_name = 4;
    static constexpr std::uint32_t stats = 5;
};
struct EntryField {  // of a map
    static constexpr std::uint32_t key = 1;
    static constexpr std::uint32_t value = 2;
};

std::string_view text_of(protozero::data_view view) {
    return {view.data(), std::min(view.size(), longest_text)};
}

/// What the statistics of an event or a plane say, as far as it is read.
struct Stats {
    std::string_view module;
    std::string_view operation;
    std::string_view program;  ///< HloProto
    std::string_view details;
    std::string_view copied;
    std::int64_t multiprocessors = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t major = 0;
    std::int64_t minor = 0;
    std::int64_t correlation = -1;
    std::string_view device;
};

struct EventName {
    std::string_view name;
    Stats stats;  ///< the same for all events of this name
};

/// The names of one plane.
class Names {
  public:
    void add_stat(pbf_reader entry) {
        const auto [key, value] = entry_of(entry);
        stats_[key] = name_in(value);
    }
    const Stats& add_event(pbf_reader entry) {
        const auto [key, value] = entry_of(entry);
        EventName& event = events_[key];
        event.name = name_in(value);
        pbf_reader reader(value);
        while (reader.next(MetadataField::stats, pbf_wire_type::length_delimited))
            add(event.stats, reader.get_message());
        return event.stats;
    }
    [[nodiscard]] const EventName* event(std::int64_t id) const {
        const auto found = events_.find(id);
        return found == events_.end() ? nullptr : &found->second;
    }
    void add(Stats& into, pbf_reader stat) const {
        std::string_view name;
        std::string_view words;
        std::string_view bytes;
        std::int64_t value = 0;
        while (stat.next()) {
            switch (stat.tag_and_type()) {
                case number(StatField::metadata_id):
                    name = stat_name(stat.get_int64());
                    break;
                case number(StatField::uint64_value):
                    value = static_cast<std::int64_t>(stat.get_uint64());
                    break;
                case number(StatField::int64_value):
                    value = stat.get_int64();
                    break;
                case text(StatField::str_value):
                    words = text_of(stat.get_view());
                    break;
                case text(StatField::bytes_value): {
                    const protozero::data_view view = stat.get_view();
                    bytes = {view.data(), view.size()};
                    break;
                }
                case number(StatField::ref_value):
                    words = stat_name(static_cast<std::int64_t>(stat.get_uint64()));
                    break;
                default:
                    stat.skip();
            }
        }
        if (name == "hlo_module") into.module = words;
        if (name == "hlo_op") into.operation = words;
        if (name == "Hlo Proto") into.program = bytes;
        if (name == "kernel_details") into.details = words;
        if (name == "memcpy_details") into.copied = words;
        if (name == "gpu_device_name") into.device = words;
        if (name == "correlation_id") into.correlation = value;
        if (name == "core_count") into.multiprocessors = value;
        if (name == "memory_size") into.memory_bytes = value;
        if (name == "compute_cap_major") into.major = value;
        if (name == "compute_cap_minor") into.minor = value;
    }

  private:
    struct Entry {
        std::int64_t key = 0;
        protozero::data_view value{};
    };
    static Entry entry_of(pbf_reader reader) {
        Entry entry;
        while (reader.next()) {
            if (reader.tag_and_type() == number(EntryField::key)) {
                entry.key = reader.get_int64();
            } else if (reader.tag_and_type() == text(EntryField::value)) {
                entry.value = reader.get_view();
            } else {
                reader.skip();
            }
        }
        return entry;
    }
    /// As the viewer shows it.
    static std::string_view name_in(protozero::data_view value) {
        std::string_view name;
        std::string_view shown;
        pbf_reader reader(value);
        while (reader.next()) {
            if (reader.tag_and_type() == text(MetadataField::name)) {
                name = text_of(reader.get_view());
            } else if (reader.tag_and_type() == text(MetadataField::display_name)) {
                shown = text_of(reader.get_view());
            } else {
                reader.skip();
            }
        }
        return shown.empty() ? name : shown;
    }
    [[nodiscard]] std::string_view stat_name(std::int64_t id) const {
        const auto found = stats_.find(id);
        return found == stats_.end() ? std::string_view() : found->second;
    }

    std::unordered_map<std::int64_t, EventName> events_;
    std::unordered_map<std::int64_t, std::string_view> stats_;
};

/// Walks an XSpace and remembers where it is, so that damage can be named.
class XplaneReader {
  public:
    explicit XplaneReader(Trace& trace)
        : trace_(trace), builder_(trace), kernels_(trace, builder_) {}

    void read(const std::string& bytes) {
        read_programs(bytes);
        pbf_reader space(bytes);
        try {
            while (space.next()) {
                if (space.tag_and_type() != text(SpaceField::planes)) {
                    space.skip();
                    continue;
                }
                at_ = {.plane = at_.plane + 1};
                pbf_reader plane(space.get_view());
                read_plane(plane);
            }
        } catch (const protozero::exception& error) {
            trace_.read.damage = place() + " is cut off or damaged (" + error.what() +
                                 ") before byte " + std::to_string(bytes.size() - space.length());
        }
        trace_.read.bytes = bytes.size() - space.length();
        kernels_.finish();
        builder_.finish();
    }

  private:
    struct Place {
        std::int64_t plane = -1;
        std::int64_t line = -1;
        std::int64_t event = -1;
    };

    /// The compiled programs, which may come behind the kernels. A damaged one leaves all others, and the kernels.
    void read_programs(const std::string& bytes) {
        HloModules programs;
        std::int64_t plane = -1;
        try {
            each(pbf_reader(bytes), SpaceField::planes, [&](const pbf_reader& found) {
                ++plane;
                if (name_of(found) != "/host:metadata") return;
                std::int64_t entry = -1;
                Names names;
                each(found, PlaneField::stat_metadata,
                     [&names](pbf_reader stat) { names.add_stat(stat); });
                each(found, PlaneField::event_metadata, [&](pbf_reader event) {
                    const Stats stats = names.add_event(event);
                    ++entry;
                    const std::string damage = programs.add(stats.program);
                    if (damage.empty() || !trace_.read.damage.empty()) return;
                    trace_.read.damage = "planes[" + std::to_string(plane) + "].event_metadata[" +
                                         std::to_string(entry) + "]." + damage + " is damaged";
                });
            });
        } catch (const protozero::exception& error) {
            // If the file ends here, the pass over the kernels ends here too, and says more.
            trace_.read.damage = "planes[" + std::to_string(std::max<std::int64_t>(0, plane)) +
                                 "].event_metadata is damaged (" + error.what() + ")";
        }
        kernels_.take_programs(std::move(programs));
    }

    [[nodiscard]] std::string place() const {
        std::string path = "planes[" + std::to_string(std::max<std::int64_t>(0, at_.plane)) + "]";
        if (at_.line >= 0) path += ".lines[" + std::to_string(at_.line) + "]";
        if (at_.event >= 0) path += ".events[" + std::to_string(at_.event) + "]";
        return path;
    }

    void read_plane(const pbf_reader& plane) {
        const std::string_view name = name_of(plane);
        const std::int64_t device = XlaKernels::device_of(name);
        if (device < 0 && name != "/host:CPU") return;
        Names names;
        // What statistics are called comes behind the events' names, which have statistics too.
        each(plane, PlaneField::stat_metadata,
             [&names](pbf_reader entry) { names.add_stat(entry); });
        each(plane, PlaneField::event_metadata,
             [&names](pbf_reader entry) { names.add_event(entry); });
        if (device >= 0) add_device(plane, device, names);
        each(plane, PlaneField::lines, [&](pbf_reader line) {
            at_ = {.plane = at_.plane, .line = at_.line + 1};
            read_line(line, device, names);
        });
    }

    void add_device(const pbf_reader& plane, std::int64_t device, const Names& names) {
        Stats stats;
        each(plane, PlaneField::stats, [&](pbf_reader stat) { names.add(stats, stat); });
        trace_.header.devices.push_back({.id = device,
                                         .name = std::string(stats.device),
                                         .multiprocessors = stats.multiprocessors,
                                         .memory_bytes = stats.memory_bytes,
                                         .major = stats.major,
                                         .minor = stats.minor});
    }

    static std::string_view name_of(pbf_reader plane) {
        const bool named = plane.next(PlaneField::name, pbf_wire_type::length_delimited);
        return named ? text_of(plane.get_view()) : std::string_view();
    }

    template <class Use>
    static void each(pbf_reader message, std::uint32_t field, const Use& use) {
        while (message.next(field, pbf_wire_type::length_delimited)) use(message.get_message());
    }

    struct LineStart {
        std::int64_t id = 0;
        std::int64_t timestamp_ns = 0;
    };
    static LineStart start_of(pbf_reader line) {
        LineStart start;
        while (line.next()) {
            if (line.tag_and_type() == number(LineField::id)) {
                start.id = line.get_int64();
            } else if (line.tag_and_type() == number(LineField::timestamp_ns)) {
                start.timestamp_ns = std::clamp(line.get_int64(), -farthest_ns, farthest_ns);
            } else {
                line.skip();
            }
        }
        return start;
    }
    void read_line(const pbf_reader& line, std::int64_t device, const Names& names) {
        const LineStart start = start_of(line);
        each(line, LineField::events, [&](pbf_reader event) {
            ++at_.event;
            ++trace_.read.events;
            read_event(event, start, device, names);
        });
        at_.event = -1;
    }

    void read_event(pbf_reader event, const LineStart& line, std::int64_t device,
                    const Names& names) {
        std::int64_t offset_ps = 0;
        std::int64_t duration_ps = 0;
        const EventName* name = nullptr;
        Stats stats;
        while (event.next()) {
            switch (event.tag_and_type()) {
                case number(EventField::metadata_id):
                    name = names.event(event.get_int64());
                    if (name != nullptr) stats = name->stats;
                    break;
                case number(EventField::offset_ps):
                    offset_ps = event.get_int64();
                    break;
                case number(EventField::duration_ps):
                    duration_ps = event.get_int64();
                    break;
                case text(EventField::stats):
                    names.add(stats, event.get_message());
                    break;
                default:
                    event.skip();
            }
        }
        if (name == nullptr) return;
        const std::int64_t start_ns = line.timestamp_ns + offset_ps / ps_in_ns;
        const std::int64_t duration_ns =
            std::clamp<std::int64_t>(duration_ps / ps_in_ns, 0, longest_ns);
        if (device < 0) {  // only launches have a correlation
            builder_.add(Launch{.name = builder_.text(name->name),
                                .thread = line.id,
                                .start_ns = start_ns,
                                .end_ns = start_ns + duration_ns},
                         stats.correlation);
            return;
        }
        kernels_.add({.name = name->name,
                      .module = stats.module,
                      .operation = stats.operation,
                      .details = stats.details,
                      .copied = stats.copied,
                      .device = device,
                      .stream = line.id,
                      .start_ns = start_ns,
                      .duration_ns = duration_ns,
                      .correlation = stats.correlation});
    }

    static constexpr std::int64_t ps_in_ns = 1000;
    static constexpr std::int64_t farthest_ns = 4'000'000'000'000'000'000;  // sums still fit
    static constexpr std::int64_t longest_ns = 100'000'000'000'000;         // more than a day

    Trace& trace_;
    TraceBuilder builder_;
    XlaKernels kernels_;
    Place at_;
};

}  // namespace

bool is_xplane(std::string_view start) {
    // planes[0], its length, and within it a number or a name; no text begins with these.
    constexpr char plane = (SpaceField::planes << 3U) | 2U;
    constexpr char id = PlaneField::id << 3U;
    constexpr char name = (PlaneField::name << 3U) | 2U;
    if (start.empty() || start.front() != plane) return false;
    std::size_t at = 1;
    while (at < start.size() && (static_cast<unsigned char>(start[at]) & 0x80U) != 0) ++at;
    return at + 1 < start.size() && (start[at + 1] == id || start[at + 1] == name);
}

void read_xplane(ByteSource& source, Trace& trace) {
    std::string bytes;
    std::array<char, 1U << 16U> part{};
    while (const std::size_t got = source.read(part.data(), part.size())) {
        bytes.append(part.data(), got);
    }
    trace.recorder = TraceSource::xla;
    XplaneReader(trace).read(bytes);
    if (trace.read.damage.empty()) trace.read.damage = source.failure();
}

}  // namespace ridge::programs
