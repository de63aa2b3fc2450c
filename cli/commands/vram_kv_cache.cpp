// `ridge vram kv-cache`: memory of the key and value cache, and the sequences that fit beside
// weights.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/commands/vram.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/footprint/kv_cache.h"

namespace ridge::cli {
namespace {

struct KvOptions {
    explicit KvOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string word;
    std::string kind = "mha";
    model::KvCache cache;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t seq = 4096;
    std::string dtype = "bf16";
    std::string weights;
    std::string capacity;
    std::string format;
};

model::KvCache cache_of(const KvOptions& options) {
    model::KvCache cache = options.cache;
    cache.type = model::parse_data_type(options.dtype, "dtype");
    if (options.kind == "mla") {
        cache.kind = model::KvKind::latent;
    } else if (options.kind == "mqa") {
        cache.kv_heads = 1;
    } else if (options.kind == "gqa") {
        if (options.kv_heads == 0) throw InputError("kv_heads is missing: gqa needs it");
        cache.kv_heads = options.kv_heads;
    } else {
        cache.kv_heads = options.heads;
        if (options.kv_heads != 0 && options.kv_heads != options.heads) {
            throw InputError("kv_heads: mha keeps every head", {}, "give --kind gqa");
        }
    }
    validate(cache);
    if (options.seq < 1) throw InputError("seq must be positive");
    return cache;
}

struct KvAnswer {
    model::KvCache cache;
    std::int64_t seq = 0;
    std::optional<MemoryLimit> limit;
    Bytes weights;
    std::int64_t sequences = 0;
    std::int64_t longest = 0;  ///< of one sequence
};

KvAnswer answer_for(const Context& context, const KvOptions& options) {
    KvAnswer answer{.cache = cache_of(options),
                    .seq = options.seq,
                    .limit = memory_limit(context, options.gpu, options.capacity),
                    .weights = {}};
    if (!options.weights.empty()) {
        answer.weights = bytes_of(parse_count(options.weights, "weights", CountUnit::bytes));
    }
    if (answer.limit) {
        const auto left = static_cast<std::int64_t>((answer.limit->usable - answer.weights).base());
        answer.sequences = answer.cache.sequences_in(left, answer.seq);
        answer.longest = answer.cache.longest_in(left, 1);
    }
    return answer;
}

Json json_of(const KvAnswer& answer, const std::string& kind) {
    Json json{{"kind", kind},
              {"dtype", name_of(answer.cache.type)},
              {"token_bytes", answer.cache.token_bytes()},
              {"seq", answer.seq},
              {"block", answer.cache.block},
              {"sequence_bytes", answer.cache.sequence_bytes(answer.seq)},
              {"wasted_bytes", answer.cache.wasted_bytes(answer.seq)},
              {"mean_waste", answer.cache.mean_waste(answer.seq)}};
    json["evidence"] = to_json(MemoryEvidence{.usable_measured = usable_measured(answer.limit)});
    if (answer.limit) {
        json["capacity_bytes"] = answer.limit->capacity.base();
        json["usable_bytes"] = answer.limit->usable.base();
        json["weights_bytes"] = answer.weights.base();
        json["sequences"] = answer.sequences;
        json["longest_sequence"] = answer.longest;
    }
    return json;
}

/// The members of the JSON as one row.
Table exact_table(const KvAnswer& answer, const std::string& kind) {
    Table table{.columns = {{"kind"}, {"dtype"}},
                .rows = {{kind, std::string(name_of(answer.cache.type))}}};
    const Json json = json_of(answer, kind);
    for (const char* name :
         {"token_bytes", "seq", "block", "sequence_bytes", "wasted_bytes", "mean_waste",
          "usable_bytes", "weights_bytes", "sequences", "longest_sequence"}) {
        const Json* const figure = json.find(name);
        table.columns.push_back({name, Align::right});
        const auto number = figure == nullptr ? std::nullopt : figure->if_number();
        table.rows.front().push_back(number ? format_number(*number, 12) : std::string());
    }
    table.columns.push_back({"evidence"});
    const MemoryEvidence evidence{.usable_measured = usable_measured(answer.limit)};
    table.rows.front().emplace_back(name_of(evidence.grade()));
    return table;
}

void write_answer(const Context& context, const KvAnswer& answer, const std::string& kind) {
    const model::KvCache& cache = answer.cache;
    context.out << fmt::format("key and value cache, {}, {}, {} layers\n", kind,
                               name_of(cache.type), cache.layers);
    Table table{.columns = {{"  of"}, {"bytes", Align::right}, {"binary", Align::right}},
                .rows = {}};
    const auto add = [&table](const std::string& name, std::int64_t bytes) {
        table.rows.push_back(
            {"  " + name, std::to_string(bytes), format_capacity(bytes_of(bytes))});
    };
    add("a token", cache.token_bytes());
    add(fmt::format("a sequence of {}", answer.seq), cache.sequence_bytes(answer.seq));
    if (cache.block > 0) {
        add(fmt::format("a block of {}", cache.block), cache.block * cache.token_bytes());
        add("its last block, unused", cache.wasted_bytes(answer.seq));
    }
    write_text(context.out, table);
    context.out << '\n';
    write_sentence(
        context,
        fmt::format("On average over lengths of 1 to {} tokens, {} % of the memory is unused{}.",
                    answer.seq, format_number(100.0 * cache.mean_waste(answer.seq), 3),
                    cache.block > 0 ? "" : " when each sequence reserves room for the longest"));
    const MemoryEvidence evidence{.usable_measured = usable_measured(answer.limit)};
    if (!answer.limit) return write_sentence(context, sentence_of(evidence));
    write_sentence(context,
                   fmt::format("With {} of weights, {} sequences of {} tokens fit into {}; a "
                               "single one could have {} tokens.",
                               format_capacity(answer.weights), answer.sequences, answer.seq,
                               text_of(*answer.limit), answer.longest));
    write_sentence(context, sentence_of(evidence));
}

}  // namespace

Action build_vram_kv_cache(CommandLine& line) {
    const auto options = std::make_shared<KvOptions>(line);
    line.positional("op", options->word, "kv-cache").value("OP");
    line.option("--kind", options->kind, "mha, gqa, mqa or mla (one latent vector per token)")
        .one_of({"mha", "gqa", "mqa", "mla"});
    line.option("--layers", options->cache.layers, "layers (required)").required();
    line.option("--heads", options->heads, "query heads (mha)");
    line.option("--kv-heads", options->kv_heads, "key and value heads (gqa)");
    line.option("--head-dim", options->cache.head_dim, "elements per head");
    line.option("--latent", options->cache.latent, "mla: elements of the latent vector");
    line.option("--rope-dim", options->cache.rope, "mla: elements of the rotary key");
    line.option("--dtype", options->dtype, "type of the cache: fp16, bf16, fp8, ...");
    line.option("--block", options->cache.block, "tokens in a page (0: no pages)");
    line.option("--seq", options->seq, "tokens per sequence");
    line.option("--weights", options->weights, "memory of the weights, \"16 GB\"").value("SIZE");
    line.option("--capacity", options->capacity, "device memory, \"80GiB\", instead of --gpu")
        .value("SIZE");
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "Example:\n"
        "  ridge vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128 \\\n"
        "      --block 16 --seq 8192 --weights 16GB --gpu h100-sxm");
    return [options](const Context& context) {
        const KvAnswer answer = answer_for(context, *options);
        if (options->format == "json") {
            write_document(context.out, "kv-cache", json_of(answer, options->kind));
        } else if (options->format == "csv") {
            write_csv(context.out, exact_table(answer, options->kind));
        } else if (options->format == "md") {
            write_markdown(context.out, exact_table(answer, options->kind));
        } else {
            write_answer(context, answer, options->kind);
        }
        return static_cast<int>(success);
    };
}

}  // namespace ridge::cli
