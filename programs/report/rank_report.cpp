#include "programs/report/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/collectives/work.h"
#include "model/predict.h"
#include "programs/aten/collective.h"
#include "programs/report/intervals.h"
#include "programs/traces/timeline.h"

namespace ridge::programs {
namespace {

/// A kernel of a collective on one rank.
struct Part {
    std::size_t rank = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
};

/// What makes collectives of different ranks the same: the kernel's name, the sizes, and how many
/// there were before.
struct CollectiveKey {
    std::string name;
    std::string recorded;
    std::int64_t number = 0;

    friend bool operator<(const CollectiveKey& a, const CollectiveKey& b) {
        return std::tie(a.name, a.recorded, a.number) < std::tie(b.name, b.recorded, b.number);
    }
};

/// One GPU of one trace.
struct RankView {
    const Trace* trace = nullptr;
    std::int64_t device = 0;
    std::string name;
    std::int64_t shift = 0;
    Intervals computing{};
    Intervals communication{};
    Intervals waiting{};
    std::int64_t host_late = 0;
    std::int64_t begin = 0;  ///< of its first kernel
};

using Collectives = std::map<CollectiveKey, std::vector<Part>>;

std::vector<RankView> views_of(std::span<const Trace> traces) {
    std::vector<RankView> views;
    for (const Trace& trace : traces) {
        std::vector<std::int64_t> devices;
        for (const Kernel& kernel : trace.kernels) devices.push_back(kernel.device);
        std::sort(devices.begin(), devices.end());
        devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
        for (const std::int64_t device : devices) {
            const bool told = trace.header.rank >= 0 && devices.size() == 1;
            const auto number = told ? trace.header.rank : static_cast<std::int64_t>(views.size());
            views.push_back(
                {.trace = &trace, .device = device, .name = fmt::format("rank {}", number)});
        }
    }
    if (views.size() < 2) {
        throw InputError("ranks: fewer than two GPUs have kernels in these traces", {},
                         "give the trace of every rank");
    }
    std::stable_sort(views.begin(), views.end(), [](const RankView& a, const RankView& b) {
        return a.trace->header.rank < b.trace->header.rank;
    });
    return views;
}

Collectives collectives_of(const std::vector<RankView>& views) {
    Collectives found;
    for (std::size_t rank = 0; rank < views.size(); ++rank) {
        const RankView& view = views[rank];
        std::map<std::pair<TextId, TextId>, std::int64_t> counts;
        for (const Kernel& kernel : view.trace->kernels) {
            const std::string& name = view.trace->text(kernel.name);
            if (kernel.device != view.device || !is_communication(name)) continue;
            const std::int64_t number = ++counts[{kernel.name, kernel.collective}];
            found[{name, view.trace->text(kernel.collective), number}].push_back(
                {rank, kernel.start_ns, kernel.end_ns()});
        }
    }
    return found;
}

/// Moves every rank's clock so that collectives end at the same time as on the first rank.
void align(std::vector<RankView>& views, Collectives& collectives) {
    std::vector<std::vector<std::int64_t>> differences(views.size());
    for (const auto& [key, parts] : collectives) {
        if (parts.front().rank != 0) continue;
        for (const Part& part : parts) {
            if (views[part.rank].trace == views[0].trace) continue;
            differences[part.rank].push_back(part.end - parts.front().end);
        }
    }
    for (std::size_t rank = 0; rank < views.size(); ++rank) {
        std::vector<std::int64_t>& each = differences[rank];
        if (each.empty()) continue;
        const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
        std::nth_element(each.begin(), middle, each.end());
        views[rank].shift = *middle;
    }
    for (auto& [key, parts] : collectives) {
        for (Part& part : parts) {
            part.start -= views[part.rank].shift;
            part.end -= views[part.rank].shift;
        }
    }
}

/// When the programs of all ranks have started; the least value if none has a start.
std::int64_t all_started(const std::vector<RankView>& views) {
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const RankView& view : views) {
        const std::int64_t started = started_at(*view.trace, view.device);
        if (started != std::numeric_limits<std::int64_t>::min()) {
            latest = std::max(latest, started - view.shift);
        }
    }
    return latest;
}

/// `started`: what ran before it is left out.
void fill_intervals(RankView& view, std::int64_t started) {
    const Timeline timeline = timeline_of(*view.trace);
    for (std::size_t i = 0; i < view.trace->kernels.size(); ++i) {
        const Kernel& kernel = view.trace->kernels[i];
        if (kernel.device != view.device || kernel.start_ns - view.shift < started) continue;
        const bool communicates = is_communication(view.trace->text(kernel.name));
        (communicates ? view.communication : view.computing)
            .push_back({kernel.start_ns - view.shift, kernel.end_ns() - view.shift});
        if (i < timeline.late_ns.size()) view.host_late += timeline.late_ns[i];
    }
    view.computing = merged(std::move(view.computing));
    view.communication = merged(std::move(view.communication));
    for (const Intervals* each : {&view.computing, &view.communication}) {
        if (each->empty()) continue;
        const bool first = each == &view.computing || view.computing.empty();
        view.begin = first ? each->front().from : std::min(view.begin, each->front().from);
    }
}

/// The part of a span in which a rank computes nothing.
std::int64_t exposed_of(const RankView& view, Interval span) {
    if (span.to <= span.from) return 0;
    std::int64_t hidden = 0;
    const auto first =
        std::lower_bound(view.computing.begin(), view.computing.end(), span.from,
                         [](const Interval& each, std::int64_t from) { return each.to <= from; });
    for (auto each = first; each != view.computing.end() && each->from < span.to; ++each) {
        hidden += std::min(each->to, span.to) - std::max(each->from, span.from);
    }
    return span.to - span.from - hidden;
}

/// When all ranks have come to a collective.
std::int64_t all_came(const std::vector<Part>& parts) {
    std::int64_t last = parts.front().start;
    for (const Part& part : parts) last = std::max(last, part.start);
    return last;
}

/// The sizes as an operation of the model, if they were recorded.
std::optional<model::Collective> operation_of(const std::string& recorded,
                                              const std::string& kernel) {
    const std::optional<Understood> understood = collective_work(recorded);
    if (!understood || understood->steps.empty()) return std::nullopt;
    const auto* const op = std::get_if<model::Collective>(&understood->steps.front().operation);
    if (op == nullptr) return std::nullopt;
    model::Collective found = *op;
    if (kernel.find("_RING_") != std::string::npos) found.nvls = model::SwitchAddition::off;
    return found;
}

class ReportBuilder {
  public:
    ReportBuilder(std::span<const Trace> traces, const model::Machine* machine)
        : machine_(machine), views_(views_of(traces)) {
        Collectives collectives = collectives_of(views_);
        align(views_, collectives);
        const std::int64_t started = all_started(views_);
        leave_out_start(collectives, started);
        for (RankView& view : views_) fill_intervals(view, started);
        find_span();
        report_.ranks.resize(views_.size());
        find_first(collectives);
        for (const auto& [key, parts] : collectives) add(key, parts);
        if (unmatched_ > 0) {
            report_.notes.push_back(
                fmt::format("{} collectives appear on one rank only and are left out", unmatched_));
        }
        constexpr double worth_saying = 0.01;
        if (report_.apart > worth_saying * report_.span) {
            report_.notes.push_back(
                fmt::format("the ranks began to record up to {} apart, which is not counted as "
                            "waiting",
                            format(report_.apart)));
        }
        std::stable_sort(report_.collectives.begin(), report_.collectives.end(),
                         [](const auto& a, const auto& b) { return a.waiting > b.waiting; });
        for (std::size_t rank = 0; rank < views_.size(); ++rank) finish(rank);
    }

    RankReport take() { return std::move(report_); }

  private:
    /// Leaves out the collectives that a rank came to before all had started.
    void leave_out_start(Collectives& collectives, std::int64_t started) {
        std::int64_t first = std::numeric_limits<std::int64_t>::max();
        const std::size_t all = collectives.size();
        for (const auto& [key, parts] : collectives) {
            for (const Part& part : parts) first = std::min(first, part.start);
        }
        std::erase_if(collectives, [started](const auto& each) {
            return std::any_of(each.second.begin(), each.second.end(),
                               [started](const Part& part) { return part.start < started; });
        });
        if (collectives.size() == all) return;
        report_.notes.push_back(
            fmt::format("the program's start is left out: {} of {} collectives, {} before the last "
                        "long gap",
                        all - collectives.size(), all, format(time_of(started - first))));
    }

    void find_span() {
        bool first = true;
        for (const RankView& view : views_) {
            for (const Intervals* each : {&view.computing, &view.communication}) {
                if (each->empty()) continue;
                begin_ = first ? each->front().from : std::min(begin_, each->front().from);
                end_ = first ? each->back().to : std::max(end_, each->back().to);
                first = false;
            }
        }
        report_.span = time_of(end_ - begin_);
    }

    /// The first collective, to which ranks come apart because recording began apart.
    void find_first(const Collectives& collectives) {
        const auto [least, most] = std::minmax_element(
            views_.begin(), views_.end(),
            [](const RankView& a, const RankView& b) { return a.begin < b.begin; });
        report_.apart = time_of(most->begin - least->begin);
        for (const auto& [key, parts] : collectives) {
            if (parts.size() < 2) continue;
            const std::int64_t came = all_came(parts);
            if (first_ == nullptr || came < first_came_) first_came_ = came;
            if (first_came_ == came) first_ = &key;
        }
    }

    void add(const CollectiveKey& key, const std::vector<Part>& parts) {
        if (parts.size() < 2) {
            ++unmatched_;
            return;
        }
        const auto [first, last] =
            std::minmax_element(parts.begin(), parts.end(),
                                [](const Part& a, const Part& b) { return a.start < b.start; });
        CollectiveRow row{.name = key.name,
                          .what = collective_text(key.recorded),
                          .number = key.number,
                          .start = time_of(last->start - begin_),
                          .skew = time_of(last->start - first->start),
                          .late = last->rank};
        std::int64_t end = last->end;
        std::int64_t exposed = 0;
        std::int64_t exposed_waiting = 0;
        for (const Part& part : parts) {
            end = std::max(end, part.end);
            RankView& view = views_[part.rank];
            exposed += exposed_of(view, {last->start, part.end});
            const std::int64_t from = waits_from(key, part, views_[last->rank]);
            const std::int64_t until = std::min(part.end, last->start);
            if (until <= from) continue;
            view.waiting.push_back({from, until});
            row.waiting += time_of(until - from);
            exposed_waiting += exposed_of(view, {from, until});
        }
        row.time = time_of(end - last->start);
        row.exposed = time_of(exposed) / static_cast<double>(parts.size());
        predict_row(key, row);
        RankRow& late = report_.ranks[row.late];
        ++late.came_last;
        late.caused += row.waiting;
        late.cost += time_of(exposed_waiting) / static_cast<double>(parts.size() - 1);
        report_.collectives.push_back(std::move(row));
    }

    /// From when a rank's waiting counts: at the first collective, the late rank may have begun later.
    [[nodiscard]] std::int64_t waits_from(const CollectiveKey& key, const Part& part,
                                          const RankView& late) const {
        if (first_ == nullptr || first_ != &key) return part.start;
        const std::int64_t later = late.begin - views_[part.rank].begin;
        return part.start + std::max<std::int64_t>(0, later);
    }

    void predict_row(const CollectiveKey& key, CollectiveRow& row) const {
        const std::optional<model::Collective> op = operation_of(key.recorded, key.name);
        if (!op || !(row.time > Time{})) return;
        row.bus = model::link_bytes(*op) / row.time;
        if (machine_ == nullptr) return;
        const model::Outcome outcome = model::predict(*op, model::Execution{}, *machine_);
        if (const auto* const prediction = std::get_if<model::Prediction>(&outcome)) {
            row.predicted = prediction->time;
            row.predicted_bus = model::link_bytes(*op) / prediction->time;
        }
    }

    void finish(std::size_t rank) {
        RankView& view = views_[rank];
        RankRow& row = report_.ranks[rank];
        const Intervals exposed = without(view.communication, view.computing);
        const Intervals waiting = common(exposed, merged(std::move(view.waiting)));
        const Intervals transfer = without(exposed, waiting);
        row.name = view.name;
        row.device = view.device;
        row.shift = time_of(view.shift);
        row.computing = time_of(length_of(view.computing));
        row.communication = time_of(length_of(view.communication));
        row.exposed = time_of(length_of(exposed));
        row.waiting = time_of(length_of(waiting));
        row.idle = report_.span - row.computing - row.exposed;
        row.host_late = std::min(row.idle, time_of(view.host_late));
        add_spans(rank, RankWork::computing, view.computing);
        add_spans(rank, RankWork::transfer, transfer);
        add_spans(rank, RankWork::waiting, waiting);
    }

    void add_spans(std::size_t rank, RankWork work, const Intervals& intervals) {
        for (const Interval& each : intervals) {
            report_.spans.push_back({.rank = rank,
                                     .work = work,
                                     .from = time_of(each.from - begin_),
                                     .to = time_of(each.to - begin_)});
        }
    }

    const model::Machine* machine_;
    std::vector<RankView> views_;
    RankReport report_;
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
    std::int64_t unmatched_ = 0;
    const CollectiveKey* first_ = nullptr;
    std::int64_t first_came_ = 0;
};

std::string share_text(Time part, Time whole) {
    return fmt::format("{} ({:.0f} %)", format(part),
                       whole > Time{} ? 100.0 * (part / whole) : 0.0);
}

/// What makes a rank late: its own kernels, or its host.
std::string reason_of(const RankReport& report, const RankRow& late) {
    std::vector<Time> computing;
    std::vector<Time> host;
    for (const RankRow& row : report.ranks) {
        if (&row == &late) continue;
        computing.push_back(row.computing);
        host.push_back(row.host_late);
    }
    const auto middle = [](std::vector<Time>& times) {
        std::sort(times.begin(), times.end());
        return times[(times.size() - 1) / 2];
    };
    constexpr double large = 0.25;  // of what the others wait
    const Time more = late.computing - middle(computing);
    const Time later = late.host_late - middle(host);
    if (std::max(more, later) < large * late.cost) return {};
    if (more >= later) return fmt::format("; its kernels take {} longer", format(more));
    return fmt::format("; its host launches {} later", format(later));
}

struct Finding {
    Time weight;
    std::string text;
};

/// Ranks for which the others wait.
void add_stragglers(const RankReport& report, std::vector<Finding>& found) {
    constexpr double worth = 0.01;
    for (const RankRow& row : report.ranks) {
        if (row.came_last == 0 || row.cost < worth * report.span) continue;
        found.push_back(
            {row.cost,
             fmt::format("{} came last to {} of {} collectives; each of the others waited {} "
                         "for it{}",
                         row.name, row.came_last, report.collectives.size(),
                         share_text(row.cost, report.span), reason_of(report, row))});
    }
}

/// Whether a collective took far longer than predicted once all ranks had come.
bool is_slow(const CollectiveRow& row) {
    constexpr double far = 1.5;
    return row.predicted && row.time >= far * *row.predicted;
}

/// What would hide an exposed collective.
std::string_view remedy_of(std::string_view name) {
    if (name.find("AllGather") != std::string_view::npos) return "prefetch it one layer earlier";
    if (name.find("ReduceScatter") != std::string_view::npos ||
        name.find("AllReduce") != std::string_view::npos) {
        return "reduce smaller buckets, so that they begin while kernels still run";
    }
    return "begin it earlier";
}

/// Collectives of one kind and size that run while nothing else does.
void add_exposed(const RankReport& report, std::vector<Finding>& found) {
    struct Group {
        Time exposed{};
        std::int64_t count = 0;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const CollectiveRow& row : report.collectives) {
        Group& group = groups[{row.name.substr(0, row.name.find('(')), row.what}];
        // What a slow link adds counts there.
        group.exposed += is_slow(row) ? row.exposed * (*row.predicted / row.time) : row.exposed;
        ++group.count;
    }
    constexpr double worth = 0.02;
    for (const auto& [key, group] : groups) {
        if (group.exposed < worth * report.span) continue;
        found.push_back(
            {group.exposed,
             fmt::format("{} {} ({} times) moved data for {} while nothing else ran: {}", key.first,
                         key.second, group.count, share_text(group.exposed, report.span),
                         remedy_of(key.first))});
    }
}

void add_hosts(const RankReport& report, std::vector<Finding>& found) {
    constexpr double worth = 0.05;
    for (const RankRow& row : report.ranks) {
        // A late rank's host is part of what the others wait for.
        const Time own = row.host_late - row.cost;
        if (own < worth * report.span) continue;
        found.push_back({own, fmt::format("{} waited {} for its host to launch", row.name,
                                          share_text(row.host_late, report.span))});
    }
}

/// Collectives whose time after the last start is far above the prediction, as on a slow link.
void add_slow_links(const RankReport& report, std::vector<Finding>& found) {
    Time measured;
    Time predicted;
    std::int64_t count = 0;
    for (const CollectiveRow& row : report.collectives) {
        if (!is_slow(row)) continue;
        measured += row.time;
        predicted += *row.predicted;
        ++count;
    }
    if (count == 0) return;
    found.push_back(
        {measured - predicted,
         fmt::format("{} collectives took {} once all ranks had come, where {} is predicted: a "
                     "slow or busy link, or kernels beside them",
                     count, format(measured), format(predicted))});
}

}  // namespace

RankReport ranks_of(std::span<const Trace> traces, const model::Machine* machine) {
    return ReportBuilder(traces, machine).take();
}

std::vector<std::string> findings_of(const RankReport& report) {
    std::vector<Finding> found;
    add_slow_links(report, found);
    add_stragglers(report, found);
    add_exposed(report, found);
    add_hosts(report, found);
    std::stable_sort(found.begin(), found.end(),
                     [](const Finding& a, const Finding& b) { return a.weight > b.weight; });
    std::vector<std::string> texts;
    for (Finding& each : found) texts.push_back(std::move(each.text));
    return texts;
}

}  // namespace ridge::programs
