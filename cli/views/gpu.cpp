#include "cli/views/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <vector>

#include "cli/console/rows.h"
#include "hardware/listing.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {
namespace {

using hardware::Description;

/// One level of the memory hierarchy; unknown values are absent.
struct Level {
    std::string name;
    std::optional<Bytes> of_one{};  ///< multiprocessor
    std::optional<Bytes> total{};
    std::optional<Bandwidth> bandwidth{};
    bool measured = false;  ///< the bandwidth, which vendors do not state
    std::optional<Cycles> latency{};
    std::optional<Cycles> cached_latency{};  ///< through the L1 if both are one memory
    std::optional<Cycles> far_latency{};
};

Bytes registers_of(const Description& gpu) {
    constexpr double bytes_per_register = 4.0;
    const auto count = gpu.count("limits.registers_per_sm");
    return bytes_per_register * static_cast<double>(count.value_or(0)) * units::B;
}

/// L1 and shared memory as one level if they are one memory; else the shared memory.
Level shared_level(const Description& gpu, const model::Machine& machine) {
    const auto shared = gpu.quantity<Bytes>("shared.per_sm");
    const auto l1 = gpu.quantity<Bytes>("l1.size");
    const bool unified = shared && l1 && *l1 > *shared && gpu.find("shared.carveouts") != nullptr;
    Level level{.name = unified ? "L1 and shared memory" : "shared memory",
                .of_one = unified ? l1 : shared,
                .total = {},
                .bandwidth = machine.shared_bandwidth,
                .latency = gpu.quantity<Cycles>("latency.shared")};
    if (unified) level.cached_latency = gpu.quantity<Cycles>("latency.l1");
    return level;
}

std::vector<Level> levels_of(const Description& gpu, const model::Machine& machine) {
    std::vector<Level> levels;
    if (registers_of(gpu) > Bytes{}) {
        levels.push_back({.name = "registers", .of_one = registers_of(gpu)});
    }
    if (gpu.find("shared.per_sm") != nullptr) levels.push_back(shared_level(gpu, machine));
    const auto l1 = gpu.quantity<Bytes>("l1.size");
    if (l1 && (levels.empty() || levels.back().name != "L1 and shared memory")) {
        levels.push_back({.name = "L1 cache",
                          .of_one = l1,
                          .bandwidth = gpu.quantity<Bandwidth>("measured.l1.read"),
                          .measured = true,
                          .latency = gpu.quantity<Cycles>("latency.l1")});
    }
    if (const auto l2 = gpu.quantity<Bytes>("l2.size")) {
        levels.push_back({.name = "L2 cache",
                          .total = l2,
                          .bandwidth = machine.l2_bandwidth,
                          .measured = gpu.find("l2.bytes_per_clock") == nullptr,
                          .latency = gpu.quantity<Cycles>("latency.l2"),
                          .far_latency = gpu.quantity<Cycles>("latency.l2_far")});
    }
    if (const auto l3 = gpu.quantity<Bytes>("l3.size")) {
        levels.push_back({.name = "memory-side cache", .total = l3});
    }
    levels.push_back({.name = gpu.text("dram.type").value_or("DRAM"),
                      .total = machine.dram_capacity,
                      .bandwidth = machine.dram_bandwidth,
                      .latency = gpu.quantity<Cycles>("latency.dram")});
    const auto sms = static_cast<double>(machine.sm_count);
    for (Level& level : levels) {
        if (level.of_one && machine.sm_count > 0) level.total = sms * *level.of_one;
    }
    return levels;
}

/// Registers, L1, shared memory and caches together: all levels except the last.
Bytes on_chip(const std::vector<Level>& levels) {
    Bytes sum{};
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) sum += levels[i].total.value_or(Bytes{});
    return sum;
}

template <class Q, class Format>
std::string text_or_blank(const std::optional<Q>& quantity, const Format& format) {
    return quantity ? format(*quantity) : std::string();
}

std::string latency_text(const std::optional<Cycles>& latency, const model::Machine& machine) {
    if (!latency) return {};
    if (machine.boost_clock <= Frequency{}) return format(*latency);
    return fmt::format("{}  {:>6}", format(*latency), format(*latency / machine.boost_clock));
}

void write_levels(const Context& context, const Description& gpu, const model::Machine& machine) {
    const std::vector<Level> levels = levels_of(gpu, machine);
    const auto capacity = [](Bytes bytes) { return format_capacity(bytes); };
    const auto rate = [](Bandwidth bandwidth) { return format(bandwidth); };
    Table table{.columns = {{"memory"},
                            {"per SM", Align::right},
                            {"total", Align::right},
                            {"bandwidth", Align::right},
                            {"latency", Align::right}},
                .rows = {}};
    bool measured = false;
    for (const Level& level : levels) {
        std::string bandwidth = text_or_blank(level.bandwidth, rate);
        if (level.bandwidth && level.measured) bandwidth += " *";
        measured = measured || (level.bandwidth && level.measured);
        table.rows.push_back({level.name, text_or_blank(level.of_one, capacity),
                              text_or_blank(level.total, capacity), bandwidth,
                              latency_text(level.latency, machine)});
        if (level.cached_latency) {
            table.rows.push_back(
                {"  as a cache", "", "", "", latency_text(level.cached_latency, machine)});
        }
        if (level.far_latency) {
            table.rows.push_back(
                {"  its far partition", "", "", "", latency_text(level.far_latency, machine)});
        }
    }
    const Bytes sram = on_chip(levels);
    if (sram > Bytes{}) table.rows.push_back({"all SRAM", "", format_capacity(sram), "", ""});
    write_text(context.out, table);
    if (measured) context.out << "* measured; not a vendor's figure\n";
}

std::string peak_text(const std::optional<FlopRate>& peak) {
    return peak ? format(*peak, 4) : std::string();
}

void write_peaks(const Context& context, const model::Machine& machine) {
    Table table{.columns = {{"type"},
                            {"tensor cores", Align::right},
                            {"vector pipes", Align::right},
                            {"ridge point", Align::right}},
                .rows = {}};
    for (const model::DataType type : model::all_data_types) {
        const auto tensor = machine.tensor_peak(type);
        const auto vector = machine.vector_peak(type);
        if (!tensor && !vector) continue;
        const FlopRate best = std::max(tensor.value_or(FlopRate{}), vector.value_or(FlopRate{}));
        table.rows.push_back({std::string(name_of(type)), peak_text(tensor), peak_text(vector),
                              format(best / machine.dram_bandwidth)});
    }
    write_text(context.out, table);
}

void write_overview(const Context& context, std::string_view label, const std::string& text) {
    constexpr std::size_t indent = 12;
    if (text.empty()) return;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << fmt::format("{:<{}}{}\n", label, indent, wrap(text, width, indent, indent));
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) {
        if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
    }
    return text;
}

std::string chip_text(const Description& gpu, const model::Machine& machine) {
    const auto full = gpu.count("sm.full_die");
    std::string sms;
    if (machine.sm_count > 0) {
        sms = fmt::format("{}{} {}", machine.sm_count, full ? fmt::format(" of {}", *full) : "",
                          gpu.vendor == "AMD" ? "compute units" : "SMs");
    }
    const auto capability = gpu.text("architecture.compute_capability");
    return joined({gpu.text("architecture.name").value_or(""),
                   capability ? "compute capability " + *capability
                              : gpu.text("architecture.target").value_or(""),
                   sms, gpu.text("product.announced").value_or("")});
}

std::string clock_text(const Description& gpu, const model::Machine& machine) {
    const auto power = gpu.quantity<Power>("power.limit");
    return joined({machine.boost_clock > Frequency{} ? "boost " + format(machine.boost_clock) : "",
                   machine.tensor_clock != machine.boost_clock
                       ? "tensor peaks at " + format(machine.tensor_clock)
                       : "",
                   power ? "power limit " + format(*power) : ""});
}

std::string link_text(const Description& gpu) {
    const auto one_way = gpu.quantity<Bandwidth>("link.per_direction");
    if (!one_way) return {};
    const auto links = gpu.count("link.links");
    const auto gpus = gpu.count("link.gpus");
    return joined({gpu.text("link.name").value_or("link"),
                   links ? fmt::format("{} links", *links) : "",
                   format(*one_way) + " each way, " + format(2.0 * *one_way) + " both ways",
                   gpus ? fmt::format("connects {} GPUs", *gpus) : ""});
}

std::string pcie_text(const Description& gpu) {
    const auto one_way = gpu.quantity<Bandwidth>("pcie.per_direction");
    if (!one_way) return {};
    const auto generation = gpu.count("pcie.generation");
    const auto lanes = gpu.count("pcie.lanes");
    return joined({fmt::format("PCIe{}{}", generation ? fmt::format(" {}", *generation) : "",
                               lanes ? fmt::format(" x{}", *lanes) : ""),
                   format(*one_way) + " each way"});
}

std::string limits_text(const model::Machine& machine) {
    if (!machine.limits) return {};
    const model::SmLimits& limits = *machine.limits;
    return fmt::format(
        "an SM holds {} threads, {} warps, {} blocks, {} registers; a block at most {} threads and "
        "{} of shared memory",
        limits.threads, limits.warps, limits.blocks, limits.registers, limits.threads_per_block,
        format_capacity(limits.shared_per_block));
}

/// Shortens the trees of a correction, which would fill the screen; other formats keep them whole.
std::string shortened(const std::string& text) {
    constexpr std::size_t most = 300;
    if (text.size() <= 2 * most) return text;
    return fmt::format("{} ... ({} characters)", text.substr(0, text.rfind(' ', most)),
                       text.size());
}

void write_field(const Context& context, const hardware::ListedField& field) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    std::string head = "  " + field.path;
    head.resize(std::max<std::size_t>(head.size() + 2, 34), ' ');
    context.out << wrap(head + shortened(field.value), width, 34) << '\n';
    std::string sources;
    for (const std::string& text : field.source_texts) {
        sources += (sources.empty() ? "" : "; ") + text;
    }
    context.out << "      " << wrap(field.provenance + ": " + sources, width, 6, 6) << '\n';
    for (const hardware::Dispute& dispute : field.disputes) {
        const std::string also = "also " + dispute.value + " (" + joined(dispute.sources) + ")";
        context.out << "      " << wrap(also, width, 6, 6) << '\n';
    }
    if (!field.note.empty()) {
        context.out << "      " << wrap("note: " + field.note, width, 6, 6) << '\n';
    }
}

void write_names(const Context& context, const Description& gpu) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << gpu.title << " (" << gpu.name << ")\n";
    if (!gpu.aliases.empty()) {
        context.out << "  " << wrap("also called: " + joined(gpu.aliases), width, 2, 2) << '\n';
    }
}

Table fields_table(const Description& gpu) {
    Table table{.columns = {{"field"}, {"value"}, {"origin"}, {"sources"}, {"note"}}, .rows = {}};
    for (const hardware::ListedField& field : hardware::list_fields(gpu, model::schema())) {
        std::string sources;
        for (const std::string& text : field.source_texts) {
            sources += (sources.empty() ? "" : "; ") + text;
        }
        table.rows.push_back({field.path, field.value, field.provenance, sources, field.note});
    }
    return table;
}

}  // namespace

void write_gpu_overview(const Context& context, const Description& gpu,
                        const model::Machine& machine) {
    write_names(context, gpu);
    write_overview(context, "  chip", chip_text(gpu, machine));
    write_overview(context, "  clock", clock_text(gpu, machine));
    context.out << '\n';
    write_levels(context, gpu, machine);
    context.out << '\n';
    write_peaks(context, machine);
    context.out << '\n';
    write_overview(context, "links", link_text(gpu));
    write_overview(context, "host", pcie_text(gpu));
    write_overview(context, "limits", limits_text(machine));
    write_overview(context, "",
                   "Peaks are dense. `ridge gpus show " + gpu.name +
                       " --all` lists every number with its source.");
}

Json gpu_overview_json(const Description& gpu, const model::Machine& machine) {
    Json json{{"name", gpu.name}, {"title", gpu.title}, {"sm_count", machine.sm_count}};
    Json levels = Json::array();
    for (const Level& level : levels_of(gpu, machine)) {
        Json each{{"name", level.name}};
        if (level.of_one) each["per_sm_bytes"] = level.of_one->base();
        if (level.total) each["bytes"] = level.total->base();
        if (level.bandwidth) each["bytes_per_s"] = level.bandwidth->base();
        if (level.latency) {
            each["latency_clocks"] = level.latency->base();
            if (machine.boost_clock > Frequency{}) {
                each["latency_ns"] = (*level.latency / machine.boost_clock).in(units::ns);
            }
        }
        if (level.far_latency) each["far_latency_clocks"] = level.far_latency->base();
        levels.push_back(std::move(each));
    }
    json["memory"] = std::move(levels);
    json["sram_bytes"] = on_chip(levels_of(gpu, machine)).base();
    Json peaks = Json::object();
    for (const model::DataType type : model::all_data_types) {
        if (const auto peak = machine.tensor_peak(type)) {
            peaks[name_of(type)]["tensor_flop_per_s"] = peak->base();
        }
        if (const auto peak = machine.vector_peak(type)) {
            peaks[name_of(type)]["vector_flop_per_s"] = peak->base();
        }
    }
    json["peaks"] = std::move(peaks);
    if (const auto link = gpu.quantity<Bandwidth>("link.per_direction")) {
        json["link_bytes_per_s_per_direction"] = link->base();
    }
    if (const auto pcie = gpu.quantity<Bandwidth>("pcie.per_direction")) {
        json["pcie_bytes_per_s_per_direction"] = pcie->base();
    }
    return json;
}

Table gpu_levels_table(const Description& gpu, const model::Machine& machine) {
    Table table{.columns = {{"memory"},
                            {"per_sm_bytes", Align::right},
                            {"bytes", Align::right},
                            {"bytes_per_s", Align::right},
                            {"latency_clocks", Align::right},
                            {"latency_ns", Align::right}},
                .rows = {}};
    const auto figure = [](const auto& quantity) {
        return quantity ? format_number(quantity->base(), 6) : std::string();
    };
    for (const Level& level : levels_of(gpu, machine)) {
        std::string nanoseconds;
        if (level.latency && machine.boost_clock > Frequency{}) {
            nanoseconds = format_number((*level.latency / machine.boost_clock).in(units::ns), 6);
        }
        table.rows.push_back({level.name, figure(level.of_one), figure(level.total),
                              figure(level.bandwidth), figure(level.latency), nanoseconds});
    }
    return table;
}

void write_gpu_fields(const Context& context, const Description& gpu, Format format) {
    switch (format) {
        case Format::json:
            context.out << hardware::to_json(gpu, model::schema()) << '\n';
            return;
        case Format::csv:
            write_csv(context.out, fields_table(gpu));
            return;
        case Format::markdown:
            write_markdown(context.out, fields_table(gpu));
            return;
        case Format::table:
            break;
    }
    write_names(context, gpu);
    if (!gpu.inherits.empty()) context.out << "  inherits: " << gpu.inherits << '\n';
    const std::string relative = gpu.words.text("corrections");
    if (!relative.empty()) context.out << "  corrections of: " << relative << '\n';
    for (const hardware::ListedField& field : hardware::list_fields(gpu, model::schema())) {
        write_field(context, field);
    }
}

void write_derivation(const Context& context, const model::Derivation& derivation, Format format) {
    Rows rows;
    for (const char* const name :
         {"field", "value", "file", "source", "command", "records", "digest", "date", "carried"}) {
        rows.columns.push_back({.name = name});
    }
    for (const hardware::Source& each : derivation.sources) {
        std::vector<Cell> cells;
        for (const std::string& text :
             {derivation.path, derivation.value, derivation.place, each.key + ": " + each.text,
              each.command.str(), each.records.str(), each.digest.str(), each.date.str(),
              derivation.carried}) {
            cells.push_back(Cell{.text = text, .number = std::nullopt});
        }
        rows.rows.push_back(std::move(cells));
    }
    if (format != Format::table) {
        write_rows(context, rows, format);
        return;
    }
    const auto line = [&context](std::string_view name, const std::string& text) {
        if (!text.empty()) context.out << fmt::format("  {:<11}{}\n", name, printable(text));
    };
    context.out << fmt::format("{} of {}: {}\n", derivation.path, derivation.gpu,
                               printable(derivation.value));
    line("meaning", derivation.meaning);
    line("note", derivation.note);
    line("carried", derivation.carried);
    line("1 file", derivation.place);
    for (const hardware::Source& each : derivation.sources) {
        line("2 source",
             each.key + " (" + std::string(to_string(each.provenance)) + "): " + each.text);
        line("  command", each.command.str());
        line("3 records", each.records.str());
        line("  digest", each.digest.str());
        line("  date", each.date.str());
    }
}

}  // namespace ridge::cli
