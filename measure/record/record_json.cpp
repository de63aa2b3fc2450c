#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "hardware/json.h"
#include "measure/record/choice_json.h"
#include "measure/record/record.h"
#include "measure/record/record_reader.h"

namespace ridge::measure {
namespace {

// JSON has no infinities, but a wrong result may have an infinite error.
Json number(double value) {
    if (std::isfinite(value)) return value;
    if (std::isnan(value)) return "nan";
    return value > 0.0 ? "inf" : "-inf";
}

template <class Q>
void put(Json& json, const char* name, const std::optional<Q>& quantity) {
    if (quantity) json[name] = number(quantity->base());
}
void put(Json& json, const char* name, const std::optional<double>& value) {
    if (value) json[name] = number(*value);
}

Json tile_json(const model::Tile& tile) {
    return Json::array({tile.m, tile.n, tile.k});
}

Json to_json(const RecordDevice& device) {
    Json json{{"name", device.name},         {"compute_capability", device.compute_capability},
              {"sm_count", device.sm_count}, {"driver", device.driver},
              {"cuda", device.cuda},         {"cupti", device.cupti}};
    if (device.mig) json["mig"] = true;
    if (!device.serial.empty()) json["serial"] = device.serial;
    if (!device.host.empty()) json["host"] = device.host;
    return json;
}

Json to_json(const Geometry& geometry) {
    Json kernels = Json::array();
    for (const KernelLaunch& kernel : geometry.kernels) {
        kernels.push_back({{"name", kernel.name},
                           {"grid", Json::array({kernel.grid_x, kernel.grid_y, kernel.grid_z})},
                           {"block_threads", kernel.block_threads},
                           {"registers", kernel.registers_per_thread},
                           {"shared_bytes", kernel.shared_bytes},
                           {"repeat", kernel.repeat}});
    }
    Json json{{"kernels", std::move(kernels)}};
    if (geometry.tile) json["tile"] = tile_json(*geometry.tile);
    json["split"] = geometry.split;
    put(json, "device_memory_bytes", geometry.device_memory);
    if (geometry.collective) json["collective"] = json_of(*geometry.collective);
    return json;
}

Json to_json(const Verification& verification) {
    return {{"ok", verification.ok},
            {"max_error", number(verification.max_error)},
            {"frobenius_error", number(verification.frobenius_error)},
            {"tolerance", number(verification.tolerance)},
            {"checked", verification.checked}};
}

Json to_json(const Statistics& statistics) {
    return {{"count", statistics.count},
            {"median_s", number(statistics.median)},
            {"p5_s", number(statistics.p5)},
            {"p95_s", number(statistics.p95)},
            {"low_s", number(statistics.low)},
            {"high_s", number(statistics.high)},
            {"confidence", number(statistics.confidence)},
            {"drift", number(statistics.drift)}};
}

Json to_json(const Timing& timing) {
    Json json{{"method", name_of(timing.method)}};
    if (timing.statistics) json["statistics"] = to_json(*timing.statistics);
    put(json, "clock_hz", timing.clock);
    json["discarded"] = timing.discarded;
    json["converged"] = timing.converged;
    json["seconds"] = number(timing.seconds);
    Json times = Json::array();
    Json clocks = Json::array();
    Json throttled = Json::array();
    Json skews = Json::array();
    bool any_clock = false;
    for (std::size_t i = 0; i < timing.samples.size(); ++i) {
        const Sample& sample = timing.samples[i];
        times.push_back(number(sample.time.base()));
        clocks.push_back(sample.clock ? number(sample.clock->base()) : Json());
        any_clock = any_clock || sample.clock.has_value();
        if (sample.throttled) throttled.push_back(i);
        if (sample.skew) skews.push_back(number(sample.skew->base()));
    }
    json["times_s"] = std::move(times);
    if (any_clock) json["clocks_hz"] = std::move(clocks);
    if (!throttled.items().empty()) json["throttled"] = std::move(throttled);
    if (!skews.items().empty()) json["skews_s"] = std::move(skews);
    return json;
}

Json to_json(const Counters& counters) {
    Json json = Json::object();
    put(json, "dram_read_bytes", counters.dram_read);
    put(json, "dram_write_bytes", counters.dram_write);
    put(json, "sm_l2_bytes", counters.sm_l2);
    put(json, "l2_bytes", counters.l2);
    put(json, "shared_bytes", counters.shared);
    put(json, "tensor_flop", counters.tensor);
    put(json, "fma_flop", counters.fma);
    put(json, "special", counters.special);
    put(json, "occupancy", counters.occupancy);
    put(json, "tensor_active", counters.tensor_active);
    put(json, "sm_clock_hz", counters.sm_clock);
    put(json, "dram_clock_hz", counters.dram_clock);
    if (!counters.metrics.empty()) {
        Json metrics = Json::object();
        for (const auto& [name, value] : counters.metrics) metrics[name] = number(value);
        json["metrics"] = std::move(metrics);
    }
    return json;
}

Json to_json(const Unavailable& unavailable) {
    return {{"reason", unavailable.reason}, {"remedy", unavailable.remedy}};
}

Json to_json(const Environment& environment) {
    Json json = Json::object();
    put(json, "sm_clock_hz", environment.sm_clock);
    put(json, "memory_clock_hz", environment.memory_clock);
    put(json, "power_w", environment.power);
    put(json, "power_limit_w", environment.power_limit);
    put(json, "temperature_celsius", environment.temperature_celsius);
    put(json, "energy_j", environment.energy);
    if (!environment.clock_reasons.empty()) json["clock_reasons"] = environment.clock_reasons;
    if (environment.other_processes) json["other_processes"] = *environment.other_processes;
    return json;
}

Json to_json(const MachineReference& reference) {
    Json json = Json::object();
    put(json, "empty_kernel_s", reference.empty_kernel);
    put(json, "copy_bytes_per_s", reference.copy);
    put(json, "product_flop_per_s", reference.product);
    return json;
}

Json to_json(const Record& record) {
    const model::Execution& execution = record.question.execution;
    Json json{{"schema", record_schema},
              {"op", canonical_text(record.question.operation)},
              {"implementation", name_of(execution.implementation)},
              {"l2", name_of(execution.l2)},
              {"launch", name_of(execution.launch)}};
    if (execution.tile) json["tile"] = tile_json(*execution.tile);
    json["pattern"] = name_of(record.question.pattern);
    if (record.question.seed) json["seed"] = *record.question.seed;
    json["date"] = record.date;
    json["tool"] = record.tool;
    if (!record.software.empty()) json["software"] = record.software;
    json["device"] = to_json(record.device);
    if (record.failure) json["failure"] = *record.failure;
    if (record.geometry) json["geometry"] = to_json(*record.geometry);
    if (record.verification) json["verification"] = to_json(*record.verification);
    if (const auto* counters = std::get_if<Counters>(&record.counters)) {
        json["counters"] = to_json(*counters);
    } else {
        json["no_counters"] = to_json(std::get<Unavailable>(record.counters));
    }
    json["before"] = to_json(record.before);
    json["after"] = to_json(record.after);
    put(json, "mean_power_w", record.mean_power);
    if (!record.reference.empty()) json["reference"] = to_json(record.reference);
    if (record.timing) json["timing"] = to_json(*record.timing);
    if (record.energy) json["energy"] = json_of(*record.energy);
    return json;
}

template <class Integer>
Integer bounded(const RecordReader& reader, const char* name, std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<Integer>::max()) {
        reader.fail(name, "is out of range");
    }
    return static_cast<Integer>(value);
}

std::optional<model::Tile> tile_if(const RecordReader& reader) {
    if (!reader.has("tile")) return std::nullopt;
    const std::vector<Json>& edges = reader.array("tile");
    if (edges.size() != 3) reader.fail("tile", "must have three edges");
    const auto edge = [&](std::size_t i) {
        return bounded<std::int32_t>(reader, "tile", reader.whole(edges[i], "tile"));
    };
    return model::Tile{.m = edge(0), .n = edge(1), .k = edge(2)};
}

std::optional<std::uint64_t> seed_if(const RecordReader& reader) {
    if (!reader.has("seed")) return std::nullopt;
    const std::int64_t seed = reader.count("seed");
    if (seed < 0) reader.fail("seed", "must not be negative");
    return static_cast<std::uint64_t>(seed);
}

/// The usual implementation is first in the operation's list. Early records also use `library` for
/// it when no vendor's library is meant.
model::Implementation read_implementation(const RecordReader& reader, model::OperationKind kind) {
    const auto named = model::parse_implementation(reader.text("implementation"));
    const bool earlier = named == model::Implementation::library && !model::has(kind, named);
    return earlier ? model::info_of(kind).implementations.front() : named;
}

Question read_question(const RecordReader& reader) {
    const model::OperationText parsed = model::parse_operation(reader.text("op"));
    return {.operation = model::make_operation(parsed.kind, parsed.parameters),
            .execution = {.implementation = read_implementation(reader, parsed.kind),
                          .l2 = model::parse_l2_state(reader.text("l2")),
                          .launch = model::parse_launch_mode(reader.text("launch")),
                          .tile = tile_if(reader)},
            .pattern = parse_data_pattern(reader.text("pattern")),
            .seed = seed_if(reader)};
}

RecordDevice read_device(const RecordReader& reader) {
    return {.name = reader.text("name"),
            .compute_capability = bounded<std::int32_t>(reader, "compute_capability",
                                                        reader.count("compute_capability")),
            .sm_count = reader.count("sm_count"),
            .driver = reader.text("driver"),
            .cuda = reader.text("cuda"),
            .cupti = reader.text("cupti"),
            .mig = reader.has("mig") && reader.flag("mig"),
            .serial = reader.has("serial") ? reader.text("serial") : std::string(),
            .host = reader.has("host") ? reader.text("host") : std::string()};
}

Geometry read_geometry(const RecordReader& reader) {
    Geometry geometry{.tile = tile_if(reader),
                      .split = reader.count("split"),
                      .device_memory = reader.quantity_if<Bytes>("device_memory_bytes")};
    for (const Json& item : reader.array("kernels")) {
        const RecordReader kernel(item, "geometry.kernels");
        const std::vector<Json>& grid = kernel.array("grid");
        if (grid.size() != 3) kernel.fail("grid", "must have three edges");
        geometry.kernels.push_back({.name = kernel.text("name"),
                                    .grid_x = kernel.whole(grid[0], "grid"),
                                    .grid_y = kernel.whole(grid[1], "grid"),
                                    .grid_z = kernel.whole(grid[2], "grid"),
                                    .block_threads = kernel.count("block_threads"),
                                    .registers_per_thread = kernel.count("registers"),
                                    .shared_bytes = kernel.count("shared_bytes"),
                                    .repeat = kernel.count("repeat")});
    }
    if (const Json* const choice = reader.json().find("collective")) {
        geometry.collective = choice_in(*choice);
    }
    return geometry;
}

Verification read_verification(const RecordReader& reader) {
    return {.max_error = reader.real("max_error"),
            .frobenius_error = reader.real("frobenius_error"),
            .tolerance = reader.real("tolerance"),
            .checked = reader.count("checked"),
            .ok = reader.flag("ok")};
}

/// What a file leaves out of the statistics is `expected`: what follows from the samples.
Statistics read_statistics(const RecordReader& reader, const Statistics& expected) {
    const auto real = [&](const char* name, double otherwise) {
        return reader.real_if(name).value_or(otherwise);
    };
    return {.count = reader.has("count") ? reader.count("count") : expected.count,
            .median = real("median_s", expected.median),
            .p5 = real("p5_s", expected.p5),
            .p95 = real("p95_s", expected.p95),
            .low = real("low_s", expected.low),
            .high = real("high_s", expected.high),
            .confidence = real("confidence", expected.confidence),
            .drift = real("drift", expected.drift)};
}

std::vector<Sample> read_samples(const RecordReader& reader) {
    std::vector<Sample> samples;
    for (const Json& time : reader.array("times_s")) {
        const double seconds = reader.real(time, "times_s");
        if (!(seconds > 0.0) || !std::isfinite(seconds)) {
            reader.fail("times_s", "must hold positive times");
        }
        samples.push_back({.time = Time::from_base(seconds)});
    }
    if (reader.has("clocks_hz")) {
        const std::vector<Json>& clocks = reader.array("clocks_hz");
        if (clocks.size() != samples.size()) {
            reader.fail("clocks_hz", "must be as many as times_s");
        }
        for (std::size_t i = 0; i < samples.size(); ++i) {
            if (clocks[i].is_null()) continue;
            samples[i].clock = Frequency::from_base(reader.real(clocks[i], "clocks_hz"));
        }
    }
    if (reader.has("throttled")) {
        for (const Json& item : reader.array("throttled")) {
            const std::int64_t position = reader.whole(item, "throttled");
            if (position < 0 || position >= static_cast<std::int64_t>(samples.size())) {
                reader.fail("throttled", "names a sample that does not exist");
            }
            samples[static_cast<std::size_t>(position)].throttled = true;
        }
    }
    if (reader.has("skews_s")) {
        const std::vector<Json>& skews = reader.array("skews_s");
        if (skews.size() != samples.size()) reader.fail("skews_s", "must be as many as times_s");
        for (std::size_t i = 0; i < samples.size(); ++i) {
            samples[i].skew = Time::from_base(reader.real(skews[i], "skews_s"));
        }
    }
    return samples;
}

/// The statistics must follow from the samples, so that a corrupted digit is noticed.
std::optional<Statistics> statistics_of(const RecordReader& reader,
                                        std::span<const Sample> samples) {
    const std::vector<double> steady = steady_times(samples);
    if (steady.empty()) {
        if (reader.has("statistics")) {
            reader.fail("statistics", "must not be there when all samples were throttled");
        }
        return std::nullopt;
    }
    const Statistics expected = summarise(steady);
    if (!reader.has("statistics")) return expected;
    const Statistics stated = read_statistics(reader.object("statistics"), expected);
    const auto agrees = [](double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
    };
    if (stated.count != expected.count || !agrees(stated.median, expected.median) ||
        !agrees(stated.p95, expected.p95)) {
        reader.fail("statistics", "do not follow from times_s");
    }
    return stated;
}

Timing read_timing(const RecordReader& reader) {
    Timing timing{.method = parse_method(reader.text("method")),
                  .samples = read_samples(reader),
                  .discarded = reader.count("discarded"),
                  .clock = reader.quantity_if<Frequency>("clock_hz"),
                  .converged = reader.flag("converged"),
                  .seconds = reader.real("seconds")};
    timing.statistics = statistics_of(reader, timing.samples);
    return timing;
}

Counters read_counters(const RecordReader& reader) {
    Counters counters{.dram_read = reader.quantity_if<Bytes>("dram_read_bytes"),
                      .dram_write = reader.quantity_if<Bytes>("dram_write_bytes"),
                      .sm_l2 = reader.quantity_if<Bytes>("sm_l2_bytes"),
                      .l2 = reader.quantity_if<Bytes>("l2_bytes"),
                      .shared = reader.quantity_if<Bytes>("shared_bytes"),
                      .tensor = reader.quantity_if<Flop>("tensor_flop"),
                      .fma = reader.quantity_if<Flop>("fma_flop"),
                      .special = reader.real_if("special"),
                      .occupancy = reader.real_if("occupancy"),
                      .tensor_active = reader.real_if("tensor_active"),
                      .sm_clock = reader.quantity_if<Frequency>("sm_clock_hz"),
                      .dram_clock = reader.quantity_if<Frequency>("dram_clock_hz")};
    if (reader.has("metrics")) {
        const RecordReader metrics = reader.object("metrics");
        for (const auto& [name, value] : metrics.json().members()) {
            counters.metrics[name] = metrics.real(value, name.c_str());
        }
    }
    return counters;
}

Environment read_environment(const RecordReader& reader) {
    Environment environment{.sm_clock = reader.quantity_if<Frequency>("sm_clock_hz"),
                            .memory_clock = reader.quantity_if<Frequency>("memory_clock_hz"),
                            .power = reader.quantity_if<Power>("power_w"),
                            .power_limit = reader.quantity_if<Power>("power_limit_w"),
                            .temperature_celsius = reader.real_if("temperature_celsius"),
                            .energy = reader.quantity_if<Energy>("energy_j")};
    if (reader.has("clock_reasons")) {
        for (const Json& word : reader.array("clock_reasons")) {
            const std::string* const text = word.if_text();
            if (text == nullptr) reader.fail("clock_reasons", "must hold strings");
            environment.clock_reasons.push_back(*text);
        }
    }
    if (reader.has("other_processes"))
        environment.other_processes = reader.count("other_processes");
    return environment;
}

MachineReference read_reference(const RecordReader& reader) {
    if (!reader.has("reference")) return {};
    const RecordReader reference = reader.object("reference");
    return {.empty_kernel = reference.quantity_if<Time>("empty_kernel_s"),
            .copy = reference.quantity_if<Bandwidth>("copy_bytes_per_s"),
            .product = reference.quantity_if<FlopRate>("product_flop_per_s")};
}

Record read_record(const RecordReader& reader) {
    if (reader.count("schema") != record_schema) {
        reader.fail("schema",
                    fmt::format("must be {}; this is a record of another version", record_schema));
    }
    Record record{.question = read_question(reader),
                  .device = read_device(reader.object("device")),
                  .tool = reader.text("tool"),
                  .date = reader.text("date"),
                  .before = read_environment(reader.object("before")),
                  .after = read_environment(reader.object("after")),
                  .mean_power = reader.quantity_if<Power>("mean_power_w"),
                  .reference = read_reference(reader)};
    if (reader.has("failure")) record.failure = reader.text("failure");
    if (reader.has("geometry")) record.geometry = read_geometry(reader.object("geometry"));
    record.software = reader.has("software") ? reader.text("software") : software_of(record);
    if (reader.has("verification")) {
        record.verification = read_verification(reader.object("verification"));
    }
    if (reader.has("counters")) {
        record.counters = read_counters(reader.object("counters"));
    } else {
        const RecordReader reason = reader.object("no_counters");
        record.counters =
            Unavailable{.reason = reason.text("reason"), .remedy = reason.text("remedy")};
    }
    if (reader.has("timing")) record.timing = read_timing(reader.object("timing"));
    if (const Json* const energy = reader.json().find("energy")) {
        record.energy = energy_measurement_in(*energy);
    }
    if (record.measured() == record.failure.has_value()) {
        reader.fail("failure", "must be there exactly when there is no time");
    }
    // Results of a framework are not compared with a reference; only its times are needed.
    const bool framework = model::is_framework(record.question.execution.implementation) ||
                           model::needs_framework(record.question.operation);
    const bool checked = record.verification ? record.verification->ok : framework;
    if (record.measured() && !checked) {
        reader.fail("verification", "must be ok when there is a time");
    }
    return record;
}

}  // namespace

std::string to_json_line(const Record& record) {
    return to_json(record).text();
}

Record parse_record(std::string_view line) {
    const std::optional<Json> json = Json::parse(line);
    if (!json) throw InputError("not a line of JSON, or cut short");
    return record_of(*json);
}

Record record_of(const Json& json) {
    return read_record(RecordReader(json, ""));
}

}  // namespace ridge::measure
