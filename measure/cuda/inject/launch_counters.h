// Hardware counters of the program's kernels, by the range profiler and kernel replay.
//
// Method: each distinct launch (kernel, grid and block) is counted for its first N times. CUPTI calls us
// as a launch begins and ends: in between the profiler is on with one automatic range, saves what the
// kernel may write, runs it once a pass (4 on GH100) and puts it back. Kernels whose counters show
// mma.sync at work are counted by type on their next launch (6 passes more). All other launches
// run freely.
//
// Limits: launches are serialised, one at a time in the whole process. Kernels of NCCL and NVSHMEM wait
// for each other and are not counted, nor are those of a replayed graph. Times of a counted program
// say nothing, so no activity is recorded beside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "measure/cuda/counters/counters.h"
#include "measure/cuda/counters/range_profiler.h"
#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {

class LaunchCounters {
  public:
    static LaunchCounters& open(Session& session, CUpti_SubscriberHandle subscriber);

    static void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call);

    void enable(bool on) { enabled_ = on; }
    /// Writes what still waits for its counters by type.
    void finish();

  private:
    /// One context with its profiler, and the plans that fit its GPU.
    struct Counted {
        ProfiledChip chip;
        ProfilePlan plan;
        ProfilePlan types;
        std::unique_ptr<RangeProfiler> profiler;
        std::unique_ptr<HostProfiler> host;
    };
    struct Launched {
        std::int64_t counted = 0;
        bool wants_types = false;
        std::optional<std::vector<double>>
            waiting{};  ///< values whose tensor work is not known yet
        std::optional<std::vector<double>> types{};
    };

    explicit LaunchCounters(Session& session) : session_(&session) {}

    void begin(const programs::ShapeActivity& shape, CUcontext context);
    void end();
    [[nodiscard]] Counted* counted(CUcontext context);
    void start(Counted& counted, const ProfilePlan& plan);
    void keep(const Counted& counted, const ProfilePlan& plan, std::vector<double> values);
    void write(const Counted& counted, std::uint32_t shape, const std::vector<double>& values,
               const std::optional<std::vector<double>>& types);
    /// What broke once does not start again.
    void give_up(const std::string& why);

    Session* session_;
    std::atomic<bool> enabled_ = false;
    bool broken_ = false;
    std::recursive_mutex launching_;
    std::map<CUcontext, std::unique_ptr<Counted>> contexts_;
    std::map<std::pair<CUcontext, std::uint32_t>, Launched> launches_;
    Counted* active_ = nullptr;
    const ProfilePlan* active_plan_ = nullptr;
    Launched* active_launch_ = nullptr;
    std::uint32_t active_shape_ = 0;
    std::vector<std::uint8_t> data_;
};

}  // namespace ridge::measure::cuda
