#include "programs/traces/timeline.h"

#include <algorithm>
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

/// One GPU's kernels, in order of start.
class DeviceTimeline {
  public:
    /// Returns how long the GPU waited for the launch of this kernel.
    std::int64_t add(const Trace& trace, const Kernel& kernel) {
        const Span span{.start = kernel.start_ns, .end = kernel.end_ns()};
        if (kernels_ == 0) first_ = last_ = span.start;
        ++kernels_;
        kernel_ns_ += kernel.duration_ns;
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
        for (const Span& span : communication_) {
            total.communication_ns += span.end - span.start;
            total.communication_hidden_ns += overlap(span, computing_);
        }
    }

  private:
    std::int64_t gap(const Trace& trace, const Kernel& kernel) {
        ++gaps_;
        if (kernel.launch == none) return 0;
        const Launch& launch = trace.launches[static_cast<std::size_t>(kernel.launch)];
        const std::int64_t late =
            std::clamp<std::int64_t>(launch.end_ns - last_, 0, kernel.start_ns - last_);
        host_late_ += late;
        return late;
    }

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
    total.late_ns.reserve(trace.kernels.size());
    for (const Kernel& kernel : trace.kernels) {
        total.late_ns.push_back(devices[kernel.device].add(trace, kernel));
    }
    for (const auto& [device, timeline] : devices) timeline.add_to(total);
    return total;
}

}  // namespace ridge::programs
