// The result columns of a table of predictions. A table that is read back may have them too.
#pragma once

#include <string>
#include <vector>

namespace ridge::cli {

/// Column names and cells of the result part of a CSV or Markdown row.
[[nodiscard]] const std::vector<std::string>& result_columns();

}  // namespace ridge::cli
