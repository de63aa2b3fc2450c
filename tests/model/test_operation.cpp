// Validation: the limits of shapes, and errors that name the field that breaks them.
#include "model/core/operation.h"

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/error_message.h"

namespace ridge::model {
namespace {

constexpr std::int64_t two_to(int exponent) {
    return std::int64_t{1} << exponent;
}

/// The error message, or an empty string if the operation is valid.
std::string problem_of(const Operation& operation) {
    return test::message_of([&] { validate(operation); });
}

bool names(const Operation& operation, std::string_view field) {
    const std::string problem = problem_of(operation);
    UNSCOPED_INFO(name_of(operation) << ": '" << problem << "'");
    return problem.find(field) != std::string::npos;
}

const Attention plain_attention{
    .heads = 8, .kv_heads = 8, .seq_q = 64, .seq_kv = 64, .head_dim = 64};

TEST_CASE("extents are at least one", "[operation]") {
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, -two_to(62)}) {
        CHECK(names(Matmul{.batch = bad, .m = 1, .n = 1, .k = 1}, "batch"));
        CHECK(names(Matmul{.m = bad, .n = 1, .k = 1}, "m must"));
        CHECK(names(Matmul{.m = 1, .n = bad, .k = 1}, "n must"));
        CHECK(names(Matmul{.m = 1, .n = 1, .k = bad}, "k must"));
        CHECK(names(RowWise{.rows = bad, .cols = 1}, "rows"));
        CHECK(names(Transpose{.rows = 1, .cols = bad}, "cols"));
        CHECK(names(Copy{.elements = bad}, "elements"));
        CHECK(names(Gather{.rows = 1, .cols = 1, .table_rows = bad}, "table_rows"));
        CHECK(names(Access{.elements = bad}, "elements"));
        CHECK(names(Collective{.bytes = bad}, "bytes"));
        CHECK(names(Elementwise{.expression = parse_expression("x"), .elements = bad}, "elements"));
        for (const auto field : {&Attention::batch, &Attention::heads, &Attention::kv_heads,
                                 &Attention::seq_q, &Attention::seq_kv, &Attention::head_dim}) {
            Attention op = plain_attention;
            op.*field = bad;
            CHECK(problem_of(op).find("must be at least 1") != std::string::npos);
        }
    }
    CHECK(problem_of(Matmul{.m = 1, .n = 1, .k = 1}).empty());
    CHECK(problem_of(Copy{.elements = 1}).empty());
}

TEST_CASE("an extent is at most 2^48 and a product at most 2^55", "[operation]") {
    CHECK(problem_of(Copy{.elements = two_to(48)}).empty());
    CHECK(names(Copy{.elements = two_to(48) + 1}, "elements must be at most 2^48"));
    CHECK(names(Copy{.elements = two_to(62)}, "elements"));

    CHECK(problem_of(Matmul{.m = two_to(18), .n = two_to(18), .k = two_to(19)}).empty());
    CHECK(names(Matmul{.m = two_to(18), .n = two_to(19), .k = two_to(19)}, "m x n x k"));
    CHECK(names(Matmul{.m = two_to(48), .n = two_to(48), .k = two_to(48)}, "m"));
    CHECK(names(RowWise{.rows = two_to(30), .cols = two_to(30)}, "rows x cols"));
    CHECK(names(Gather{.rows = 1, .cols = two_to(30), .table_rows = two_to(30)}, "table_rows"));
    Attention op = plain_attention;
    op.seq_q = op.seq_kv = two_to(24);
    CHECK(names(op, "seq_q"));
}

TEST_CASE("the parameters of attention must fit together", "[operation]") {
    const auto with = [](auto change) {
        Attention op = plain_attention;
        change(op);
        return op;
    };
    CHECK(problem_of(plain_attention).empty());
    CHECK(names(with([](Attention& op) { op.kv_heads = 3; }), "kv_heads must divide heads"));
    CHECK(names(with([](Attention& op) { op.kv_heads = 16; }), "kv_heads"));
    CHECK(problem_of(with([](Attention& op) { op.kv_heads = 1; })).empty());
    CHECK(names(with([](Attention& op) { op.head_dim = 4097; }), "head_dim"));
    CHECK(problem_of(with([](Attention& op) { op.head_dim = 4096; })).empty());
    CHECK(names(with([](Attention& op) { op.window = -1; }), "window"));
    CHECK(names(with([](Attention& op) { op.window = two_to(62); }), "window"));
    CHECK(problem_of(with([](Attention& op) { op.window = 16; })).empty());
    const auto longer_queries = [](bool causal) {
        Attention op = plain_attention;
        op.seq_q = 65;
        op.causal = causal;
        return op;
    };
    CHECK(names(longer_queries(true), "seq_q must not exceed seq_kv"));
    CHECK(problem_of(longer_queries(false)).empty());
    for (const DataType type : {DataType::tf32, DataType::int8, DataType::fp64}) {
        CHECK(names(with([type](Attention& op) { op.type = type; }), "dtype"));
    }
}

TEST_CASE("each type allows certain accumulators", "[operation]") {
    const auto accumulates = [](DataType type, DataType accumulate) {
        return problem_of(Matmul{.m = 1, .n = 1, .k = 1, .type = type, .accumulate = accumulate})
            .empty();
    };
    for (const DataType type : all_data_types) {
        if (type == DataType::int32) continue;  // never the type of an operand
        CHECK(accumulates(type, DataType::fp32) == (type != DataType::fp64));
        CHECK(accumulates(type, DataType::fp64) == (type == DataType::fp64));
        CHECK(accumulates(type, DataType::fp16) ==
              (type == DataType::fp16 || type == DataType::fp8));
        CHECK_FALSE(accumulates(type, DataType::int8));
        CHECK_FALSE(accumulates(type, DataType::bf16));
    }
    CHECK(names(Matmul{.m = 1, .n = 1, .k = 1, .accumulate = DataType::int8}, "accumulate"));
}

TEST_CASE("collectives need two GPUs, and at most a million", "[operation]") {
    for (const std::int64_t gpus : {-1, 0, 1, 1 << 20}) {
        CHECK(names(Collective{.gpus = gpus, .bytes = 8}, "gpus"));
    }
    CHECK(problem_of(Collective{.gpus = 2, .bytes = 8}).empty());
    CHECK(problem_of(Collective{.gpus = 1024, .bytes = 8}).empty());
    CHECK(problem_of(Collective{.kind = CollectiveKind::host_to_device, .gpus = 1, .bytes = 8})
              .empty());
}

TEST_CASE("an elementwise operation needs an expression", "[operation]") {
    CHECK(names(Elementwise{.expression = {}, .elements = 8}, "expr"));
}

TEST_CASE("operations have a name and a type", "[operation]") {
    CHECK(name_of(Operation(Matmul{})) == "matmul");
    CHECK(name_of(Operation(plain_attention)) == "attention");
    CHECK(name_of(Operation(RowWise{.kind = RowKind::layernorm})) == "layernorm");
    CHECK(name_of(Operation(Collective{.kind = CollectiveKind::device_to_host})) ==
          "device_to_host");
    CHECK(type_of(Operation(Transpose{.type = DataType::fp8})) == DataType::fp8);
}

}  // namespace
}  // namespace ridge::model
