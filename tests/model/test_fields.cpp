// The parameter table: every field is parsed, printed and parsed again, and errors name the field.
#include "model/core/fields.h"

#include <map>
#include <string>

#include "tests/catch.h"
#include "tests/model/parsed.h"
#include "tests/support/error_message.h"
#include "tests/support/text.h"

namespace ridge::model {
namespace {

/// A value for each kind of field, in canonical form and different from its default.
std::string sample_of(const FieldInfo& info) {
    static const std::map<std::string_view, std::string> words{
        {"dtype", "fp16"},
        {"accumulate", "fp16"},
        {"out_dtype", "fp32"},
        {"a_layout", "column"},
        {"b_layout", "column"},
        {"epilogue", "bias_gelu"},
        {"expr", "gelu(x + b)"},
        {"vectors", "b"},
        {"scalars", "s"},
        {"impl", "unfused"},
        {"direction", "backward"},
        {"tile", "128x256x64"},
        {"l2", "cold"},
        {"launch", "graph"},
        {"software", "pytorch-2.11"},
        {"mode", "eager"},
        {"pattern", "divergent"},
        {"axis", "columns"},
        {"nvls", "off"},
        {"pipe", "tensor"},
        {"phase", "decode"},
        {"part", "conv+scan"},
        {"weight_dtype", "int4"},
        {"kv_dtype", "fp8"},
        {"distribution", "power_law_1.2"},
        {"kernel", "torch.nn.functional.linear"}};
    if (info.kind == FieldKind::count) return "48";
    if (info.kind == FieldKind::flag) return "1";
    return words.at(info.name);
}

using test::holds;
using test::make;
using test::message_of;

TEST_CASE("the tables are in the order of their enumerations", "[fields]") {
    CHECK(field_table().size() == field_count);
    for (std::size_t i = 0; i < field_count; ++i) {
        const FieldInfo& info = field_table()[i];
        CHECK(static_cast<std::size_t>(info.field) == i);
        CHECK(find_field(info.name) == info.field);
        CHECK_FALSE(info.help.empty());
    }
    CHECK(operation_table().size() == operation_kind_count);
    for (std::size_t i = 0; i < operation_kind_count; ++i) {
        const OperationInfo& info = operation_table()[i];
        CHECK(static_cast<std::size_t>(info.kind) == i);
        CHECK(parse_operation_kind(info.name) == info.kind);
    }
    CHECK(find_field("M") == Field::m);
    CHECK(find_field("head-dim") == Field::head_dim);
    CHECK_FALSE(find_field("mm").has_value());
    CHECK_FALSE(find_field("").has_value());
}

TEST_CASE("every field returns the text that was set", "[fields]") {
    for (const FieldInfo& info : field_table()) {
        INFO(info.name);
        Parameters parameters;
        CHECK_FALSE(parameters.has(info.field));
        parameters.set(info.field, sample_of(info));
        CHECK(parameters.has(info.field));
        CHECK(parameters.text(info.field) == sample_of(info));
        Parameters again;
        again.set(info.field, parameters.text(info.field));
        CHECK(again.text(info.field) == parameters.text(info.field));
        CHECK(again.count(info.field) == parameters.count(info.field));
    }
}

TEST_CASE("every word of an enumeration is returned", "[fields]") {
    const auto returns = [](Field field, const char* word) {
        Parameters parameters;
        parameters.set(field, word);
        return parameters.text(field) == word;
    };
    for (const DataType type : all_data_types) {
        CHECK(returns(Field::dtype, std::string(name_of(type)).c_str()));
    }
    for (const char* word : {"auto",       "library",     "torch",           "compiled",
                             "standard",   "flash1",      "flash2",          "flash3",
                             "flashinfer", "torch-flash", "torch-efficient", "torch-cudnn",
                             "torch-math", "fused",       "unfused",         "manual",
                             "naive",      "coalesced",   "tiled",           "register_tiled",
                             "mma",        "wgmma"}) {
        CHECK(returns(Field::impl, word));
    }
    for (const char* word : {"none", "bias", "bias_relu", "bias_gelu", "accumulate"}) {
        CHECK(returns(Field::epilogue, word));
    }
    for (const char* word : {"kernel", "graph", "stream"}) CHECK(returns(Field::launch, word));
    for (const char* word : {"strided", "misaligned", "divergent", "bank_conflict"}) {
        CHECK(returns(Field::pattern, word));
    }
    for (const char* word : {"rows", "columns", "all"}) CHECK(returns(Field::axis, word));
    for (const char* word : {"warm", "cold", "dirty"}) CHECK(returns(Field::l2, word));
    for (const char* word : {"64x32", "1x1", "4096x4096x4096"}) CHECK(returns(Field::tile, word));
}

TEST_CASE("invalid values are refused with the field's name", "[fields]") {
    for (const FieldInfo& info : field_table()) {
        if (info.kind == FieldKind::text) continue;
        for (const char* text : {"", "-1", "nonsense", "1e3x", "99999999999999999999", "4,5"}) {
            // Which software and kernels there are, the data say.
            const bool by_data = info.field == Field::software || info.field == Field::kernel;
            if (by_data && text == std::string("nonsense")) continue;
            INFO(info.name << " = '" << text << "'");
            Parameters parameters;
            const std::string message = message_of([&] { parameters.set(info.field, text); });
            const bool names_the_field = holds(message, std::string(info.name) + ":");
            CHECK(names_the_field);
            CHECK_FALSE(parameters.has(info.field));
        }
    }
    for (const char* tile : {"128", "0x8", "8x", "x8", "8x8x8x8", "8x8x", "5000x8", "8 x 8"}) {
        CHECK(holds(message_of([&] { return parse_tile(tile); }), "tile:"));
    }
}

TEST_CASE("flags take the usual words", "[fields]") {
    for (const char* yes : {"1", "true", "yes"}) {
        Parameters parameters;
        parameters.set(Field::causal, yes);
        CHECK(parameters.count(Field::causal) == 1);
    }
    for (const char* no : {"0", "false", "no"}) {
        Parameters parameters;
        parameters.set(Field::causal, no);
        CHECK(parameters.has(Field::causal));
        CHECK(parameters.count(Field::causal) == 0);
    }
}

TEST_CASE("operations are parsed from words", "[fields]") {
    const Matmul matmul = make<Matmul>("  matmul m=4 n=5\tk=6 dtype=fp16 batch=2 ");
    CHECK(matmul.m == 4);
    CHECK(matmul.n == 5);
    CHECK(matmul.k == 6);
    CHECK(matmul.batch == 2);
    CHECK(matmul.type == DataType::fp16);
    CHECK(matmul.output == DataType::fp16);
    CHECK_THROWS_WITH(parse_operation("matmul m=4 n=5 k=6 m=7"), "op: 'm' is given twice");

    CHECK(make<Elementwise>("elementwise expr=\"x + 1\" elements=8").elements == 8);
    CHECK(make<Elementwise>("elementwise expr='x + 1' elements=8").type == DataType::bf16);
    CHECK(make<Elementwise>("elementwise elements=8 expr=x").expression.nodes().size() == 1);
    CHECK(make<Collective>("alltoall bytes=8 gpus=4").kind == CollectiveKind::all_to_all);
    CHECK(make<RowWise>("rmsnorm rows=2 cols=3").kind == RowKind::rmsnorm);
}

TEST_CASE("defaults fill in missing parameters", "[fields]") {
    Parameters defaults;
    defaults.set(Field::dtype, "fp8");
    defaults.set(Field::m, "3");
    const OperationText text = parse_operation("matmul n=4 k=5 dtype=fp32", defaults);
    const auto op = std::get<Matmul>(make_operation(text.kind, text.parameters));
    CHECK(op.m == 3);
    CHECK(op.type == DataType::fp32);
}

TEST_CASE("attention takes its lengths from seq, seq_q and seq_kv", "[fields]") {
    const Attention square = make<Attention>("attention heads=8 head_dim=64 seq=100");
    CHECK(square.seq_q == 100);
    CHECK(square.seq_kv == 100);
    CHECK(square.kv_heads == 8);
    const Attention decode =
        make<Attention>("attention heads=8 head_dim=64 seq_q=1 seq_kv=100 kv_heads=2 causal=1");
    CHECK(decode.seq_q == 1);
    CHECK(decode.seq_kv == 100);
    CHECK(decode.kv_heads == 2);
    CHECK(decode.causal);
    CHECK(make<Attention>("attention heads=8 head_dim=64 seq_q=7").seq_kv == 7);
    CHECK(make<Attention>("attention heads=8 head_dim=64 seq=7 seq_q=1").seq_kv == 7);
}

TEST_CASE("output and accumulator types follow the input type", "[fields]") {
    CHECK(make<Matmul>("matmul m=1 n=1 k=1 dtype=fp64").accumulate == DataType::fp64);
    CHECK(make<Matmul>("matmul m=1 n=1 k=1 dtype=fp8").output == DataType::bf16);
    CHECK(make<Matmul>("matmul m=1 n=1 k=1 dtype=tf32").output == DataType::fp32);
    CHECK(make<Matmul>("matmul m=1 n=1 k=1 dtype=half out_dtype=float").output == DataType::fp32);
}

TEST_CASE("names and words are accepted in the forms that people write", "[fields]") {
    CHECK(parse_operation("gemm m=1").kind == OperationKind::matmul);
    CHECK(parse_operation("LINEAR m=1").kind == OperationKind::matmul);
    CHECK(parse_operation("sdpa heads=1").kind == OperationKind::attention);
    CHECK(parse_operation("embedding rows=1").kind == OperationKind::gather);
    CHECK(parse_operation("all-reduce bytes=1").kind == OperationKind::all_reduce);
    CHECK_FALSE(find_operation_kind("gem").has_value());
    const Attention bare =
        make<Attention>("attn heads=8 head-dim=64 seq=4Ki causal dtype=BF16 direction=Forward");
    CHECK(bare.causal);
    CHECK(bare.seq_kv == 4096);
    CHECK(bare.head_dim == 64);
    CHECK_FALSE(make<Attention>("attn causal=off heads=8 head_dim=64 seq = 16").causal);
    CHECK(make<Attention>("attn causal kv_write heads=8 head_dim=64 seq=16").kv_write);
    CHECK(make<Collective>("allreduce bytes=8MB").bytes == 8'000'000);
    CHECK(make<Matmul>("mm m=1e3 n=4_096 k=16Ki impl=Register-Tiled").k == 16384);
}

TEST_CASE("k, M and G are remembered as powers of 1000", "[fields]") {
    CHECK(parse_operation("matmul m=4k").parameters.decimal_prefix());
    CHECK_FALSE(parse_operation("matmul m=4Ki n=1e3").parameters.decimal_prefix());
    CHECK_FALSE(parse_operation("all_reduce bytes=8MB").parameters.decimal_prefix());
    Parameters parameters;
    parameters.set(Field::m, "4k");
    parameters.clear();
    CHECK_FALSE(parameters.decimal_prefix());
}

TEST_CASE("one element type is the default of all operations", "[fields]") {
    for (const OperationInfo& info : operation_table()) {
        CAPTURE(info.name);
        if (!applies(info.kind, Field::dtype)) continue;
        CHECK(default_type(info.kind, {}) == DataType::bf16);
    }
    CHECK(make<Elementwise>("elementwise expr=x elements=8").type == DataType::bf16);
    CHECK(make<Access>("access pattern=strided elements=8").type == DataType::bf16);
    CHECK(make<Access>("access pattern=divergent elements=8").type == DataType::fp32);
    const OperationText text = parse_operation("matmul m=1 n=2 k=3 l2=cold");
    CHECK(text_of(text.kind, with_defaults(text.kind, text.parameters)) ==
          "matmul dtype=bf16 m=1 n=2 k=3 l2=cold launch=kernel");
}

TEST_CASE("errors of broken operations say what is wrong", "[fields]") {
    const std::map<std::string, std::string> cases{
        {"matmul m=4 n=5", "k is missing for matmul"},
        {"attention heads=8 head_dim=64", "seq (or seq_q and seq_kv) is missing for attention"},
        {"matmul", "m, n and k are missing for matmul"},
        {"attention", "heads, head_dim and seq (or seq_q and seq_kv) are missing"},
        {"matmul m=1.5", "m: "},
        {"gather dtype=bf61", "did you mean 'bf16'?"},
        {"matmul impl=libary", "did you mean 'library'?"},
        {"matmul m=4 k = 5 n", "expected field=value at 'n'"},
        {"matmul = 4", "the operation comes first"},
        {"elementwise elements=8", "expr is missing"},
        {"gather rows=8 cols=8", "table_rows is missing"},
        {"mutmal m=4", "did you mean 'matmul'?"},
        {"", "unknown operation ''"},
        {"matmul m=4 n=5 k=6 head=2", "'head' is not a field of matmul"},
        {"attention head=2", "did you mean 'heads'?"},
        {"softmax rows=4 cols=4 m=3", "'m' is not a field of softmax"},
        {"matmul m", "expected field=value at 'm'"},
        {"matmul =4", "the operation comes first"},
        {"matmul m=", "m: "},
        {"matmul m=-4 n=5 k=6", "m: "},
        {"matmul m=0 n=5 k=6", "m must be at least 1"},
        {"elementwise elements=8 expr=\"x + 1", "expr: the quote is not closed"},
        {"elementwise elements=8 expr='x'y", "'y' is not a field"},
        {"elementwise elements=8 expr=\"x +\"", "expr"}};
    for (const auto& [text, part] : cases) {
        INFO(text);
        const std::string message = test::problem_of(text);
        CHECK_FALSE(message.empty());
        const bool found = holds(message, part);
        if (!found) FAIL_CHECK("'" << message << "' lacks '" << part << "'");
    }
}

TEST_CASE("cleared parameters are forgotten", "[fields]") {
    Parameters parameters;
    for (const FieldInfo& info : field_table()) parameters.set(info.field, sample_of(info));
    parameters.clear();
    for (const FieldInfo& info : field_table()) CHECK_FALSE(parameters.has(info.field));
    parameters.set(Field::expr, "x + b + s");
    parameters.set(Field::elements, "8");
    const auto op = std::get<Elementwise>(make_operation(OperationKind::elementwise, parameters));
    CHECK(op.expression.fused().reads == 3);  // b and s are tensors again
    CHECK_FALSE(make_execution(parameters).tile.has_value());
}

TEST_CASE("library means the vendor's library; other operations name their own implementations") {
    CHECK(has(OperationKind::matmul, Implementation::library));
    CHECK(has(OperationKind::all_reduce, Implementation::library));
    for (const OperationInfo& info : operation_table()) {
        CAPTURE(info.name);
        CHECK(has(info.kind, Implementation::automatic));
        const bool vendor = info.kind == OperationKind::matmul || info.kind == OperationKind::mla ||
                            (applies(info.kind, Field::bytes) && applies(info.kind, Field::gpus));
        CHECK(has(info.kind, Implementation::library) == vendor);
    }
    CHECK(refusal(OperationKind::copy, Implementation::library) ==
          "impl library is not an implementation of copy; it has bundled, torch");
    CHECK(refusal(OperationKind::transpose, Implementation::library) ==
          "impl library is not an implementation of transpose; it has tiled, naive, torch");
}

TEST_CASE("the execution is read from the parameters", "[fields]") {
    Parameters parameters;
    const Execution usual = make_execution(parameters);
    CHECK(usual.implementation == Implementation::automatic);
    CHECK(usual.l2 == L2State::warm);
    CHECK(usual.launch == LaunchMode::kernel);
    CHECK_FALSE(usual.tile.has_value());
    parameters.set(Field::impl, "flash2");
    parameters.set(Field::l2, "cold");
    parameters.set(Field::launch, "stream");
    parameters.set(Field::tile, "64x32");
    const Execution asked = make_execution(parameters);
    CHECK(asked.implementation == Implementation::flash2);
    CHECK(asked.l2 == L2State::cold);
    CHECK(asked.launch == LaunchMode::stream);
    CHECK(asked.tile == Tile{64, 32, 0});
}

}  // namespace
}  // namespace ridge::model
