// Hardware counters of the program's kernels, by the range profiler, without replaying any.
//
// Method: each distinct launch (kernel, grid and block) needs every set of counters (counter_sets.h) of
// one pass, N times. CUPTI calls us before each launch: set_turns.h says which set runs, and the launch
// is counted where it stands, serialised but neither saved, restored nor repeated. So a kernel that is
// launched as often as there are sets is counted in one run of the program; `ridge profile` runs the
// program again for those that are not, and says in `earlier` what was counted before. Kernels whose
// counters show tensor work need the set of its type as well. When nothing is missing the program
// runs freely. Where no launch comes twice, a batch of launches is repeated with the sets it lacks
// (launch_replay.h, repeated_launches.cpp), on the memory it was first launched on, where that is possible.
//
// Limits: while a set runs, launches are serialised. Kernels of NCCL and NVSHMEM wait for each other
// and are not counted, nor are those of a replayed graph or a capture. Times of a counted program say
// nothing, so no activity is recorded beside.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/inject/counter_sets.h"
#include "measure/cuda/inject/launch_replay.h"
#include "measure/cuda/inject/session.h"
#include "measure/cuda/inject/set_turns.h"
#include "programs/recording/counted_launches.h"

namespace ridge::measure::cuda {

class LaunchCounters {
  public:
    static LaunchCounters& open(Session& session, CUpti_SubscriberHandle subscriber);

    /// A driver's call that launches, captures or replays.
    static void on_call(CUpti_CallbackId id, const CUpti_CallbackData& call);

    void enable(bool on);
    void context_ends(CUcontext context);
    /// A module's binary was loaded.
    void module_loaded(std::span<const char> cubin);
    /// Reads what was counted; after it nothing is counted any more.
    void finish();
    /// The same from another thread, where no launch is under way. Nothing is repeated any more: a signal
    /// leaves no time for it, and while a process ends CUPTI no longer counts instructions.
    void read_now();

  private:
    /// One distinct launch.
    struct Launched {
        std::uint32_t shape = 0;
        std::uint32_t missing = 0;
        bool known = false;       ///< whether `missing` is set
        std::uint32_t typed = 0;  ///< sets by type that were found to be needed
        bool asked = false;       ///< one of these was counted and is not read yet
        std::map<unsigned, std::int64_t> counts{};
        std::vector<KernelValues> seen{};  ///< what says whether it is to be counted by type
        std::string name{};
    };

    explicit LaunchCounters(Session& session);

    void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call);
    void before(const programs::ShapeActivity& shape, const char* name, CUcontext context);
    [[nodiscard]] std::shared_ptr<const CounterSets> sets_on(int device);
    [[nodiscard]] ContextCounter& counter_of(CUcontext context);
    /// One profiler a set where this run counts one set alone, which starts sooner.
    [[nodiscard]] Profilers profilers_of(const CounterSets& sets) const;
    /// The sets that a launch gets next: of those by type the likeliest.
    [[nodiscard]] static std::uint32_t next_of(std::uint32_t missing, std::string_view name,
                                               const CounterSets& sets);
    [[nodiscard]] std::uint32_t missing_of(Launched& launch, const programs::ShapeActivity& shape,
                                           const CounterSets& sets) const;
    /// The launch is counted with the set that runs.
    void count(Launched& launch, unsigned set, const CounterSets& sets) const;
    enum class Repeats : std::uint8_t { yes, no };
    /// Stops counting and writes what was counted, and counts by repeating what is still missing.
    void read(Repeats repeats = Repeats::yes);
    void read_safely(Repeats repeats = Repeats::yes);
    /// False where the profiler saw other launches than we did: they were not counted then.
    bool take(const CounterSets& sets, unsigned set, const std::vector<Launched*>& ranges,
              std::vector<std::vector<double>> rows);
    /// What a call of the driver means for the launches that may be repeated.
    void follow(CUpti_CallbackId id, const CUpti_CallbackData& call);
    void listen_to_all_calls(CUpti_SubscriberHandle subscriber);
    void repeat(ContextCounter& counter, const std::vector<Launched*>& batch);
    void keep(const CounterSets& sets, unsigned set, Launched& launch, std::vector<double> values);
    void give_up(const std::string& why);

    Session* session_;
    std::atomic<bool> enabled_ = false;
    std::atomic<int> capturing_ = 0;
    bool broken_ = false;
    int out_of_step_ = 0;
    std::recursive_mutex launching_;
    int depth_ = 0;  ///< calls of ours to the driver call us back
    std::future<std::shared_ptr<const CounterSets>> prepared_;
    std::shared_ptr<const CounterSets> sets_;  ///< once prepared
    programs::MissingSets earlier_;
    std::map<CUcontext, std::unique_ptr<ContextCounter>> contexts_;
    std::map<std::pair<CUcontext, std::uint32_t>, Launched> launches_;
    SetTurns turns_;
    ContextCounter* active_ = nullptr;
    CUcontext active_context_ = nullptr;
    unsigned active_set_ = 0;
    std::vector<Launched*> ranges_;  ///< since the set started; none where it was not wanted
    std::vector<Launched*> batch_;   ///< since the set started
    std::optional<LaunchReplay> replay_;
    std::vector<CallKind> kinds_;  ///< of the driver's calls
};

}  // namespace ridge::measure::cuda
