#include "programs/report/trace_replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "programs/traces/timeline.h"

namespace ridge::programs {
namespace {

constexpr std::int64_t long_before_ns =
    20'000;  // what ended so long before did not hold a kernel up
constexpr std::int64_t soon_ns =
    10'000;  // a kernel that waits for another stream begins so soon after it

std::size_t place(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

std::int64_t median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Whether the host waits in a call until the GPU is done with what was launched before.
bool synchronises(const std::string& call) {
    return call.find("Synchronize") != std::string::npos || call == "cudaMemcpy" ||
           call == "hipMemcpy";
}

using Stream = std::pair<std::int64_t, std::int64_t>;  // device, stream

Stream stream_of(const Kernel& kernel) {
    return {kernel.device, kernel.stream};
}

}  // namespace

TraceReplay::TraceReplay(const Trace& trace) : trace_(trace) {
    if (!trace.has_timeline()) return;
    find_places();
    find_calls();
    find_usual();
    find_waits();
}

void TraceReplay::find_calls() {
    std::vector<Call> of_launch(trace_.launches.size());
    for (std::size_t i = 0; i < trace_.launches.size(); ++i) {
        const Launch& launch = trace_.launches[i];
        of_launch[i] = {.start_ns = launch.start_ns,
                        .end_ns = launch.end_ns,
                        .launch = static_cast<std::int32_t>(i),
                        .waits = synchronises(trace_.text(launch.name))};
    }
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
        const Kernel& kernel = trace_.kernels[i];
        if (kernel.launch == none) {
            calls_.push_back(
                {.start_ns = kernel.start_ns, .end_ns = kernel.start_ns, .kernels = {i}});
            continue;
        }
        Call& call = of_launch[place(kernel.launch)];
        call.kernels.push_back(i);
        const bool copies = kernel.kind == ActivityKind::copy;
        call.waits = call.waits ||
                     (copies && trace_.text(kernel.name).find("Pageable") != std::string::npos);
    }
    calls_.insert(calls_.end(), std::make_move_iterator(of_launch.begin()),
                  std::make_move_iterator(of_launch.end()));
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const Call& a, const Call& b) { return a.start_ns < b.start_ns; });
}

void TraceReplay::find_places() {
    std::map<Stream, std::int32_t> last;
    places_.resize(trace_.kernels.size());
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
        const Kernel& kernel = trace_.kernels[i];
        const auto [before, first] =
            last.try_emplace(stream_of(kernel), static_cast<std::int32_t>(i));
        places_[i] = {.before = first ? none : before->second, .launch = kernel.launch};
        before->second = static_cast<std::int32_t>(i);
    }
}

/// The usual times, and what they leave of each kernel's start.
void TraceReplay::find_usual() {
    std::vector<std::int64_t> gaps;
    std::vector<std::int64_t> latencies;
    std::vector<std::int64_t> calls;
    const auto launched = [this](const Place& each) {
        return trace_.launches[place(each.launch)].start_ns;
    };
    const auto ended = [this](std::int32_t kernel) {
        return trace_.kernels[place(kernel)].end_ns();
    };
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const Place& each = places_[i];
        if (each.before == none || each.launch == none) continue;
        const std::int64_t start = trace_.kernels[i].start_ns;
        if (launched(each) + long_before_ns < ended(each.before)) {
            gaps.push_back(start - ended(each.before));
        } else if (ended(each.before) + long_before_ns < launched(each)) {
            latencies.push_back(start - launched(each));
        }
    }
    for (const Call& call : calls_) {
        if (call.launch != none && !call.waits && !call.kernels.empty()) {
            calls.push_back(call.end_ns - call.start_ns);
        }
    }
    gap_ns_ = median(std::move(gaps));
    latency_ns_ = median(std::move(latencies));
    brief_ns_ = median(std::move(calls));
    for (std::size_t i = 0; i < places_.size(); ++i) {
        Place& each = places_[i];
        const std::int64_t start = trace_.kernels[i].start_ns;
        std::int64_t from = std::numeric_limits<std::int64_t>::min();
        if (each.before != none) from = ended(each.before) + gap_ns_;
        if (each.launch != none) from = std::max(from, launched(each) + latency_ns_);
        const std::int32_t other = ended_beside(i);
        if (other != none && ended(other) + gap_ns_ > from) {
            each.other = other;
            from = ended(other) + gap_ns_;
        }
        const bool known = each.before != none || each.launch != none || each.other != none;
        each.rest_ns = known ? start - from : 0;
    }
}

/// The kernel of another stream that ended last, shortly before this one began.
std::int32_t TraceReplay::ended_beside(std::size_t kernel) const {
    constexpr std::size_t nearby = 64;
    const Kernel& own = trace_.kernels[kernel];
    std::int32_t found = none;
    std::int64_t last = own.start_ns - soon_ns;
    for (std::size_t i = kernel; i-- > 0 && kernel - i < nearby;) {
        const Kernel& each = trace_.kernels[i];
        if (each.device != own.device || each.stream == own.stream) continue;
        if (each.end_ns() > own.start_ns || each.end_ns() <= last) continue;
        last = each.end_ns();
        found = static_cast<std::int32_t>(i);
    }
    return found;
}

void TraceReplay::find_waits() {
    std::map<Stream, std::vector<std::size_t>> launched;
    for (Call& call : calls_) {
        for (const std::size_t kernel : call.kernels) {
            launched[stream_of(trace_.kernels[kernel])].push_back(kernel);
        }
        if (!call.waits) continue;
        call.waited_ns = std::numeric_limits<std::int64_t>::min();
        for (const auto& [stream, kernels] : launched) {
            const auto done =
                std::find_if(kernels.rbegin(), kernels.rend(), [this, &call](std::size_t kernel) {
                    return trace_.kernels[kernel].end_ns() <= call.end_ns + soon_ns;
                });
            if (done == kernels.rend()) continue;
            call.waited_for.push_back(*done);
            call.waited_ns = std::max(call.waited_ns, trace_.kernels[*done].end_ns());
        }
    }
}

TraceChange TraceReplay::no_change() const {
    return {.kernels = std::vector<double>(trace_.kernels.size(), 1.0),
            .returns = std::vector<bool>(trace_.launches.size(), false)};
}

/// One replay: clocks of the host and of each kernel.
class TraceReplay::Run {
  public:
    Run(const TraceReplay& replay, const TraceChange& change)
        : replay_(replay), change_(change), begins_(replay.places_.size()) {
        for (const Kernel& kernel : replay.trace_.kernels) ends_.push_back(kernel.end_ns());
    }

    std::int64_t span() {
        for (const Call& call : replay_.calls_) {
            if (call.launch != none) {
                host(call);
            } else {
                for (const std::size_t kernel : call.kernels) begin(kernel, {});
            }
        }
        return spans();
    }

  private:
    void host(const Call& call) {
        if (!recorded_) recorded_ = now_ = call.start_ns;
        now_ += passed(*recorded_, call.start_ns);
        const std::int64_t issued = now_;
        for (const std::size_t kernel : call.kernels) begin(kernel, issued);
        const std::int64_t from = std::max(*recorded_, call.start_ns);
        if (change_.returns[place(call.launch)]) {
            now_ += std::min(passed(from, call.end_ns), replay_.brief_ns_);
        } else if (call.waits && !call.waited_for.empty()) {
            for (const std::size_t kernel : call.waited_for) now_ = std::max(now_, ends_[kernel]);
            now_ += passed(std::max(from, std::min(call.waited_ns, call.end_ns)), call.end_ns);
        } else {
            now_ += passed(from, call.end_ns);
        }
        recorded_ = std::max(*recorded_, call.end_ns);
    }

    /// The host's time between two recorded moments, without what is left out.
    [[nodiscard]] std::int64_t passed(std::int64_t from, std::int64_t to) {
        if (to <= from) return 0;
        const Span span{from, to};
        return to - from - within(span, change_.left_out, next_left_out_) +
               within(span, change_.doubled, next_doubled_);
    }

    struct Span {
        std::int64_t from = 0;
        std::int64_t to = 0;
    };
    /// How much of a span lies within intervals; `next` is the first that may, for spans only go on.
    static std::int64_t within(const Span& span, const Intervals& intervals, std::size_t& next) {
        while (next < intervals.size() && intervals[next].to <= span.from) ++next;
        std::int64_t time = 0;
        for (std::size_t i = next; i < intervals.size() && intervals[i].from < span.to; ++i) {
            time += std::min(span.to, intervals[i].to) - std::max(span.from, intervals[i].from);
        }
        return time;
    }

    void begin(std::size_t kernel, std::optional<std::int64_t> issued) {
        const Place& where = replay_.places_[kernel];
        std::optional<std::int64_t> from;
        const auto after = [&from](std::int64_t time) {
            from = std::max(from.value_or(time), time);
        };
        if (where.before != none) after(ends_[place(where.before)] + replay_.gap_ns_);
        if (issued) after(*issued + replay_.latency_ns_);
        if (where.other != none) after(ends_[place(where.other)] + replay_.gap_ns_);
        const Kernel& recorded = replay_.trace_.kernels[kernel];
        begins_[kernel] = from ? *from + where.rest_ns : recorded.start_ns;
        const double time = static_cast<double>(recorded.duration_ns) * change_.kernels[kernel];
        ends_[kernel] = begins_[kernel] + static_cast<std::int64_t>(time);
    }

    [[nodiscard]] std::int64_t spans() const {
        struct DeviceSpan {
            std::int64_t started = 0;
            std::int64_t from = std::numeric_limits<std::int64_t>::max();
            std::int64_t to = std::numeric_limits<std::int64_t>::min();
        };
        std::map<std::int64_t, DeviceSpan> devices;
        const Trace& trace = replay_.trace_;
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            const std::int64_t device = trace.kernels[i].device;
            const auto [found, first] = devices.try_emplace(device);
            DeviceSpan& span = found->second;
            if (first) span.started = started_at(trace, device);
            if (trace.kernels[i].start_ns < span.started) continue;
            span.from = std::min(span.from, begins_[i]);
            span.to = std::max(span.to, ends_[i]);
        }
        std::int64_t sum = 0;
        for (const auto& [device, span] : devices)
            sum += std::max<std::int64_t>(0, span.to - span.from);
        return sum;
    }

    const TraceReplay& replay_;
    const TraceChange& change_;
    std::vector<std::int64_t> begins_;
    std::vector<std::int64_t> ends_;
    std::optional<std::int64_t> recorded_;  ///< up to here the host's calls are done
    std::int64_t now_ = 0;
    std::size_t next_left_out_ = 0;
    std::size_t next_doubled_ = 0;
};

std::int64_t TraceReplay::span_ns(const TraceChange& change) const {
    return places_.empty() ? 0 : Run(*this, change).span();
}

}  // namespace ridge::programs
