// Who waited for whom: the ranks of one run beside each other.
//
//   const RankReport report = ranks_of({read_trace("rank0.json.gz"), read_trace("rank1.json.gz")}, &machine);
//   report.collectives[0].late;      // the rank that came last to the collective that cost most waiting
//   report.ranks[1].caused;          // what the others waited for rank 1
//
// Method: a rank is a GPU of a trace. The k-th kernel of a collective on one rank belongs to the k-th
// with the same name, sizes and group on the others. Clocks of different files are aligned by the ends
// of these collectives, because all ranks leave one at about the same time: a file's shift is the
// median of the differences to the first file. From a rank's start to the latest start of the same
// collective the rank waits; what follows is the collective itself.
//
// The recording does not start on all ranks at once: at the first collective, the difference between
// the first kernels of two ranks is not counted as waiting, and a note says how large it is.
//
// A finding weighs what the run would save: for a rank that comes last, the exposed waiting of the
// others, on average; for a collective, what is exposed of it once all ranks have come; for a slow
// link, the time beyond the predicted one.
//
// A rank's time is split into computing (any other kernel, copy or fill runs), communication alone,
// which is exposed, and idle. Exposed communication is waiting or transfer.
//
// Limits: sends and receives are matched by their order too, which holds if all ranks send equally
// often. Collectives that only some ranks recorded are left out, and a note counts them. Two traces
// of different machines need one collective in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

struct RankRow {
    std::string name;  ///< "rank 0"
    std::int64_t device = 0;
    Time computing{};
    Time communication{};  ///< any collective runs, exposed or not
    Time exposed{};        ///< a collective runs and nothing else
    Time waiting{};        ///< the part of `exposed` before the last rank has come
    Time idle{};
    Time host_late{};  ///< the part of `idle` in which the next launch had not been issued
    std::int64_t came_last = 0;  ///< collectives to which it came last
    Time caused{};               ///< what the other ranks waited for it in these
    Time cost{};                 ///< of that, exposed, for each of the others on average
    Time shift{};                ///< of its clock against that of the first rank
};

/// One collective that several ranks took part in.
struct CollectiveRow {
    std::string name;                ///< of the kernel
    std::string what;                ///< "2.1 MB of bf16 over 8 GPUs"; empty: not recorded
    std::int64_t number = 0;         ///< of those with this name and size, from 1
    Time start{};                    ///< of the last rank, since the run began
    Time skew{};                     ///< between the first and the last start
    Time time{};                     ///< from the last start to the last end
    Time waiting{};                  ///< of all ranks together
    Time exposed{};                  ///< of `time`, with no kernel beside it, on average
    std::size_t late = 0;            ///< index of the rank that came last
    std::optional<Bandwidth> bus{};  ///< achieved bus bandwidth over `time`, as nccl-tests counts
    std::optional<Time> predicted{};
    std::optional<Bandwidth> predicted_bus{};
};

/// A part of a rank's time, for a timeline.
enum class RankWork : std::uint8_t { computing, transfer, waiting };
struct RankSpan {
    std::size_t rank = 0;
    RankWork work = RankWork::computing;
    Time from{};  ///< since the run began
    Time to{};
};

struct RankReport {
    Time span{};  ///< from the first start to the last end on any rank
    std::vector<RankRow> ranks;
    std::vector<CollectiveRow> collectives;  ///< by waiting, the largest first
    std::vector<RankSpan> spans;             ///< by rank and start
    Time apart{};  ///< between the first kernels of the first and the last rank
    std::vector<std::string> notes;
};

/// `machine` predicts the collectives; it may be null. InputError when fewer than two ranks have
/// kernels.
[[nodiscard]] RankReport ranks_of(std::span<const Trace> traces, const model::Machine* machine);

/// What was found, most important first: "rank 1 came last to 12 of 16 collectives; the others waited
/// 1.8 ms for it".
[[nodiscard]] std::vector<std::string> findings_of(const RankReport& report);

}  // namespace ridge::programs
