// Measured rows as samples of a residual correction: the features of a shape and the residual that the
// analytic model leaves. (docs/model.md K1, K4)
//
//   AnalyticMachines machines(request);
//   const std::vector<MeasuredRow> rows = residual_rows(request);
//   for (const auto& [residual_class, samples] : residual_samples(rows, machines))
//       boosted_trees(problem_of(samples, gpus_of(samples)), {});
//
// The residual is ln(measured / predicted), limited to a multiple of the class's largest correction.
// Samples point into the rows. Shapes that a library treats alike (the same n and k, the same batch and
// heads, the same expert) are one family.
//
// Blocks, waves and the last rows of classes that rest on records are not for trees, except those of
// products: among so few rows they tell single shapes apart, and neighbours of a measured shape would jump.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "measure/fit/boosted_trees.h"
#include "measure/fit/fit.h"
#include "model/machine/machine.h"
#include "model/machine/residual_parameters.h"
#include "model/residual/features.h"

namespace ridge::measure {

/// Machines without corrections, by GPU.
class AnalyticMachines {
  public:
    explicit AnalyticMachines(const FitRequest& request) : request_(request) {}

    const model::Machine& at(const std::string& gpu);

  private:
    const FitRequest& request_;
    std::map<std::string, model::Machine> machines_;
};

/// A row and the inputs of its regression.
struct FitSample {
    const MeasuredRow* row;
    model::Implementation implementation;
    model::ResidualFeatures features;
    double residual = 0.0;
    std::uint64_t family = 0;  ///< hash of it
    bool held_out = false;     ///< of the third that judges a correction
};
using FitSamples = std::vector<FitSample>;

/// The rows of the requested GPUs, of tables and records.
[[nodiscard]] std::vector<MeasuredRow> residual_rows(const FitRequest& request);

/// The samples of each class. Calls of bundled kernels in a stream are left out: how long a host takes to
/// launch is not a property of the kernel. InputError when a row's time is not a number.
[[nodiscard]] std::map<model::ResidualClass, FitSamples> residual_samples(
    const std::vector<MeasuredRow>& rows, AnalyticMachines& machines);

[[nodiscard]] FitSamples part_of(const FitSamples& samples,
                                 const std::function<bool(const FitSample&)>& wanted);

/// Their names, sorted.
[[nodiscard]] std::vector<std::string> gpus_of(const FitSamples& samples);

/// The samples as a problem in which each GPU is a part.
[[nodiscard]] TreeProblem problem_of(const FitSamples& samples,
                                     const std::vector<std::string>& gpus);

}  // namespace ridge::measure
