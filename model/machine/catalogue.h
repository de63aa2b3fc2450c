// The catalogue of GPUs whose descriptions include the fields of the model.
//
//   const hardware::Catalogue gpus = model::catalogue();
//   const Machine machine = make_machine(gpus.at("h100-sxm"));
//
// `hardware::Catalogue` alone reads facts about devices. With `schema()` it also reads the section
// `model`, on which the accuracy of predictions depends.
#pragma once

#include "hardware/catalogue.h"
#include "hardware/schema.h"

namespace ridge::model {

/// The schema of facts about devices and of the model's parameters.
[[nodiscard]] const hardware::Schema& schema();

/// The devices that are built into the binary.
[[nodiscard]] hardware::Catalogue catalogue();

}  // namespace ridge::model
