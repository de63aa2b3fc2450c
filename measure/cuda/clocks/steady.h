// Steady work while the energy counter is read: a graph of the operation, replayed without a pause.
//
//   const SteadyRun seen = steady_run(launch, stream, management, {.window = 3.0 * units::s});
//
// Method: a graph holds as many runs as last about 20 ms, at most 200. At least 20 ms of work are
// always queued, so that the GPU never waits for a poll. Between the ends of replays the host polls NVML's counter and notes each step with its
// time; four times a second it reads clocks, temperature and the reasons of a low clock. What
// happened during the warm-up is left out.
//
// Limits: times are the host's, so a replay counts as finished up to 0.2 ms late.
#pragma once

#include "measure/cuda/libraries/nvml.h"
#include "measure/cuda/memory/handles.h"
#include "measure/run/device.h"

namespace ridge::measure::cuda {

[[nodiscard]] SteadyRun steady_run(const Launch& launch, const Stream& stream,
                                   Management& management, const SteadyRequest& request);

/// The steps of the counter while nothing runs.
[[nodiscard]] SteadyRun steady_rest(Management& management, Time window);

}  // namespace ridge::measure::cuda
