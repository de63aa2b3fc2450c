// Energy of operations that run one after the other, and of the idle GPU under and between them.
//
//   EnergySum sum;
//   sum.add(prediction, 32.0);
//   sum.during(wall).energy     // joules of a step that lasts `wall`
//
// Method: what operations take above idle adds up; the GPU takes its idle power all the time. The
// bands add up, since the same coefficients are behind all operations. (eq. EN9)
// Limits: none of the operations runs beside another.
#pragma once

#include "hardware/quantity.h"
#include "model/core/energy_estimate.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// Energy of a step, with its 80 % band.
struct StepEnergy {
    Energy energy;
    Energy low;
    Energy high;
    Power power;  ///< mean
    Time period;  ///< of the step in steady work
};

class EnergySum {
  public:
    /// The prediction must have energy.
    void add(const Prediction& part, double count);

    /// `wall` as predicted for short runs; it lasts longer by as much as the power limit slows its
    /// operations in steady work.
    [[nodiscard]] StepEnergy during(Time wall) const;
    /// The operations' own time.
    [[nodiscard]] Time busy() const { return busy_; }
    [[nodiscard]] bool empty() const { return busy_ <= Time{}; }
    /// The weakest of the operations.
    [[nodiscard]] ChipEvidence evidence() const { return evidence_; }

  private:
    Energy above_idle_;
    Energy under_;  ///< half-widths of the band
    Energy over_;
    Time busy_;
    Time slower_;  ///< of operations that the power limit holds
    Power idle_;
    ChipEvidence evidence_ = ChipEvidence::own;
};

}  // namespace ridge::model
