// The kernels behind each microbenchmark, and how its samples are taken.
//
// Method: a request becomes a `Bench`: one or more launches that do the same amount of work in
// different ways (a short trial finds the fastest, because a ceiling is a best case), the amount,
// and how to sample it. Sustained: the launch repeats for 1.5 s before the samples. Burst: a pause
// before each sample lets the power limit recover.
//
//   const Bench bench = make_bench(request, context);
//
// Limits: sizes are rounded down to what the kernels support; the amount says what really moved.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "measure/cuda/clocks/timing.h"
#include "measure/cuda/plans/plan.h"
#include "measure/run/device.h"

namespace ridge::measure::cuda {

enum class Sampling {
    timed,   ///< the stopwatch times the launch
    kernel,  ///< kernel durations from activity records
    own      ///< `take` returns one sample
};

struct Bench {
    std::vector<Launch> candidates{};
    double amount = 0.0;
    Sampling sampling = Sampling::timed;
    model::L2State l2 = model::L2State::warm;
    model::LaunchMode launch = model::LaunchMode::kernel;
    bool rests = false;              ///< pauses before each burst sample
    std::function<Sample()> take{};  ///< for Sampling::own
    Launch shown{};                  ///< its kernel is reported instead of the candidate's, if set
    std::vector<Buffer> buffers{};
};

/// Throws Refusal or std::invalid_argument for what the kernels do not support.
[[nodiscard]] Bench make_bench(const MicrobenchmarkRequest& request, const Context& context);

/// Benchmarks of arithmetic, caches and launches; the others are in microbenchmark.cpp.
[[nodiscard]] Bench make_chip_bench(const MicrobenchmarkRequest& request, const Context& context);

[[nodiscard]] MicrobenchmarkResult run_bench(const MicrobenchmarkRequest& request,
                                             const Bench& bench, Stopwatch& watch,
                                             ActivityTracer* tracer);

}  // namespace ridge::measure::cuda
