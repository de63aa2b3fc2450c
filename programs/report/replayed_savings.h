// Savings that only a replay of host and GPU can tell: a larger batch, data that is there in time, copies that do not hold
// the host.
//
//   const TraceReplay replay(trace);
//   for (const Saving& saving : replayed_savings(trace, instances, rows, machine, replay)) saving.saves();
//   find_end_to_end(trace, instances, rows, replay, savings);   // of those that others found by kernels
//
// Method (docs/model.md S15, S16). `now` and `then` are from the first kernel to the last. A batch of twice the size takes the
// host the same time, and each kernel the ratio of its call's two predictions, but no less than now; `then` is half of that
// span, for as many samples. Data loading leaves out the host's time in the ranges that PyTorch's DataLoader records around
// `__next__`. Copies from pageable memory take their predicted time from pinned memory, and neither they nor the
// synchronisation behind them hold the host.
//
// The eight largest of the other savings are replayed with what they change: kernels take other times, and calls that a
// fusion or a layout makes superfluous take no time of the host.
//
// Limits: whether a larger batch fits into memory, or loading can be hidden, is not asked. Calls that depend on the batch and
// have no prediction count twice.
#pragma once

#include <vector>

#include "programs/report/operator_rows.h"
#include "programs/report/trace_replay.h"

namespace ridge::programs {

[[nodiscard]] std::vector<Saving> replayed_savings(const Trace& trace,
                                                   const std::vector<Instance>& instances,
                                                   const Rows& rows, const model::Machine& machine,
                                                   const TraceReplay& replay);

/// Says what the first of these savings save from the first kernel to the last.
void find_end_to_end(const Trace& trace, const std::vector<Instance>& instances, const Rows& rows,
                     const TraceReplay& replay, std::vector<Saving>& savings);

}  // namespace ridge::programs
