// The one table of operation parameters that drives the command line, CSV, `--op` texts, JSON and
// sweeps.
//
// Every front end fills a `Parameters` by field name and asks it for the operation and the
// execution:
//
//   Parameters parameters;
//   parameters.set(Field::m, "4096"); parameters.set(Field::n, "4096"); ...
//   const Operation op = make_operation(OperationKind::matmul, parameters);   // validated
//   const Execution execution = make_execution(parameters);
//
// `parameters_of` and `text_of` convert an operation back to its fields and its text. A field that
// is not set takes its default. A missing required field, an unknown word and a malformed number
// throw an InputError that names the field.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::model {

enum class OperationKind : std::uint8_t {
    matmul,
    attention,
    mla,
    indexer,
    sparse_mla,
    mixed_attention,
    moe,
    gdn,
    kda,
    mamba2,
    topk,
    rope,
    swiglu,
    quantize,
    conv1d,
    elementwise,
    softmax,
    layernorm,
    rmsnorm,
    sum,
    mean,
    max,
    argmax,
    cross_entropy,
    scan,
    transpose,
    copy,
    gather,
    cat,
    adamw,
    access,
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send,
    host_to_device,
    device_to_host,
    kernel
};
inline constexpr std::size_t operation_kind_count = 40;

enum class Field : std::uint8_t {
    pattern,
    part,
    phase,
    dtype,
    kv_dtype,
    weight_dtype,
    batch,
    m,
    n,
    k,
    accumulate,
    out_dtype,
    a_layout,
    b_layout,
    epilogue,
    heads,
    kv_heads,
    seq,
    seq_q,
    seq_kv,
    decodes,
    decode_kv,
    head_dim,
    latent_dim,
    rope_dim,
    causal,
    window,
    kv_write,
    paged,
    tokens,
    hidden,
    intermediate,
    topk,
    experts,
    gated,
    tp,
    ep,
    distribution,
    d_model,
    conv,
    k_heads,
    head_k_dim,
    v_heads,
    head_v_dim,
    state,
    groups,
    chunk,
    rows,
    cols,
    inner,
    inputs,
    axis,
    table_rows,
    elements,
    stride,
    offset,
    paths,
    ways,
    expr,
    vectors,
    scalars,
    direction,
    gpus,
    flop,
    pipe,
    bytes,
    l2_bytes,
    grid,
    block,
    registers,
    shared,
    nvls,
    impl,
    tile,
    l2,
    launch,
    software,
    kernel,
    mode
};
inline constexpr std::size_t field_count = 79;

enum class FieldKind : std::uint8_t { count, flag, word, text };

struct FieldInfo {
    Field field;
    std::string_view name;  ///< in CSV and --op; the command line writes '-' instead of '_'
    FieldKind kind;
    std::string_view help;
    std::string_view usual{};  ///< its default in words, if it has one
};

[[nodiscard]] std::span<const FieldInfo> field_table();
[[nodiscard]] const FieldInfo& info_of(Field field);
/// Finds a field by name, in upper or lower case, with '-' accepted for '_'.
[[nodiscard]] std::optional<Field> find_field(std::string_view name);

struct OperationInfo {
    OperationKind kind;
    std::string_view name;
    std::string_view help;
    std::span<const Field> required;
    std::span<const Field> optional;
    std::span<const Implementation> implementations;  ///< values of `impl` beside auto, the usual
                                                      ///< one first
};

[[nodiscard]] std::span<const OperationInfo> operation_table();
[[nodiscard]] const OperationInfo& info_of(OperationKind kind);
/// Another name of an operation: gemm for matmul, sdpa for attention.
struct OperationAlias {
    std::string_view name;
    OperationKind kind;
};
[[nodiscard]] std::span<const OperationAlias> operation_aliases();

/// Finds an operation by name or alias, in upper or lower case.
[[nodiscard]] std::optional<OperationKind> find_operation_kind(std::string_view name);
/// The same, but throws an InputError that suggests the nearest name.
[[nodiscard]] OperationKind parse_operation_kind(std::string_view name);
[[nodiscard]] OperationKind kind_of(const Operation& operation);
/// The collective of that kind; the operation must be a collective.
[[nodiscard]] CollectiveKind collective_kind(OperationKind kind);
/// The recurrence of that kind, and the operation on tokens; the operation must be one.
[[nodiscard]] RecurrenceKind recurrence_kind(OperationKind kind);
[[nodiscard]] TokenKind token_kind(OperationKind kind);
/// The row operation of that kind; the operation must be one along rows.
[[nodiscard]] RowKind row_kind(OperationKind kind);
[[nodiscard]] bool applies(OperationKind kind, Field field);

/// Whether the operation has this implementation; it always has `automatic`.
[[nodiscard]] bool has(OperationKind kind, Implementation implementation);
/// "impl library is not an implementation of copy; it has bundled, eager".
[[nodiscard]] std::string refusal(OperationKind kind, Implementation implementation);

/// The words that a word field of the operation accepts, as the front ends offer them; empty if
/// they cannot be listed, and for fields that are not words.
[[nodiscard]] std::vector<std::string_view> words_of(const OperationInfo& operation, Field field);

/// The number of a word of a data type, of a recurrence's part or phase, as fields keep it. Throws an
/// InputError that suggests the nearest type.
[[nodiscard]] std::int64_t number_of_word(std::string_view text);

class Parameters {
  public:
    /// Parses `text` as the field's kind. Throws an InputError that names the field. A word of version
    /// 0.1 for `software` sets `mode`.
    void set(Field field, std::string_view text);
    void set_count(Field field, std::int64_t value);
    void clear();

    /// Whether a count was written with k, M or G, which mean powers of 1000.
    [[nodiscard]] bool decimal_prefix() const { return decimal_prefix_; }

    [[nodiscard]] bool has(Field field) const { return present_[index(field)]; }
    [[nodiscard]] std::int64_t count(Field field) const { return counts_[index(field)]; }
    [[nodiscard]] std::int64_t count_or(Field field, std::int64_t otherwise) const {
        return has(field) ? count(field) : otherwise;
    }
    /// The text of a word or text field; counts and flags are formatted.
    [[nodiscard]] std::string text(Field field) const;

  private:
    static constexpr std::size_t index(Field field) { return static_cast<std::size_t>(field); }

    std::array<std::int64_t, field_count> counts_{};  ///< counts, flags and enumerators
    std::bitset<field_count> present_;
    std::string expression_;
    std::string vectors_;
    std::string scalars_;
    Tile tile_;
    bool decimal_prefix_ = false;

    friend Operation make_operation(OperationKind, const Parameters&);
    friend Execution make_execution(const Parameters&);
};

/// The required fields that are missing, in the table's order: "m", "n", "k".
[[nodiscard]] std::vector<std::string_view> missing_fields(OperationKind kind,
                                                           const Parameters& parameters);
/// "m, n and k are missing for matmul".
[[nodiscard]] std::string missing_text(std::span<const std::string_view> names,
                                       std::string_view operation);

/// The element type of an operation whose `dtype` is not given: bf16, but fp32 for access patterns
/// that exist only for 4-byte words.
[[nodiscard]] DataType default_type(OperationKind kind, const Parameters& parameters);

/// The parameters with default element type, L2 state and launch mode filled in.
[[nodiscard]] Parameters with_defaults(OperationKind kind, Parameters parameters);

/// The validated operation. Throws an InputError that names all missing fields, or the wrong one.
[[nodiscard]] Operation make_operation(OperationKind kind, const Parameters& parameters);
[[nodiscard]] Execution make_execution(const Parameters& parameters);

/// The accumulator and output types of a product of this element type if none are given.
[[nodiscard]] DataType default_accumulator(DataType type);
[[nodiscard]] DataType default_output(DataType type);

/// The way back: element type, shape and every field of the operation that is not at its default.
/// make_operation on the result gives the same operation again.
[[nodiscard]] Parameters parameters_of(const Operation& operation);

/// The fields that are set, in the order of the table: "matmul dtype=bf16 m=4096 n=4096 k=4096".
/// parse_operation reads it back.
[[nodiscard]] std::string text_of(OperationKind kind, const Parameters& parameters);

/// An operation written in words: "matmul m=4096 n=4096 k=4096 dtype=bf16". A flag needs no value:
/// "attention heads=32 seq=4Ki head_dim=128 causal".
struct OperationText {
    OperationKind kind = OperationKind::matmul;
    Parameters parameters;
};
/// `defaults` fills those fields of the operation that the text does not set. Throws an InputError
/// that names the field and, for an unknown field, the nearest one.
[[nodiscard]] OperationText parse_operation(std::string_view text, const Parameters& defaults = {});

/// One operation of a sequence in words: "matmul m=4096 n=4096 k=4096 count=32 name=up". Its name
/// and its number of repetitions are not fields of the operation.
struct StepText {
    OperationText operation{};
    std::int64_t count = 1;
    std::string name{};
};
[[nodiscard]] StepText parse_step(std::string_view text, const Parameters& defaults = {});

/// The number of repetitions of an operation: 1 to 10^9. Throws an InputError that names `count`.
[[nodiscard]] std::int64_t parse_repetitions(std::string_view text);

}  // namespace ridge::model
