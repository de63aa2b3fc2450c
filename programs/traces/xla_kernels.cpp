#include "programs/traces/xla_kernels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

namespace ridge::programs {
namespace {

/// Up to three numbers, with commas between them, after a word: "grid:512,1,1".
std::array<std::int64_t, 3> sizes_after(std::string_view text, std::string_view word) {
    std::array<std::int64_t, 3> sizes{};
    const std::size_t place = text.find(word);
    if (place == std::string_view::npos) return sizes;
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

}  // namespace

std::int64_t XlaKernels::device_of(std::string_view process) {
    constexpr std::string_view gpu = "/device:GPU";
    if (!process.starts_with(gpu)) return -1;
    process.remove_prefix(gpu.size());
    std::int64_t number = 0;
    if (process.starts_with(':')) {
        std::from_chars(process.data() + 1, process.data() + process.size(), number);
    }
    return number < 0 ? 0 : number;
}

void XlaKernels::add(const XlaKernel& kernel) {
    trace_.recorder = TraceSource::xla;
    const bool fill = kernel.name.starts_with("Memset");
    const bool copy = kernel.name.starts_with("Memcpy");
    text_.assign(kernel.module);
    if (!text_.empty()) text_ += '/';
    text_.append(kernel.name);
    const std::int64_t number = ++added_;
    Operator op{.name = builder_.text(text_),
                .thread = -1 - kernel.device,
                .start_ns = kernel.start_ns,
                .end_ns = kernel.start_ns + kernel.duration_ns,
                .external_id = number};
    const HloInstruction* instruction = programs_.find(kernel.module, kernel.name);
    if (instruction == nullptr) instruction = programs_.find(kernel.module, kernel.operation);
    if (instruction != nullptr) op.inputs = builder_.text(instruction->inputs);
    if (instruction == nullptr && !fill && !copy && programs_.knows(kernel.module)) {
        unnamed_.push_back({std::string(kernel.module), kernel.correlation, op});
    } else {
        builder_.add(op);
    }
    const std::int64_t bytes = sizes_after(kernel.copied, "size:")[0];
    builder_.add(Kernel{.name = builder_.text(kernel.name),
                        .kind = fill   ? ActivityKind::fill
                                : copy ? ActivityKind::copy
                                       : ActivityKind::kernel,
                        .start_ns = kernel.start_ns,
                        .duration_ns = kernel.duration_ns,
                        .device = kernel.device,
                        .stream = kernel.stream,
                        .bytes = bytes > 0 ? bytes : -1,
                        .grid = sizes_after(kernel.details, "grid:"),
                        .block = sizes_after(kernel.details, "block:"),
                        .registers = sizes_after(kernel.details, "regs:")[0],
                        .shared_bytes = sizes_after(kernel.details, "static_shared:")[0] +
                                        sizes_after(kernel.details, "dynamic_shared:")[0]},
                 {.external_id = number, .correlation = kernel.correlation});
}

void XlaKernels::finish() {
    const auto before = [](const Unnamed& a, const Unnamed& b) {
        return std::tie(a.module, a.op.thread, a.correlation, a.op.start_ns) <
               std::tie(b.module, b.op.thread, b.correlation, b.op.start_ns);
    };
    std::stable_sort(unnamed_.begin(), unnamed_.end(), before);
    for (auto first = unnamed_.begin(); first != unnamed_.end();) {
        const auto last = std::find_if(first, unnamed_.end(), [first](const Unnamed& each) {
            return std::tie(each.module, each.op.thread, each.correlation) !=
                   std::tie(first->module, first->op.thread, first->correlation);
        });
        add_replay({&*first, static_cast<std::size_t>(last - first)});
        first = last;
    }
    unnamed_.clear();
}

void XlaKernels::add_replay(std::span<Unnamed> replay) {
    const std::vector<const HloInstruction*> calls = programs_.library_calls(replay[0].module);
    const bool all = replay[0].correlation >= 0 && calls.size() == replay.size();
    for (std::size_t i = 0; i < replay.size(); ++i) {
        if (all) replay[i].op.inputs = builder_.text(calls[i]->inputs);
        builder_.add(replay[i].op);
    }
}

}  // namespace ridge::programs
