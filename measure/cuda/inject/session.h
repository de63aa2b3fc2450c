// What the library that `ridge profile` has a program load does in that program: it keeps an activity
// file (programs/recording/) of everything the program does on its GPUs.
//
// Method: the CUDA driver loads the library in cuInit (CUDA_INJECTION64_PATH) and NVTX at the first
// range (NVTX_INJECTION64_PATH). CUPTI's activity buffers are written as they complete; a thread of
// ours asks for them every 200 ms, at exit they are forced out, and a signal that would end the program
// first has that thread do the same. So a crash or Ctrl-C loses nothing, SIGKILL at most what was
// younger than a period.
//
// The library never throws into the program, never prints and never ends it: what does not work is
// a note in the file. It opens the file only in a process that uses CUDA or NVTX; a forked child keeps
// silent, since CUDA does not survive a fork.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "measure/cuda/libraries/cupti.h"
#include "programs/recording/activity_writer.h"
#include "programs/recording/recording_options.h"

namespace ridge::measure::cuda {

class LaunchCounters;
class Sampler;

/// How far sampling has come; each step makes CUPTI set up something that it takes down at exit.
enum class SamplingStep : std::uint8_t { none, started, decoded };

class Session {
  public:
    /// The one of this process; lives until the process ends.
    static Session& instance();

    /// Opens the file; false where nothing was asked for or the file cannot be made.
    [[nodiscard]] bool open();
    /// Subscribes to CUPTI and starts recording.
    void start_cuda();

    [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
    [[nodiscard]] programs::ActivityWriter& writer() { return writer_; }
    [[nodiscard]] const programs::RecordingOptions& options() const { return options_; }
    [[nodiscard]] const Cupti& cupti() const { return *cupti_; }
    [[nodiscard]] std::uint64_t now() const;
    /// What could not be recorded; each text once.
    void note(const std::string& text);

    void context_created() { has_context_ = true; }
    void context_ends(CUcontext context);
    void module_loaded(std::span<const char> cubin);
    /// Between cudaProfilerStart and cudaProfilerStop.
    void profiler_started();
    void profiler_stopped();

    /// Whether a time lies where recording was on.
    [[nodiscard]] bool in_window(std::uint64_t time_ns);

    void finish();
    /// From a signal handler: has the thread write everything and waits for it, two seconds at most.
    void write_before_signal();

  private:
    Session() = default;

    [[nodiscard]] bool create_file();
    [[nodiscard]] bool subscribe();
    void enable(bool on);
    void enable_calls();
    void watch();
    void write_out(bool forced);

    programs::RecordingOptions options_;
    programs::ActivityWriter writer_;
    const Cupti* cupti_ = nullptr;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    LaunchCounters* counters_ = nullptr;
    Sampler* sampler_ = nullptr;
    std::once_flag opened_;
    std::once_flag started_;
    std::once_flag finished_;
    /// At exit we end before what CUPTI made up to this step.
    SamplingStep ends_before_ = SamplingStep::none;
    std::atomic<bool> recording_ = false;
    std::atomic<bool> enabled_ = false;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> has_context_ = false;  ///< nothing can be sampled before
    std::atomic<int> urgent_ = 0;            ///< 1: a signal asks for everything, 2: it is written
    int owner_ = 0;                          ///< the process that this is about
    std::mutex mutex_;
    std::condition_variable wake_;
    std::thread thread_;
    std::string notes_;
    std::mutex windows_mutex_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> windows_;  ///< the last may be open
};

}  // namespace ridge::measure::cuda
