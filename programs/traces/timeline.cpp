#include "programs/traces/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace ridge::programs {
namespace {

struct Span {
    std::int64_t start = 0;
    std::int64_t end = 0;
};

/// The total overlap of `span` with disjoint spans sorted by start.
std::int64_t overlap(const Span& span, const std::vector<Span>& others) {
    std::int64_t sum = 0;
    auto at =
        std::lower_bound(others.begin(), others.end(), span.start,
                         [](const Span& other, std::int64_t time) { return other.end <= time; });
    for (; at != others.end() && at->start < span.end; ++at) {
        sum += std::min(span.end, at->end) - std::max(span.start, at->start);
    }
    return sum;
}

/// What the host has not issued by the time that the GPU is done with everything before a kernel.
std::int64_t late_by(const Trace& trace, const Kernel& kernel, std::int64_t last) {
    if (kernel.launch == none || kernel.start_ns <= last) return 0;
    const Launch& launch = trace.launches[static_cast<std::size_t>(kernel.launch)];
    return std::clamp<std::int64_t>(launch.end_ns - last, 0, kernel.start_ns - last);
}

/// Finds the end of a program's start on one GPU.
class StartFinder {
  public:
    void add(const Trace& trace, const Kernel& kernel) {
        if (known_ && late_by(trace, kernel, last_) >= long_gap) {
            gaps_.push_back({.from = kernel.start_ns, .done = done_});
        }
        last_ = known_ ? std::max(last_, kernel.end_ns()) : kernel.end_ns();
        known_ = true;
        const bool works = kernel.kind == ActivityKind::kernel;
        if (works && !is_communication(trace.text(kernel.name))) done_ += kernel.duration_ns;
    }

    [[nodiscard]] std::int64_t end() const {
        constexpr std::int64_t early = 10;  // a tenth of the work
        std::int64_t found = std::numeric_limits<std::int64_t>::min();
        for (const Gap& gap : gaps_) {
            if (gap.done * early <= done_) found = gap.from;
        }
        return found;
    }

  private:
    static constexpr std::int64_t long_gap = 50'000'000;
    struct Gap {
        std::int64_t from = 0;  ///< start of the kernel behind it
        std::int64_t done = 0;  ///< work before it
    };

    std::vector<Gap> gaps_{};
    std::int64_t done_ = 0;
    std::int64_t last_ = 0;
    bool known_ = false;
};

/// One GPU's kernels, in order of start.
class DeviceTimeline {
  public:
    explicit DeviceTimeline(std::int64_t started) : started_(started) {}

    /// Returns how long the GPU waited for the launch of this kernel.
    std::int64_t add(const Trace& trace, const Kernel& kernel) {
        const Span span{.start = kernel.start_ns, .end = kernel.end_ns()};
        kernel_ns_ += kernel.duration_ns;
        if (span.start < started_) {
            if (starting_kernels_++ == 0) begun_ = span.start;
            return 0;
        }
        if (kernels_ == 0) first_ = last_ = span.start;
        ++kernels_;
        const std::int64_t late = span.start > last_ ? gap(trace, kernel) : 0;
        busy_ += std::max<std::int64_t>(0, span.end - std::max(last_, span.start));
        last_ = std::max(last_, span.end);
        if (is_communication(trace.text(kernel.name))) {
            communication_.push_back(span);
        } else if (!computing_.empty() && span.start <= computing_.back().end) {
            computing_.back().end = std::max(computing_.back().end, span.end);
        } else {
            computing_.push_back(span);
        }
        return late;
    }

    void add_to(Timeline& total) const {
        total.span_ns += last_ - first_;
        total.busy_ns += busy_;
        total.kernel_ns += kernel_ns_;
        total.host_late_ns += host_late_;
        total.gaps += gaps_;
        total.starting_kernels += starting_kernels_;
        if (starting_kernels_ > 0) total.starting_ns += started_ - begun_;
        for (const Span& span : communication_) {
            total.communication_ns += span.end - span.start;
            total.communication_hidden_ns += overlap(span, computing_);
        }
    }

  private:
    std::int64_t gap(const Trace& trace, const Kernel& kernel) {
        ++gaps_;
        const std::int64_t late = late_by(trace, kernel, last_);
        host_late_ += late;
        return late;
    }

    std::int64_t started_ = 0;
    std::int64_t begun_ = 0;
    std::int64_t starting_kernels_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
    std::int64_t busy_ = 0;
    std::int64_t kernel_ns_ = 0;
    std::int64_t host_late_ = 0;
    std::int64_t gaps_ = 0;
    std::int64_t kernels_ = 0;
    std::vector<Span> communication_;
    std::vector<Span> computing_;  // merged
};

}  // namespace

bool is_communication(std::string_view kernel_name) {
    return kernel_name.starts_with("nccl") ||
           kernel_name.find("AllReduce") != std::string_view::npos;
}

Timeline timeline_of(const Trace& trace) {
    std::map<std::int64_t, DeviceTimeline> devices;
    Timeline total;
    if (!trace.has_timeline()) {
        for (const Kernel& kernel : trace.kernels) total.kernel_ns += kernel.duration_ns;
        total.span_ns = total.busy_ns = total.kernel_ns;
        total.late_ns.assign(trace.kernels.size(), 0);
        return total;
    }
    std::map<std::int64_t, StartFinder> starts;
    for (const Kernel& kernel : trace.kernels) starts[kernel.device].add(trace, kernel);
    for (const auto& [device, start] : starts) {
        devices.emplace(device, DeviceTimeline(start.end()));
    }
    total.late_ns.reserve(trace.kernels.size());
    for (const Kernel& kernel : trace.kernels) {
        total.late_ns.push_back(devices.at(kernel.device).add(trace, kernel));
    }
    for (const auto& [device, timeline] : devices) timeline.add_to(total);
    return total;
}

std::int64_t started_at(const Trace& trace, std::int64_t device) {
    StartFinder start;
    if (trace.has_timeline()) {
        for (const Kernel& kernel : trace.kernels) {
            if (kernel.device == device) start.add(trace, kernel);
        }
    }
    return start.end();
}

}  // namespace ridge::programs
