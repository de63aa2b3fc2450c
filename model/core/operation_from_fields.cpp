// From the fields to the operation (fields.h).
#include <vector>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/core/fields.h"

namespace ridge::model {

namespace {

using enum Field;
using Kind = OperationKind;

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

/// The phase in the words of latent attention or of a recurrence.
MlaPhase latent_phase(const Parameters& p, MlaPhase otherwise) {
    const std::int64_t word = p.count_or(phase, static_cast<std::int64_t>(otherwise));
    if (word < recurrence_phases) return static_cast<MlaPhase>(word);
    if (word > recurrence_phases + 1) {
        throw InputError("phase: mla has prefill and decode, not " + p.text(phase));
    }
    return static_cast<MlaPhase>(word - recurrence_phases);
}

RecurrencePhase recurrence_phase(const Parameters& p) {
    const auto usual = p.count(seq) == 1 ? RecurrencePhase::generation : RecurrencePhase::context;
    const std::int64_t word =
        p.count_or(phase, static_cast<std::int64_t>(usual) + recurrence_phases);
    return static_cast<RecurrencePhase>(word < recurrence_phases ? word : word - recurrence_phases);
}

/// One query against a longer cache is decoding unless the parameters say otherwise.
Mla make_mla(const Parameters& p) {
    const Mla usual;
    const std::int64_t queries = p.has(seq_q) ? p.count(seq_q) : p.count(seq);
    const std::int64_t keys = p.count_or(seq_kv, p.count_or(seq, queries));
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.phase = latent_phase(p, queries < keys ? MlaPhase::decode : MlaPhase::prefill),
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

SparseAttention make_sparse(SparsePart part, const Parameters& p) {
    const SparseAttention usual;
    const std::int64_t queries = p.has(seq_q) ? p.count(seq_q) : p.count(seq);
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.part = part,
            .batch = p.count_or(batch, 1),
            .heads = p.count(heads),
            .seq_q = queries,
            .seq_kv = p.count_or(seq_kv, p.count_or(seq, queries)),
            .head_dim = p.count_or(head_dim, usual.head_dim),
            .topk = p.count_or(topk, usual.topk),
            .latent_dim = p.count_or(latent_dim, usual.latent_dim),
            .rope_dim = p.count_or(rope_dim, usual.rope_dim),
            .type = type,
            .cache_type = cache_type(p, type)};
}

MixedAttention make_mixed(const Parameters& p) {
    const MixedAttention usual;
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {.heads = p.count(heads),
            .kv_heads = p.count_or(kv_heads, p.count(heads)),
            .seq_q = p.count(seq_q),
            .seq_kv = p.count_or(seq_kv, p.count(seq_q)),
            .decodes = p.count(decodes),
            .decode_kv = p.count(decode_kv),
            .head_dim = p.count_or(head_dim, usual.head_dim),
            .type = type,
            .cache_type = cache_type(p, type)};
}

/// The type of the weights if it differs from that of the computation.
std::optional<DataType> weight_type(const Parameters& p, DataType type) {
    const DataType weights = enumerator_or(p, weight_dtype, type);
    return weights == type ? std::nullopt : std::optional(weights);
}

Moe make_moe(const Parameters& p) {
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    Moe moe{.tokens = p.count(tokens),
            .hidden = p.count(hidden),
            .intermediate = p.count(intermediate),
            .topk = p.count(topk),
            .experts = p.count(experts),
            .tp = p.count_or(tp, 1),
            .ep = p.count_or(ep, 1),
            .load = {.exponent_thousandths = p.count_or(distribution, 0)},
            .type = type,
            .weight_type = weight_type(p, type)};
    moe.gated = p.has(gated) ? p.count(gated) != 0 : is_usually_gated(moe);
    return moe;
}

Recurrence make_recurrence(RecurrenceKind kind, const Parameters& p) {
    const Recurrence usual;
    const bool mamba = kind == RecurrenceKind::mamba2;
    const std::int64_t sequences = p.count_or(batch, 1);
    const std::int64_t all = checked_product({{"batch", sequences}, {"seq", p.count(seq)}});
    if (p.has(tokens) && p.count(tokens) != all) {
        throw InputError("tokens must be batch x seq: " + p.text(tokens) + " is not " +
                         std::to_string(all));
    }
    const std::int64_t keys = mamba ? p.count_or(groups, 1) : p.count(k_heads);
    return {.kind = kind,
            .part = enumerator_or(p, part, usual.part),
            .phase = recurrence_phase(p),
            .batch = sequences,
            .seq = p.count(seq),
            .k_heads = keys,
            .head_k_dim = p.count_or(mamba ? state : head_k_dim, usual.head_k_dim),
            .v_heads = mamba ? p.count(heads) : p.count_or(v_heads, keys),
            .head_v_dim =
                mamba ? p.count_or(head_dim, mamba_head) : p.count_or(head_v_dim, usual.head_v_dim),
            .conv = p.count_or(conv, usual.conv),
            .chunk = p.count_or(chunk, mamba ? mamba_chunk : usual.chunk),
            .type = enumerator_or(p, dtype, DataType::bf16)};
}

TokenWise make_token_wise(TokenKind kind, const Parameters& p) {
    const bool convolves = kind == TokenKind::conv1d;
    const bool selects = kind == TokenKind::topk;
    const DataType type = enumerator_or(p, dtype, DataType::bf16);
    return {
        .kind = kind,
        .rows = p.count(convolves ? seq : rows),
        .cols = p.count(cols),
        .width = selects     ? p.count(topk)
                 : convolves ? p.count_or(conv, Recurrence{}.conv)
                             : 1,
        .batch = convolves ? p.count_or(batch, 1) : 1,
        .type = type,
        .output = kind == TokenKind::quantize ? enumerator_or(p, out_dtype, DataType::fp8) : type};
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

OwnKernel make_kernel(const Parameters& p) {
    const OwnKernel usual;
    return {.flop = p.count_or(flop, 0),
            .type = enumerator_or(p, dtype, DataType::bf16),
            .pipe = enumerator_or(p, pipe, usual.pipe),
            .bytes = p.count_or(bytes, 0),
            .l2_bytes = p.count_or(l2_bytes, 0),
            .grid = p.count_or(grid, 0),
            .block = p.count_or(block, usual.block),
            .registers = p.count_or(registers, 0),
            .shared = p.count_or(shared, 0)};
}

Operation make_collective(OperationKind kind, const Parameters& p) {
    return Collective{.kind = collective_kind(kind),
                      .gpus = p.count_or(gpus, 2),
                      .bytes = p.count(bytes),
                      .type = enumerator_or(p, dtype, DataType::bf16),
                      .nvls = enumerator_or(p, nvls, SwitchAddition::automatic)};
}

/// "a,b" as its names.
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
        case Kind::indexer:
            operation = make_sparse(SparsePart::index, p);
            break;
        case Kind::sparse_mla:
            operation = make_sparse(SparsePart::attend, p);
            break;
        case Kind::mixed_attention:
            operation = make_mixed(p);
            break;
        case Kind::moe:
            operation = make_moe(p);
            break;
        case Kind::gdn:
        case Kind::kda:
        case Kind::mamba2:
            operation = make_recurrence(recurrence_kind(kind), p);
            break;
        case Kind::topk:
        case Kind::rope:
        case Kind::swiglu:
        case Kind::quantize:
        case Kind::conv1d:
            operation = make_token_wise(token_kind(kind), p);
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
        case Kind::kernel:
            operation = make_kernel(p);
            break;
        default:
            operation = make_collective(kind, p);
            break;
    }
    validate(operation);
    return operation;
}

}  // namespace ridge::model
