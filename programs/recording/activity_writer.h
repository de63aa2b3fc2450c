// Writes an activity file while a process runs; see activity_format.h.
//
//   ActivityWriter writer;
//   if (!writer.open("run.1234.ridge")) return;         // errno says why
//   writer.write(ProcessActivity{.pid = 1234});
//   const std::uint32_t shape = writer.shape({.name = writer.text("_Z4copyPf"), .grid_x = 132});
//   writer.write(KernelActivity{.start_ns = 5, .duration_ns = 700, .shape = shape});
//   writer.flush();                                     // a kill after this loses nothing
//
// Every call is safe from any thread. Flushed data is in the hands of the operating system and
// survives however the process ends. If a write fails (a full disk), the file ends with a whole
// record, and `failure` gives the error.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "programs/recording/activity_format.h"

namespace ridge::programs {

class ActivityWriter {
  public:
    ActivityWriter() = default;
    ActivityWriter(const ActivityWriter&) = delete;
    ActivityWriter& operator=(const ActivityWriter&) = delete;
    ~ActivityWriter();

    /// Creates the file, which must not exist yet, and writes its first records.
    [[nodiscard]] bool open(const std::string& path);
    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

    /// The number of a text; writes the text if it is new.
    [[nodiscard]] std::uint32_t text(std::string_view text);
    [[nodiscard]] std::uint32_t shape(const ShapeActivity& shape);

    void write(ProcessActivity value) { append(ActivityTag::process, value); }
    void write(DeviceActivity value) { append(ActivityTag::device, value); }
    void write(KernelActivity value) { append(ActivityTag::kernel, value); }
    void copy(TransferActivity value) { append(ActivityTag::copy, value); }
    void fill(TransferActivity value) { append(ActivityTag::fill, value); }
    void write(CallActivity value) { append(ActivityTag::call, value); }
    void write(PushActivity value) { append(ActivityTag::push, value); }
    void write(PopActivity value) { append(ActivityTag::pop, value); }
    void write(StartActivity value) { append(ActivityTag::start, value); }
    void write(StopActivity value) { append(ActivityTag::stop, value); }
    void write(LostActivity value) { append(ActivityTag::lost, value); }
    void write(NoteActivity value) { append(ActivityTag::note, value); }
    void write(CounterActivity value) { append(ActivityTag::counters, value); }
    void write(MetricActivity value) { append(ActivityTag::metrics, value); }
    void write(StallActivity value) { append(ActivityTag::stalls, value); }
    void write(SampleActivity value) { append(ActivityTag::sample, value); }
    void write(FinishActivity value) { append(ActivityTag::finish, value); }

    void flush();

    /// errno of the write that failed; 0: none failed.
    [[nodiscard]] int failure() const { return failure_; }

  private:
    template <class Value>
    void append(ActivityTag tag, Value& value) {
        const std::lock_guard lock(mutex_);
        append_locked(tag, value);
    }
    template <class Value>
    void append_locked(ActivityTag tag, Value& value);
    void flush_locked();

    std::mutex mutex_;
    int descriptor_ = -1;
    int failure_ = 0;
    std::string bytes_;
    std::unordered_map<std::string, std::uint32_t> texts_;
    std::map<ShapeActivity, std::uint32_t> shapes_;
};

}  // namespace ridge::programs
