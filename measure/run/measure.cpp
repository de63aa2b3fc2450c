#include "measure/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <set>

#include "hardware/error.h"
#include "hardware/output_folder.h"

namespace ridge::measure {
namespace {

namespace fs = std::filesystem;

std::string sentence(const Unavailable& unavailable) {
    return unavailable.remedy.empty() ? unavailable.reason
                                      : unavailable.reason + " (" + unavailable.remedy + ")";
}

std::string wrong_result(const Verification& verification) {
    return fmt::format(
        "wrong result: relative error {:.3g} (Frobenius) exceeds {:.3g}; the kernel "
        "was not timed",
        verification.frobenius_error, verification.tolerance);
}

Time probe(Case& unit, const Question& question) {
    const std::vector<Sample> samples = unit.sample({.method = Method::events,
                                                     .l2 = question.execution.l2,
                                                     .launch = question.execution.launch,
                                                     .count = 3});
    std::vector<double> times;
    times.reserve(samples.size());
    for (const Sample& sample : samples) times.push_back(sample.time.base());
    return times.empty() ? Time{} : Time::from_base(median_of(times));
}

Maybe<Counters> count_events(Device& device, Case& unit, std::span<const CounterGroup> groups,
                             model::L2State l2) {
    if (groups.empty()) return Unavailable{.reason = "not requested"};
    const Feature* feature = device.info().feature("counters");
    if (feature != nullptr && feature->missing) return *feature->missing;
    try {
        return unit.counters(groups, l2);
    } catch (const DeviceError& error) {
        return Unavailable{.reason = error.what()};
    }
}

void resolve(Question& question, const Device& device) {
    if (question.execution.implementation != model::Implementation::automatic) return;
    question.execution.implementation =
        choose(question.operation, device.info().compute_capability);
}

/// Times a verified case, or records the reason why no time can be taken.
void take_timing(Device& device, Case& unit, const MeasureOptions& options, Record& record) {
    const std::int64_t launches = record.geometry->launches();
    const Maybe<Method> method =
        choose_method(probe(unit, record.question), launches, record.question, device.info());
    if (const auto* unavailable = std::get_if<Unavailable>(&method)) {
        record.failure = sentence(*unavailable);
        return;
    }
    record.before = device.environment();
    record.timing = take_samples(unit, std::get<Method>(method), record.question, options.sampling,
                                 options.hooks);
    record.after = device.environment();
    // The energy counter advances about every 20 ms, so short windows say nothing.
    constexpr double shortest_window = 0.1;
    if (record.before.energy && record.after.energy && record.timing->seconds > shortest_window) {
        record.mean_power = (*record.after.energy - *record.before.energy) /
                            Time::from_base(record.timing->seconds);
    }
    if (!record.measured()) {
        record.failure =
            fmt::format("all {} samples were throttled", record.timing->samples.size());
    }
}

/// Power at rest: right after work, and once the clocks are down.
void take_idle(Device& device, EnergyMeasurement& energy) {
    constexpr Time until_clocks_fall = 1.5 * units::s;
    const auto power_in = [](const Maybe<SteadyRun>& run) -> std::optional<Power> {
        const auto* const seen = std::get_if<SteadyRun>(&run);
        if (seen == nullptr) return std::nullopt;
        const Maybe<Power> power = power_of(*seen);
        const auto* const found = std::get_if<Power>(&power);
        return found == nullptr ? std::nullopt : std::optional(*found);
    };
    energy.idle_up = power_in(device.rest(until_clocks_fall));
    energy.idle = power_in(device.rest(until_clocks_fall));
}

void take_energy(Device& device, Case& unit, const EnergyOptions& options, Record& record) {
    const Maybe<SteadyRun> run = unit.run_steadily(options.run);
    const auto* const seen = std::get_if<SteadyRun>(&run);
    if (seen == nullptr) throw DeviceError(sentence(std::get<Unavailable>(run)));
    Maybe<EnergyMeasurement> found = energy_of(*seen);
    if (const auto* const missing = std::get_if<Unavailable>(&found)) {
        throw DeviceError(sentence(*missing));
    }
    record.energy = std::get<EnergyMeasurement>(std::move(found));
    record.energy->idle = options.idle;
    record.energy->idle_up = options.idle_up;
    if (!options.idle) take_idle(device, *record.energy);
}

void measure_case(Device& device, const MeasureOptions& options, Record& record) {
    const Question& question = record.question;
    if (auto missing = not_measured(question.operation, question.execution.implementation)) {
        record.failure = sentence(*missing);
        return;
    }
    auto prepared = device.prepare(question.operation, question.execution, question.pattern);
    if (const auto* unavailable = std::get_if<Unavailable>(&prepared)) {
        record.failure = sentence(*unavailable);
        return;
    }
    Case& unit = *std::get<std::unique_ptr<Case>>(prepared);
    record.geometry = unit.geometry();
    record.verification = unit.verify();
    record.geometry = unit.geometry();  // a library of collectives says how it ran only then
    if (!record.verification->ok) {
        record.failure = wrong_result(*record.verification);
        return;
    }
    take_timing(device, unit, options, record);
    if (record.measured() && !options.hooks.interrupted()) {
        record.counters =
            count_events(device, unit, options.counters, record.question.execution.l2);
    }
    if (options.energy && record.measured() && !options.hooks.interrupted()) {
        take_energy(device, unit, *options.energy, record);
    }
}

/// What a folder answers already. A record without a serial stands for every GPU of its name.
struct Existing {
    std::set<std::string> keys;
    std::vector<Damage> damaged;

    [[nodiscard]] bool answers(const Question& question, const DeviceInfo& device) const {
        const std::string key = key_of(question, device.name);
        return keys.contains(key) || keys.contains(key + device.serial);
    }
};

Existing read_existing(const SuiteOptions& options) {
    Existing existing;
    if (options.folder.empty() || !fs::exists(options.folder)) return existing;
    RecordFile found = read_all_records({options.folder});
    for (const Record& record : found.records) {
        const bool answered = record.measured() && (record.energy || !options.measuring.energy);
        if (answered || (!record.measured() && options.failures == Failures::keep)) {
            existing.keys.insert(key_of(record) + record.device.serial);
        }
    }
    existing.damaged = std::move(found.damaged);
    return existing;
}

/// Half of a case's share of the time is for sampling; the rest is for preparing, checking and
/// counting.
SamplingOptions within_budget(SamplingOptions sampling, double left, std::int64_t cases) {
    constexpr double share = 0.5;
    constexpr double least = 0.02;
    sampling.seconds =
        std::min(sampling.seconds, std::max(least, share * left / static_cast<double>(cases)));
    return sampling;
}

class Run {
  public:
    Run(Device& device, const SuiteOptions& options)
        : device_(device), options_(options), start_(options.measuring.hooks.seconds()) {}

    SuiteResult over(std::span<const Question> questions) {
        std::vector<Question> open = open_questions(questions);
        const auto total = static_cast<std::int64_t>(open.size());
        for (std::int64_t done = 0; done < total; ++done) {
            result_.remaining = total - done;
            if (options_.measuring.hooks.interrupted()) {
                result_.interrupted = true;
                return std::move(result_);
            }
            Question& question = open[static_cast<std::size_t>(done)];
            report(done, total, canonical_text(question));
            if (!measure_next(std::move(question), total - done)) return std::move(result_);
        }
        result_.remaining = 0;
        report(total, total, "");
        return std::move(result_);
    }

  private:
    std::vector<Question> open_questions(std::span<const Question> questions) {
        Existing existing = read_existing(options_);
        result_.damaged = std::move(existing.damaged);
        if (!options_.folder.empty()) make_folder(options_.folder);
        std::vector<Question> open;
        for (Question question : questions) {
            resolve(question, device_);
            if (existing.answers(question, device_.info())) {
                ++result_.skipped;
            } else {
                open.push_back(std::move(question));
            }
        }
        return open;
    }

    /// Returns false when the run must end.
    bool measure_next(Question question, std::int64_t cases_left) {
        MeasureOptions measuring = options_.measuring;
        if (options_.seconds > 0.0) {
            const double left = options_.seconds - (measuring.hooks.seconds() - start_);
            measuring.sampling = within_budget(measuring.sampling, left, cases_left);
        }
        if (measuring.energy && idle_) {
            measuring.energy->idle = idle_->idle;
            measuring.energy->idle_up = idle_->idle_up;
        }
        const std::string path = record_path(options_.folder, question.operation);
        std::optional<Record> record = measure_one(device_, std::move(question), measuring);
        if (!record) {
            result_.interrupted = true;
            return false;
        }
        // After a fatal error the failing case is recorded too, so that a resumed run skips it.
        if (record->energy && record->energy->idle) idle_ = record->energy;
        if (!options_.folder.empty()) append_record(path, *record);
        result_.records.push_back(std::move(*record));
        if (device_.usable()) return true;
        result_.stopped = result_.records.back().failure.value_or("the device stopped working");
        --result_.remaining;
        return false;
    }

    void report(std::int64_t done, std::int64_t total, std::string current) const {
        if (!options_.progress) return;
        const double seconds = options_.measuring.hooks.seconds() - start_;
        SuiteProgress progress{
            .done = done, .total = total, .seconds = seconds, .current = std::move(current)};
        if (done > 0) {
            progress.seconds_left =
                seconds / static_cast<double>(done) * static_cast<double>(total - done);
        }
        options_.progress(progress);
    }

    Device& device_;
    const SuiteOptions& options_;
    double start_;
    std::optional<EnergyMeasurement> idle_{};  ///< idle power, measured once
    SuiteResult result_;
};

}  // namespace

std::optional<Record> measure_one(Device& device, Question question,
                                  const MeasureOptions& options) {
    resolve(question, device);
    Record record{.question = std::move(question),
                  .device = describe(device.info()),
                  .tool = options.tool,
                  .date = utc_now(),
                  .reference = options.reference};
    try {
        record.before = device.environment();
        measure_case(device, options, record);
    } catch (const DeviceError& error) {
        record.failure = error.what();
        record.timing.reset();
    } catch (const std::bad_alloc&) {
        record.failure = "the host does not have enough memory for this case";
        record.timing.reset();
    }
    record.software = software_of(record);
    // A case that was cut short has too few samples; it is measured again next time.
    const bool cut_short =
        options.hooks.interrupted() && record.timing && !record.timing->converged;
    if (cut_short) return std::nullopt;
    return record;
}

SuiteResult measure_suite(Device& device, std::span<const Question> questions,
                          const SuiteOptions& options) {
    return Run(device, options).over(questions);
}

std::string record_path(const std::string& folder, const model::Operation& operation) {
    return (fs::path(folder) / (std::string(name_of(operation)) + ".jsonl")).string();
}

}  // namespace ridge::measure
