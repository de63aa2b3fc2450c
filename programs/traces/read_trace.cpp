// Events in, a Trace out; then who encloses whom, and which operator launched which kernel.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "hardware/error.h"
#include "programs/traces/byte_source.h"
#include "programs/traces/trace.h"

namespace ridge::programs {
namespace {

constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();

std::int32_t index_of(std::size_t place) {
    return static_cast<std::int32_t>(place);
}

/// A kernel's keys until its operator and its launch are found.
struct Keys {
    std::int64_t external_id = -1;
    std::int64_t correlation = -1;
};

class TraceBuilder {
  public:
    explicit TraceBuilder(Trace& trace) : trace_(trace) {}

    void add(const TraceEvent& event) {
        if (event.phase != "X" && event.phase != "x") return;
        if (event.category == "kernel") {
            add_kernel(event, KernelKind::kernel);
        } else if (event.category == "gpu_memcpy") {
            add_kernel(event, KernelKind::copy);
        } else if (event.category == "gpu_memset") {
            add_kernel(event, KernelKind::fill);
        } else if (event.category == "cpu_op") {
            add_operator(event, false);
        } else if (event.category == "user_annotation" ||
                   (event.category == "python_function" && is_module(event.name))) {
            add_operator(event, true);
        } else if (event.category == "cuda_runtime" || event.category == "cuda_driver") {
            add_call(event);
        }
    }

    void finish() {
        nest();
        launch();
        sort_kernels();
    }

  private:
    static bool is_module(const std::string& name) { return name.starts_with("nn.Module: "); }

    void add_operator(const TraceEvent& event, bool range) {
        if (trace_.operators.size() >= most) return;
        Operator op{.name = trace_.texts.add(event.name),
                    .thread = event.thread,
                    .start_ns = event.start_ns,
                    .end_ns = event.start_ns + std::max<std::int64_t>(event.duration_ns, 0),
                    .external_id = event.external_id,
                    .sequence = event.sequence,
                    .range = range};
        if (!event.input_dims.empty()) {
            inputs_.assign(event.input_types);
            for (const std::string* part :
                 {&event.input_dims, &event.input_strides, &event.concrete_inputs}) {
                inputs_.append("|").append(*part);
            }
            op.inputs = trace_.texts.add(inputs_);
        }
        trace_.operators.push_back(op);
    }
    void add_kernel(const TraceEvent& event, KernelKind kind) {
        if (trace_.kernels.size() >= most) return;
        trace_.kernels.push_back({.name = trace_.texts.add(event.name),
                                  .kind = kind,
                                  .start_ns = event.start_ns,
                                  .duration_ns = std::max<std::int64_t>(event.duration_ns, 0),
                                  .device = std::max<std::int64_t>(event.device, 0),
                                  .stream = event.stream,
                                  .bytes = event.bytes,
                                  .grid = event.grid,
                                  .block = event.block,
                                  .registers = event.registers,
                                  .shared_bytes = event.shared_bytes});
        keys_.push_back({.external_id = event.external_id, .correlation = event.correlation});
    }
    void add_call(const TraceEvent& event) {
        if (event.correlation < 0 || trace_.launches.size() >= most) return;
        calls_.emplace(event.correlation, index_of(trace_.launches.size()));
        trace_.launches.push_back({.name = trace_.texts.add(event.name),
                                   .thread = event.thread,
                                   .start_ns = event.start_ns,
                                   .end_ns = event.start_ns + event.duration_ns});
    }

    /// Sorts the operators and finds each one's parent: a sweep with the open ones on a stack.
    void nest() {
        std::vector<Operator>& ops = trace_.operators;
        std::stable_sort(ops.begin(), ops.end(), [](const Operator& a, const Operator& b) {
            if (a.thread != b.thread) return a.thread < b.thread;
            if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
            return a.end_ns > b.end_ns;
        });
        std::vector<std::int32_t> open;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            while (!open.empty() && !encloses(ops[static_cast<std::size_t>(open.back())], ops[i])) {
                open.pop_back();
            }
            ops[i].parent = open.empty() ? none : open.back();
            open.push_back(index_of(i));
            if (!ops[i].range && ops[i].external_id >= 0) {
                by_id_.insert_or_assign(ops[i].external_id, index_of(i));
            }
        }
    }
    static bool encloses(const Operator& outer, const Operator& inner) {
        return outer.thread == inner.thread && inner.start_ns < outer.end_ns &&
               inner.end_ns <= outer.end_ns;
    }

    void launch() {
        for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
            Kernel& kernel = trace_.kernels[i];
            if (const auto call = calls_.find(keys_[i].correlation); call != calls_.end()) {
                kernel.launch = call->second;
            }
            const auto op = by_id_.find(keys_[i].external_id);
            if (keys_[i].external_id >= 0 && op != by_id_.end()) {
                kernel.op = op->second;
            } else if (kernel.launch != none) {
                const Launch& call = trace_.launches[static_cast<std::size_t>(kernel.launch)];
                kernel.op = innermost(call.thread, call.start_ns);
            }
        }
    }
    /// The innermost operator open on a thread at a time.
    [[nodiscard]] std::int32_t innermost(std::int64_t thread, std::int64_t time) const {
        const std::vector<Operator>& ops = trace_.operators;
        const auto after = std::upper_bound(
            ops.begin(), ops.end(), std::pair(thread, time),
            [](const std::pair<std::int64_t, std::int64_t>& key, const Operator& op) {
                return key < std::pair(op.thread, op.start_ns);
            });
        std::int32_t at = index_of(static_cast<std::size_t>(after - ops.begin())) - 1;
        if (at < 0 || ops[static_cast<std::size_t>(at)].thread != thread) return none;
        while (at != none) {
            const Operator& op = ops[static_cast<std::size_t>(at)];
            if (time < op.end_ns && !op.range) return at;
            at = op.parent;
        }
        return none;
    }

    void sort_kernels() {
        std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(),
                         [](const Kernel& a, const Kernel& b) { return a.start_ns < b.start_ns; });
    }

    Trace& trace_;
    std::vector<Keys> keys_;
    std::string inputs_;
    std::unordered_map<std::int64_t, std::int32_t> calls_;  // by correlation
    std::unordered_map<std::int64_t, std::int32_t> by_id_;  // operators by external id
};

}  // namespace

std::string Trace::device_name() const {
    std::map<std::int64_t, std::size_t> counts;
    for (const Kernel& kernel : kernels) ++counts[kernel.device];
    std::size_t largest = 0;
    std::string name;
    for (const TraceDevice& device : header.devices) {
        const auto found = counts.find(device.id);
        const std::size_t count = found == counts.end() ? 0 : found->second;
        if (name.empty() || count > largest) {
            largest = count;
            name = device.name;
        }
    }
    return name;
}

Trace read_trace(const std::string& file) {
    Trace trace;
    trace.file = file;
    ByteSource source(file);
    TraceBuilder builder(trace);
    trace.read = for_each_event(source, trace.header,
                                [&builder](const TraceEvent& event) { builder.add(event); });
    if (trace.read.events == 0) {
        throw InputError(trace.read.damage.empty() ? "holds no trace events" : trace.read.damage,
                         {.file = file},
                         "a trace is the JSON that torch.profiler's export_chrome_trace writes");
    }
    builder.finish();
    return trace;
}

}  // namespace ridge::programs
