// Hardware counters of the program's kernels, from the range profiler, without replaying kernels.
//
// Method: each distinct launch (kernel, grid and block) needs every single-pass set of counters
// (counter_sets.h), N times. CUPTI calls us before each launch. set_turns.h decides which set runs,
// and the launch is counted in place: serialised, but neither saved, restored nor repeated. A
// kernel that is launched at least as often as there are sets is therefore counted in one run of
// the program. For the others, `ridge profile` runs the program again and passes on in `earlier`
// what was counted before. Kernels whose counters show tensor work also need the set of its type.
// When nothing is missing, the program runs freely. If no launch occurs twice, a batch of launches
// is repeated with the missing sets (launch_replay.h, repeated_launches.cpp), on the memory that it
// first used, where possible.
//
// Limits: while a set runs, launches are serialised. Kernels of NCCL and NVSHMEM are not counted,
// because they wait for each other; nor are kernels of a replayed graph or a capture. Times of a
// counted program are meaningless, so no activity is recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/inject/counter_sets.h"
#include "measure/cuda/inject/kernel_arguments.h"
#include "measure/cuda/inject/launch_call.h"
#include "measure/cuda/inject/launch_replay.h"
#include "measure/cuda/inject/session.h"
#include "measure/cuda/inject/set_turns.h"
#include "programs/recording/counted_launches.h"

namespace ridge::measure::cuda {

class LaunchCounters {
  public:
    static LaunchCounters& open(Session& session, CUpti_SubscriberHandle subscriber);

    /// Called for each driver call that launches, captures or replays.
    static void on_call(CUpti_CallbackId id, const CUpti_CallbackData& call);

    void enable(bool on);
    void context_ends(CUcontext context);
    /// Called when a module's binary has been loaded.
    void module_loaded(std::span<const char> cubin);
    /// Reads what was counted; nothing is counted afterwards.
    void finish();
    /// The same from another thread, when no launch is in progress. Nothing is repeated then: a
    /// signal leaves no time for it, and CUPTI does not count instructions while a process ends.
    void read_now();

  private:
    /// One distinct launch.
    struct Launched {
        std::uint32_t shape = 0;
        std::uint32_t missing = 0;
        bool known = false;       ///< whether `missing` is set
        std::uint32_t typed = 0;  ///< sets by type that this launch needs
        bool asked = false;       ///< one of these was counted but not read yet
        std::map<unsigned, std::int64_t> counts{};
        std::vector<KernelValues> seen{};  ///< counters that decide whether to count by type
        std::string name{};
        double argument_bytes = -1.0;  ///< of the memory that its arguments point into
    };

    explicit LaunchCounters(Session& session);

    void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call);
    void before(const LaunchCall& call, const char* name, CUcontext context);
    [[nodiscard]] std::shared_ptr<const CounterSets> sets_on(int device);
    [[nodiscard]] ContextCounter& counter_of(CUcontext context);
    /// One profiler per set if this run counts only one set, because it starts sooner.
    [[nodiscard]] Profilers profilers_of(const CounterSets& sets) const;
    /// The sets that a launch gets next; of the sets by type, only the likeliest.
    [[nodiscard]] static std::uint32_t next_of(std::uint32_t missing, std::string_view name,
                                               const CounterSets& sets);
    [[nodiscard]] std::uint32_t missing_of(Launched& launch, const programs::ShapeActivity& shape,
                                           const CounterSets& sets) const;
    /// Counts the launch with the set that is running.
    void count(Launched& launch, unsigned set, const CounterSets& sets) const;
    enum class Repeats : std::uint8_t { yes, no };
    /// Stops counting and writes what was counted; counts what is still missing by repeating
    /// launches.
    void read(Repeats repeats = Repeats::yes);
    void read_safely(Repeats repeats = Repeats::yes);
    /// Returns false when the profiler saw other launches than we did; these are then not counted.
    bool take(const CounterSets& sets, unsigned set, const std::vector<Launched*>& ranges,
              std::vector<std::vector<double>> rows);
    /// Tracks what a driver call means for the launches that may be repeated.
    void follow(CUpti_CallbackId id, const CUpti_CallbackData& call);
    void listen_to_all_calls(CUpti_SubscriberHandle subscriber);
    void repeat(ContextCounter& counter, const std::vector<Launched*>& batch);
    void keep(const CounterSets& sets, unsigned set, Launched& launch, std::vector<double> values);
    /// Writes the values under their own names.
    void write_metrics(const KernelValues& kernel, const Launched& launch);
    /// Called before code is unloaded.
    void unloading();
    /// Whether code was unloaded so often and so recently that more of it will be.
    [[nodiscard]] bool is_restless() const;
    void give_up(const std::string& why);

    Session* session_;
    std::atomic<bool> enabled_ = false;
    std::atomic<int> capturing_ = 0;
    bool broken_ = false;
    int out_of_step_ = 0;
    std::recursive_mutex launching_;
    int depth_ = 0;  ///< our own driver calls also call us back
    std::future<std::shared_ptr<const CounterSets>> prepared_;
    std::shared_ptr<const CounterSets> sets_;  ///< set once prepared
    programs::MissingSets earlier_;
    std::map<CUcontext, std::unique_ptr<ContextCounter>> contexts_;
    std::map<std::pair<CUcontext, std::uint32_t>, Launched> launches_;
    SetTurns turns_;
    ContextCounter* active_ = nullptr;
    CUcontext active_context_ = nullptr;
    unsigned active_set_ = 0;
    std::vector<Launched*> ranges_;  ///< since the set started; null if the launch was not wanted
    std::vector<Launched*> batch_;   ///< since the set started
    std::optional<LaunchReplay> replay_;
    int unloads_ = 0;
    std::chrono::steady_clock::time_point last_unload_{};
    KernelArguments arguments_;
    std::vector<CallKind> kinds_;  ///< kinds of the driver's calls
};

}  // namespace ridge::measure::cuda
