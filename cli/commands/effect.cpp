// `ridge effect`: lessons in GPU performance, each a sweep of predictions beside measurements.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <set>

#include "cli/charts/chart_output.h"
#include "cli/commands/commands.h"
#include "cli/console/interruption.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/effect.h"
#include "cli/views/reference.h"
#include "effects/chart.h"
#include "effects/page.h"
#include "effects/study.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/output_folder.h"
#include "measure/run/measure.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

struct EffectOptions {
    explicit EffectOptions(CommandLine& line) : gpu(line), device(line) {}

    GpuOptions gpu;
    DeviceOption device;
    std::string name;
    std::string format;
    ChartOutput output;
    std::vector<std::string> records;
    std::string save;
    double seconds = 0.1;
    double budget = 0.0;
    bool measure = false;
    bool questions = false;
    bool all_charts = false;
    std::map<std::string_view, std::string> knobs;  ///< as given; empty if not
};

using Chosen = std::vector<const effects::Effect*>;

Chosen chosen(const std::string& name) {
    if (name.empty()) {
        throw InputError("NAME is missing", {},
                         "`ridge effect list` lists the effects; `all` selects all of them");
    }
    Chosen out;
    if (name != "all") return {&effects::find_effect(name)};
    for (const effects::Effect& effect : effects::effects()) out.push_back(&effect);
    return out;
}

int list_effects(const Context& context, const std::string& format) {
    Table table{.columns = {{"name"}, {"question"}}, .rows = {}};
    Json list = Json::array();
    for (const effects::Effect& effect : effects::effects()) {
        table.rows.push_back({std::string(effect.name), std::string(effect.question)});
        list.push_back({{"name", effect.name},
                        {"title", effect.title},
                        {"question", effect.question},
                        {"equations", effect.equations}});
    }
    if (format == "json") {
        context.out << list.text(2) << '\n';
    } else if (format == "csv") {
        write_csv(context.out, table);
    } else if (format == "md") {
        write_markdown(context.out, table);
    } else {
        write_text(context.out, table);
    }
    return success;
}

/// What was set, checked against what the effects leave open.
std::map<std::string_view, std::int64_t> knobs_of(const EffectOptions& options,
                                                  const Chosen& chosen) {
    std::map<std::string_view, std::int64_t> out;
    for (const auto& [name, text] : options.knobs) {
        if (text.empty()) continue;
        std::string known;
        for (const effects::Knob* knob :
             chosen.size() == 1 ? chosen.front()->knobs : std::span<const effects::Knob* const>{}) {
            known += (known.empty() ? "--" : ", --") + std::string(knob->name);
            if (knob->name != name) continue;
            const std::int64_t value = parse_count(text, name, CountUnit::bytes);
            if (value < knob->least || value > knob->most) {
                throw InputError(fmt::format("{}: {} is not between {} and {}", name, value,
                                             knob->least, knob->most));
            }
            out[name] = value;
        }
        if (out.find(name) != out.end()) continue;
        throw InputError(fmt::format("--{} changes nothing in effect {}", name, options.name), {},
                         known.empty() ? "it has no options of its own" : "its options: " + known);
    }
    return out;
}

/// Every question behind the points, without duplicates.
std::vector<measure::Question> questions_of(const Chosen& chosen, const effects::Subject& subject) {
    std::vector<measure::Question> out;
    std::set<std::string> known;
    for (const effects::Effect* effect : chosen) {
        for (measure::Question& question : effects::questions(*effect, subject)) {
            if (known.insert(canonical_text(question)).second) out.push_back(std::move(question));
        }
    }
    return out;
}

/// The questions that can be measured on a device.
std::vector<measure::Question> measurable(std::vector<measure::Question> questions) {
    std::erase_if(questions, [](const measure::Question& question) {
        return std::holds_alternative<model::Collective>(question.operation) ||
               measure::not_measured(question.operation, question.execution.implementation);
    });
    return questions;
}

/// Measures what is not recorded yet; true if Ctrl-C ended it.
bool measure_live(const Context& context, const EffectOptions& options, measure::Device& device,
                  std::span<const measure::Question> questions, effects::Measured& measured) {
    const Interruption interruption;
    measure::SuiteOptions suite;
    suite.folder = options.save;
    suite.seconds = options.budget;
    suite.measuring.sampling.seconds = options.seconds;
    suite.measuring.tool = std::string("ridge ") + version;
    suite.measuring.hooks.interrupted = [&interruption] { return interruption.requested(); };
    suite.measuring.reference = noted_reference(context, device, options.gpu.machines(context), {});
    suite.progress = suite_progress(context);
    const measure::SuiteResult result = measure::measure_suite(device, questions, suite);
    if (context.terminal) context.err << "\r\033[K";
    if (result.skipped > 0) {
        for (const measure::Record& record : measure::read_all_records({options.save}).records) {
            if (record.device.name == device.info().name) measured.add(record);
        }
    }
    std::size_t failed = 0;
    for (const measure::Record& record : result.records) {
        if (!record.measured()) ++failed;
        measured.add(record);
    }
    context.err << fmt::format("{} measured, {} failed, {} already there, {} not reached\n",
                               result.records.size() - failed, failed, result.skipped,
                               result.remaining);
    return result.interrupted;
}

void write_studies(const Context& context, const EffectOptions& options,
                   std::span<const effects::Study> studies, const effects::Subject& subject) {
    const std::string& format = options.format;
    if (format == "json") {
        write_effects_json(context, studies);
        return;
    }
    if (format == "csv" || format == "md" || format == "table") {
        Table all;
        for (const effects::Study& study : studies) {
            Table table = effect_table(study, format == "csv" ? Figures::exact : Figures::readable);
            all.columns = table.columns;
            std::move(table.rows.begin(), table.rows.end(), std::back_inserter(all.rows));
        }
        if (format == "csv") write_csv(context.out, all);
        if (format == "md") write_markdown(context.out, all);
        if (format == "table") write_text(context.out, all);
        return;
    }
    bool first = true;
    for (const effects::Study& study : studies) {
        if (!std::exchange(first, false)) context.out << '\n';
        const std::string title =
            fmt::format("{}: {}", study.effect->title, study.effect->question);
        context.out << wrap(title, static_cast<std::size_t>(std::max(40, context.width)), 2)
                    << "\n\n";
        write_answer(context, study);
        std::vector<plot::Chart> charts = effects::charts_of(study, subject);
        if (!options.all_charts && charts.size() > 1)
            charts.erase(charts.begin() + 1, charts.end());
        for (const plot::Chart& chart : charts) {
            write_chart_output(
                context, {.file = {}, .rows = options.output.rows, .ascii = options.output.ascii},
                chart);
            context.out << '\n';
        }
        write_effect(context, study);
    }
}

/// The output file: what -o names or, if that has no ending of a file, the page of a folder of that
/// name, which is made. Called before anything is measured.
std::string file_for(const EffectOptions& options) {
    const std::string& output = options.output.file;
    if (std::filesystem::path(output).has_extension()) {
        require_place(options.output);
        return output;
    }
    make_folder(output);
    std::string page = (std::filesystem::path(output) / "index.html").string();
    plot::require_writable(page);
    return page;
}

void write_files(const Context& context, const EffectOptions& options, const std::string& file,
                 std::span<const effects::Study> studies, const effects::Subject& subject) {
    if (file.ends_with(".html")) {
        plot::write_bytes(file, plot::render_sections(effects::page_of(studies, subject)));
        context.err << "wrote " << file << '\n';
        return;
    }
    std::vector<plot::Chart> all;
    for (const effects::Study& study : studies) {
        std::vector<plot::Chart> charts = effects::charts_of(study, subject);
        std::move(charts.begin(), charts.end(), std::back_inserter(all));
    }
    write_chart_output(context, options.output, all);
}

int show_effects(const Context& context, const EffectOptions& options) {
    if (options.name == "list") return list_effects(context, options.format);
    const Chosen names = chosen(options.name);
    Machines machines = options.gpu.machines(context);
    std::unique_ptr<measure::Device> device;
    if (options.measure) device = options.device.open(context);
    const std::string gpu =
        device && !options.gpu.given() ? device->info().name : options.gpu.name();
    const effects::Subject subject{.machine = machines.at(gpu),
                                   .gpu = machines.description(gpu),
                                   .catalogue = machines.catalogue(),
                                   .knobs = knobs_of(options, names)};
    if (options.questions) {
        for (const measure::Question& question : questions_of(names, subject)) {
            context.out << canonical_text(question) << '\n';
        }
        for (const effects::Effect* effect : names) {
            for (const std::string& text : effects::further_questions(*effect, subject)) {
                context.out << text << '\n';
            }
        }
        return success;
    }
    const std::string file = options.output.file.empty() ? std::string() : file_for(options);
    effects::Measured measured = effects::Measured::of(subject.machine.name);
    if (!options.records.empty()) {
        for (const measure::Record& record :
             load_records(context, options.records, {.only = subject.machine.name, .usual = {}},
                          machines.catalogue())
                 .records) {
            measured.add(record);
        }
    }
    bool stopped = false;
    if (device) {
        stopped = measure_live(context, options, *device, measurable(questions_of(names, subject)),
                               measured);
    }
    std::vector<effects::Study> studies;
    for (const effects::Effect* effect : names) {
        studies.push_back(effects::evaluate(*effect, subject, measured));
    }
    if (!file.empty()) write_files(context, options, file, studies, subject);
    if (options.output.file.empty() || !options.format.empty()) {
        write_studies(context, options, studies, subject);
    }
    if (stopped) return interrupted;
    return studies.size() == 1 && !studies.front().refused.empty() ? bad_data : success;
}

/// What the knobs of that name are, effect by effect.
std::string help_of(std::string_view name) {
    std::string out;
    for (const effects::Effect& effect : effects::effects()) {
        for (const effects::Knob* knob : effect.knobs) {
            if (knob->name != name) continue;
            out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", knob->help, knob->usual);
        }
    }
    return out;
}

}  // namespace

Action build_effect(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto options = std::make_shared<EffectOptions>(line);
    line.positional("NAME", options->name, "an effect, `all`, or `list`");
    add_format_option(line, options->format, "chart|table|json|csv|md");
    add_chart_options(line, options->output);
    line.option("--records", options->records, "files or folders of more records to draw")
        .value("PATH");
    line.flag("--measure", options->measure, "measure on the GPU at hand");
    line.option("--save", options->save,
                "folder for the records of --measure; what is recorded there is not measured again")
        .value("FOLDER")
        .group("With --measure");
    line.option("--seconds", options->seconds, "longest time to spend sampling one operation")
        .value("SECONDS")
        .in_range(0.001, 3600.0)
        .group("With --measure");
    line.option("--budget", options->budget, "time limit of the whole run")
        .value("SECONDS")
        .in_range(0.001, 1e6)
        .group("With --measure");
    line.flag("--all-charts", options->all_charts, "every chart, not only the first");
    for (const effects::Effect& effect : effects::effects()) {
        for (const effects::Knob* knob : effect.knobs) {
            const auto [at, fresh] = options->knobs.try_emplace(knob->name);
            if (!fresh) continue;
            line.option("--" + std::string(knob->name), at->second, help_of(knob->name))
                .value("COUNT")
                .group("What a question leaves open");
        }
    }
    line.flag("--questions", options->questions, "list the questions behind the points, and stop");
    line.footer(
        "Examples:\n"
        "  ridge effect list\n"
        "  ridge effect coalescing --gpu h200-sxm --stride 5\n"
        "  ridge effect fusion --gpu a100-sxm-80gb -o fusion.svg\n"
        "  ridge effect all --gpu h100-sxm -o report/\n"
        "  ridge effect power --measure --save records/\n"
        "Filled marks are measured; lines and other marks are predicted, half filled\n"
        "where such kernels were measured on this GPU or a relative.");
    return [options](const Context& context) { return show_effects(context, *options); };
}

}  // namespace ridge::cli
