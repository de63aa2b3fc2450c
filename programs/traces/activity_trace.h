// Reads the activity files of `ridge profile` (programs/recording/activity_format.h) as a trace:
// one process, or all processes and ranks of a run together.
//
//   if (is_activity_file("run.rank0.77.ridge")) ...
//   const Trace trace = read_activity_files({"run.rank0.77.ridge", "run.rank1.78.ridge"});
//
// GPUs are identified by their UUID, so device 0 of two ranks becomes two devices if it is two
// GPUs. Files of counters (`ridge profile --counters`) add their counters to the kernels of the
// same name, grid and block. NVTX ranges become ranges of the trace; a range that is still open
// when the process ends is closed there. Unknown records are skipped; a damaged file is read up to
// the damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/recording/counted_launches.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

/// Whether a file begins like an activity file; false if it cannot be read.
[[nodiscard]] bool is_activity_file(const std::string& file);

/// The run that an activity file belongs to; 0 if it is not given.
[[nodiscard]] std::uint64_t run_of(const std::string& file);

/// The counters that the files of a run leave uncounted; includes every kernel that was counted at
/// all.
[[nodiscard]] MissingSets missing_sets(const std::vector<std::string>& files);

/// Whether no process launched a kernel twice with the same grid and block, apart from kernels in
/// graphs.
[[nodiscard]] bool launches_once(const std::vector<std::string>& files);

/// Throws InputError if a file cannot be opened or is not an activity file.
[[nodiscard]] Trace read_activity_files(const std::vector<std::string>& files);

}  // namespace ridge::programs
