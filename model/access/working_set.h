// Repeated reads of one working set: by a chain of pointers, where every load waits for the
// previous one, and by all multiprocessors at once.
//
//   const LevelShares shares = levels_of(memory, 1.0 * units::MiB, Readers::one);
//   shares.l1   // 0: a MiB is beyond an L1 ...
//   shares.l2   // 1: ... and far from filling the L2
//
// Method: docs/model.md equations P7 and P8. The share of the set that a level holds decides where
// loads are served. A chase adds up the latencies of the description, a repeated read what each
// level delivers. Limits: the shared memory of a block takes nothing from the L1; address
// translation costs nothing extra.
#pragma once

#include "model/core/operation.h"
#include "model/machine/machine.h"
#include "model/roof/memory_time.h"

namespace ridge::model {

/// Where loads are served once the first walk through the set is over.
struct LevelShares {
    double l1 = 0.0;
    double l2 = 1.0;    ///< share of the L2 in what the L1 does not serve
    double near = 1.0;  ///< share of the near partition in what the L2 serves
};

/// The shares for one multiprocessor (`Readers::one`) or all. (eq. P7)
[[nodiscard]] LevelShares levels_of(const MemoryParameters& memory, Bytes set, Readers readers);

/// Whether the description has the latencies of L1, L2 and DRAM, which a chase needs.
[[nodiscard]] bool has_latencies(const Machine& machine);

/// Time of one thread that follows `bundled::chase_loads` pointers. (eq. P7)
[[nodiscard]] KernelTime chase_time(const Access& op, const Machine& machine, L2State l2);

/// Time of all multiprocessors, which read `bundled::reread_bytes` together. (eq. P8)
struct RereadTime {
    KernelTime kernel{};
    Time l1{};
};
[[nodiscard]] RereadTime reread_time(const Machine& machine, Bytes set, L2State l2);

}  // namespace ridge::model
