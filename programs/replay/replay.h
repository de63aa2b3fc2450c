// A step of one GPU, replayed: its host, its kernels and its communication beside each other.
//
//   std::vector<LaneTask> launches{{.work = 100.0 * us, .host = 5.0 * us},
//                                {.work = 80.0 * us, .host = 5.0 * us, .lane = Lane::communication, .after = 0},
//                                {.work = 100.0 * us, .host = 5.0 * us}};
//   const Replayed step = replay(launches, {.gap = 4.0 * us});
//   step.wall, step.exposed   // communication with nothing beside it
//
// Method (W19 of docs/models.md): the host dispatches launches in their order. A launch begins when it has
// been dispatched, its lane is free (for kernels a gap later) and the launch that it waits for has ended.
// Communication that becomes ready while a kernel runs begins when that kernel has ended, because the
// kernel's blocks wait for multiprocessors ahead of it. While both lanes work, communication holds
// `taken` of the multiprocessors: kernels beside it run at 1 - taken of their speed, and it takes
// `stretch` of the kernel beside it times as long.
//
// Limits: two lanes. A launch waits for one launch at most, besides its lane; that one must come before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::programs {

enum class Lane : std::uint8_t { kernels, communication };

struct LaneTask {
    Time work{};  ///< on the GPU, alone
    Time host{};  ///< of its dispatch, with what the host does before
    Lane lane = Lane::kernels;
    std::int32_t after = -1;  ///< index of a launch that must have ended; -1: none
    double taken = 0.0;       ///< of communication: share of the multiprocessors that it holds
    double stretch = 1.0;     ///< of a kernel: time of communication beside it, over that alone
};

struct ReplayOptions {
    Time gap{};  ///< between two kernels
};

/// When a launch ran.
struct Ran {
    Time from{};
    Time to{};
};

struct Replayed {
    Time wall{};           ///< until host and GPU are done
    Time host{};           ///< of dispatch alone
    Time kernels{};        ///< during which a kernel ran
    Time communication{};  ///< during which communication ran
    Time exposed{};        ///< communication without a kernel beside it
    std::vector<Ran> ran;  ///< of each launch
};

[[nodiscard]] Replayed replay(std::span<const LaneTask> launches, const ReplayOptions& options);

}  // namespace ridge::programs
