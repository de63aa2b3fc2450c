// The session inside the program that `ridge profile` runs: it writes an activity file
// (programs/recording/) of everything that the program does on its GPUs.
//
// Method: the CUDA driver loads this library in cuInit (CUDA_INJECTION64_PATH), and NVTX loads it
// at the first range (NVTX_INJECTION64_PATH). CUPTI's activity buffers are written as they
// complete. Our thread requests them every 200 ms; at exit all are flushed, complete or not, and a
// signal that would end the program first makes the thread do the same. A crash or Ctrl-C therefore
// loses nothing; SIGKILL loses at most one period.
//
// The library never throws into the program, never prints and never ends it. Whatever does not work
// becomes a note in the file. It opens the file only in a process that uses CUDA or NVTX. A forked
// child records nothing, because CUDA does not survive a fork.
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
class StallSampler;

/// How far sampling has come. In each step CUPTI sets up something that it takes down at exit.
enum class SamplingStep : std::uint8_t { none, started, decoded };

class Session {
  public:
    /// The session of this process; lives until the process ends.
    static Session& instance();

    /// Opens the file; false if no recording was requested or the file cannot be created.
    [[nodiscard]] bool open();
    /// Subscribes to CUPTI and starts recording.
    void start_cuda();

    [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
    [[nodiscard]] programs::ActivityWriter& writer() { return writer_; }
    [[nodiscard]] const programs::RecordingOptions& options() const { return options_; }
    [[nodiscard]] const Cupti& cupti() const { return *cupti_; }
    [[nodiscard]] std::uint64_t now() const;
    /// Notes what could not be recorded; each text is written once.
    void note(const std::string& text);

    void context_created(CUcontext context);
    void context_ends(CUcontext context);
    void module_loaded(std::span<const char> cubin);
    /// Recording is limited to the time between cudaProfilerStart and cudaProfilerStop.
    void profiler_started();
    void profiler_stopped();

    /// Whether recording was on at this time.
    [[nodiscard]] bool in_window(std::uint64_t time_ns);

    void finish();
    /// Called from a signal handler: makes the thread write everything and waits at most two
    /// seconds.
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
    StallSampler* stalls_ = nullptr;
    std::once_flag opened_;
    std::once_flag started_;
    std::once_flag finished_;
    /// At exit we end before what CUPTI set up until this step.
    SamplingStep ends_before_ = SamplingStep::none;
    std::atomic<bool> recording_ = false;
    std::atomic<bool> enabled_ = false;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> has_context_ = false;  ///< nothing can be sampled before that
    std::atomic<int> urgent_ = 0;            ///< 1: a signal requests a flush, 2: it is done
    int owner_ = 0;                          ///< the process that is recorded
    std::mutex mutex_;
    std::condition_variable wake_;
    std::thread thread_;
    std::string notes_;
    std::mutex windows_mutex_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> windows_;  ///< the last one may be open
};

}  // namespace ridge::measure::cuda
