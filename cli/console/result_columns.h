// The columns that a table of predictions has; a table read back may bring them along.
#pragma once

#include <string>
#include <vector>

namespace ridge::cli {

/// Column names and cells of the result part of a CSV or Markdown row.
[[nodiscard]] const std::vector<std::string>& result_columns();

}  // namespace ridge::cli
