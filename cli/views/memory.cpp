#include "cli/views/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/table.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

std::string_view phase_at(const model::MemoryPlan& plan, std::size_t step) {
    for (const model::MemoryPlan::Phase& phase : plan.phases()) {
        if (step >= phase.first && step < phase.last) return phase.name;
    }
    return "";
}

}  // namespace

std::string decimal_bytes(Bytes bytes) {
    if (bytes < units::GB) return format_traffic(bytes, 4);
    return format_number(bytes.in(units::GB), 5) + " GB";
}

std::string both_units(Bytes bytes) {
    return decimal_bytes(bytes) + " (" + format_capacity(bytes) + ")";
}

Bytes bytes_of(std::int64_t count) {
    return Bytes::from_base(static_cast<double>(count));
}

std::string share_of_memory(double share) {
    const bool near = share > 0.99 && share < 1.01;
    return format_number(100.0 * share, near ? 6 : 3) + " %";
}

model::Grade MemoryEvidence::grade() const {
    if (usable_measured == false) return model::Grade::datasheet;
    return bytes == BytesEvidence::compared ? model::Grade::measured : model::Grade::related;
}

Json to_json(const MemoryEvidence& evidence) {
    Json json{{"grade", model::name_of(evidence.grade())},
              {"bytes", evidence.bytes == BytesEvidence::compared ? "measured" : "counted"}};
    if (evidence.usable_measured) {
        json["usable"] = *evidence.usable_measured ? "measured" : "datasheet";
    }
    return json;
}

std::string sentence_of(const MemoryEvidence& evidence) {
    std::string text = fmt::format("Evidence: {}: bytes {}", model::name_of(evidence.grade()),
                                   evidence.bytes == BytesEvidence::compared
                                       ? "by rules that were compared with PyTorch's counts"
                                       : "counted from the tensors");
    if (evidence.usable_measured) {
        text += *evidence.usable_measured ? "; usable memory measured"
                                          : "; usable memory estimated from the data sheet";
    }
    return text + ".";
}

void write_sentence(const Context& context, const std::string& sentence) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << "  " << wrap(sentence, width, 2, 2) << '\n';
}

MemoryPeak peak_of(const model::MemoryPlan& plan, const model::MemoryTimeline& timeline) {
    MemoryPeak peak;
    for (std::size_t i = 0; i < timeline.levels.size(); ++i) {
        if (timeline.levels[i].allocated <= peak.level.allocated) continue;
        peak = {.phase = phase_at(plan, i), .step = i, .level = timeline.levels[i]};
    }
    return peak;
}

void write_alive_at_peak(const Context& context, const model::MemoryPlan& plan,
                         const model::MemoryTimeline& timeline) {
    const MemoryPeak peak = peak_of(plan, timeline);
    Table table{.columns = {{"  alive at the peak"},
                            {"since"},
                            {"bytes", Align::right},
                            {"binary", Align::right}},
                .rows = {}};
    for (std::size_t i = 0; i < plan.allocations().size(); ++i) {
        const model::MemoryPlan::Allocation& each = plan.allocations()[i];
        if (each.taken > peak.step || each.given <= peak.step) continue;
        const Bytes bytes = bytes_of(timeline.blocks[i]);
        table.rows.push_back({"  " + std::string(each.name),
                              std::string(phase_at(plan, each.taken)), decimal_bytes(bytes),
                              format_capacity(bytes)});
    }
    const Bytes total = bytes_of(peak.level.allocated);
    table.rows.push_back({"  total", "", decimal_bytes(total), format_capacity(total)});
    write_text(context.out, table);
}

void write_timeline(const Context& context, const model::MemoryPlan& plan,
                    const model::MemoryTimeline& timeline) {
    const MemoryPeak peak = peak_of(plan, timeline);
    Table table{.columns = {{"  phase"},
                            {""},
                            {"tensor"},
                            {"bytes", Align::right},
                            {"allocated", Align::right},
                            {"reserved", Align::right},
                            {""}},
                .rows = {}};
    std::string_view last;
    for (std::size_t i = 0; i < plan.steps().size(); ++i) {
        const model::MemoryPlan::Step& step = plan.steps()[i];
        const std::string_view phase = phase_at(plan, i);
        const model::MemoryLevel& level = timeline.levels[i];
        table.rows.push_back(
            {"  " + std::string(phase == last ? "" : phase), step.takes ? "+" : "-",
             std::string(plan.allocations()[step.allocation].name),
             format_capacity(bytes_of(timeline.blocks[step.allocation])),
             format_capacity(bytes_of(level.allocated)), format_capacity(bytes_of(level.reserved)),
             i == peak.step ? "peak" : ""});
        last = phase;
    }
    write_text(context.out, table);
}

Json json_of_allocations(const model::MemoryPlan& plan, const model::MemoryTimeline& timeline) {
    Json list = Json::array();
    for (std::size_t i = 0; i < plan.allocations().size(); ++i) {
        const model::MemoryPlan::Allocation& each = plan.allocations()[i];
        Json json{{"name", each.name},
                  {"requested_bytes", each.bytes},
                  {"allocated_bytes", timeline.blocks[i]},
                  {"phase", phase_at(plan, each.taken)},
                  {"taken", each.taken}};
        if (each.given == model::MemoryPlan::never) {
            json["given"] = Json();
            json["given_phase"] = Json();
        } else {
            json["given"] = each.given;
            json["given_phase"] = phase_at(plan, each.given);
        }
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace ridge::cli
