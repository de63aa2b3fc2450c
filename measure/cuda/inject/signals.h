// Signals that would end the program: what was recorded is written before the
// signal takes effect.
#pragma once

namespace ridge::measure::cuda {

/// For those signals that the program leaves at their default; a handler that the program sets later
/// replaces ours.
void catch_fatal_signals();

}  // namespace ridge::measure::cuda
