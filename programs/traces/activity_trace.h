// The activity files of `ridge profile` (programs/recording/activity_format.h) as a trace: one process,
// or all processes and ranks of a run as one.
//
//   if (is_activity_file("run.rank0.77.ridge")) ...
//   const Trace trace = read_activity_files({"run.rank0.77.ridge", "run.rank1.78.ridge"});
//
// GPUs are told apart by their UUID, so that device 0 of two ranks is two devices where it is. Files of
// counters (`ridge profile --counters`) add what they counted to the kernels of the same name, grid and
// block. NVTX ranges become ranges of the trace; one that was still open when the process ended ends
// there. Records that this program does not know are skipped; a damaged file is read up to the damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/recording/counted_launches.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

/// Whether a file begins like an activity file; false where it cannot be read.
[[nodiscard]] bool is_activity_file(const std::string& file);

/// The run that an activity file belongs to; 0 where it does not say.
[[nodiscard]] std::uint64_t run_of(const std::string& file);

/// What the files of a run left to count; every kernel that was counted at all is in it.
[[nodiscard]] MissingSets missing_sets(const std::vector<std::string>& files);

/// Whether no process launched a kernel twice with the same grid and block; graphs' kernels aside.
[[nodiscard]] bool launches_once(const std::vector<std::string>& files);

/// InputError where a file cannot be opened or is not an activity file.
[[nodiscard]] Trace read_activity_files(const std::vector<std::string>& files);

}  // namespace ridge::programs
