// The choice of a library of collectives as JSON, in records and between the ranks' processes.
#pragma once

#include "hardware/json.h"
#include "measure/record/observation.h"

namespace ridge::measure {

[[nodiscard]] Json json_of(const CollectiveChoice& choice);

/// InputError when a member is missing or has another type.
[[nodiscard]] CollectiveChoice choice_in(const Json& json);

}  // namespace ridge::measure
