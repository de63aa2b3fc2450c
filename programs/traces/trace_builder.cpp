#include "programs/traces/trace_builder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace ridge::programs {
namespace {

constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();

std::int32_t index_of(std::size_t place) {
    return static_cast<std::int32_t>(place);
}

bool encloses(const Operator& outer, const Operator& inner) {
    return outer.thread == inner.thread && inner.start_ns < outer.end_ns &&
           inner.end_ns <= outer.end_ns;
}

}  // namespace

void TraceBuilder::add(Operator op) {
    if (trace_.operators.size() >= most) return;
    op.end_ns = std::max(op.start_ns, op.end_ns);
    trace_.operators.push_back(op);
}

void TraceBuilder::add(Kernel kernel, KernelKeys keys) {
    if (trace_.kernels.size() >= most) return;
    kernel.duration_ns = std::max<std::int64_t>(kernel.duration_ns, 0);
    trace_.kernels.push_back(kernel);
    keys_.push_back(keys);
}

void TraceBuilder::add(const Launch& launch, std::int64_t correlation) {
    if (correlation < 0 || trace_.launches.size() >= most) return;
    calls_.emplace(correlation, index_of(trace_.launches.size()));
    trace_.launches.push_back(launch);
}

void TraceBuilder::finish() {
    nest();
    join();
    join_replays();
    find_ranges();
    std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(),
                     [](const Kernel& a, const Kernel& b) { return a.start_ns < b.start_ns; });
}

/// Sorts the operators and finds the parent of each: a sweep that keeps open operators on a stack.
void TraceBuilder::nest() {
    std::vector<Operator>& ops = trace_.operators;
    std::stable_sort(ops.begin(), ops.end(), [](const Operator& a, const Operator& b) {
        if (a.thread != b.thread) return a.thread < b.thread;
        if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
        return a.end_ns > b.end_ns;
    });
    std::vector<std::int32_t> open;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        while (!open.empty() && !encloses(op(open.back()), ops[i])) open.pop_back();
        ops[i].parent = open.empty() ? none : open.back();
        open.push_back(index_of(i));
        if (!ops[i].range && ops[i].external_id >= 0) {
            by_id_.insert_or_assign(ops[i].external_id, index_of(i));
        }
    }
}

void TraceBuilder::join() {
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
        Kernel& kernel = trace_.kernels[i];
        if (const auto call = calls_.find(keys_[i].correlation); call != calls_.end()) {
            kernel.launch = call->second;
        }
        const auto found = by_id_.find(keys_[i].external_id);
        if (keys_[i].external_id >= 0 && found != by_id_.end()) {
            kernel.op = found->second;
        } else if (kernel.launch != none) {
            const Launch& call = trace_.launches[static_cast<std::size_t>(kernel.launch)];
            kernel.range = innermost(call.thread, call.start_ns);
            kernel.op = kernel.range;
            while (kernel.op != none && op(kernel.op).range) kernel.op = op(kernel.op).parent;
        }
    }
}

namespace {

/// Launches between the beginning and the end of a capture, in order.
struct Capture {
    std::int64_t end_ns = 0;
    std::vector<std::int32_t> launches;
};

bool launches_kernel(const std::string& name) {
    return name.find("LaunchKernel") != std::string::npos;
}

/// The captures of a trace; launches whose kernels ran were not captured.
std::vector<Capture> captures_of(const Trace& trace, const std::vector<bool>& ran) {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < trace.launches.size(); ++i) order.push_back(index_of(i));
    const auto launch = [&trace](std::int32_t i) -> const Launch& {
        return trace.launches[static_cast<std::size_t>(i)];
    };
    std::stable_sort(order.begin(), order.end(), [&launch](std::int32_t a, std::int32_t b) {
        return launch(a).start_ns < launch(b).start_ns;
    });
    std::vector<Capture> captures;
    bool open = false;
    for (const std::int32_t i : order) {
        const std::string& name = trace.text(launch(i).name);
        if (name == "cudaStreamBeginCapture") {
            captures.emplace_back();
            open = true;
        } else if (name == "cudaStreamEndCapture" && open) {
            captures.back().end_ns = launch(i).end_ns;
            open = false;
        } else if (open && !ran[static_cast<std::size_t>(i)] && launches_kernel(name)) {
            captures.back().launches.push_back(i);
        }
    }
    return captures;
}

}  // namespace

void TraceBuilder::join_replays() {
    std::vector<bool> ran(trace_.launches.size(), false);
    std::map<std::int32_t, std::vector<std::size_t>> replays;  // kernels by the launch of a graph
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
        const Kernel& kernel = trace_.kernels[i];
        if (kernel.launch == none) continue;
        const auto launch = static_cast<std::size_t>(kernel.launch);
        ran[launch] = true;
        const bool graph =
            trace_.text(trace_.launches[launch].name).find("GraphLaunch") != std::string::npos;
        if (graph && kernel.kind == ActivityKind::kernel) replays[kernel.launch].push_back(i);
    }
    if (replays.empty()) return;
    const std::vector<Capture> captures = captures_of(trace_, ran);
    for (auto& [launch, kernels] : replays) {
        const std::int64_t start = trace_.launches[static_cast<std::size_t>(launch)].start_ns;
        const Capture* of = nullptr;
        for (const Capture& each : captures) {
            if (each.end_ns <= start && each.launches.size() == kernels.size()) of = &each;
        }
        const std::int64_t stream = trace_.kernels[kernels.front()].stream;
        const bool one_stream = std::all_of(kernels.begin(), kernels.end(), [&](std::size_t i) {
            return trace_.kernels[i].stream == stream;
        });
        if (of == nullptr || !one_stream) continue;
        std::stable_sort(kernels.begin(), kernels.end(), [this](std::size_t a, std::size_t b) {
            return trace_.kernels[a].start_ns < trace_.kernels[b].start_ns;
        });
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            const Launch& captured = trace_.launches[static_cast<std::size_t>(of->launches[k])];
            Kernel& kernel = trace_.kernels[kernels[k]];
            kernel.range = innermost(captured.thread, captured.start_ns);
            kernel.op = kernel.range;
            while (kernel.op != none && op(kernel.op).range) kernel.op = op(kernel.op).parent;
            kernel.replay = launch;
        }
    }
}

/// The innermost range around each kernel's launch, and the collective that its operators describe.
/// A parent comes before its children, so one pass over the operators finds both.
void TraceBuilder::find_ranges() {
    const std::size_t count = trace_.operators.size();
    std::vector<std::int32_t> range_of(count, none);
    std::vector<TextId> collective_of(count, TextId::empty);
    for (std::size_t i = 0; i < count; ++i) {
        const Operator& each = trace_.operators[i];
        const auto parent = static_cast<std::size_t>(each.parent);
        range_of[i] = each.range ? index_of(i) : each.parent != none ? range_of[parent] : none;
        collective_of[i] = each.collective != TextId::empty ? each.collective
                           : each.parent != none            ? collective_of[parent]
                                                            : TextId::empty;
    }
    for (Kernel& kernel : trace_.kernels) {
        if (kernel.range == none) kernel.range = kernel.op;
        if (kernel.range != none) kernel.range = range_of[static_cast<std::size_t>(kernel.range)];
        if (kernel.op != none && kernel.collective == TextId::empty) {
            kernel.collective = collective_of[static_cast<std::size_t>(kernel.op)];
        }
    }
}

/// The innermost operator or range that is open on a thread at a given time.
std::int32_t TraceBuilder::innermost(std::int64_t thread, std::int64_t time) const {
    const std::vector<Operator>& ops = trace_.operators;
    const auto after =
        std::upper_bound(ops.begin(), ops.end(), std::pair(thread, time),
                         [](const std::pair<std::int64_t, std::int64_t>& key, const Operator& op) {
                             return key < std::pair(op.thread, op.start_ns);
                         });
    std::int32_t at = index_of(static_cast<std::size_t>(after - ops.begin())) - 1;
    if (at < 0 || op(at).thread != thread) return none;
    while (at != none && time >= op(at).end_ns) at = op(at).parent;
    return at;
}

}  // namespace ridge::programs
