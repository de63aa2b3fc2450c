// Groups trace files so that the files of one run of `ridge profile` form one trace; and reduces a
// trace to the work within the ranges of one name.
//
//   for (const std::vector<std::string>& files : runs_of({"a.rank0.7.ridge", "a.rank1.8.ridge"})) {
//       Trace trace = read_run(files);
//       keep_range(trace, "step 3");
//   }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "programs/traces/trace.h"

namespace ridge::programs {

/// Activity files of the same run form one group, every other file a group of its own; groups are
/// in the order of their first file.
[[nodiscard]] std::vector<std::vector<std::string>> runs_of(const std::vector<std::string>& files);

[[nodiscard]] Trace read_run(const std::vector<std::string>& files);

/// Keeps the kernels, copies and fills that were launched within a range of this name, or while
/// such a range was open on another thread of the process (PyTorch's backward pass has its own
/// threads). Throws InputError if there is none, with the names of the existing ranges.
void keep_range(Trace& trace, std::string_view name);

}  // namespace ridge::programs
