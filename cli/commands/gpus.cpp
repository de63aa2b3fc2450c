// `ridge gpus`: lists GPUs, shows one in full, checks description files, draws a timeline.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>

#include "cli/charts/chart_output.h"
#include "cli/charts/timeline_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/json_document.h"
#include "cli/console/rows.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/gpu.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {
namespace {

struct GpusOptions {
    explicit GpusOptions(CommandLine& line)
        : gpu(line),
          list(line.subcommand("list", "All of them (the default)")),
          show(line.subcommand("show", "One GPU on one screen: memory, peaks, links")),
          check(line.subcommand("check", "Check description files and list every problem")),
          forget(line.subcommand(
              "forget", "Remove your own files about a GPU: ceilings, fits, descriptions")),
          timeline(line.subcommand("timeline", "Compute, bandwidth and interconnect by year")) {}

    GpuOptions gpu;
    std::string format;
    CommandLine list;
    CommandLine show;
    CommandLine check;
    CommandLine forget;
    CommandLine timeline;
    std::string name;
    bool all = false;
    std::string why;
    std::string forgotten;
    std::vector<std::string> files;
    ChartOutput chart;
};

std::optional<FlopRate> leading_peak(const model::Machine& machine) {
    for (const model::DataType type : {model::DataType::bf16, model::DataType::fp16}) {
        if (const auto peak = machine.tensor_peak(type)) return peak;
    }
    return machine.vector_peak(model::DataType::fp32);
}

/// The value with six digits, for programs.
std::string figure(double value) {
    return format_number(value, 6);
}

void write_table(const Context& context, const Table& table, Format format) {
    if (format == Format::csv) write_csv(context.out, table);
    if (format == Format::markdown) write_markdown(context.out, table);
    if (format == Format::table) write_text(context.out, table);
}

/// Where an entry comes from; with the user's own files about it, if there are any.
std::string origin_of(const model::CatalogueEntry& entry, const Machines& machines) {
    const std::string folder = model::user_folder();
    const std::string& all = machines.description(entry.name).origin;
    return !folder.empty() && all.find(folder) != std::string::npos ? all : entry.origin;
}

Table readable_list(Machines& machines) {
    Table table{.columns = {{"name"},
                            {"SMs", Align::right},
                            {"16-bit or fp32", Align::right},
                            {"DRAM", Align::right},
                            {"memory", Align::right},
                            {"from"}},
                .rows = {}};
    for (const model::CatalogueEntry& entry : machines.catalogue().entries()) {
        const model::Machine& machine = machines.at(entry.name);
        const auto peak = leading_peak(machine);
        table.rows.push_back({entry.name,
                              machine.sm_count > 0 ? std::to_string(machine.sm_count) : "",
                              peak ? format(*peak) : "", format(machine.dram_bandwidth),
                              format_capacity(machine.dram_capacity), origin_of(entry, machines)});
    }
    return table;
}

Table exact_list(Machines& machines) {
    Table table{.columns = {{"name"},
                            {"sm_count", Align::right},
                            {"peak_flop_per_s", Align::right},
                            {"dram_bytes_per_s", Align::right},
                            {"dram_bytes", Align::right},
                            {"origin"}},
                .rows = {}};
    for (const model::CatalogueEntry& entry : machines.catalogue().entries()) {
        const model::Machine& machine = machines.at(entry.name);
        const auto peak = leading_peak(machine);
        table.rows.push_back(
            {entry.name, machine.sm_count > 0 ? std::to_string(machine.sm_count) : "",
             peak ? figure(peak->base()) : "", figure(machine.dram_bandwidth.base()),
             fmt::format("{:.0f}", machine.dram_capacity.base()), origin_of(entry, machines)});
    }
    return table;
}

Json list_json(Machines& machines) {
    Json list = Json::array();
    for (const model::CatalogueEntry& entry : machines.catalogue().entries()) {
        const model::Machine& machine = machines.at(entry.name);
        Json each{{"name", entry.name}, {"title", machine.title}};
        if (machine.sm_count > 0) each["sm_count"] = machine.sm_count;
        if (const auto peak = leading_peak(machine)) each["peak_flop_per_s"] = peak->base();
        each["dram_bytes_per_s"] = machine.dram_bandwidth.base();
        each["dram_bytes"] = machine.dram_capacity.base();
        each["origin"] = origin_of(entry, machines);
        list.push_back(std::move(each));
    }
    return list;
}

int list_gpus(const Context& context, const GpusOptions& options) {
    Machines machines = options.gpu.machines(context);
    const Format format = parse_format(format_in_pipe(context, options.format));
    if (format == Format::json) {
        context.out << list_json(machines).text(2) << '\n';
        return success;
    }
    write_table(context, format == Format::csv ? exact_list(machines) : readable_list(machines),
                format);
    return success;
}

int show_gpu(const Context& context, const GpusOptions& options) {
    Machines machines = options.gpu.machines(context);
    const hardware::Description& gpu = machines.description(options.name);
    const Format format = parse_format(options.format);
    if (!options.why.empty()) {
        const model::Derivation derivation =
            model::why(machines.catalogue(), options.name, options.why, machines.view());
        write_derivation(context, derivation, format);
        return success;
    }
    if (options.all) {
        write_gpu_fields(context, gpu, format);
        return success;
    }
    const model::Machine& machine = machines.at(gpu.name);
    if (format == Format::json) {
        write_document(context.out, "gpu", gpu_overview_json(gpu, machine));
    } else if (format == Format::table) {
        write_gpu_overview(context, gpu, machine);
    } else {
        write_table(context, gpu_levels_table(gpu, machine), format);
    }
    return success;
}

/// Lines as compilers write them, or rows if a format was asked for.
void write_problems(const Context& context, const std::vector<hardware::Problem>& problems,
                    const std::string& format) {
    if (format.empty()) {
        for (const hardware::Problem& problem : problems) {
            context.out << printable(to_string(problem)) << '\n';
        }
        return;
    }
    Rows rows{.columns = {{"file"}, {"line"}, {"column"}, {"problem"}}};
    const auto place = [](std::int64_t number) {
        return number > 0 ? Cell{std::to_string(number), static_cast<double>(number)} : Cell{};
    };
    for (const hardware::Problem& problem : problems) {
        const Location& location = problem.location;
        rows.rows.push_back(
            {{location.file}, place(location.line), place(location.column), {problem.message}});
    }
    write_rows(context, rows, parse_format(format));
}

int check_files(const Context& context, const GpusOptions& options) {
    std::vector<hardware::Problem> problems;
    for (const std::string& file : options.files) {
        for (hardware::Problem& problem : model::check_file(file)) {
            problems.push_back(std::move(problem));
        }
    }
    write_problems(context, problems, options.format);
    if (!problems.empty()) {
        context.err << "ridge: " << problems.size()
                    << (problems.size() == 1 ? " problem\n" : " problems\n");
        return bad_data;
    }
    if (options.format.empty()) {
        context.out << options.files.size() << (options.files.size() == 1 ? " file" : " files")
                    << " without problems\n";
    }
    return success;
}

/// Files in the user's folder that describe the GPU or add to it.
std::vector<std::string> own_files(const model::Catalogue& catalogue, const std::string& gpu) {
    const std::string folder = model::user_folder();
    std::vector<std::string> files;
    const auto add = [&](const std::string& origin) {
        const bool own = !folder.empty() && origin.starts_with(folder + "/");
        if (own && std::find(files.begin(), files.end(), origin) == files.end()) {
            files.push_back(origin);
        }
    };
    for (const model::OverlayEntry& overlay : catalogue.overlays()) {
        if (catalogue.canonical_name(overlay.target) == gpu) add(overlay.origin);
    }
    for (const model::CatalogueEntry& entry : catalogue.entries()) {
        if (entry.name == gpu) add(entry.origin);
    }
    return files;
}

int forget_gpu(const Context& context, const GpusOptions& options) {
    const model::Catalogue catalogue = options.gpu.catalogue(context);
    const std::string gpu = catalogue.canonical_name(options.forgotten);
    if (gpu.empty()) {
        throw InputError("unknown GPU \"" + options.forgotten + "\"", {},
                         catalogue.suggestion(options.forgotten));
    }
    const std::vector<std::string> files = own_files(catalogue, gpu);
    if (files.empty()) {
        throw InputError(gpu + ": no file of yours describes it or adds to it", {},
                         "files that count for every answer lie in " + model::user_folder());
    }
    for (const std::string& file : files) {
        std::error_code error;
        if (!std::filesystem::remove(file, error)) {
            throw InputError("cannot remove it: " + error.message(), {.file = file});
        }
    }
    if (options.format.empty()) {
        for (const std::string& file : files) context.out << "removed " << printable(file) << '\n';
        return success;
    }
    Rows rows{.columns = {{"removed"}}};
    for (const std::string& file : files) rows.rows.push_back({{file}});
    write_rows(context, rows, parse_format(options.format));
    return success;
}

Table timeline_table(const std::vector<TimelineEntry>& entries) {
    Table table{.columns = {{"name"},
                            {"announced"},
                            {"peak_flop_per_s", Align::right},
                            {"dram_bytes_per_s", Align::right},
                            {"link_bytes_per_s", Align::right}},
                .rows = {}};
    for (const TimelineEntry& each : entries) {
        table.rows.push_back(
            {each.name, each.announced, each.compute ? figure(each.compute->base()) : "",
             figure(each.dram.base()), each.link ? figure(each.link->base()) : ""});
    }
    return table;
}

Json timeline_json(const std::vector<TimelineEntry>& entries) {
    Json list = Json::array();
    for (const TimelineEntry& each : entries) {
        Json json{{"name", each.name}, {"announced", each.announced}};
        if (each.compute) json["peak_flop_per_s"] = each.compute->base();
        json["dram_bytes_per_s"] = each.dram.base();
        if (each.link) json["link_bytes_per_s"] = each.link->base();
        list.push_back(std::move(json));
    }
    return list;
}

int show_timeline(const Context& context, const GpusOptions& options) {
    Machines machines = options.gpu.machines(context);
    const std::vector<TimelineEntry> entries = timeline(machines);
    const bool file = !options.chart.file.empty();
    const std::string format = file ? options.format : format_in_pipe(context, options.format);
    if (format == "json") {
        context.out << timeline_json(entries).text(2) << '\n';
    } else if (!format.empty() && format != "chart") {
        write_table(context, timeline_table(entries), parse_format(format));
    }
    if (format.empty() || format == "chart" || !options.chart.file.empty()) {
        write_chart_output(context, options.chart, timeline_chart(entries));
    }
    return success;
}

}  // namespace

Action build_gpus(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<GpusOptions>(line);
    line.require_subcommands(0, 1);
    add_format_option(line, options->format, "table|json|csv|md");
    options->list.fall_through();
    add_format_option(options->list, options->format, "table|json|csv|md", " (in a pipe: csv)");
    options->show.positional("name", options->name, "GPU by name or alias").value("GPU").required();
    options->show.flag("--all", options->all, "show every number with its source");
    options->show.option("--why", options->why, "where a number comes from: file, command, records")
        .value("FIELD");
    options->show.fall_through();
    add_format_option(options->show, options->format, "table|json|csv|md");
    options->check.positional("file", options->files, "descriptions, software, calibrations")
        .value("FILE")
        .required();
    options->check.fall_through();
    add_format_option(options->check, options->format, "table|json|csv|md");
    options->forget.positional("name", options->forgotten, "GPU by name or alias")
        .value("GPU")
        .required();
    options->forget.fall_through();
    add_format_option(options->forget, options->format, "table|json|csv|md");
    options->timeline.fall_through();
    add_format_option(options->timeline, options->format, "chart|table|json|csv|md");
    add_chart_options(options->timeline, options->chart);
    line.footer(
        "Examples:\n"
        "  ridge gpus\n"
        "  ridge gpus show h100-sxm\n"
        "  ridge gpus show h100-sxm --all --format json\n"
        "  ridge gpus show h100-sxm --why model.matmul.tensor.k_step\n"
        "  ridge gpus timeline -o timeline.svg\n"
        "  ridge gpus check my-gpu.toml\n"
        "  ridge gpus forget h100-sxm        # your own ceilings and fits of it");
    return [options](const Context& context) {
        if (options->show.parsed()) return show_gpu(context, *options);
        if (options->check.parsed()) return check_files(context, *options);
        if (options->forget.parsed()) return forget_gpu(context, *options);
        if (options->timeline.parsed()) return show_timeline(context, *options);
        return list_gpus(context, *options);
    };
}

}  // namespace ridge::cli
