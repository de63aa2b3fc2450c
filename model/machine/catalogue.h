// The catalogue of GPUs whose descriptions hold the fields of the model.
//
//   const hardware::Catalogue gpus = model::catalogue();
//   const Machine machine = make_machine(gpus.at("h100-sxm"));
//
// `hardware::Catalogue` reads facts about devices by itself; with `schema()` it also reads the
// section `model`, on which the accuracy of predictions rests.
#pragma once

#include "hardware/catalogue.h"
#include "hardware/schema.h"

namespace ridge::model {

/// The facts about devices and the parameters of the model.
[[nodiscard]] const hardware::Schema& schema();

/// The devices in the binary.
[[nodiscard]] hardware::Catalogue catalogue();

}  // namespace ridge::model
