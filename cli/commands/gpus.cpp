#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "hardware/error.h"
#include "hardware/listing.h"
#include "hardware/units.h"
#include "model/machine/catalogue.h"

namespace ridge::cli {
namespace {

struct GpusOptions {
    explicit GpusOptions(CommandLine& line)
        : gpu(line),
          show(line.subcommand("show", "every number of one GPU with its source")),
          check(line.subcommand("check", "all problems of description files")) {}

    GpuOptions gpu;
    std::string format;
    CommandLine show;
    CommandLine check;
    std::string name;
    std::vector<std::string> files;
};

std::string peak_text(const model::Machine& machine) {
    for (const model::DataType type : {model::DataType::bf16, model::DataType::fp16}) {
        if (const auto peak = machine.tensor_peak(type)) return format(*peak);
    }
    const auto vector = machine.vector_peak(model::DataType::fp32);
    return vector ? format(*vector) : "";
}

int list_gpus(const Context& context, const GpusOptions& options) {
    Machines machines = options.gpu.machines(context);
    Table table{.columns = {{"name"},
                            {"SMs", Align::right},
                            {"16-bit or fp32", Align::right},
                            {"DRAM", Align::right},
                            {"memory", Align::right},
                            {"from"}},
                .rows = {}};
    for (const hardware::CatalogueEntry& entry : machines.catalogue().entries()) {
        const model::Machine& machine = machines.at(entry.name);
        table.rows.push_back({entry.name,
                              machine.sm_count > 0 ? std::to_string(machine.sm_count) : "",
                              peak_text(machine), format(machine.dram_bandwidth),
                              format_capacity(machine.dram_capacity), entry.origin});
    }
    if (options.format == "csv") {
        write_csv(context.out, table);
    } else if (options.format == "md") {
        write_markdown(context.out, table);
    } else {
        write_text(context.out, table);
    }
    return success;
}

void write_field(const Context& context, const hardware::ListedField& field) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    std::string head = "  " + field.path;
    head.resize(std::max<std::size_t>(head.size() + 2, 34), ' ');
    context.out << wrap(head + field.value, width, 34) << '\n';
    std::string sources;
    for (const std::string& text : field.source_texts) {
        sources += (sources.empty() ? "" : "; ") + text;
    }
    context.out << "      " << wrap(field.provenance + ": " + sources, width - 6, 6) << '\n';
    for (const hardware::Dispute& dispute : field.disputes) {
        std::string keys;
        for (const std::string& key : dispute.sources) keys += (keys.empty() ? "" : ", ") + key;
        context.out << "      " << wrap("also " + dispute.value + " (" + keys + ")", width - 6, 6)
                    << '\n';
    }
    if (!field.note.empty()) {
        context.out << "      " << wrap("note: " + field.note, width - 6, 6) << '\n';
    }
}

int show_gpu(const Context& context, const GpusOptions& options) {
    const Machines machines = options.gpu.machines(context);
    const hardware::Description& gpu = machines.description(options.name);
    if (options.format == "json") {
        context.out << hardware::to_json(gpu, model::schema()) << '\n';
        return success;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << gpu.title << " (" << gpu.name << ")\n";
    std::string aliases;
    for (const std::string& alias : gpu.aliases) aliases += (aliases.empty() ? "" : ", ") + alias;
    if (!aliases.empty())
        context.out << "  " << wrap("also called: " + aliases, width - 2, 2) << '\n';
    if (!gpu.inherits.empty()) context.out << "  inherits: " << gpu.inherits << '\n';
    for (const hardware::ListedField& field : hardware::list_fields(gpu, model::schema())) {
        write_field(context, field);
    }
    return success;
}

int check_files(const Context& context, const GpusOptions& options) {
    std::size_t problems = 0;
    for (const std::string& file : options.files) {
        for (const hardware::Problem& problem : hardware::check_file(file, model::schema())) {
            context.out << to_string(problem) << '\n';
            ++problems;
        }
    }
    if (problems > 0) {
        context.err << "ridge: " << problems << (problems == 1 ? " problem\n" : " problems\n");
        return bad_data;
    }
    context.out << options.files.size() << (options.files.size() == 1 ? " file" : " files")
                << " without problems\n";
    return success;
}

}  // namespace

Action build_gpus(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<GpusOptions>(line);
    line.require_subcommands(0, 1);
    add_format_option(line, options->format, "table|csv|md");
    options->show.positional("name", options->name, "GPU by name or alias").required();
    options->show.fall_through();
    add_format_option(options->show, options->format, "table|json");
    options->check.positional("file", options->files, "GPU descriptions").required();
    line.footer(
        "Examples:\n"
        "  ridge gpus\n"
        "  ridge gpus show h100-sxm --format json\n"
        "  ridge gpus check my-gpu.toml");
    return [options](const Context& context) {
        if (options->show.parsed()) return show_gpu(context, *options);
        if (options->check.parsed()) return check_files(context, *options);
        return list_gpus(context, *options);
    };
}

}  // namespace ridge::cli
