// The one entry: an operation, how it is carried out, and a machine give a prediction.
//
//   const Machine machine = make_machine(catalogue.at("h100-sxm"));
//   const Outcome outcome = predict(Matmul{...}, {}, machine);
//   if (const auto* p = std::get_if<Prediction>(&outcome)) ... p->time ...
//
// What cannot be modelled (no fp8 rate on sm_80, an implementation the operation does not have) is
// a `NotModelled` value with the reason, so that a sweep goes on. The operation must be valid
// (`validate`). Nothing is allocated on the way to a prediction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

[[nodiscard]] Outcome predict(const Operation& operation, const Execution& execution,
                              const Machine& machine);

/// An operation with its operands in a warm L2 cache and with those in DRAM, whatever `execution` says: the
/// second asks for the first, below which it never falls (K3), so that both cost little more than one.
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
    std::string name{};      ///< what the program calls it, may be empty
};

/// Operations carried out one after the other.
using Workload = std::vector<Step>;

/// A sequence of operations: each with its outcome, and the sums over those that are modelled, each
/// as often as it is carried out.
struct WorkloadPrediction {
    std::vector<Outcome> parts;
    Work work;
    Time time;
    Time low;  ///< one operation errs alike every time, different ones independently (R6)
    Time high;
    Bytes largest_footprint;
    std::int32_t not_modelled = 0;
};
[[nodiscard]] WorkloadPrediction predict(const Workload& workload, const Machine& machine);

/// The sums over outcomes that are already there; `counts` has one for each, or is empty where each
/// is carried out once.
[[nodiscard]] WorkloadPrediction add_up(std::vector<Outcome> parts,
                                        std::span<const std::int64_t> counts = {});

}  // namespace ridge::model
