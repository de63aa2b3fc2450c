#include "programs/traces/chrome_trace.h"

#include <algorithm>
#include <string>

#include "programs/traces/trace_builder.h"
#include "programs/traces/trace_event.h"

namespace ridge::programs {
namespace {

class ChromeReader {
  public:
    explicit ChromeReader(Trace& trace) : builder_(trace) {}

    void add(const TraceEvent& event) {
        if (event.phase != "X" && event.phase != "x") return;
        if (event.category == "kernel") {
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
            builder_.add(Launch{.name = builder_.text(event.name),
                                .thread = event.thread,
                                .start_ns = event.start_ns,
                                .end_ns = event.start_ns + event.duration_ns},
                         event.correlation);
        }
    }
    void finish() { builder_.finish(); }

  private:
    static bool is_module(const std::string& name) { return name.starts_with("nn.Module: "); }

    void add_operator(const TraceEvent& event, bool range) {
        Operator op{.name = builder_.text(event.name),
                    .thread = event.thread,
                    .start_ns = event.start_ns,
                    .end_ns = event.start_ns + event.duration_ns,
                    .external_id = event.external_id,
                    .sequence = event.sequence,
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
