#include "effects/measured.h"

#include <fmt/format.h>

#include <array>

#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::effects {
namespace {

/// The part before `end`; removes it and `end` from `rest`.
std::string_view take(std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return part;
}

/// The name in "cublasLt::splitKreduce_kernel<32, 16, int>", without namespaces and template
/// arguments.
std::string_view bare_name(std::string_view name) {
    name = name.substr(0, name.find('<'));
    const std::size_t scope = name.rfind(':');
    return scope == std::string_view::npos ? name : name.substr(scope + 1);
}

double number_of(std::string_view cell, const std::string& file, std::int64_t line) {
    try {
        return parse_number(cell, "measured");
    } catch (const InputError& error) {
        throw InputError(error.what(), {.file = file, .line = line});
    }
}

}  // namespace

std::string kernels_text(const measure::Record& record) {
    std::string text;
    if (record.question.execution.implementation != model::Implementation::library ||
        !record.geometry) {
        return text;
    }
    for (const measure::KernelLaunch& kernel : record.geometry->kernels) {
        const std::int64_t blocks = kernel.grid_x * kernel.grid_y * kernel.grid_z;
        text += fmt::format("{}{}, {} block{}", text.empty() ? "" : "; ", bare_name(kernel.name),
                            blocks, blocks == 1 ? "" : "s");
    }
    return text;
}

Measured Measured::of(std::string_view gpu) {
    for (const hardware::EmbeddedFile& file : embedded_measured()) {
        std::string_view name = file.path;
        name.remove_prefix(name.rfind('/') + 1);
        if (name.substr(0, name.rfind('.')) == gpu) {
            return parse(file.text, std::string(file.path));
        }
    }
    return {};
}

Measured Measured::parse(std::string_view table, const std::string& file) {
    Measured out;
    std::int64_t number = 0;
    while (!table.empty()) {
        std::string_view line = take(table, '\n');
        if (++number == 1 || line.empty()) continue;  // column names
        const std::string_view question = take(line, '\t');
        std::array<std::optional<double>, 4> values{};
        for (auto& value : values) {
            const std::string_view cell = take(line, '\t');
            if (!cell.empty()) value = number_of(cell, file, number);
        }
        Seen seen;
        seen.kernels = std::string(take(line, '\t'));
        if (const std::string_view cell = take(line, '\t'); !cell.empty()) {
            seen.memory = Bytes::from_base(number_of(cell, file, number));
        }
        if (!values[0] && !seen.memory) {
            throw InputError("time and memory are missing", {.file = file, .line = number});
        }
        if (values[0]) seen.time = Time::from_base(*values[0]);
        if (values[1]) seen.clock = Frequency::from_base(*values[1]);
        if (values[2]) seen.dram = Bytes::from_base(*values[2]);
        if (values[3]) seen.l2 = Bytes::from_base(*values[3]);
        out.seen_.insert_or_assign(std::string(question), seen);
    }
    return out;
}

void Measured::add(const measure::Record& record) {
    if (!record.measured()) return;
    Seen seen{.time = record.time(), .clock = record.timing->clock};
    if (const auto* counters = std::get_if<measure::Counters>(&record.counters)) {
        if (counters->dram_read && counters->dram_write) {
            seen.dram = *counters->dram_read + *counters->dram_write;
        }
        seen.l2 = counters->sm_l2;
    }
    seen.kernels = kernels_text(record);
    seen_.insert_or_assign(measure::canonical_text(record.question), seen);
}

const Seen* Measured::find(std::string_view question) const {
    const auto found = seen_.find(question);
    return found == seen_.end() ? nullptr : &found->second;
}

}  // namespace ridge::effects
