// What a recorded program spent its time on, compared with the predictions of ridge, and what could
// be saved.
//
//   const TraceReport report = report_of(read_trace("trace.json.gz"), machine);
//   report.operators[0].name;       // "aten::mm", the operator that took longest
//   report.operators[0].measured;   // of all its calls with these shapes
//   report.savings[0].saves;        // the largest saving
//
// Method: kernels are attributed to the operator that launched them, or to an operator around it
// that the model understands (the kernels of a fused attention are launched two operators below the
// one that knows whether it is causal). Calls of one name with equal shapes, types and strides form
// one row. A row is predicted once, from its shapes or, if ridge has no such operation, from the
// bytes of its arguments (`Basis::bytes`). Copies and fills of the driver are predicted from their
// bytes.
//
// Shares are of kernel time: `attributed` kernels belong to an operator, `modelled` ones are
// predicted from shapes or bytes.
//
// The time of an operator beyond its limit has three causes: the GPU waited for the launch of its
// kernels (`host_late`, not part of the measured time), it is slower than a good kernel of its kind
// (`slower`), or it is not needed (`avoidable`: a copy, or the part that fusion saves).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/causes/split.h"
#include "model/core/unmodelled.h"
#include "model/machine/machine.h"
#include "programs/aten/operations.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

/// Calls of one operator with the same arguments.
struct OperatorRow {
    std::string name;
    std::string shape;
    std::string kernel;                  ///< the kernel that took longest
    std::array<std::int64_t, 3> grid{};  ///< of that kernel, like the three below
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;
    OperatorFamily family = OperatorFamily::other;
    bool launched = false;  ///< by an operator or a range that represents one, not a bare kernel
    bool driver = false;    ///< a copy or fill of the driver: not a kernel that could be fused
    /// A call streams a good part of the L2 or more, so that its time depends on where its tensors lie.
    bool placed = false;
    Basis basis = Basis::shapes;
    std::int64_t count = 0;    ///< calls
    std::int64_t kernels = 0;  ///< launches of all calls
    Time measured;             ///< of all calls, like the times below
    std::optional<Time> predicted;
    Time low;
    Time high;
    Time lower_bound;
    Time host_late;       ///< the GPU waited for the launches of its kernels
    Time slower;          ///< measured time beyond the prediction
    Time avoidable;       ///< the part that fusion would save, or a copy that changes no value
    std::string bound;    ///< "memory" or "compute"; empty: not predicted
    std::string limiter;  ///< what limits the prediction
    /// The weakest evidence of its operations; `related` at most if their shapes are not known.
    model::Grade evidence = model::Grade::datasheet;
    std::string reason;  ///< why there is no prediction
    /// What the hardware counted for one launch, if it did.
    std::optional<KernelCounters> counters{};
    /// Why one launch of `kernel` takes as long as it does, if it was counted and the GPU's pipes are
    /// known.
    std::optional<kernel::Split> causes{};
    std::vector<model::Step> steps{};    ///< of one call
    Counts counts{};                     ///< of one call: what laws of templates see
    std::string law{};                   ///< the name of such a law
    std::vector<KernelPart> parts{};     ///< of a convolution: its kernels by class
    Time rule{};                         ///< of all calls by the model's own rule; zero: none
    model::WorkloadPrediction answer{};  ///< of one call; without parts if there is no prediction
};

/// Kernels launched within one annotation or module, without those in an inner one.
struct RangeRow {
    std::string name;  ///< empty: in no range
    std::int64_t kernels = 0;
    Time measured;
    Time predicted;                ///< each kernel counts its share of its operator's prediction
    model::Unmodelled left_out{};  ///< kernels that `predicted` lacks
};

enum class SavingKind : std::uint8_t {
    idle,       ///< the host launched late: a graph or fewer launches
    fusion,     ///< neighbouring streaming kernels that could be one
    slower,     ///< slower than a good kernel of its kind
    copies,     ///< copies and casts that change only the layout or the type
    overlap,    ///< communication during which nothing else runs
    precision,  ///< products in 16 bits
    layout,     ///< images with channels last
    attention,  ///< a fused kernel for scores, softmax and values
    batch,      ///< twice the samples in a step, for each of the present batches
    loading,    ///< data that is there in time
    padding     ///< an extent that products like better
};

/// What a saving changes, for a replay of host and GPU: kernels of rows and of calls take other times, calls go.
struct SavedTimes {
    std::vector<std::pair<std::int32_t, double>> rows{};      ///< new time over the present one
    std::vector<std::pair<std::size_t, double>> instances{};  ///< the same of single calls
    std::vector<std::int32_t> rows_gone{};  ///< whose calls the host need not make
    std::vector<std::size_t> instances_gone{};
};

/// A possible saving, with its predicted size.
struct Saving {
    SavingKind kind = SavingKind::idle;
    std::string what;          ///< "9 kernels (neg, cat, mul, ...) as one"
    std::int64_t count = 0;    ///< number of occurrences
    std::int64_t kernels = 0;  ///< per occurrence
    Time now;                  ///< of all occurrences
    Time then;
    bool proven = false;  ///< an execution trace has the data flow that it needs
    SavedTimes times{};
    /// What it saves from the first kernel to the last, of the largest savings.
    std::optional<Time> end_to_end{};
    [[nodiscard]] Time saves() const { return now - then; }
};

struct TraceReport {
    std::string file;
    std::string device;   ///< as named in the trace
    std::string machine;  ///< the GPU of the prediction
    /// Predicted for a GPU other than that of the trace. Savings, errors and utilisation, which
    /// compare the two times, are left out.
    bool elsewhere = false;
    TraceSource recorder = TraceSource::pytorch;
    Timeline timeline;
    double attributed_share = 0.0;
    double modelled_share = 0.0;
    /// Mean of |predicted - measured| over rows, weighted by measured time.
    double weighted_error = 0.0;
    double memory_bound_share = 0.0;
    double achieved_flop_per_s = 0.0;  ///< of products and attention, over the whole span
    double utilisation = 0.0;          ///< the same over the peak of their types (MFU)
    Time predicted{};                  ///< of all operators that are predicted
    model::Unmodelled left_out{};      ///< calls that `predicted` lacks
    /// Products and attention that are not counted in `modelled_flop` and what follows from it.
    std::int64_t uncounted_products = 0;
    double modelled_flop = 0.0;          ///< of products and attention
    std::vector<OperatorRow> operators;  ///< by measured time, the longest first
    std::vector<Saving> savings;         ///< by saved time, the largest first
    std::vector<RangeRow> ranges;        ///< by measured time; empty without annotations
    std::vector<std::int32_t> row_of;    ///< of each kernel of the trace: the index of its operator
    std::string damage;                  ///< where the file is damaged; empty: nowhere
    std::vector<std::string> notes;      ///< what could not be recorded, and why
    std::vector<DeviceSample> samples;   ///< counters of whole GPUs over time
};

/// The GPU that a prediction is for: the GPU that recorded the trace, or another.
enum class Target : std::uint8_t { recorded, other };

[[nodiscard]] TraceReport report_of(const Trace& trace, const model::Machine& machine,
                                    Target target = Target::recorded);

[[nodiscard]] std::string_view name_of(SavingKind kind);

}  // namespace ridge::programs
