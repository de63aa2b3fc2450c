// `ridge plot`: draws measured records beside their predictions.
#include <algorithm>
#include <memory>
#include <set>

#include "cli/charts/chart_output.h"
#include "cli/charts/chart_rows.h"
#include "cli/charts/own_points.h"
#include "cli/charts/record_charts.h"
#include "cli/commands/commands.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/views/left_out.h"
#include "cli/views/record.h"
#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "measure/judge/validate.h"

namespace ridge::cli {
namespace {

/// The options that both charts take; each subcommand has its own copy.
struct RecordArguments {
    explicit RecordArguments(CommandLine& line) : gpu(line) {
        line.positional("records", paths, "files or folders of records").value("PATH").required();
        line.option("--where", conditions, "only records with field=value (op=matmul, n=@m)")
            .value("TEXT");
        add_keep_option(line, keep);
        add_format_option(line, format, "chart|table|json|csv|md");
        add_chart_options(line, output);
    }

    GpuOptions gpu;
    std::vector<std::string> paths;
    std::vector<std::string> conditions;
    std::string keep;
    std::string format;
    ChartOutput output;

    /// Whether the chart is wanted; `values` says whether its values are.
    [[nodiscard]] bool chart() const { return !values() || !output.file.empty(); }
    [[nodiscard]] bool values() const { return !format.empty() && format != "chart"; }
};

struct PlotOptions {
    explicit PlotOptions(CommandLine& line)
        : scatter(line.subcommand("scatter",
                                  "Predicted over measured time, with the 10 and 20 % lines")),
          sweep(line.subcommand("sweep", "Measured and predicted over one field")),
          scatter_records(scatter),
          sweep_records(sweep) {}

    CommandLine scatter;
    CommandLine sweep;
    RecordArguments scatter_records;
    RecordArguments sweep_records;
    std::string x;
    std::string y;
};

/// Filtered records with their predictions, and a title that names their GPU.
struct ComparedRecords {
    Machines machines;
    std::vector<measure::Record> records;
    measure::Validation validation;
    std::string title;
};

ComparedRecords compare(const Context& context, const RecordArguments& arguments) {
    ComparedRecords compared{
        .machines = arguments.gpu.machines(context), .records = {}, .validation = {}, .title = {}};
    const model::Catalogue& catalogue = compared.machines.catalogue();
    compared.records =
        RecordFilter(arguments.conditions)
            .apply(load_records(context, arguments.paths, arguments.gpu.wanted(), catalogue,
                                measure::parse_kept_columns(arguments.keep))
                       .records);
    compared.validation = measure::validate(compared.records, catalogue, compared.machines.view());
    write_doubtful_times(context, compared.validation, compared.records);
    compared.title = compared.records.front().device.name;
    for (const measure::Record& record : compared.records) {
        if (record.device.name != compared.title) {
            compared.title = "Several GPUs";
            break;
        }
    }
    return compared;
}

/// Prints which records are not in the chart: all except `drawn`.
void say_left_out(const Context& context, const ComparedRecords& compared,
                  const std::set<std::size_t>& drawn) {
    LeftOut left_out;
    for (const measure::Unused& unused : compared.validation.unused) {
        if (drawn.contains(unused.record)) continue;
        left_out.add(compared.records[unused.record], unused.reason);
    }
    left_out.write(context, compared.records.size());
}

/// InputError when there is nothing to draw.
void require_compared(const ComparedRecords& compared, const RecordArguments& arguments) {
    if (!compared.validation.comparisons.empty()) return;
    throw InputError("no record could be compared: " + compared.validation.unused.front().reason,
                     {.file = arguments.paths.front()});
}

int draw_scatter(const Context& context, const PlotOptions& options) {
    const ComparedRecords compared = compare(context, options.scatter_records);
    require_compared(compared, options.scatter_records);
    plot::Scatter scatter = record_scatter(compared.validation, compared.records);
    scatter.title = compared.title + ", predicted over measured time";
    const RecordArguments& arguments = options.scatter_records;
    if (arguments.chart()) {
        write_chart_output(context, arguments.output, plot::scatter_chart(scatter));
    }
    if (arguments.values()) {
        write_rows(context, scatter_rows(scatter), parse_format(arguments.format));
    }
    say_left_out(context, compared, {});
    return success;
}

model::Field field_of(const std::string& name) {
    const std::optional<model::Field> field = model::find_field(name == "seq" ? "seq_q" : name);
    if (field && model::info_of(*field).kind == model::FieldKind::count) return *field;
    std::vector<std::string> names;
    for (const model::FieldInfo& info : model::field_table()) {
        if (info.kind == model::FieldKind::count) names.emplace_back(info.name);
    }
    const std::string near = nearest(name, names);
    throw InputError("x: '" + name + "' is not a count", {},
                     near.empty() ? "m, seq, elements, cols ..." : "did you mean '" + near + "'?");
}

int draw_sweep(const Context& context, const PlotOptions& options) {
    const model::Field x = field_of(options.x);
    ComparedRecords compared = compare(context, options.sweep_records);
    const auto first = algorithms::find_if(compared.records, [x](const measure::Record& record) {
        return parameters_of(record.question).has(x);
    });
    const measure::Record& shown =
        first == compared.records.end() ? compared.records.front() : *first;
    const Ordinate ordinate = ordinate_of(options.y, name_of(shown.question.operation));
    plot::Sweep sweep = record_sweep(compared.validation, compared.records, x, ordinate);
    const std::set<std::size_t> own = add_own_series(sweep, compared.validation, compared.records,
                                                     compared.machines, x, ordinate);
    if (sweep.series.empty()) {
        require_compared(compared, options.sweep_records);
        throw InputError("x: no record has the field " + std::string(model::info_of(x).name));
    }
    sweep.title = compared.title + ", measured and predicted";
    const RecordArguments& arguments = options.sweep_records;
    if (arguments.chart()) {
        write_chart_output(context, arguments.output, plot::sweep_chart(sweep));
    }
    if (arguments.values()) {
        write_rows(context, sweep_rows(sweep, ordinate), parse_format(arguments.format));
    }
    say_left_out(context, compared, own);
    return success;
}

}  // namespace

Action build_plot(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<PlotOptions>(line);
    line.require_subcommands(1, 1);
    options->sweep.option("--x", options->x, "the count on the x axis: m, seq, elements ...")
        .value("FIELD")
        .required();
    options->sweep.option("--y", options->y, "rate, bandwidth or time")
        .one_of({"rate", "bandwidth", "time"});
    line.footer(
        "Examples:\n"
        "  ridge plot scatter records/ -o scatter.html\n"
        "  ridge plot sweep records/ --x m --where n=@m --where k=@m -o sweep.svg\n"
        "  ridge plot scatter records/ --format csv");
    return [options](const Context& context) {
        return options->scatter.parsed() ? draw_scatter(context, *options)
                                         : draw_sweep(context, *options);
    };
}

}  // namespace ridge::cli
