// The single entry point: an operation, an execution and a machine give a prediction.
//
//   const Machine machine = make_machine(catalogue.at("h100-sxm"));
//   const Outcome outcome = predict(Matmul{...}, {}, machine);
//   if (const auto* p = std::get_if<Prediction>(&outcome)) ... p->time ...
//
// What cannot be modelled (no fp8 rate on sm_80, an implementation that the operation does not
// have) gives a `NotModelled` value with the reason, so that a sweep can go on. The operation must
// be valid (`validate`). A prediction allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/core/unmodelled.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Operation& operation, const Execution& execution,
                              const Machine& machine);

/// The predictions of an operation with a warm L2 cache and with operands in DRAM, whatever
/// `execution` says. The cold prediction needs the warm one, below which it never falls (K3), so
/// both together cost little more than one.
struct WarmAndCold {
    Outcome warm;
    Outcome cold;
};
[[nodiscard]] WarmAndCold predict_warm_and_cold(const Operation& operation, Execution execution,
                                                const Machine& machine);

/// One operation of a sequence, how it is carried out and how often: the layers of a model repeat.
struct Step {
    Operation operation;
    Execution execution;
    std::int64_t count = 1;  ///< at least 1
    std::string name{};      ///< the program's name for it; may be empty
};

/// The half-widths of a sum's band below and above its time. Errors of different operations are
/// independent if they were measured on this GPU; parameters of another GPU, or none, shift all
/// operations the same way, and their widths add up. (R6)
class BandSum {
  public:
    void add(const Prediction& part, double count);
    [[nodiscard]] Time below() const;
    [[nodiscard]] Time above() const;

  private:
    double below_squared_ = 0.0;
    double above_squared_ = 0.0;
    Time below_;
    Time above_;
};

/// Operations carried out one after the other.
using Workload = std::vector<Step>;

/// The outcomes of a sequence of operations, and the sums over those that are modelled, each
/// multiplied by its count.
struct WorkloadPrediction {
    std::vector<Outcome> parts;
    Work work;
    Time time;
    Time low;  ///< of the sum (R6)
    Time high;
    Bytes largest_footprint;
    Grade grade = Grade::measured;  ///< the weakest evidence of the parts
    Unmodelled left_out{};  ///< what the sums do not contain: they are numbers only if it is empty

    [[nodiscard]] bool complete() const { return left_out.empty(); }
};
[[nodiscard]] WorkloadPrediction predict(const Workload& workload, const Machine& machine);

/// Sums outcomes that already exist. `counts` has one entry for each, or is empty if each is
/// carried out once.
[[nodiscard]] WorkloadPrediction add_up(std::vector<Outcome> parts,
                                        std::span<const std::int64_t> counts = {});

}  // namespace ridge::model
