#include "programs/report/replayed_savings.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "model/predict.h"
#include "programs/aten/least_change.h"
#include "programs/report/batch_axis.h"
#include "programs/report/changed_call.h"
#include "programs/report/padding.h"
#include "programs/report/trace_replay.h"

namespace ridge::programs {
namespace {

class Replays {
  public:
    Replays(const Trace& trace, const std::vector<Instance>& instances, const Rows& rows,
            const model::Machine& machine, const TraceReplay& replay)
        : trace_(trace), instances_(instances), rows_(rows), machine_(machine), replay_(replay) {
        now_ = replay_.span_ns(replay_.no_change());
    }

    void add_batch() {
        const auto batch = BatchAxis::find(rows_);
        if (!batch) return;
        std::vector<double> longer(rows_.rows.size(), 1.0);
        for (std::size_t i = 0; i < longer.size(); ++i) longer[i] = times_as_long(*batch, i);
        TraceChange change = with_times(longer);
        change.doubled = loading();
        push(SavingKind::batch,
             "a batch of " + std::to_string(2 * batch->size()) + " instead of " +
                 std::to_string(batch->size()) + ", for each " + std::to_string(batch->size()),
             1, replay_.span_ns(change) / 2);
    }

    /// What the GPU waits for while the host waits for its loader.
    void add_loading() {
        TraceChange change = replay_.no_change();
        change.left_out = loading();
        if (change.left_out.empty()) return;
        push(SavingKind::loading, "the host waits for batches of its DataLoader",
             static_cast<std::int64_t>(change.left_out.size()), replay_.span_ns(change));
    }

    void add_pageable() {
        TraceChange change = replay_.no_change();
        std::int64_t copies = 0;
        std::vector<std::int32_t> waits;
        for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
            const Kernel& kernel = trace_.kernels[i];
            const std::string& name = trace_.text(kernel.name);
            const bool pageable = kernel.kind == ActivityKind::copy && kernel.bytes > 0 &&
                                  name.find("HtoD (Pageable") != std::string::npos;
            if (!pageable || kernel.launch == none || kernel.duration_ns < 1) continue;
            if (copies++ == 0) waits = waits_behind();
            const double pinned = pinned_ns(kernel.bytes);
            change.kernels[i] = std::min(1.0, pinned / static_cast<double>(kernel.duration_ns));
            change.returns[at(kernel.launch)] = true;
            const std::int32_t wait = waits[at(kernel.launch)];
            if (wait != none) change.returns[at(wait)] = true;
        }
        if (copies == 0) return;
        push(SavingKind::loading, "copies from pageable memory (pin_memory, non_blocking)", copies,
             replay_.span_ns(change));
    }

    void add_padding() {
        for (const Padding& padding : paddings_of(rows_, machine_)) {
            push(SavingKind::padding, padding.what, padding.calls,
                 replay_.span_ns(with_times(padding.times)));
        }
    }

    [[nodiscard]] std::vector<Saving> finish() { return std::move(found_); }

  private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

    static bool loads(const std::string& range) {
        return range.starts_with("enumerate(DataLoader)#") && range.ends_with(".__next__");
    }

    /// When the host waits for its loader.
    [[nodiscard]] Intervals loading() const {
        Intervals found;
        for (const Operator& op : trace_.operators) {
            if (op.range && loads(trace_.text(op.name))) found.push_back({op.start_ns, op.end_ns});
        }
        return merged(std::move(found));
    }

    /// The kernels of each row take so many times as long.
    [[nodiscard]] TraceChange with_times(const std::vector<double>& of_rows) const {
        TraceChange change = replay_.no_change();
        for (std::size_t i = 0; i < instances_.size(); ++i) {
            for (const std::int32_t kernel : instances_[i].kernels) {
                change.kernels[at(kernel)] = of_rows[at(rows_.row_of[i])];
            }
        }
        return change;
    }

    [[nodiscard]] double times_as_long(const BatchAxis& batch, std::size_t row) const {
        constexpr double twice = 2.0;
        const OperatorRow& what = rows_.rows[row];
        if (what.kernel.find("HtoD") != std::string::npos ||
            what.kernel.find("MemcpyH2D") != std::string::npos) {
            return twice;
        }
        const std::optional<Call>& doubled = batch.doubled(row);
        if (!doubled) return 1.0;
        const auto ratio = changed_time(what, rows_.understood[row], *doubled, machine_);
        return ratio ? std::max(1.0, *ratio) : twice;
    }

    [[nodiscard]] double pinned_ns(std::int64_t bytes) const {
        const model::Collective op{.kind = model::CollectiveKind::host_to_device,
                                   .gpus = 1,
                                   .bytes = bytes,
                                   .type = model::DataType::int8};
        const model::Outcome outcome = model::predict(op, {}, machine_);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        return prediction == nullptr ? 0.0 : prediction->time.in(units::ns);
    }

    /// Of each call, the next one of its thread, if that waits for a stream.
    [[nodiscard]] std::vector<std::int32_t> waits_behind() const {
        const std::vector<Launch>& launches = trace_.launches;
        std::vector<std::int32_t> order(launches.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&launches](std::int32_t a, std::int32_t b) {
            const Launch& first = launches[at(a)];
            const Launch& second = launches[at(b)];
            return std::pair(first.thread, first.start_ns) <
                   std::pair(second.thread, second.start_ns);
        });
        std::vector<std::int32_t> waits(launches.size(), none);
        for (std::size_t i = 0; i + 1 < order.size(); ++i) {
            const Launch& next = launches[at(order[i + 1])];
            const bool synchronises =
                trace_.text(next.name).find("StreamSynchronize") != std::string::npos;
            if (synchronises && next.thread == launches[at(order[i])].thread) {
                waits[at(order[i])] = order[i + 1];
            }
        }
        return waits;
    }

    void push(SavingKind kind, std::string what, std::int64_t count, std::int64_t then) {
        const auto least = static_cast<std::int64_t>(static_cast<double>(now_) * least_change());
        if (now_ - then <= least) return;
        found_.push_back({.kind = kind,
                          .what = std::move(what),
                          .count = count,
                          .now = programs::time_of(now_),
                          .then = programs::time_of(then)});
    }

    const Trace& trace_;
    const std::vector<Instance>& instances_;
    const Rows& rows_;
    const model::Machine& machine_;
    const TraceReplay& replay_;
    std::int64_t now_ = 0;
    std::vector<Saving> found_;
};

/// What a saving changes of a program.
TraceChange change_of(const Trace& trace, const std::vector<Instance>& instances, const Rows& rows,
                      const TraceReplay& replay, const SavedTimes& times) {
    TraceChange change = replay.no_change();
    std::vector<double> of_rows(rows.rows.size(), 1.0);
    std::vector<bool> gone(rows.rows.size(), false);
    for (const auto& [row, factor] : times.rows) of_rows[static_cast<std::size_t>(row)] = factor;
    for (const std::int32_t row : times.rows_gone) gone[static_cast<std::size_t>(row)] = true;
    const auto leave_out = [&](const Instance& instance) {
        if (instance.op == none) return;
        const Operator& op = trace.operators[static_cast<std::size_t>(instance.op)];
        change.left_out.push_back({op.start_ns, op.end_ns});
    };
    const auto scale = [&change](const Instance& instance, double factor) {
        for (const std::int32_t kernel : instance.kernels) {
            change.kernels[static_cast<std::size_t>(kernel)] = factor;
        }
    };
    for (std::size_t i = 0; i < instances.size(); ++i) {
        const auto row = static_cast<std::size_t>(rows.row_of[i]);
        scale(instances[i], of_rows[row]);
        if (gone[row]) leave_out(instances[i]);
    }
    for (const auto& [place, factor] : times.instances) scale(instances[place], factor);
    for (const std::size_t place : times.instances_gone) leave_out(instances[place]);
    change.left_out = merged(std::move(change.left_out));
    return change;
}

}  // namespace

std::vector<Saving> replayed_savings(const Trace& trace, const std::vector<Instance>& instances,
                                     const Rows& rows, const model::Machine& machine,
                                     const TraceReplay& replay) {
    if (!trace.has_timeline()) return {};
    Replays replays(trace, instances, rows, machine, replay);
    replays.add_batch();
    replays.add_loading();
    replays.add_pageable();
    replays.add_padding();
    return replays.finish();
}

void find_end_to_end(const Trace& trace, const std::vector<Instance>& instances, const Rows& rows,
                     const TraceReplay& replay, std::vector<Saving>& savings) {
    if (!trace.has_timeline()) return;
    constexpr int most = 8;
    const std::int64_t now = replay.span_ns(replay.no_change());
    int replayed = 0;
    for (Saving& saving : savings) {
        const bool changes = !saving.times.rows.empty() || !saving.times.instances.empty();
        if (!changes) {
            saving.end_to_end = saving.saves();  // found on the timeline
        } else if (replayed++ < most) {
            const std::int64_t then =
                replay.span_ns(change_of(trace, instances, rows, replay, saving.times));
            saving.end_to_end = programs::time_of(std::max<std::int64_t>(0, now - then));
        }
    }
}

}  // namespace ridge::programs
