#include "model/core/fields.h"

#include <algorithm>
#include <vector>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/words.h"

namespace ridge::model {
namespace {

using enum Field;
using Kind = OperationKind;

constexpr std::array<std::string_view, 2> layouts{"row", "column"};
constexpr std::array<std::string_view, 5> epilogues{"none", "bias", "bias_relu", "bias_gelu",
                                                    "accumulate"};
constexpr std::array<std::string_view, 2> phases{"prefill", "decode"};
constexpr std::array<std::string_view, 2> directions{"forward", "backward"};
constexpr std::array<std::string_view, 3> axes{"rows", "columns", "all"};
constexpr std::array<std::string_view, 2> switch_additions{"auto", "off"};
const std::array<std::string_view, access_pattern_count> patterns{
    name_of(AccessPattern::strided),   name_of(AccessPattern::misaligned),
    name_of(AccessPattern::divergent), name_of(AccessPattern::bank_conflict),
    name_of(AccessPattern::chase),     name_of(AccessPattern::reread)};

template <std::size_t size>
std::int64_t parse_enumerator(const std::array<std::string_view, size>& words,
                              std::string_view field, std::string_view text) {
    for (std::size_t i = 0; i < size; ++i) {
        if (same_word(words[i], text)) return static_cast<std::int64_t>(i);
    }
    refuse_word(field, text, words);
}

std::int64_t parse_flag(std::string_view field, std::string_view text) {
    constexpr std::array flags{"0", "1", "no", "yes", "off", "on", "false", "true"};
    for (std::size_t i = 0; i < flags.size(); ++i) {
        if (same_word(text, flags[i])) return static_cast<std::int64_t>(i % 2);
    }
    throw InputError(std::string(field) + ": '" + std::string(text) + "' is not a flag", {},
                     "write 1 or 0, true or false");
}

std::int64_t parse_word(Field field, std::string_view name, std::string_view text) {
    switch (field) {
        case a_layout:
        case b_layout:
            return parse_enumerator(layouts, name, text);
        case epilogue:
            return parse_enumerator(epilogues, name, text);
        case direction:
            return parse_enumerator(directions, name, text);
        case axis:
            return parse_enumerator(axes, name, text);
        case nvls:
            return parse_enumerator(switch_additions, name, text);
        case phase:
            return parse_enumerator(phases, name, text);
        case distribution:
            return parse_expert_load(text, name).exponent_thousandths;
        case pattern:
            return parse_enumerator(patterns, name, text);
        case impl:
            return static_cast<std::int64_t>(parse_implementation(text));
        case l2:
            return static_cast<std::int64_t>(parse_l2_state(text));
        case launch:
            return static_cast<std::int64_t>(parse_launch_mode(text));
        case software:
            return SoftwareChoice::named(text).number();
        case mode:
            return static_cast<std::int64_t>(parse_run_mode(text));
        default:
            return static_cast<std::int64_t>(parse_data_type(text, name));
    }
}

std::string word_text(Field field, std::int64_t value) {
    const auto position = static_cast<std::size_t>(value);
    switch (field) {
        case a_layout:
        case b_layout:
            return std::string(layouts[position]);
        case epilogue:
            return std::string(epilogues[position]);
        case direction:
            return std::string(directions[position]);
        case axis:
            return std::string(axes[position]);
        case nvls:
            return std::string(switch_additions[position]);
        case phase:
            return std::string(phases[position]);
        case distribution:
            return to_string(ExpertLoad{value});
        case pattern:
            return std::string(patterns[position]);
        case impl:
            return std::string(name_of(static_cast<Implementation>(value)));
        case l2:
            return std::string(name_of(static_cast<L2State>(value)));
        case launch:
            return std::string(name_of(static_cast<LaunchMode>(value)));
        case software:
            return std::string(SoftwareChoice::of_number(value).name());
        case mode:
            return std::string(name_of(static_cast<RunMode>(value)));
        default:
            return std::string(name_of(static_cast<DataType>(value)));
    }
}

std::vector<std::string> split_names(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        if (!name.empty()) names.emplace_back(name);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    return names;
}

template <class Enumerator, std::size_t size>
std::vector<std::string_view> names_of(const std::array<Enumerator, size>& all) {
    std::vector<std::string_view> names;
    names.reserve(size);
    for (const Enumerator each : all) names.push_back(name_of(each));
    return names;
}

}  // namespace

std::vector<std::string_view> words_of(const OperationInfo& operation, Field field) {
    const auto listed = [](const auto& words) {
        return std::vector<std::string_view>(words.begin(), words.end());
    };
    if (info_of(field).kind != FieldKind::word) return {};
    switch (field) {
        case a_layout:
        case b_layout:
            return listed(layouts);
        case epilogue:
            return listed(epilogues);
        case direction:
            return listed(directions);
        case axis:
            return listed(axes);
        case nvls:
            return listed(switch_additions);
        case phase:
            return listed(phases);
        case distribution:
        case tile:
        case software:
            return {};
        case mode:
            return names_of(
                std::array{RunMode::usual, RunMode::eager, RunMode::compiled, RunMode::graph});
        case pattern:
            return listed(patterns);
        case impl: {
            std::vector<std::string_view> names{name_of(Implementation::automatic)};
            for (const Implementation each : operation.implementations) {
                names.push_back(name_of(each));
            }
            return names;
        }
        case l2:
            return names_of(std::array{L2State::warm, L2State::cold, L2State::dirty});
        case launch:
            return names_of(std::array{LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream});
        default:
            return names_of(all_data_types);
    }
}

void Parameters::set(Field field, std::string_view text) {
    if (field == software) {
        if (const auto run = mode_of_word(text)) return set(mode, name_of(*run));
    }
    const FieldInfo& info = info_of(field);
    std::int64_t value = 0;
    switch (info.kind) {
        case FieldKind::count:
            value =
                parse_count(text, info.name, field == bytes ? CountUnit::bytes : CountUnit::none);
            if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
                const auto written = read_count(text, CountUnit::bytes);
                decimal_prefix_ = decimal_prefix_ || (written && written->decimal);
            }
            break;
        case FieldKind::flag:
            value = parse_flag(info.name, text);
            break;
        case FieldKind::word:
            if (field == tile) {
                tile_ = parse_tile(text);
            } else {
                value = parse_word(field, info.name, text);
            }
            break;
        case FieldKind::text:
            if (field == expr) expression_ = text;
            if (field == vectors) vectors_ = text;
            if (field == scalars) scalars_ = text;
            break;
    }
    set_count(field, value);
}

void Parameters::set_count(Field field, std::int64_t value) {
    counts_[index(field)] = value;
    present_[index(field)] = true;
}

void Parameters::clear() {
    present_.reset();
    decimal_prefix_ = false;
    expression_.clear();
    vectors_.clear();
    scalars_.clear();
}

std::string Parameters::text(Field field) const {
    const FieldInfo& info = info_of(field);
    switch (info.kind) {
        case FieldKind::count:
        case FieldKind::flag:
            return std::to_string(count(field));
        case FieldKind::text:
            return field == expr ? expression_ : field == vectors ? vectors_ : scalars_;
        case FieldKind::word:
            break;
    }
    return field == tile ? to_string(tile_) : word_text(field, count(field));
}

namespace {

template <class Enum>
Enum enumerator_or(const Parameters& parameters, Field field, Enum otherwise) {
    return static_cast<Enum>(parameters.count_or(field, static_cast<std::int64_t>(otherwise)));
}

/// The type of an elementwise result if it differs from that of the inputs.
std::optional<DataType> output_of(const Parameters& p, DataType type) {
    const DataType output = enumerator_or(p, out_dtype, type);
    return output == type ? std::nullopt : std::optional(output);
}

Matmul make_matmul(const Parameters& p) {
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.batch = p.count_or(batch, 1),
            .m = p.count(m),
            .n = p.count(n),
            .k = p.count(k),
            .type = type,
            .accumulate = enumerator_or(p, accumulate, default_accumulator(type)),
            .output = enumerator_or(p, out_dtype, default_output(type)),
            .a_layout = enumerator_or(p, a_layout, Layout::row_major),
            .b_layout = enumerator_or(p, b_layout, Layout::row_major),
            .epilogue = enumerator_or(p, epilogue, Epilogue::none)};
}

/// The type of the cache if it differs from that of the computation.
std::optional<DataType> cache_type(const Parameters& p, DataType type) {
    const DataType cache = enumerator_or(p, kv_dtype, type);
    return cache == type ? std::nullopt : std::optional(cache);
}

Attention make_attention(const Parameters& p) {
    // Rows of serving engines state kv_write alone: their caches are paged.
    const std::int64_t writes = p.count_or(kv_write, 0);
    const std::int64_t queries = p.has(seq_q) ? p.count(seq_q) : p.count(seq);
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.batch = p.count_or(batch, 1),
            .heads = p.count(heads),
            .kv_heads = p.count_or(kv_heads, p.count(heads)),
            .seq_q = queries,
            .seq_kv = p.count_or(seq_kv, p.count_or(seq, queries)),
            .head_dim = p.count(head_dim),
            .window = p.count_or(window, 0),
            .type = type,
            .cache_type = cache_type(p, type),
            .direction = enumerator_or(p, direction, Direction::forward),
            .causal = p.count_or(causal, 0) != 0,
            .kv_write = writes != 0,
            .paged = p.count_or(paged, writes) != 0};
}

/// One query against a longer cache is decoding unless the parameters say otherwise.
Mla make_mla(const Parameters& p) {
    const Mla usual;
    const std::int64_t queries = p.has(seq_q) ? p.count(seq_q) : p.count(seq);
    const std::int64_t keys = p.count_or(seq_kv, p.count_or(seq, queries));
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.phase = enumerator_or(p, phase, queries < keys ? MlaPhase::decode : MlaPhase::prefill),
            .batch = p.count_or(batch, 1),
            .heads = p.count(heads),
            .seq_q = queries,
            .seq_kv = keys,
            .latent_dim = p.count_or(latent_dim, usual.latent_dim),
            .rope_dim = p.count_or(rope_dim, usual.rope_dim),
            .head_dim = p.count_or(head_dim, usual.head_dim),
            .type = type,
            .cache_type = cache_type(p, type)};
}

Moe make_moe(const Parameters& p) {
    return {.tokens = p.count(tokens),
            .hidden = p.count(hidden),
            .intermediate = p.count(intermediate),
            .topk = p.count(topk),
            .experts = p.count(experts),
            .tp = p.count_or(tp, 1),
            .ep = p.count_or(ep, 1),
            .load = {.exponent_thousandths = p.count_or(distribution, 0)},
            .type = enumerator_or(p, dtype, DataType::bf16)};
}

RowWise make_rows(RowKind kind, const Parameters& p) {
    return {.kind = kind,
            .rows = p.count(rows),
            .cols = p.count(cols),
            .type = enumerator_or(p, dtype, DataType::bf16),
            .direction = enumerator_or(p, direction, Direction::forward),
            .axis = enumerator_or(p, axis, Axis::rows)};
}

/// Takes the degree from the pattern's own field; the fields of other patterns must not be given.
Access make_access(const Parameters& p) {
    const auto chosen = static_cast<AccessPattern>(p.count(pattern));
    std::int64_t degree = best_degree(chosen);
    for (const Field field : {stride, offset, paths, ways}) {
        if (!p.has(field)) continue;
        const std::string_view name = info_of(field).name;
        if (name != degree_name(chosen)) {
            const std::string_view own = degree_name(chosen);
            throw InputError(
                std::string(name) + " does not belong to pattern " + std::string(name_of(chosen)),
                {},
                own.empty() ? "that pattern takes none of the fields stride, offset, paths and ways"
                            : "its own field is " + std::string(own));
        }
        degree = p.count(field);
    }
    return {.pattern = chosen,
            .elements = p.count(elements),
            .degree = degree,
            .type = enumerator_or(p, dtype, default_type(OperationKind::access, p))};
}

Operation make_collective(OperationKind kind, const Parameters& p) {
    return Collective{.kind = collective_kind(kind),
                      .gpus = p.count_or(gpus, 2),
                      .bytes = p.count(bytes),
                      .type = enumerator_or(p, dtype, DataType::bf16),
                      .nvls = enumerator_or(p, nvls, SwitchAddition::automatic)};
}

}  // namespace

std::vector<std::string_view> missing_fields(OperationKind kind, const Parameters& p) {
    std::vector<std::string_view> missing;
    for (const Field field : info_of(kind).required) {
        if (!p.has(field)) missing.push_back(info_of(field).name);
    }
    if (applies(kind, seq) && !p.has(seq) && !p.has(seq_q)) {
        missing.emplace_back("seq (or seq_q and seq_kv)");
    }
    return missing;
}

std::string missing_text(std::span<const std::string_view> names, std::string_view operation) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool last = i + 1 == names.size();
        text += (i == 0 ? "" : last ? " and " : ", ") + std::string(names[i]);
    }
    text += names.size() == 1 ? " is missing" : " are missing";
    return text + " for " + std::string(operation);
}

DataType default_type(OperationKind kind, const Parameters& p) {
    if (kind != Kind::access || !p.has(pattern)) return DataType::bf16;
    const auto chosen = static_cast<AccessPattern>(p.count(pattern));
    const bool any = chosen == AccessPattern::strided || chosen == AccessPattern::misaligned;
    return any ? DataType::bf16 : DataType::fp32;
}

Parameters with_defaults(OperationKind kind, Parameters parameters) {
    const Execution execution = make_execution(parameters);
    const auto fill = [&](Field field, auto value) {
        if (!applies(kind, field) || parameters.has(field)) return;
        parameters.set_count(field, static_cast<std::int64_t>(value));
    };
    fill(dtype, default_type(kind, parameters));
    fill(l2, execution.l2);
    fill(launch, execution.launch);
    return parameters;
}

Operation make_operation(OperationKind kind, const Parameters& p) {
    const std::string_view name = info_of(kind).name;
    if (const auto missing = missing_fields(kind, p); !missing.empty()) {
        throw InputError(missing_text(missing, name), {},
                         "`ridge ops " + std::string(name) + "` lists its fields");
    }
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    Operation operation;
    switch (kind) {
        case Kind::matmul:
            operation = make_matmul(p);
            break;
        case Kind::attention:
            operation = make_attention(p);
            break;
        case Kind::mla:
            operation = make_mla(p);
            break;
        case Kind::moe:
            operation = make_moe(p);
            break;
        case Kind::elementwise:
            operation = Elementwise{
                .expression = parse_expression(p.expression_, {.vectors = split_names(p.vectors_),
                                                               .scalars = split_names(p.scalars_)}),
                .elements = p.count(elements),
                .type = type,
                .direction = enumerator_or(p, direction, Direction::forward),
                .output = output_of(p, type)};
            break;
        case Kind::softmax:
        case Kind::layernorm:
        case Kind::rmsnorm:
        case Kind::sum:
        case Kind::mean:
        case Kind::max:
        case Kind::argmax:
        case Kind::cross_entropy:
        case Kind::scan:
            operation = make_rows(row_kind(kind), p);
            break;
        case Kind::transpose:
            operation = Transpose{.rows = p.count(rows),
                                  .cols = p.count(cols),
                                  .type = type,
                                  .batch = p.count_or(batch, 1),
                                  .inner = p.count_or(inner, 1)};
            break;
        case Kind::copy:
            operation =
                Copy{.elements = p.count(elements), .type = type, .stride = p.count_or(stride, 1)};
            break;
        case Kind::cat:
            operation = Cat{.inputs = p.count(inputs),
                            .rows = p.count(rows),
                            .cols = p.count(cols),
                            .type = type,
                            .axis = enumerator_or(p, axis, Axis::columns),
                            .inner = p.count_or(inner, 0)};
            break;
        case Kind::adamw:
            operation = AdamW{
                .elements = p.count(elements), .type = type, .tensors = p.count_or(inputs, 1)};
            break;
        case Kind::gather:
            operation = Gather{.rows = p.count(rows),
                               .cols = p.count(cols),
                               .table_rows = p.count(table_rows),
                               .type = type};
            break;
        case Kind::access:
            operation = make_access(p);
            break;
        default:
            operation = make_collective(kind, p);
            break;
    }
    validate(operation);
    return operation;
}

Execution make_execution(const Parameters& p) {
    Execution execution{.implementation = enumerator_or(p, impl, Implementation::automatic),
                        .l2 = enumerator_or(p, l2, L2State::warm),
                        .launch = enumerator_or(p, launch, LaunchMode::kernel),
                        .tile = std::nullopt,
                        .software = SoftwareChoice::of_number(p.count_or(software, 0)),
                        .mode = enumerator_or(p, mode, RunMode::usual)};
    if (p.has(tile)) execution.tile = p.tile_;
    return execution;
}

}  // namespace ridge::model
