#include "programs/traces/chrome_trace.h"

#include <algorithm>
#include <map>
#include <string>

#include "programs/traces/trace_builder.h"
#include "programs/traces/trace_event.h"
#include "programs/traces/xla_kernels.h"

namespace ridge::programs {
namespace {

class ChromeReader {
  public:
    explicit ChromeReader(Trace& trace) : builder_(trace), compiled_(trace, builder_) {}

    void add(const TraceEvent& event) {
        if (event.phase == "M") {
            const std::int64_t device = XlaKernels::device_of(event.label);
            if (device >= 0) gpus_.emplace(event.process, device);
        }
        if (event.phase != "X" && event.phase != "x") return;
        const auto gpu = event.category.empty() ? gpus_.find(event.process) : gpus_.end();
        if (gpu != gpus_.end()) {
            add_compiled(event, gpu->second);
        } else if (event.category.empty() && !gpus_.empty()) {
            add_launch(event);  // on JAX's host
        } else if (event.category == "kernel") {
            add_kernel(event, ActivityKind::kernel);
        } else if (event.category == "gpu_memcpy") {
            add_kernel(event, ActivityKind::copy);
        } else if (event.category == "gpu_memset") {
            add_kernel(event, ActivityKind::fill);
        } else if (event.category == "cpu_op") {
            add_operator(event, false);
        } else if (event.category == "user_annotation" ||
                   (event.category == "python_function" && is_module(event.name))) {
            add_operator(event, true);
        } else if (event.category == "cuda_runtime" || event.category == "cuda_driver") {
            add_launch(event);
        }
    }
    void finish() { builder_.finish(); }

  private:
    static bool is_module(const std::string& name) { return name.starts_with("nn.Module: "); }

    void add_launch(const TraceEvent& event) {
        builder_.add(Launch{.name = builder_.text(event.name),
                            .thread = event.thread,
                            .start_ns = event.start_ns,
                            .end_ns = event.start_ns + event.duration_ns},
                     event.correlation);
    }
    void add_operator(const TraceEvent& event, bool range) {
        Operator op{.name = builder_.text(event.name),
                    .thread = event.thread,
                    .start_ns = event.start_ns,
                    .end_ns = event.start_ns + event.duration_ns,
                    .external_id = event.external_id,
                    .sequence = event.sequence,
                    .record = event.record,
                    .collective = collective(event),
                    .range = range};
        if (!event.input_dims.empty()) {
            text_.assign(event.input_types);
            for (const std::string* part :
                 {&event.input_dims, &event.input_strides, &event.concrete_inputs}) {
                text_.append("|").append(*part);
            }
            op.inputs = builder_.text(text_);
        }
        builder_.add(op);
    }
    void add_compiled(const TraceEvent& event, std::int64_t device) {
        compiled_.add({.name = event.name,
                       .module = event.module,
                       .details = event.details,
                       .copied = event.copied,
                       .device = device,
                       .stream = event.thread,
                       .start_ns = event.start_ns,
                       .duration_ns = event.duration_ns,
                       .correlation = event.correlation});
    }
    void add_kernel(const TraceEvent& event, ActivityKind kind) {
        builder_.add(Kernel{.name = builder_.text(event.name),
                            .kind = kind,
                            .start_ns = event.start_ns,
                            .duration_ns = event.duration_ns,
                            .device = std::max<std::int64_t>(event.device, 0),
                            .stream = event.stream,
                            .bytes = event.bytes,
                            .collective = collective(event),
                            .grid = event.grid,
                            .block = event.block,
                            .registers = event.registers,
                            .shared_bytes = event.shared_bytes},
                     {.external_id = event.external_id, .correlation = event.correlation});
    }
    TextId collective(const TraceEvent& event) {
        if (event.collective.empty()) return TextId::empty;
        text_.assign(event.collective);
        for (const std::int64_t count : {event.elements_in, event.elements_out}) {
            text_.append("|").append(std::to_string(count));
        }
        text_.append("|").append(event.collective_type);
        text_.append("|").append(std::to_string(event.group_size));
        return builder_.text(text_);
    }

    TraceBuilder builder_;
    XlaKernels compiled_;
    std::map<std::int64_t, std::int64_t>
        gpus_;  ///< processes of JAX that are GPUs, and their numbers
    std::string text_;
};

}  // namespace

void read_chrome_trace(ByteSource& source, Trace& trace) {
    ChromeReader reader(trace);
    trace.read = for_each_event(source, trace.header,
                                [&reader](const TraceEvent& event) { reader.add(event); });
    reader.finish();
}

}  // namespace ridge::programs
