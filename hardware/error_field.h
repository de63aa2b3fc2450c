// The field that an error is about, for front ends that hand errors on as data.
//
//   catch (const InputError& error) { field_of(error); }   // "rows" of "rows: must be positive"
//
// Method: messages of broken input begin with the field ("seq_q: must be ...", "m is missing"); this
// is the one place that reads it off them.
// Limits: empty where a message is about no single field.
#pragma once

#include <string>

#include "hardware/error.h"

namespace ridge {

[[nodiscard]] std::string field_of(const InputError& error);

}  // namespace ridge
