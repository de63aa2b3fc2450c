#include "model/fields.h"

#include <algorithm>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/units.h"

namespace ridge::model {
namespace {

using enum Field;

constexpr std::array<FieldInfo, field_count> fields{{
    {dtype, "dtype", FieldKind::word, "element type: fp64, fp32, tf32, fp16, bf16, fp8, int8"},
    {batch, "batch", FieldKind::count, "independent problems"},
    {m, "m", FieldKind::count, "rows of A and C"},
    {n, "n", FieldKind::count, "columns of B and C"},
    {k, "k", FieldKind::count, "columns of A, rows of B"},
    {accumulate, "accumulate", FieldKind::word, "accumulator type (fp32; fp16; fp64)"},
    {out_dtype, "out_dtype", FieldKind::word, "element type of C"},
    {a_layout, "a_layout", FieldKind::word, "row (k contiguous) or column"},
    {b_layout, "b_layout", FieldKind::word, "row (n contiguous) or column"},
    {epilogue, "epilogue", FieldKind::word, "none, bias, bias_relu, bias_gelu, accumulate"},
    {heads, "heads", FieldKind::count, "query heads"},
    {kv_heads, "kv_heads", FieldKind::count, "key and value heads (default: heads)"},
    {seq, "seq", FieldKind::count, "tokens: sets seq_q and seq_kv"},
    {seq_q, "seq_q", FieldKind::count, "query tokens"},
    {seq_kv, "seq_kv", FieldKind::count, "key and value tokens (default: seq_q)"},
    {head_dim, "head_dim", FieldKind::count, "elements of one head"},
    {causal, "causal", FieldKind::flag, "mask later keys (aligned to the last token)"},
    {window, "window", FieldKind::count, "keys that a query sees at most (sliding window)"},
    {kv_write, "kv_write", FieldKind::flag, "also write the new tokens' K and V to the cache"},
    {rows, "rows", FieldKind::count, "rows"},
    {cols, "cols", FieldKind::count, "columns: elements of one row"},
    {table_rows, "table_rows", FieldKind::count, "rows of the embedding table"},
    {elements, "elements", FieldKind::count, "elements of each tensor"},
    {expr, "expr", FieldKind::text, "expression, for example \"gelu(x + bias)\""},
    {vectors, "vectors", FieldKind::text, "inputs of expr that are broadcast vectors, by comma"},
    {scalars, "scalars", FieldKind::text, "inputs of expr that are scalars, by comma"},
    {direction, "direction", FieldKind::word, "forward or backward"},
    {gpus, "gpus", FieldKind::count, "GPUs that take part"},
    {bytes, "bytes", FieldKind::count, "message size in bytes (not elements)"},
    {impl, "impl", FieldKind::word, "implementation (auto: the usual one)"},
    {tile, "tile", FieldKind::word, "tile MxN[xK] instead of the model's choice"},
    {l2, "l2", FieldKind::word, "warm or cold L2 cache at the start"},
    {launch, "launch", FieldKind::word,
     "what the time holds: kernel, graph, or stream (eager calls)"},
}};

constexpr std::array common_required_rows{rows, cols};
constexpr std::array matmul_required{m, n, k};
constexpr std::array matmul_optional{dtype,    batch, accumulate, out_dtype, a_layout, b_layout,
                                     epilogue, impl,  tile,       l2,        launch};
constexpr std::array attention_required{heads, head_dim};
constexpr std::array attention_optional{dtype,  batch,    kv_heads,  seq,  seq_q, seq_kv, causal,
                                        window, kv_write, direction, impl, l2,    launch};
constexpr std::array elementwise_required{expr, elements};
constexpr std::array elementwise_optional{dtype, vectors, scalars, direction, impl, l2, launch};
constexpr std::array rows_optional{dtype, direction, impl, l2, launch};
constexpr std::array copy_required{elements};
constexpr std::array plain_optional{dtype, impl, l2, launch};
constexpr std::array gather_required{rows, cols, table_rows};
constexpr std::array collective_required{bytes};
constexpr std::array collective_optional{gpus, dtype, launch};

constexpr std::array matmul_ways{Implementation::library,        Implementation::naive,
                                 Implementation::coalesced,      Implementation::tiled,
                                 Implementation::register_tiled, Implementation::mma,
                                 Implementation::wgmma};
constexpr std::array attention_ways{Implementation::standard, Implementation::flash1,
                                    Implementation::flash2, Implementation::flash3};
constexpr std::array elementwise_ways{Implementation::fused, Implementation::unfused,
                                      Implementation::eager};
constexpr std::array softmax_ways{Implementation::fused, Implementation::manual,
                                  Implementation::library, Implementation::eager};
constexpr std::array row_ways{Implementation::fused, Implementation::library,
                              Implementation::eager};
constexpr std::array transpose_ways{Implementation::library, Implementation::naive,
                                    Implementation::tiled, Implementation::eager};
constexpr std::array plain_ways{Implementation::library, Implementation::eager};
constexpr std::array library_way{Implementation::library};

using Kind = OperationKind;
const std::array<OperationInfo, operation_kind_count> operations{{
    {Kind::matmul, "matmul", "C[batch,m,n] = A[batch,m,k] B[batch,k,n]", matmul_required,
     matmul_optional, matmul_ways},
    {Kind::attention, "attention", "softmax(Q K^T) V, forward or backward", attention_required,
     attention_optional, attention_ways},
    {Kind::elementwise, "elementwise", "an expression over every element", elementwise_required,
     elementwise_optional, elementwise_ways},
    {Kind::softmax, "softmax", "softmax along each row", common_required_rows, rows_optional,
     softmax_ways},
    {Kind::layernorm, "layernorm", "layer normalisation of each row", common_required_rows,
     rows_optional, row_ways},
    {Kind::rmsnorm, "rmsnorm", "root-mean-square normalisation of each row", common_required_rows,
     rows_optional, row_ways},
    {Kind::sum, "sum", "sum of each row", common_required_rows, rows_optional, row_ways},
    {Kind::transpose, "transpose", "out[cols,rows] = in[rows,cols]", common_required_rows,
     plain_optional, transpose_ways},
    {Kind::copy, "copy", "out = in", copy_required, plain_optional, plain_ways},
    {Kind::gather, "gather", "embedding rows by index", gather_required, plain_optional,
     plain_ways},
    {Kind::all_reduce, "all_reduce", "sum over GPUs, result everywhere", collective_required,
     collective_optional, library_way},
    {Kind::all_gather, "all_gather", "concatenation over GPUs, result everywhere",
     collective_required, collective_optional, library_way},
    {Kind::reduce_scatter, "reduce_scatter", "sum over GPUs, each keeps a part",
     collective_required, collective_optional, library_way},
    {Kind::all_to_all, "all_to_all", "every GPU sends a part to every other", collective_required,
     collective_optional, library_way},
    {Kind::broadcast, "broadcast", "one GPU sends to all others", collective_required,
     collective_optional, library_way},
    {Kind::send, "send", "one GPU sends to another", collective_required, collective_optional,
     library_way},
    {Kind::host_to_device, "host_to_device", "copy from pinned host memory", collective_required,
     collective_optional, library_way},
    {Kind::device_to_host, "device_to_host", "copy to pinned host memory", collective_required,
     collective_optional, library_way},
}};

constexpr std::array<std::string_view, 2> layouts{"row", "column"};
constexpr std::array<std::string_view, 5> epilogues{"none", "bias", "bias_relu", "bias_gelu",
                                                    "accumulate"};
constexpr std::array<std::string_view, 2> directions{"forward", "backward"};

template <std::size_t size>
std::int64_t parse_enumerator(const std::array<std::string_view, size>& words,
                              std::string_view field, std::string_view text) {
    std::string known;
    for (std::size_t i = 0; i < size; ++i) {
        if (words[i] == text) return static_cast<std::int64_t>(i);
        known += (known.empty() ? "" : ", ") + std::string(words[i]);
    }
    throw InputError(std::string(field) + ": unknown word '" + std::string(text) + "'", {},
                     "one of " + known);
}

/// "did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    const std::string name = nearest(word, names);
    return name.empty() ? name : "did you mean '" + name + "'?";
}

std::int64_t parse_flag(std::string_view field, std::string_view text) {
    if (text == "1" || text == "true" || text == "yes") return 1;
    if (text == "0" || text == "false" || text == "no") return 0;
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
        case impl:
            return static_cast<std::int64_t>(parse_implementation(text));
        case l2:
            return static_cast<std::int64_t>(parse_l2_state(text));
        case launch:
            return static_cast<std::int64_t>(parse_launch_mode(text));
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
        case impl:
            return std::string(name_of(static_cast<Implementation>(value)));
        case l2:
            return std::string(name_of(static_cast<L2State>(value)));
        case launch:
            return std::string(name_of(static_cast<LaunchMode>(value)));
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

}  // namespace

std::span<const FieldInfo> field_table() {
    return fields;
}
const FieldInfo& info_of(Field field) {
    return fields[static_cast<std::size_t>(field)];
}

std::optional<Field> find_field(std::string_view name) {
    for (const FieldInfo& info : fields) {
        if (info.name == name) return info.field;
    }
    return std::nullopt;
}

std::span<const OperationInfo> operation_table() {
    return operations;
}
const OperationInfo& info_of(OperationKind kind) {
    return operations[static_cast<std::size_t>(kind)];
}

OperationKind parse_operation_kind(std::string_view name) {
    if (name == "alltoall") return Kind::all_to_all;
    std::vector<std::string> names;
    for (const OperationInfo& info : operations) {
        if (info.name == name) return info.kind;
        names.emplace_back(info.name);
    }
    throw InputError("op: unknown operation '" + std::string(name) + "'", {},
                     did_you_mean(name, names));
}

bool applies(OperationKind kind, Field field) {
    const OperationInfo& info = info_of(kind);
    const auto holds = [field](std::span<const Field> list) {
        return std::find(list.begin(), list.end(), field) != list.end();
    };
    return holds(info.required) || holds(info.optional);
}

void Parameters::set(Field field, std::string_view text) {
    const FieldInfo& info = info_of(field);
    std::int64_t value = 0;
    switch (info.kind) {
        case FieldKind::count:
            value = parse_count(text, info.name);
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
    if (field != tile) return word_text(field, count(field));
    std::string edges = std::to_string(tile_.m) + "x" + std::to_string(tile_.n);
    if (tile_.k > 0) edges += "x" + std::to_string(tile_.k);
    return edges;
}

namespace {

template <class Enum>
Enum enumerator_or(const Parameters& parameters, Field field, Enum otherwise) {
    return static_cast<Enum>(parameters.count_or(field, static_cast<std::int64_t>(otherwise)));
}

DataType default_accumulator(DataType type) {
    return type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
}

DataType default_output(DataType type) {
    switch (type) {
        case DataType::tf32:
            return DataType::fp32;
        case DataType::fp8:
            return DataType::bf16;
        case DataType::int8:
            return DataType::fp32;
        default:
            return type;
    }
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

Attention make_attention(const Parameters& p) {
    if (!p.has(seq) && !p.has(seq_q)) {
        throw InputError("seq_q is missing for attention", {}, "give seq, or seq_q and seq_kv");
    }
    const std::int64_t queries = p.has(seq_q) ? p.count(seq_q) : p.count(seq);
    return {.batch = p.count_or(batch, 1),
            .heads = p.count(heads),
            .kv_heads = p.count_or(kv_heads, p.count(heads)),
            .seq_q = queries,
            .seq_kv = p.count_or(seq_kv, p.count_or(seq, queries)),
            .head_dim = p.count(head_dim),
            .window = p.count_or(window, 0),
            .type = enumerator_or(p, dtype, DataType::bf16),
            .direction = enumerator_or(p, direction, Direction::forward),
            .causal = p.count_or(causal, 0) != 0,
            .kv_write = p.count_or(kv_write, 0) != 0};
}

RowWise make_rows(RowKind kind, const Parameters& p) {
    return {.kind = kind,
            .rows = p.count(rows),
            .cols = p.count(cols),
            .type = enumerator_or(p, dtype, DataType::bf16),
            .direction = enumerator_or(p, direction, Direction::forward)};
}

Operation make_collective(OperationKind kind, const Parameters& p) {
    const auto first = static_cast<std::uint8_t>(Kind::all_reduce);
    return Collective{.kind = static_cast<CollectiveKind>(static_cast<std::uint8_t>(kind) - first),
                      .gpus = p.count_or(gpus, 2),
                      .bytes = p.count(bytes),
                      .type = enumerator_or(p, dtype, DataType::bf16)};
}

}  // namespace

Operation make_operation(OperationKind kind, const Parameters& p) {
    const OperationInfo& info = info_of(kind);
    for (const Field field : info.required) {
        if (!p.has(field)) {
            throw InputError(std::string(info_of(field).name) + " is missing for " +
                             std::string(info.name));
        }
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
        case Kind::elementwise:
            operation = Elementwise{
                .expression = parse_expression(p.expression_, {.vectors = split_names(p.vectors_),
                                                               .scalars = split_names(p.scalars_)}),
                .elements = p.count(elements),
                .type = enumerator_or(p, dtype, DataType::fp32),
                .direction = enumerator_or(p, direction, Direction::forward)};
            break;
        case Kind::softmax:
            operation = make_rows(RowKind::softmax, p);
            break;
        case Kind::layernorm:
            operation = make_rows(RowKind::layernorm, p);
            break;
        case Kind::rmsnorm:
            operation = make_rows(RowKind::rmsnorm, p);
            break;
        case Kind::sum:
            operation = make_rows(RowKind::sum, p);
            break;
        case Kind::transpose:
            operation = Transpose{.rows = p.count(rows), .cols = p.count(cols), .type = type};
            break;
        case Kind::copy:
            operation = Copy{.elements = p.count(elements), .type = type};
            break;
        case Kind::gather:
            operation = Gather{.rows = p.count(rows),
                               .cols = p.count(cols),
                               .table_rows = p.count(table_rows),
                               .type = type};
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
                        .tile = std::nullopt};
    if (p.has(tile)) execution.tile = p.tile_;
    return execution;
}

OperationText parse_operation(std::string_view text, const Parameters& defaults) {
    const auto skip_spaces = [&text] {
        const std::size_t first = text.find_first_not_of(" \t");
        text.remove_prefix(first == std::string_view::npos ? text.size() : first);
    };
    skip_spaces();
    const std::string_view name = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(name.size());
    OperationText operation{.kind = parse_operation_kind(name), .parameters = defaults};
    for (skip_spaces(); !text.empty(); skip_spaces()) {
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) {
            throw InputError("op: expected field=value at '" + std::string(text) + "'");
        }
        const std::string_view key = text.substr(0, equals);
        text.remove_prefix(equals + 1);
        const bool quoted = !text.empty() && (text.front() == '"' || text.front() == '\'');
        const char quote = quoted ? text.front() : '\0';
        if (quoted) text.remove_prefix(1);
        if (quoted && text.find(quote) == std::string_view::npos) {
            throw InputError(std::string(key) + ": the quote is not closed");
        }
        const std::size_t end =
            std::min(quoted ? text.find(quote) : text.find_first_of(" \t"), text.size());
        const std::string_view value = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));

        const std::optional<Field> field = find_field(key);
        if (!field || !applies(operation.kind, *field)) {
            std::vector<std::string> names;
            for (const FieldInfo& info : fields) {
                if (applies(operation.kind, info.field)) names.emplace_back(info.name);
            }
            throw InputError(
                "op: '" + std::string(key) + "' is not a field of " + std::string(name), {},
                did_you_mean(key, names));
        }
        operation.parameters.set(*field, value);
    }
    return operation;
}

}  // namespace ridge::model
