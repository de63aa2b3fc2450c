// `ridge profile`: runs a program with a library that records its GPU work, and reports.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/profile_energy.h"
#include "cli/commands/trace.h"
#include "cli/console/child_process.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "hardware/error.h"
#include "programs/recording/recording_options.h"
#include "programs/traces/activity_trace.h"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;
using programs::RecordingOptions;

struct ProfileOptions {
    explicit ProfileOptions(CommandLine& line) : trace(line) {}

    TraceOptions trace;
    std::vector<std::string> command;
    std::string output = "ridge-profile";
    bool wait_for_start = false;
    bool whole_graphs = false;
    bool counters = false;
    std::int64_t launches = 1;
    std::int64_t runs = 8;
    bool no_repeats = false;
    bool no_lines = false;
    bool energy = false;
    double delay = 0.0;
    double duration = 0.0;
    bool timeline = false;
    double interval = 100.0;
};

constexpr const char* library_name = "libridge_inject.so";
constexpr const char* library_variable = "RIDGE_INJECT_PATH";

/// Places to look for the library: beside the program, and where `cmake --install` puts it.
std::vector<fs::path> library_places() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return {};
    std::vector<fs::path> places{program.parent_path() / library_name};
    for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
        places.push_back(program.parent_path().parent_path() / folder / "ridge" / library_name);
    }
    return places;
}

std::string find_library() {
    const char* const named = std::getenv(library_variable);
    std::error_code error;
    if (named != nullptr && *named != '\0') {
        if (fs::is_regular_file(named, error)) return fs::absolute(named).string();
        throw DeviceError(std::string(library_variable) + " names " + named +
                          ", which is not a file");
    }
    const std::vector<fs::path> places = library_places();
    for (const fs::path& place : places) {
        if (fs::is_regular_file(place, error)) return place.string();
    }
    throw DeviceError(fmt::format(
        "{} was not found (looked for {} and beside it in lib/ridge); it is built with CUDA "
        "(-DRIDGE_CUDA=ON); or set {} to its path",
        library_name, places.empty() ? "it" : places.front().string(), library_variable));
}

/// DeviceError if another tool injects its library: CUDA and NVTX load only one.
void require_no_other_profiler() {
    for (const char* const variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        const char* const value = std::getenv(variable);
        if (value == nullptr || *value == '\0' || std::string_view(value) == "none") continue;
        throw DeviceError(
            fmt::format("another profiler is attached: {} is set to {}; run one profiler at a time",
                        variable, value));
    }
}

void warn_without_driver(const Context& context) {
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) return;
    context.err
        << "ridge: no NVIDIA driver here (libcuda.so.1 was not found): only processes that run "
           "elsewhere are recorded\n";
}

/// The recording files with this prefix.
std::vector<std::string> files_of(const std::string& prefix) {
    const fs::path path(prefix);
    const std::string start = path.filename().string() + '.';
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator it(path.parent_path(), error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with(start) && name.ends_with(".ridge") &&
            programs::is_activity_file(it->path().string())) {
            files.push_back(it->path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// The prefix as an absolute path in a writable folder; removes the files of an earlier run.
std::string prepare(const std::string& output) {
    if (output.empty()) throw InputError("output: a name is missing");
    const fs::path path = fs::absolute(output);
    std::error_code error;
    if (!fs::is_directory(path.parent_path(), error)) {
        throw InputError("no such folder", {.file = path.parent_path().string()});
    }
    if (access(path.parent_path().c_str(), W_OK) != 0) {
        throw InputError("cannot be written", {.file = path.parent_path().string()});
    }
    for (const std::string& file : files_of(path.string())) fs::remove(file, error);
    return path.string();
}

/// Keeps this machine's GPUs open. Otherwise, unless a daemon holds them, the driver initialises
/// the GPUs for each run of a program and shuts them down after it, a tenth of a second each.
class OpenDevices {
  public:
    OpenDevices() {
        std::error_code error;
        for (fs::directory_iterator it("/dev", error), end; !error && it != end;
             it.increment(error)) {
            constexpr std::string_view start = "nvidia";
            const std::string name = it->path().filename().string();
            const bool numbered = name.starts_with(start) && name.size() > start.size() &&
                                  name.find_first_not_of("0123456789", start.size()) == name.npos;
            if (!numbered) continue;
            const int file = open(it->path().c_str(), O_RDWR | O_CLOEXEC);
            if (file >= 0) files_.push_back(file);
        }
    }
    ~OpenDevices() {
        for (const int file : files_) close(file);
    }
    OpenDevices(const OpenDevices&) = delete;
    OpenDevices& operator=(const OpenDevices&) = delete;

  private:
    std::vector<int> files_;
};

std::int64_t milliseconds(double seconds) {
    constexpr double most = 1e9;
    return static_cast<std::int64_t>(std::min(seconds, most) * 1e3);
}

/// The file prefix of the recordings of counting runs.
std::string counting_prefix(const std::string& prefix) {
    return prefix + ".counters";
}

RecordingOptions recording_of(const ProfileOptions& options, const std::string& prefix) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    static const auto run = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    constexpr double nanoseconds = 1e3;
    return {.prefix = prefix,
            .run = run,
            .wait_for_start = options.wait_for_start,
            .whole_graphs = options.whole_graphs,
            .delay_ms = milliseconds(options.delay),
            .duration_ms = milliseconds(options.duration),
            .sample_ns =
                options.timeline ? static_cast<std::int64_t>(options.interval * nanoseconds) : 0};
}

/// The options of a counting run; `prefix` is where the free run is recorded.
RecordingOptions counting_of(const ProfileOptions& options, const std::string& prefix) {
    RecordingOptions recording = recording_of(options, counting_prefix(prefix));
    recording.counted = options.launches;
    recording.sample_ns = 0;
    recording.once = programs::launches_once(files_of(prefix));
    recording.repeats = recording.once && !options.no_repeats;
    return recording;
}

ChildStatus record(const Context& context, const ProfileOptions& options,
                   const std::string& library, const RecordingOptions& recording) {
    context.out.flush();
    context.err.flush();
    ChildStatus status =
        run_child(options.command, {{"CUDA_INJECTION64_PATH", library},
                                    {"NVTX_INJECTION64_PATH", library},
                                    {programs::recording_variable, to_text(recording)}});
    if (!status.failure.empty()) context.err << "ridge: " << printable(status.failure) << '\n';
    if (status.failure.empty() && status.code != 0) {
        context.err << "ridge: " << printable(options.command.front())
                    << (status.code > 128
                            ? fmt::format(" was ended by signal {}", status.code - 128)
                            : fmt::format(" ended with exit code {}", status.code))
                    << "; what it did until then is recorded\n";
    }
    return status;
}

/// Runs the program until each kernel has every set of counters, or until a run adds none.
ChildStatus count(const Context& context, const ProfileOptions& options, const std::string& library,
                  const std::string& prefix) {
    ChildStatus status;
    const std::string earlier = programs::earlier_file(counting_prefix(prefix));
    std::error_code error;
    std::int64_t before = 0;
    RecordingOptions recording = counting_of(options, prefix);
    for (std::int64_t run = 0; run < options.runs; ++run) {
        if (run == 0) context.err << "ridge: running the program once more for the counters\n";
        status = record(context, options, library, recording);
        if (!status.failure.empty() || status.code != 0) break;
        const auto missing = programs::missing_sets(files_of(counting_prefix(prefix)));
        std::int64_t sets = 0;
        std::int64_t kernels = 0;
        for (const auto& [kernel, lacking] : missing) {
            sets += std::popcount(lacking);
            kernels += lacking != 0 ? 1 : 0;
        }
        if (sets == 0 || sets == before) break;
        before = sets;
        if (run + 1 == options.runs) {
            context.err << fmt::format(
                "ridge: kernels without all counters: {}; --runs allows more runs\n", kernels);
            break;
        }
        std::ofstream(earlier) << to_text(missing);
        recording.continued = true;
        recording.repeats = false;  // repeats would have left no counters missing
        context.err << fmt::format(
            "ridge: running the program again, kernels without all counters: {}\n", kernels);
    }
    fs::remove(earlier, error);
    return status;
}

/// Runs the program once more to sample where its warps wait.
ChildStatus sample_stalls(const Context& context, const ProfileOptions& options,
                          const std::string& library, const std::string& prefix) {
    context.err << "ridge: running the program once more for the lines where its warps wait\n";
    RecordingOptions recording = recording_of(options, counting_prefix(prefix));
    recording.sample_ns = 0;
    recording.stalls = true;
    return record(context, options, library, recording);
}

/// Whether the user ended the program.
bool was_stopped(const ChildStatus& status) {
    constexpr int by_signal = 128;
    return status.code == by_signal + SIGINT || status.code == by_signal + SIGTERM;
}

int profile(const Context& context, const ProfileOptions& options) {
    if (options.command.empty()) {
        throw InputError("COMMAND is missing", {}, "ridge profile -- python train.py");
    }
    if (options.launches < 1) throw InputError("launches: at least 1");
    if (options.runs < 1) throw InputError("runs: at least 1");
    if (options.interval < 1.0) throw InputError("interval: at least 1 (microseconds)");
    require_no_other_profiler();
    const std::string library = find_library();
    if (!options.trace.output.empty()) require_report_place(options.trace);
    const std::string prefix = prepare(options.output);
    warn_without_driver(context);
    // In parallel with the first run, which initialises the GPU anyway.
    std::future<std::unique_ptr<OpenDevices>> held;
    if (options.counters) {
        held = std::async(std::launch::async, [] { return std::make_unique<OpenDevices>(); });
    }
    std::unique_ptr<EnergyPoller> poller;
    if (options.energy) poller = std::make_unique<EnergyPoller>();
    ChildStatus status = record(context, options, library, recording_of(options, prefix));
    const auto readings = poller ? poller->stop() : std::vector<programs::EnergyReading>();
    if (poller && !poller->problem().empty()) {
        context.err << "ridge: no energy: " << poller->problem() << '\n';
    }
    if (!status.failure.empty()) return status.code;
    if (options.counters && status.code == 0) {
        ChildStatus counted = count(context, options, library, prefix);
        if (!options.no_lines && counted.failure.empty() && counted.code == 0) {
            counted = sample_stalls(context, options, library, prefix);
        }
        if (was_stopped(counted)) {
            status = counted;
        } else if (!counted.failure.empty() || counted.code != 0) {
            context.err
                << "ridge: the program fails when it runs again for the counters; its first "
                   "run stands, with the counters that were read until then\n";
        }
    }
    TraceOptions report = options.trace;
    report.files = files_of(prefix);
    if (report.files.empty()) {
        context.err << "ridge: no process of the program used CUDA or NVTX: nothing was recorded\n";
        return status.code != 0 ? status.code : device_failure;
    }
    context.err << "ridge: recorded " << report.files.size()
                << (report.files.size() == 1 ? " process" : " processes") << " in "
                << printable(options.output) << ".*.ridge; ridge trace reads them again\n";
    int code = success;
    try {
        code = report_traces(context, report);
        if (poller && poller->problem().empty()) {
            const bool as_text = report.format.empty() || report.format == "table";
            write_energy(context, readings, report.files, prefix + ".energy.json", as_text);
        }
    } catch (const InputError& error) {
        context.err << "ridge: " << printable(error.what()) << '\n';
        code = error.location().file.empty() ? usage : bad_data;
    }
    return status.code != 0 ? status.code : code;
}

/// The words after "--", unchanged.
std::vector<std::string> behind_dashes(std::span<const std::string> arguments) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    return dashes == arguments.end() ? std::vector<std::string>()
                                     : std::vector<std::string>(dashes + 1, arguments.end());
}

/// When to record, and how much.
void add_extent_options(CommandLine& line, ProfileOptions& options) {
    line.flag("--wait-for-start", options.wait_for_start,
              "record only between cudaProfilerStart and cudaProfilerStop")
        .group("What is recorded");
    line.option("--delay", options.delay, "start recording this many seconds after CUDA starts")
        .value("SECONDS")
        .not_negative()
        .group("What is recorded");
    line.option("--duration", options.duration,
                "record for this many seconds (default: to the end)")
        .value("SECONDS")
        .not_negative()
        .group("What is recorded");
    line.flag("--whole-graphs", options.whole_graphs,
              "one entry per replayed CUDA graph instead of one per kernel in it")
        .group("What is recorded");
}

}  // namespace

Action build_profile(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<ProfileOptions>(line);
    line.positional("command", options->command, "the program and its arguments, after --")
        .value("COMMAND");
    line.option("-o,--output", options->output,
                "record to NAME.PID.ridge, one file per process (default ridge-profile)")
        .value("NAME");
    add_extent_options(line, *options);
    line.flag("--counters", options->counters,
              "run the program again; count DRAM, L2 and shared bytes and FLOP of its kernels")
        .group("Counting");
    line.option("--launches", options->launches,
                "with --counters: launches to count for each kernel, grid and block (default 1)")
        .group("Counting");
    line.option("--runs", options->runs,
                "with --counters: maximum runs of the program; kernels launched three times or "
                "more need one (default 8)")
        .group("Counting");
    line.flag("--no-lines", options->no_lines,
              "with --counters: no further run that samples where warps wait, by source line")
        .group("Counting");
    line.flag("--no-repeats", options->no_repeats,
              "with --counters: count only with further runs. By default, if a program launches "
              "each kernel once, its launches are repeated within one run, with memory restored")
        .group("Counting");
    line.flag("--energy", options->energy,
              "tell the joules of kernels and NVTX ranges, by the GPU's energy counter; needs "
              "seconds of work and a machine with one GPU")
        .group("Energy");
    line.flag("--timeline", options->timeline,
              "sample DRAM, SMs and tensor cores over time while the program runs")
        .group("Timeline");
    line.option("--interval", options->interval, "time between two samples (default 100)")
        .value("MICROSECONDS")
        .group("Timeline");
    add_trace_options(line, options->trace);
    line.option("--page", options->trace.output,
                "report as a page (.html), or its charts (.svg, .png, .pdf)")
        .value("FILE");
    line.footer(
        "Examples:\n"
        "  ridge profile -- python train.py --steps 10\n"
        "  ridge profile --range step -- ./simulate         # only NVTX ranges 'step'\n"
        "  ridge profile --counters -- python infer.py\n"
        "  ridge profile -o run -- torchrun --nproc-per-node 8 train.py\n"
        "The exit code is the program's if it is not 0. Needs an NVIDIA GPU; see\n"
        "docs/profile.md.");
    if (auto command = behind_dashes(arguments); !command.empty()) {
        return [options, command](const Context& context) {
            options->command = command;
            return profile(context, *options);
        };
    }
    return [options](const Context& context) { return profile(context, *options); };
}

}  // namespace ridge::cli
