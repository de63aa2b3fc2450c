// JSON that a command writes as its whole answer. An object says which schema it follows:
//
//   write_document(context.out, "occupancy", json);     // {"schema": "ridge/occupancy/1", ...
//
// The number grows when a member goes or changes its meaning; new members leave it as it is. Lists
// carry none. docs/json.md lists the schemas, with what changed in each.
#pragma once

#include <iosfwd>
#include <string_view>

#include "hardware/json.h"

namespace ridge::cli {

/// Writes the answer, indented by two, with a newline. `kind` is a row of docs/json.md.
void write_document(std::ostream& out, std::string_view kind, const Json& json);

}  // namespace ridge::cli
