#include "programs/traces/chrome_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>

#include "programs/traces/trace_builder.h"
#include "programs/traces/trace_event.h"

namespace ridge::programs {
namespace {

class ChromeReader {
  public:
    explicit ChromeReader(Trace& trace) : trace_(trace), builder_(trace) {}

    void add(const TraceEvent& event) {
        if (event.phase == "M" && event.label.starts_with("/device:GPU")) {
            gpus_.insert(event.process);
        }
        if (event.phase != "X" && event.phase != "x") return;
        if (event.category.empty() && gpus_.contains(event.process)) {
            add_compiled(event);
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
    /// A kernel as JAX writes it, in a process that is named after a GPU: its name is that of its fusion,
    /// and the compiled program is the operator that it belongs to.
    void add_compiled(const TraceEvent& event) {
        trace_.recorder = TraceSource::xla;
        TraceEvent kernel = event;
        kernel.stream = event.thread;
        kernel.external_id = ++compiled_;
        kernel.grid = sizes_after(event.details, "grid:");
        kernel.block = sizes_after(event.details, "block:");
        kernel.registers = sizes_after(event.details, "regs:")[0];
        kernel.shared_bytes = sizes_after(event.details, "static_shared:")[0] +
                              sizes_after(event.details, "dynamic_shared:")[0];
        const bool fill = event.name.starts_with("Memset");
        const bool copy = event.name.starts_with("Memcpy");
        builder_.add({.name = builder_.text(event.module.empty() ? event.name
                                                                 : event.module + "/" + event.name),
                      .thread = -event.process,
                      .start_ns = event.start_ns,
                      .end_ns = event.start_ns + event.duration_ns,
                      .external_id = kernel.external_id});
        add_kernel(kernel, fill   ? ActivityKind::fill
                           : copy ? ActivityKind::copy
                                  : ActivityKind::kernel);
    }
    /// Up to three numbers, with commas between them, after a word: "grid:512,1,1".
    static std::array<std::int64_t, 3> sizes_after(const std::string& text, std::string_view word) {
        std::array<std::int64_t, 3> sizes{};
        const std::size_t place = text.find(word);
        if (place == std::string::npos) return sizes;
        const char* at = text.data() + place + word.size();
        const char* const end = text.data() + text.size();
        for (std::int64_t& size : sizes) {
            const auto [next, error] = std::from_chars(at, end, size);
            if (error != std::errc{}) break;
            at = next;
            if (at == end || *at != ',') break;
            ++at;
        }
        return sizes;
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

    Trace& trace_;
    TraceBuilder builder_;
    std::set<std::int64_t> gpus_;  ///< processes that are GPUs
    std::int64_t compiled_ = 0;
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
