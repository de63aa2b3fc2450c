#include "measure/run/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/record/overlay_text.h"
#include "measure/record/record.h"
#include "model/machine/features.h"

namespace ridge::measure {
namespace {

using model::DataType;

/// What a microbenchmark yields as fields.
enum class Yield {
    bandwidth,  ///< amount / time in bytes per second
    flop_rate,
    special_rate,  ///< results per cycle and multiprocessor
    load_latency,  ///< cycles per load
    launch_time    ///< time per launch
};

struct Step {
    std::string path;
    Yield yield = Yield::bandwidth;
    MicrobenchmarkRequest request;
    std::string clock_path{};      ///< path for the observed clock; may be empty
    std::string per_clock_path{};  ///< path for bytes per clock; may be empty
    bool per_sm = false;           ///< bytes per clock are for one multiprocessor
};

constexpr Bytes large_array = 1.0 * units::GiB;

std::vector<Step> memory_steps() {
    const auto dram = [](const char* path, Microbenchmark benchmark, const char* clock = "") {
        return Step{.path = path,
                    .request = {.benchmark = benchmark, .size = large_array},
                    .clock_path = clock};
    };
    return {dram("measured.dram.read", Microbenchmark::dram_read),
            dram("measured.dram.write", Microbenchmark::dram_write),
            dram("measured.dram.copy", Microbenchmark::dram_copy, "measured.clock.memory"),
            dram("measured.dram.triad", Microbenchmark::dram_triad),
            {.path = "measured.l2.read",
             .request = {.benchmark = Microbenchmark::l2_read, .size = 16.0 * units::MiB},
             .per_clock_path = "measured.l2.bytes_per_clock"},
            {.path = "measured.l1.read", .request = {.benchmark = Microbenchmark::l1_read}},
            {.path = "measured.shared.read",
             .request = {.benchmark = Microbenchmark::shared_read, .size = 16.0 * units::KiB},
             .per_clock_path = "measured.shared.bytes_per_clock",
             .per_sm = true}};
}

std::vector<Step> compute_steps(std::int32_t compute_capability) {
    std::vector<Step> steps;
    for (const DataType type : {DataType::fp64, DataType::fp32, DataType::fp16}) {
        steps.push_back({.path = fmt::format("measured.fma.{}", name_of(type)),
                         .yield = Yield::flop_rate,
                         .request = {.benchmark = Microbenchmark::fma, .type = type},
                         .clock_path = type == DataType::fp32 ? "measured.clock.fma" : ""});
    }
    steps.push_back({.path = "measured.sfu",
                     .yield = Yield::special_rate,
                     .request = {.benchmark = Microbenchmark::exp2}});
    // Bursts of all types come first, while the device is still cool.
    const bool hopper = model::features_of(compute_capability).wgmma;
    for (const Regime regime : {Regime::burst, Regime::sustained}) {
        const char* suffix = regime == Regime::burst ? "burst" : "sustained";
        for (const DataType type : {DataType::bf16, DataType::fp16, DataType::tf32, DataType::fp8,
                                    DataType::int8, DataType::fp64}) {
            // Before Hopper, mma.sync is the only tensor instruction; on Hopper fp64 has no other.
            const bool wgmma = hopper && type != DataType::fp64;
            steps.push_back({.path = fmt::format("measured.tensor.{}.{}", name_of(type), suffix),
                             .yield = Yield::flop_rate,
                             .request = {.benchmark = wgmma ? Microbenchmark::tensor_wgmma
                                                            : Microbenchmark::tensor_mma,
                                         .type = type,
                                         .regime = regime},
                             .clock_path = type == DataType::bf16 && regime == Regime::burst
                                               ? "measured.clock.tensor"
                                               : ""});
            if (!wgmma) continue;
            steps.push_back(
                {.path = fmt::format("measured.tensor_mma.{}.{}", name_of(type), suffix),
                 .yield = Yield::flop_rate,
                 .request = {
                     .benchmark = Microbenchmark::tensor_mma, .type = type, .regime = regime}});
        }
    }
    return steps;
}

std::vector<Step> latency_steps(const DeviceInfo& info) {
    const auto chase = [](const char* path, Bytes size) {
        return Step{.path = path,
                    .yield = Yield::load_latency,
                    .request = {.benchmark = Microbenchmark::pointer_chase, .size = size}};
    };
    const auto launch = [](const char* path, Microbenchmark benchmark) {
        return Step{.path = path, .yield = Yield::launch_time, .request = {.benchmark = benchmark}};
    };
    return {chase("latency.l1", 16.0 * units::KiB),
            {.path = "latency.shared",
             .yield = Yield::load_latency,
             .request = {.benchmark = Microbenchmark::shared_chase}},
            chase("latency.l2", std::max(2.0 * units::MiB, 0.1 * info.l2)),
            chase("latency.dram", std::max(512.0 * units::MiB, 8.0 * info.l2)),
            launch("launch.kernel", Microbenchmark::launch_kernel),
            launch("launch.stream", Microbenchmark::launch_stream),
            launch("launch.graph", Microbenchmark::launch_graph),
            launch("launch.call", Microbenchmark::launch_call),
            launch("launch.submit", Microbenchmark::launch_submit)};
}

std::string number_text(double value) {
    return fmt::format("{:.5g}", value);
}

class Bench {
  public:
    Bench(Device& device, const CalibrateOptions& options) : device_(device), options_(options) {
        result_.device = device.info();
        result_.date = utc_now();
        result_.tool = options.tool;
    }

    Calibration run() {
        std::vector<Step> steps = latency_steps(device_.info());
        for (Step& step : memory_steps()) steps.push_back(std::move(step));
        for (Step& step : compute_steps(device_.info().compute_capability)) {
            steps.push_back(std::move(step));
        }
        const auto total = static_cast<std::int64_t>(steps.size()) + 1 + gemm_count;
        std::int64_t done = 0;
        bool going_on = true;
        const auto step_named = [&](const std::string& name, const auto& work) {
            const std::int64_t number = done++;
            if (!going_on || add_known(name)) return;
            going_on = !options_.hooks.interrupted() && device_.usable();
            if (!going_on) return;
            if (options_.progress) options_.progress(name, number, total);
            finish(name, work);
        };
        for (const Step& step : steps) {
            step_named(step.path, [&] {
                measure(step);
                return true;
            });
        }
        step_named("measured.dram.latency", [&] { return fit(); });
        for (const DataType type : gemm_types) {
            const std::string path = fmt::format("measured.gemm.{}", name_of(type));
            step_named(path, [&] {
                measure_gemm(path, type);
                return true;
            });
        }
        result_.interrupted = !going_on;
        return std::move(result_);
    }

  private:
    static constexpr std::array gemm_types{DataType::bf16, DataType::fp16, DataType::tf32,
                                           DataType::fp8};
    static constexpr std::int64_t gemm_count = gemm_types.size();

    /// Takes over the results of a step from an earlier run; false if that run did not reach it.
    bool add_known(const std::string& name) {
        const auto known =
            std::find_if(options_.known.begin(), options_.known.end(),
                         [&name](const CalibrationStep& each) { return each.name == name; });
        if (known == options_.known.end()) return false;
        result_.fields.insert(result_.fields.end(), known->fields.begin(), known->fields.end());
        result_.skipped.insert(result_.skipped.end(), known->skipped.begin(), known->skipped.end());
        return true;
    }

    /// Does the work of a step and passes on its results, unless `work` was cut short.
    template <class Work>
    void finish(const std::string& name, const Work& work) {
        const auto fields = static_cast<std::ptrdiff_t>(result_.fields.size());
        const auto skipped = static_cast<std::ptrdiff_t>(result_.skipped.size());
        const bool whole = work();
        if (!whole || !options_.finished || !device_.usable()) return;
        options_.finished({.name = name,
                           .fields = {result_.fields.begin() + fields, result_.fields.end()},
                           .skipped = {result_.skipped.begin() + skipped, result_.skipped.end()}});
    }

    void skip(const std::string& path, std::string reason) {
        result_.skipped.push_back({.path = path, .reason = std::move(reason)});
    }

    void add(const std::string& path, std::string value, std::string note = {}) {
        result_.fields.push_back(
            {.path = path, .value = std::move(value), .quoted = true, .note = std::move(note)});
    }
    void add_number(const std::string& path, double value, std::string note = {}) {
        result_.fields.push_back(
            {.path = path, .value = number_text(value), .quoted = false, .note = std::move(note)});
    }

    /// Steady samples of a benchmark as a timing. Empty, with the path listed as skipped, if none.
    std::optional<Timing> samples_of(const std::string& path, const MicrobenchmarkRequest& request,
                                     double& amount) {
        try {
            auto outcome = device_.run(request);
            if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
                skip(path, unavailable->reason);
                return std::nullopt;
            }
            auto& result = std::get<MicrobenchmarkResult>(outcome);
            amount = result.amount;
            Timing timing{.samples = std::move(result.samples)};
            settle(timing, {});
            if (timing.statistics && timing.statistics->median > 0.0 && amount > 0.0) return timing;
            skip(path,
                 timing.statistics ? "the benchmark took no time" : "every sample was throttled");
        } catch (const DeviceError& error) {
            skip(path, error.what());
        }
        return std::nullopt;
    }

    static std::string note_of(const Timing& timing) {
        std::string note = fmt::format("median of {}", timing.statistics->count);
        if (timing.clock) note += " at " + format(*timing.clock);
        if (timing.discarded > 0) note += fmt::format(", {} throttled left out", timing.discarded);
        return note;
    }

    void measure(const Step& step) {
        MicrobenchmarkRequest request = step.request;
        request.count = options_.samples;
        double amount = 0.0;
        const std::optional<Timing> timing = samples_of(step.path, request, amount);
        if (!timing) return;
        const double rate = amount / timing->statistics->median;
        const std::string note = note_of(*timing);
        if (step.yield == Yield::bandwidth) {
            add(step.path, format(Bandwidth::from_base(rate), 4), note);
            add_per_clock(step, rate, *timing);
        } else if (step.yield == Yield::flop_rate) {
            add(step.path, format(FlopRate::from_base(rate), 4), note);
        } else if (step.yield == Yield::launch_time) {
            add(step.path, format(Time::from_base(1.0 / rate), 4), note);
        } else if (!timing->clock) {
            skip(step.path, "the clock during the benchmark is not known");
        } else if (step.yield == Yield::load_latency) {
            add(step.path, format(*timing->clock * Time::from_base(1.0 / rate), 4), note);
        } else {
            const double per_clock = rate / timing->clock->base();
            add_number(step.path, per_clock / static_cast<double>(device_.info().sm_count), note);
        }
        if (!step.clock_path.empty() && timing->clock) add(step.clock_path, format(*timing->clock));
    }

    void add_per_clock(const Step& step, double rate, const Timing& timing) {
        if (step.per_clock_path.empty()) return;
        if (!timing.clock) {
            skip(step.per_clock_path, "the clock during the benchmark is not known");
            return;
        }
        const double units = step.per_sm ? static_cast<double>(device_.info().sm_count) : 1.0;
        add(step.per_clock_path,
            format(BytesPerCycle::from_base(rate / timing.clock->base() / units), 5),
            note_of(timing));
    }

    /// Measures DRAM reads from 256 KiB to 1 GiB, doubling, and fits them; false when cut short.
    bool fit() {
        const std::string path = "measured.dram.latency";
        std::vector<RampPoint> points;
        for (Bytes size = 256.0 * units::KiB; size <= large_array; size *= 2.0) {
            if (options_.hooks.interrupted() || !device_.usable()) return false;
            double amount = 0.0;
            const std::optional<Timing> timing = samples_of(
                path,
                {.benchmark = Microbenchmark::dram_read, .size = size, .count = options_.samples},
                amount);
            if (!timing) return true;
            points.push_back({.bytes = Bytes::from_base(amount),
                              .time = Time::from_base(timing->statistics->median)});
        }
        const RampFit ramp = fit_ramp(points);
        if (!ramp.determined()) {
            result_.skipped.push_back(
                {.path = path, .reason = "the measured read sizes do not determine it"});
            return true;
        }
        const std::string note = fmt::format(
            "t = (latency^p + (bytes / {})^p)^(1/p) over {} read sizes, root mean "
            "square error {:.1f} %",
            format(ramp.bandwidth, 4), points.size(), 100.0 * ramp.error);
        add(path, format(ramp.latency, 4), note);
        add("measured.dram.in_flight", format_traffic(ramp.bytes_in_flight(), 4), note);
        add_number("measured.dram.ramp_exponent", ramp.exponent, note);
        result_.ramp = ramp;
        return true;
    }

    /// The vendor library's matrix product, at a size that fills any GPU.
    void measure_gemm(const std::string& path, DataType type) {
        constexpr std::int64_t edge = 8192;
        model::Matmul op{.m = edge,
                         .n = edge,
                         .k = edge,
                         .type = type,
                         .output = type == DataType::tf32  ? DataType::fp32
                                   : type == DataType::fp8 ? DataType::bf16
                                                           : type};
        // The library multiplies one-byte types only with B column-major.
        if (type == DataType::fp8) op.b_layout = model::Layout::column_major;
        try {
            model::Execution execution;
            execution.implementation = model::Implementation::library;
            auto prepared = device_.prepare(op, execution, DataPattern::normal);
            if (const auto* unavailable = std::get_if<Unavailable>(&prepared)) {
                skip(path, unavailable->reason);
                return;
            }
            Case& unit = *std::get<std::unique_ptr<Case>>(prepared);
            if (!unit.verify().ok) {
                skip(path, "the library's result is wrong");
                return;
            }
            Timing timing{.samples =
                              unit.sample({.method = Method::events, .count = options_.samples})};
            settle(timing, {});
            if (!timing.statistics) {
                skip(path, "every sample was throttled");
                return;
            }
            const double flop = 2.0 * std::pow(static_cast<double>(edge), 3);
            add(path, format(FlopRate::from_base(flop / timing.statistics->median), 4),
                fmt::format("{0} x {0} x {0}, normal numbers, {1}", edge, note_of(timing)));
        } catch (const DeviceError& error) {
            skip(path, error.what());
        }
    }

    Device& device_;
    const CalibrateOptions& options_;
    Calibration result_;
};

}  // namespace

Calibration calibrate(Device& device, const CalibrateOptions& options) {
    return Bench(device, options).run();
}

std::string source_of(const Calibration& calibration) {
    const DeviceInfo& device = calibration.device;
    return fmt::format(
        "{} on one {} ({} SMs), {}, driver {}, CUDA {}; microbenchmarks, median of the samples "
        "that "
        "were not throttled",
        calibration.tool, device.name, device.sm_count, calibration.date, device.driver,
        device.cuda_runtime);
}

std::string measured_sections(const Calibration& calibration) {
    std::string toml;
    std::map<std::string, std::vector<const CalibratedField*>> sections;
    for (const CalibratedField& field : calibration.fields) {
        sections[field.path.substr(0, field.path.rfind('.'))].push_back(&field);
    }
    for (const auto& [section, fields] : sections) {
        toml += fmt::format("\n[{}]\n", section);
        for (const CalibratedField* field : fields) {
            toml += fmt::format(
                "{} = {{ value = {}, source = \"RUN\"{} }}\n",
                field->path.substr(field->path.rfind('.') + 1),
                field->quoted ? quoted_toml(field->value) : field->value,
                field->note.empty() ? std::string() : ", note = " + quoted_toml(field->note));
        }
    }
    for (const Skipped& skipped : calibration.skipped) {
        toml +=
            fmt::format("\n# {} was not measured: {}", skipped.path, quoted_toml(skipped.reason));
    }
    if (!calibration.skipped.empty()) toml += '\n';
    return toml;
}

std::string to_overlay(const Calibration& calibration, const std::string& name,
                       const std::string& title, const std::string& vendor) {
    return overlay_text({.name = name + ".measured",
                         .over = name,
                         .title = title + ", measured",
                         .vendor = vendor,
                         .comment = "Measured ceilings; written by ridge calibrate.",
                         .sources = {{"RUN", source_of(calibration)}}},
                        measured_sections(calibration));
}

}  // namespace ridge::measure
