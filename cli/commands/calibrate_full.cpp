// `ridge calibrate --full` and `--rows`: measure, fit, and write the overlay.
//
// Combines what `measure`, `ridge measure --random` and `ridge fit` do: first ceilings, then random
// shapes and the full suite, then PyTorch's kernels, measured by scripts/measure/torch-kernels.py in a
// process of its own, then `fit_all`. Each measurement is written to the folder of records at once,
// so a second run continues where the first stopped.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands/calibrate.h"
#include "cli/console/child_process.h"
#include "cli/console/interruption.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/input/framework_harness.h"
#include "cli/input/measured_table.h"
#include "cli/options/operation_command.h"
#include "cli/views/fitted.h"
#include "cli/views/left_out.h"
#include "hardware/error.h"
#include "hardware/output_folder.h"
#include "hardware/units.h"
#include "measure/record/overlay_text.h"
#include "measure/run/calibration_file.h"
#include "measure/run/measure.h"
#include "measure/run/suite.h"
#include "model/predict.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

/// Seed of the shapes that calibrations draw; no judging set uses it.
constexpr std::uint64_t calibration_seed = 101;

constexpr std::string_view framework_classes =
    "pointwise,casts,masks,copies,transposes,cats,gathers,scans,reductions,row_operations,"
    "optimizers,products,attentions";

/// The files and folders of this GPU's calibration.
struct Places {
    fs::path overlay;
    fs::path folder;

    [[nodiscard]] std::string ceilings() const { return (folder / "ceilings.jsonl").string(); }
    [[nodiscard]] std::string records() const { return (folder / "records").string(); }
    [[nodiscard]] fs::path framework() const { return folder / "torch"; }
    [[nodiscard]] std::string framework_records() const {
        return (framework() / fmt::format("seed-{}", calibration_seed)).string();
    }
};

std::string overlay_path(const CalibrateArguments& arguments, const std::string& gpu) {
    if (!arguments.output.empty()) return arguments.output;
    const std::string folder = model::user_folder();
    if (folder.empty()) {
        throw InputError("output is missing", {}, "there is no home folder; name a file with -o");
    }
    return folder + "/" + gpu + ".calibrated.toml";
}

fs::path data_folder() {
    const char* const data = std::getenv("XDG_DATA_HOME");  // NOLINT(concurrency-mt-unsafe)
    if (data != nullptr && *data != '\0') return fs::path(data) / "ridge";
    const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
    if (home != nullptr && *home != '\0') return fs::path(home) / ".local/share/ridge";
    throw InputError("records is missing", {}, "there is no home folder; name one with --records");
}

/// Makes the overlay's folder before the minutes of measuring and fitting.
void make_place_for(const fs::path& overlay) {
    if (overlay.has_parent_path()) make_folder(overlay.parent_path());
    plot::require_writable(overlay.string(), "overlay");
}

/// The exit code if a phase ends the command; nothing if the phase succeeded.
using Ended = std::optional<int>;

class FullCalibration {
  public:
    FullCalibration(const Context& context, const CalibrateArguments& arguments)
        : context_(context),
          arguments_(arguments),
          clock_(measure::real_hooks().seconds),
          start_(clock_()),
          device_(arguments.device.open(context)),
          info_(device_->info()),
          catalogue_(catalogue_without_own()) {
        base_ = base_of(arguments_, catalogue_, info_).name;
        places_.folder =
            arguments_.folder.empty() ? data_folder() / base_ : fs::path(arguments_.folder);
        make_folder(places_.folder);
        make_place_for(places_.overlay);
    }

    int run() {
        if (const Ended ended = measure_all_ceilings()) return *ended;
        if (const Ended ended = measure_shapes()) return *ended;
        device_.reset();  // PyTorch runs in a process of its own
        if (const Ended ended = measure_framework()) return *ended;
        fit();
        return success;
    }

  private:
    /// The catalogue without an earlier calibration's overlay, which must not influence this one.
    model::Catalogue catalogue_without_own() {
        const model::Catalogue all = arguments_.gpu.catalogue(context_);
        places_.overlay = overlay_path(arguments_, base_of(arguments_, all, device_->info()).name);
        return arguments_.gpu.catalogue(context_, places_.overlay.string());
    }

    [[nodiscard]] double elapsed() const { return clock_() - start_; }
    [[nodiscard]] double budget() const { return 60.0 * arguments_.minutes; }
    /// Seconds that PyTorch's kernels may take.
    [[nodiscard]] double framework_share() const {
        constexpr double most = 110.0;
        return arguments_.no_torch ? 0.0 : std::min(most, 0.25 * budget());
    }

    int stopped(bool by_user) {
        context_.err << (by_user
                             ? "ridge: interrupted; run the same command again to continue\n"
                             : "ridge: the device stopped working; what was measured is kept\n");
        return by_user ? interrupted : device_failure;
    }

    Ended measure_all_ceilings() {
        const Interruption interruption;
        measure::CalibrateOptions options{.samples = arguments_.samples};
        options.hooks.interrupted = [&interruption] { return interruption.requested(); };
        options.known = measure::read_calibration(places_.ceilings(), info_.name);
        const std::size_t known = options.known.size();
        std::size_t measured = 0;
        options.finished = [&](const measure::CalibrationStep& step) {
            measure::append_calibration(places_.ceilings(), info_.name, step);
            ++measured;
        };
        ceilings_ = measure_ceilings(context_, *device_, std::move(options));
        context_.err << fmt::format("ceilings: {} measured, {} already there, {:.0f} s\n", measured,
                                    known, elapsed());
        if (ceilings_.interrupted) return stopped(interruption.requested());
        return std::nullopt;
    }

    /// Random shapes come first, so that a short run still measures every class.
    [[nodiscard]] std::vector<measure::Question> questions() const {
        std::vector<measure::Question> all = measure::random_questions(
            calibration_seed, arguments_.shapes, info_.compute_capability);
        std::vector<measure::Question> suite =
            measure::suite(measure::Suite::full, info_.compute_capability);
        const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
        all.insert(all.begin() + half, suite.begin(), suite.end());
        return all;
    }

    Ended measure_shapes() {
        const Interruption interruption;
        const double deadline =
            std::max(budget() - framework_share(), elapsed() + 0.4 * (budget() - elapsed()));
        measure::SuiteOptions options;
        options.folder = places_.records();
        options.seconds = std::max(0.01, deadline - elapsed());
        options.measuring.tool = std::string("ridge ") + version;
        options.measuring.counters.clear();
        options.measuring.hooks.interrupted = [&] {
            return interruption.requested() || elapsed() > deadline;
        };
        if (context_.terminal) {
            options.progress = [this](const measure::SuiteProgress& progress) {
                context_.err << fmt::format("\r\033[K{}/{} shapes", progress.done, progress.total)
                             << std::flush;
            };
        }
        const measure::SuiteResult result = measure::measure_suite(*device_, questions(), options);
        if (context_.terminal) context_.err << "\r\033[K";
        context_.err << fmt::format(
            "shapes: {} measured, {} already there, {} not reached, {:.0f} s\n",
            result.records.size(), result.skipped, result.remaining, elapsed());
        for (const measure::Damage& damage : result.damaged) {
            context_.err << "ridge: " << printable(to_string(damage.location))
                         << ": damaged record: " << printable(damage.message) << '\n';
        }
        if (result.stopped || interruption.requested()) return stopped(!result.stopped);
        return std::nullopt;
    }

    void skip_framework(const std::string& why) {
        context_.err << "PyTorch's kernels: skipped: " << why << '\n';
    }

    Ended measure_framework() {
        if (arguments_.no_torch) {
            skip_framework("--no-torch");
            return std::nullopt;
        }
        const std::string has_torch =
            "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
        const ChildStatus found = run_child({arguments_.python, "-c", has_torch}, {});
        if (found.code != 0) {
            skip_framework(found.failure.empty() ? arguments_.python + " has no PyTorch"
                                                 : found.failure);
            return std::nullopt;
        }
        make_folder(places_.framework());
        for (const hardware::EmbeddedFile& file : framework_harness()) {
            const auto name = std::filesystem::path(file.path).filename();
            plot::write_bytes((places_.framework() / name).string(), std::string(file.text),
                              "harness");
        }
        const std::string script = (places_.framework() / "torch-kernels.py").string();
        const std::string log = (places_.framework() / "log.txt").string();
        // The script's output goes into a file, because this program's output is the result.
        const ChildStatus status = run_child(
            {"sh", "-c", R"(log=$1; shift; exec "$@" >>"$log" 2>&1)", "sh", log, arguments_.python,
             script, places_.framework().string(), "--seeds", std::to_string(calibration_seed),
             "--seconds", fmt::format("{:.1f}", std::max(1.0, budget() - elapsed())), "--classes",
             std::string(framework_classes)},
            {});
        constexpr int by_interrupt = 130;
        constexpr int by_termination = 143;
        if (status.code == by_interrupt || status.code == by_termination) return stopped(true);
        context_.err << fmt::format("PyTorch's kernels: {}, {:.0f} s\n",
                                    status.code == 0 ? "measured" : "failed, see " + log,
                                    elapsed());
        return std::nullopt;
    }

    void fit();

    const Context& context_;
    const CalibrateArguments& arguments_;
    std::function<double()> clock_;
    double start_;
    std::unique_ptr<measure::Device> device_;
    measure::DeviceInfo info_;
    Places places_;
    model::Catalogue catalogue_;
    std::string base_;
    measure::Calibration ceilings_;
};

/// Devices of the same architecture with built-in corrections.
std::vector<std::string> relatives_of(const std::string& gpu, const Machines& machines) {
    std::vector<std::string> found;
    for (const model::OverlayEntry& overlay : machines.catalogue().overlays()) {
        const std::string& name = overlay.target;
        const bool known = overlay.origin != "built in" || name == gpu ||
                           std::find(found.begin(), found.end(), name) != found.end();
        if (known) continue;
        if (machines.description(name).inherits == machines.description(gpu).inherits) {
            found.push_back(name);
        }
    }
    return found;
}

std::string fit_source(const measure::AllFits& fits, const std::string& what) {
    std::string text = fmt::format("ridge {} calibrate, {}, fitted to {} {}", version,
                                   measure::utc_now(), fits.rows, what);
    if (!fits.seeds.empty()) text += fmt::format(", seeds {}", fmt::join(fits.seeds, ", "));
    return text;
}

/// Writes the overlay, which must be a valid description, and prints how to use it.
void conclude(const Context& context, model::Catalogue& catalogue, const fs::path& path,
              const measure::AllFits& fits, const std::string& overlay) {
    const std::string& gpu = fits.gpu;
    catalogue.add_text(overlay, path.string());
    static_cast<void>(model::make_machine(catalogue.at(gpu)));
    plot::write_bytes(path.string(), overlay, "overlay");
    const bool found = path.parent_path() == fs::path(model::user_folder());
    const std::string changes = changes_text(fits);
    context.err << "wrote " << printable(path.string()) << ": "
                << (changes.empty() ? "ceilings" : changes) << "; "
                << (found ? "every later answer for --gpu " + gpu +
                                " uses it and names it (`ridge gpus forget " + gpu +
                                "` removes it, --datasheet leaves it out)"
                          : "use it with --gpu-file " + printable(path.string()))
                << '\n';
}

measure::OverlayHeader header_of(const hardware::Description& base) {
    return {.name = base.name + ".calibrated",
            .over = base.name,
            .title = base.title + ", calibrated",
            .vendor = base.vendor,
            .comment = {}};
}

void FullCalibration::fit() {
    const hardware::Description& base = catalogue_.at(base_, arguments_.gpu.view());
    measure::OverlayHeader header = header_of(base);
    header.comment = "Ceilings and fitted parameters; written by ridge calibrate --full.";
    header.sources = {{"RUN", source_of(ceilings_)}};
    const std::string ceilings = measured_sections(ceilings_);
    catalogue_.add_text(overlay_text(header, ceilings), "ceilings");
    Machines machines(arguments_.gpu.catalogue(context_, places_.overlay.string()),
                      arguments_.gpu.view());
    const model::Machine calibrated =
        model::make_machine(catalogue_.at(base_, arguments_.gpu.view()));
    measure::FitRequest request{.data = {},
                                .gpus = {},
                                .machine =
                                    [&](const std::string& name) {
                                        const auto& found = machines.at(name);
                                        return found.name == base_ ? calibrated : found;
                                    },
                                .records = {places_.records()},
                                .relatives = relatives_of(base_, machines)};
    if (fs::exists(places_.framework_records())) {
        request.records.push_back(places_.framework_records());
    }
    const measure::AllFits fits = measure::fit_all(request, base_);
    header.sources.emplace_back("FIT", fit_source(fits, "records of this GPU"));
    conclude(context_, catalogue_, places_.overlay, fits,
             overlay_text(header, ceilings + fitted_sections(fits)));
    write_fitted(context_, fits, parse_format(arguments_.format));
}

}  // namespace

int calibrate_fully(const Context& context, const CalibrateArguments& arguments) {
    return FullCalibration(context, arguments).run();
}

namespace {

/// InputError if times of the table seem to be in another unit than its column says: a fit to them
/// would change every later answer by the same factor.
void require_unit(const CalibrateArguments& arguments, const std::string& gpu,
                  const model::Machine& machine) {
    const measure::RecordFile table = read_measured_table(
        arguments.rows.front(), gpu, measure::parse_kept_columns(arguments.keep));
    for (const measure::Record& record : table.records) {
        if (!record.row) continue;
        const model::Outcome outcome =
            model::predict(record.question.operation, record.question.execution, machine);
        const auto* p = std::get_if<model::Prediction>(&outcome);
        if (p == nullptr) continue;
        const std::string unit = unit_meant(record.time(), record.row->unit, *p);
        if (unit.empty()) continue;
        throw InputError(fmt::format("{} cannot be the time of this row: is the column in {}?",
                                     format(record.time()), unit),
                         record.row->location, "nothing was fitted; name the column by its unit");
    }
}

/// The rows of an engine: of a folder's tables, or of one table. Those that name no software are its.
std::vector<measure::MeasuredRow> rows_of_engine(const CalibrateArguments& arguments,
                                                 const std::string& gpu,
                                                 model::SoftwareChoice software) {
    const measure::OtherColumns keep = measure::parse_kept_columns(arguments.keep);
    const std::string& path = arguments.rows.front();
    std::vector<measure::MeasuredRow> rows = fs::is_directory(path)
                                                 ? measure::read_folder(path, {""}, keep, gpu)
                                                 : measure::read_rows(path, keep, gpu);
    std::erase_if(rows, [&](measure::MeasuredRow& row) {
        if (row.execution.software.is_usual()) row.execution.software = software;
        return row.gpu != gpu || row.execution.software != software;
    });
    if (!rows.empty()) return rows;
    throw InputError("no rows of " + std::string(software.name()) + " on " + gpu, {.file = path});
}

/// Prints the fits; the exit code.
int written(const Context& context, const CalibrateArguments& arguments,
            const measure::AllFits& fits) {
    write_fitted(context, fits, parse_format(arguments.format));
    if (is_changed(fits)) return success;
    context.err << "ridge: nothing was fitted, so nothing was written and nothing changes\n";
    return bad_data;
}

}  // namespace

int calibrate_from_rows(const Context& context, const CalibrateArguments& arguments) {
    model::Catalogue all = arguments.gpu.catalogue(context);
    const std::string gpu = all.at(arguments.gpu.name(), arguments.gpu.view()).name;
    const fs::path path = overlay_path(arguments, gpu);
    model::Catalogue catalogue = arguments.gpu.catalogue(context, path.string());
    Machines machines(arguments.gpu.catalogue(context, path.string()), arguments.gpu.view());
    const bool records = fs::is_directory(arguments.rows.front());
    if (!records && arguments.rows.size() > 1) {
        throw InputError("rows: one table, or folders of records");
    }
    make_place_for(path);
    if (!records) require_unit(arguments, gpu, machines.at(gpu));
    const measure::FitRequest request{
        .data = records ? std::string() : arguments.rows.front(),
        .gpus = {},
        .machine = [&](const std::string& name) { return machines.at(name); },
        .records = records ? arguments.rows : std::vector<std::string>{},
        .keep = measure::parse_kept_columns(arguments.keep),
        .gpu_of_tables = gpu,
        .relatives = relatives_of(gpu, machines)};
    const measure::AllFits fits = measure::fit_all(request, gpu);
    measure::OverlayHeader header = header_of(machines.description(gpu));
    header.comment = "Fitted parameters; written by ridge calibrate --rows.";
    const std::string what =
        records ? "records" : "rows of " + fs::path(arguments.rows.front()).filename().string();
    header.sources = {{"FIT", fit_source(fits, what)}};
    if (is_changed(fits)) {
        conclude(context, catalogue, path, fits, overlay_text(header, fitted_sections(fits)));
    }
    return written(context, arguments, fits);
}

int calibrate_engine(const Context& context, const CalibrateArguments& arguments) {
    if (arguments.rows.size() > 1) throw InputError("rows: one table, or one folder of tables");
    model::Catalogue all = arguments.gpu.catalogue(context);
    const std::string gpu = all.at(arguments.gpu.name(), arguments.gpu.view()).name;
    const std::string software = find_software(all.software(), arguments.software).name;
    const fs::path path = overlay_path(arguments, gpu + '.' + software);
    model::Catalogue catalogue = arguments.gpu.catalogue(context, path.string());
    Machines machines(arguments.gpu.catalogue(context, path.string()), arguments.gpu.view());
    make_place_for(path);
    const std::vector<measure::MeasuredRow> rows =
        rows_of_engine(arguments, gpu, model::SoftwareChoice::named(software));
    const measure::FitRequest request{
        .data = {},
        .gpus = {},
        .machine = [&](const std::string& name) { return machines.at(name); },
        .read = &rows};
    const measure::AllFits fits = measure::fit_engine_rows(request, gpu);
    if (is_changed(fits)) {
        measure::OverlayHeader header = header_of(machines.description(gpu));
        header.name = gpu + '.' + software;
        header.comment = "Kernels of an engine; written by ridge calibrate --software --rows.";
        header.sources = {{"FIT", fit_source(fits, "rows of " + software)}};
        conclude(context, catalogue, path, fits, overlay_text(header, fitted_sections(fits)));
    }
    return written(context, arguments, fits);
}

}  // namespace ridge::cli
