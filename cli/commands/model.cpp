// `ridge model`: a whole model from its config: parameters, memory, time.
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/core/data_type.h"
#include "model/footprint/memory_fit.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"

namespace ridge::cli {
namespace {

struct ModelOptions {
    explicit ModelOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string config;
    std::string dtype = "bf16";
    std::string kv_dtype;
    std::string quantise;
    std::int64_t seq = 4096;
    std::int64_t batch = 1;
    bool list = false;
    std::string format;
};

struct ModelAnswer {
    programs::Architecture architecture;
    std::int64_t parameters = 0;
    std::int64_t active = 0;
    std::int64_t weights = 0;
    std::int64_t cache = 0;
    std::optional<Bytes> usable;
};

ModelAnswer answer_for(const Context& context, const ModelOptions& options) {
    if (options.seq < 1) throw InputError("seq must be positive");
    if (options.batch < 1) throw InputError("batch must be positive");
    ModelAnswer answer;
    answer.architecture = programs::find_model(options.config);
    const auto type = model::parse_data_type(options.dtype, "dtype");
    const auto kv_type =
        options.kv_dtype.empty() ? type : model::parse_data_type(options.kv_dtype, "kv_dtype");
    answer.parameters = parameters_of(answer.architecture);
    answer.active = active_parameters_of(answer.architecture);
    answer.weights =
        weights_bytes(answer.architecture,
                      {.bytes = model::size_of(type),
                       .quantisation = programs::parse_quantisation(options.quantise, "quantise")});
    answer.cache = kv_cache_bytes(
        answer.architecture,
        {.bytes = model::size_of(kv_type), .batch = options.batch, .tokens = options.seq});
    if (options.gpu.given()) {
        Machines machines = options.gpu.machines(context);
        const model::UsableMemory usable =
            model::usable_memory(machines.description(options.gpu.name()));
        answer.usable = bytes_of(usable.bytes);
    }
    return answer;
}

Json json_of(const ModelAnswer& answer) {
    const programs::Architecture& a = answer.architecture;
    Json json{{"model", a.name},
              {"family", a.family},
              {"source", a.source},
              {"parameters", answer.parameters},
              {"active_parameters", answer.active},
              {"weights_bytes", answer.weights},
              {"kv_cache_bytes", answer.cache}};
    if (answer.usable) json["usable_bytes"] = answer.usable->base();
    return json;
}

void write_answer(const Context& context, const ModelAnswer& answer, const ModelOptions& options) {
    const programs::Architecture& a = answer.architecture;
    context.out << fmt::format("{} ({}), {} layers, hidden {}, vocabulary {}\n", a.name, a.family,
                               a.layers(), a.hidden, a.vocabulary);
    Table table{.columns = {{"  of"}, {"count", Align::right}, {"memory", Align::right}},
                .rows = {}};
    table.rows.push_back(
        {"  parameters", std::to_string(answer.parameters), both_units(bytes_of(answer.weights))});
    if (answer.active != answer.parameters) {
        table.rows.push_back({"  of those active", std::to_string(answer.active), ""});
    }
    table.rows.push_back({fmt::format("  cache of {} x {} tokens", options.batch, options.seq), "",
                          both_units(bytes_of(answer.cache))});
    write_text(context.out, table);
    if (!answer.usable) return;
    const Bytes left = *answer.usable - bytes_of(answer.weights + answer.cache);
    context.out << '\n';
    write_sentence(context,
                   left > Bytes{}
                       ? fmt::format("{} of {} stay free.", format_capacity(left),
                                     format_capacity(*answer.usable))
                       : fmt::format("Does not fit into {}.", format_capacity(*answer.usable)));
}

int run_model(const Context& context, const ModelOptions& options) {
    if (options.list) {
        for (const std::string& name : programs::preset_names()) context.out << name << '\n';
        return success;
    }
    if (options.config.empty()) {
        throw InputError("CONFIG is missing", {}, "a config.json, a folder, or a preset (--list)");
    }
    const ModelAnswer answer = answer_for(context, options);
    if (options.format == "json") {
        context.out << json_of(answer).text(2) << '\n';
    } else {
        write_answer(context, answer, options);
    }
    return success;
}

}  // namespace

Action build_model(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto options = std::make_shared<ModelOptions>(line);
    line.positional("config", options->config, "a config.json, its folder, a .toml, or a preset")
        .value("CONFIG");
    line.flag("--list", options->list, "name the presets");
    line.option("--dtype", options->dtype, "type of the weights and activations");
    line.option("--kv-dtype", options->kv_dtype, "type of the cache (default: dtype)");
    line.option("--quantise", options->quantise, "weights of the layers: fp8, int8 or int4");
    line.option("--seq", options->seq, "tokens of a sequence");
    line.option("--batch", options->batch, "sequences");
    add_format_option(line, options->format, "table|json");
    line.footer(
        "Example:\n"
        "  ridge model llama-3.1-8b --seq 8192 --batch 16 --gpu h100-sxm");
    return [options](const Context& context) { return run_model(context, *options); };
}

}  // namespace ridge::cli
