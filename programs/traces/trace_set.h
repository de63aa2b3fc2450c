// Traces in several files, of which those of one run of `ridge profile` belong together; and the part of
// a trace that ran within the ranges of one name.
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

/// Activity files of the same run in one group, every other file in one of its own; in the order of
/// their first.
[[nodiscard]] std::vector<std::vector<std::string>> runs_of(const std::vector<std::string>& files);

[[nodiscard]] Trace read_run(const std::vector<std::string>& files);

/// Leaves the kernels, copies and fills that were launched within a range of this name, or while one was
/// open on another thread of the process, since PyTorch's backward pass has threads of its own.
/// InputError where there is none, with the names that there are.
void keep_range(Trace& trace, std::string_view name);

}  // namespace ridge::programs
