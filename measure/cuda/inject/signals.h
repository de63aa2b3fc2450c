// Handles signals that would end the program: writes what was recorded before the signal takes
// effect.
#pragma once

namespace ridge::measure::cuda {

/// Installs handlers for those signals that the program leaves at their default. A handler that the
/// program sets later replaces ours.
void catch_fatal_signals();

}  // namespace ridge::measure::cuda
