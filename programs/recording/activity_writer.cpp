#include "programs/recording/activity_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ridge::programs {
namespace {

// Records are buffered up to this many bytes, or until the next `flush`.
constexpr std::size_t full = std::size_t{1} << 16U;
constexpr std::size_t head_bytes = 4;

/// Prints each field as "name:u32".
class FieldPrinter {
  public:
    template <class Value>
    FieldPrinter& operator()(const char* name, const Value& /*value*/) {
        text += std::string(" ") + name + ':' + type_of<Value>();
        return *this;
    }
    std::string text;

  private:
    template <class Value>
    static const char* type_of() {
        if constexpr (std::is_same_v<Value, std::string_view>) return "text";
        if constexpr (std::is_same_v<Value, double>) return "f64";
        if constexpr (std::is_same_v<Value, std::int32_t>) return "i32";
        return sizeof(Value) == 8 ? "u64" : "u32";
    }
};

template <class Value>
std::string line_of(ActivityTag tag, const char* name) {
    Value value;
    FieldPrinter printer;
    describe(printer, value);
    return std::to_string(static_cast<int>(tag)) + ' ' + name + printer.text + '\n';
}

}  // namespace

std::string activity_schema() {
    using enum ActivityTag;
    return line_of<ProcessActivity>(process, "process") + line_of<NoteActivity>(text, "text") +
           line_of<DeviceActivity>(device, "device") + line_of<ShapeActivity>(shape, "shape") +
           line_of<KernelActivity>(kernel, "kernel") + line_of<TransferActivity>(copy, "copy") +
           line_of<TransferActivity>(fill, "fill") + line_of<CallActivity>(call, "call") +
           line_of<PushActivity>(push, "push") + line_of<PopActivity>(pop, "pop") +
           line_of<StartActivity>(start, "start") + line_of<StopActivity>(stop, "stop") +
           line_of<LostActivity>(lost, "lost") + line_of<NoteActivity>(note, "note") +
           line_of<CounterActivity>(counters, "counters") +
           line_of<SampleActivity>(sample, "sample") + line_of<FinishActivity>(finish, "finish") +
           line_of<MetricActivity>(metrics, "metrics") + line_of<StallActivity>(stalls, "stalls");
}

ActivityWriter::~ActivityWriter() {
    flush();
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool ActivityWriter::open(const std::string& path) {
    const std::lock_guard lock(mutex_);
    constexpr mode_t readable = 0644;
    descriptor_ =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, readable);
    if (descriptor_ < 0) return false;
    bytes_.reserve(2 * full);
    bytes_.append(activity_magic);
    const std::string schema = activity_schema();
    NoteActivity first{.text = schema};
    append_locked(ActivityTag::schema, first);
    flush_locked();
    return failure_ == 0;
}

template <class Value>
void ActivityWriter::append_locked(ActivityTag tag, Value& value) {
    if (descriptor_ < 0 || failure_ != 0) return;
    const std::size_t place = bytes_.size();
    bytes_.append(head_bytes, '\0');
    FieldWriter writer(bytes_);
    describe(writer, value);
    const std::size_t payload = bytes_.size() - place - head_bytes;
    if (payload > longest_payload) {
        bytes_.resize(place);
        return;
    }
    const auto head = static_cast<std::uint32_t>(tag) | static_cast<std::uint32_t>(payload) << 8U;
    std::memcpy(bytes_.data() + place, &head, sizeof head);
    if (bytes_.size() >= full) flush_locked();
}

template void ActivityWriter::append_locked(ActivityTag, ProcessActivity&);
template void ActivityWriter::append_locked(ActivityTag, DeviceActivity&);
template void ActivityWriter::append_locked(ActivityTag, KernelActivity&);
template void ActivityWriter::append_locked(ActivityTag, TransferActivity&);
template void ActivityWriter::append_locked(ActivityTag, CallActivity&);
template void ActivityWriter::append_locked(ActivityTag, PushActivity&);
template void ActivityWriter::append_locked(ActivityTag, PopActivity&);
template void ActivityWriter::append_locked(ActivityTag, StartActivity&);
template void ActivityWriter::append_locked(ActivityTag, StopActivity&);
template void ActivityWriter::append_locked(ActivityTag, LostActivity&);
template void ActivityWriter::append_locked(ActivityTag, NoteActivity&);
template void ActivityWriter::append_locked(ActivityTag, CounterActivity&);
template void ActivityWriter::append_locked(ActivityTag, MetricActivity&);
template void ActivityWriter::append_locked(ActivityTag, SampleActivity&);
template void ActivityWriter::append_locked(ActivityTag, StallActivity&);
template void ActivityWriter::append_locked(ActivityTag, FinishActivity&);

std::uint32_t ActivityWriter::text(std::string_view text) {
    if (text.empty()) return 0;
    const std::lock_guard lock(mutex_);
    const auto [place, added] =
        texts_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size() + 1));
    if (added) {
        NoteActivity value{.text = text.substr(0, longest_payload)};
        append_locked(ActivityTag::text, value);
    }
    return place->second;
}

std::uint32_t ActivityWriter::shape(const ShapeActivity& shape) {
    const std::lock_guard lock(mutex_);
    const auto [place, added] =
        shapes_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
    if (added) {
        ShapeActivity value = shape;
        append_locked(ActivityTag::shape, value);
    }
    return place->second;
}

void ActivityWriter::flush() {
    const std::lock_guard lock(mutex_);
    flush_locked();
}

void ActivityWriter::flush_locked() {
    std::size_t done = 0;
    while (descriptor_ >= 0 && failure_ == 0 && done < bytes_.size()) {
        const ssize_t written = ::write(descriptor_, bytes_.data() + done, bytes_.size() - done);
        if (written > 0) {
            done += static_cast<std::size_t>(written);
        } else if (written < 0 && errno != EINTR) {
            failure_ = errno;
        }
    }
    bytes_.clear();
}

}  // namespace ridge::programs
