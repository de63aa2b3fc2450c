// What a recorded program spent its time on, beside what ridge predicts for it, and what could be
// saved.
//
//   const TraceReport report = report_of(read_trace("trace.json.gz"), machine);
//   report.operators[0].name;       // "aten::mm", the one that took longest
//   report.operators[0].measured;   // of all its calls with these shapes
//   report.savings[0].saves;        // the largest saving
//
// Method: kernels are given to the operator that launched them, or to the operator around it that
// the model understands (a fused attention's kernels are launched two operators below the one that
// knows whether it is causal). Calls of one name with equal shapes, types and strides are one row.
// A row is predicted once, by its shapes or, where ridge has no such operation, by the bytes of its
// arguments (`Basis::bytes`). Copies and fills of the driver are predicted by their bytes.
//
// Shares are of kernel time: `attributed` is tied to an operator, `modelled` is predicted from shapes
// or bytes.
//
// What an operator takes beyond its limit is told apart three ways: the GPU waited for the launch of
// its kernels (`host_late`, not part of the measured time), it is slower than a good kernel of its
// kind (`slower`), or it need not be done (`needless`: what its fusion saves, or a copy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "programs/aten/operations.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

/// Calls of one operator with the same arguments.
struct OperatorRow {
    std::string name;
    std::string shape;
    std::string kernel;  ///< the one that took longest
    OperatorFamily family = OperatorFamily::other;
    bool launched = false;  ///< by an operator or a range that stands for one, not a bare kernel
    bool driver = false;    ///< a copy or fill of the driver: no kernel that could be fused
    Basis basis = Basis::shapes;
    std::int64_t count = 0;    ///< calls
    std::int64_t kernels = 0;  ///< launches of all calls
    Time measured;             ///< of all calls, as are the following
    std::optional<Time> predicted;
    Time low;
    Time high;
    Time lower_bound;
    Time host_late;       ///< the GPU waited for the launches of its kernels
    Time slower;          ///< measured beyond the prediction
    Time needless;        ///< what a fusion saves of it, or a copy that changes no value
    std::string bound;    ///< "memory" or "compute"; empty: not predicted
    std::string limiter;  ///< what limits the prediction
    std::string reason;   ///< why there is no prediction
    /// What the hardware counted of one launch, where it did.
    std::optional<KernelCounters> counters{};
    std::vector<model::Step> steps{};  ///< of one call
    model::WorkloadPrediction
        answer{};  ///< of one call; without parts where there is no prediction
};

/// Kernels launched within one annotation or module, those within an inner one aside.
struct RangeRow {
    std::string name;  ///< empty: within none
    std::int64_t kernels = 0;
    Time measured;
    Time predicted;  ///< of the operators that are; each kernel has its share of its operator's
};

enum class SavingKind : std::uint8_t {
    idle,    ///< the host launched late: a graph or fewer launches
    fusion,  ///< neighbouring streaming kernels that could be one
    slower,  ///< slower than a good kernel of its kind
    copies,  ///< copies and casts that change nothing but the layout or the type
    overlap  ///< communication during which nothing else runs
};

/// What could be saved, with the prediction of how much.
struct Saving {
    SavingKind kind = SavingKind::idle;
    std::string what;          ///< "9 kernels (neg, cat, mul, ...) as one"
    std::int64_t count = 0;    ///< how often it occurs
    std::int64_t kernels = 0;  ///< of one occurrence
    Time now;                  ///< of all occurrences
    Time then;
    [[nodiscard]] Time saves() const { return now - then; }
};

struct TraceReport {
    std::string file;
    std::string device;   ///< as the trace names it
    std::string machine;  ///< the GPU of the prediction
    /// Predicted for another GPU than the trace's: savings, errors and utilisation, which set one
    /// against the other, are left out.
    bool elsewhere = false;
    TraceSource recorder = TraceSource::pytorch;
    Timeline timeline;
    double attributed_share = 0.0;
    double modelled_share = 0.0;
    /// Mean of |predicted - measured| over rows, weighted by measured time.
    double weighted_error = 0.0;
    double memory_bound_share = 0.0;
    double achieved_flop_per_s = 0.0;    ///< of products and attention, over the whole span
    double utilisation = 0.0;            ///< the same over the peak of their types (MFU)
    Time predicted{};                    ///< of all operators that are
    double modelled_flop = 0.0;          ///< of products and attention
    std::vector<OperatorRow> operators;  ///< by measured time, the longest first
    std::vector<Saving> savings;         ///< by what they save
    std::vector<RangeRow> ranges;        ///< by measured time; empty where nothing is annotated
    std::vector<std::int32_t> row_of;    ///< of each kernel of the trace: its operator's place
    std::string damage;                  ///< where the file broke; empty: nowhere
    std::vector<std::string> notes;      ///< what could not be recorded, and why
    std::vector<DeviceSample> samples;   ///< counters of whole GPUs over time
};

/// The GPU that a prediction is for: the one that the trace was recorded on, or another.
enum class Target : std::uint8_t { recorded, other };

[[nodiscard]] TraceReport report_of(const Trace& trace, const model::Machine& machine,
                                    Target target = Target::recorded);

[[nodiscard]] std::string_view name_of(SavingKind kind);

}  // namespace ridge::programs
