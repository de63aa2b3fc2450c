// Recorded calls of ATen operators: arguments, shapes and layouts.
#include "programs/aten/call.h"

#include <vector>

#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

TEST_CASE("a recorded call gives its tensors and values", "[aten]") {
    const Call call = parse_call(
        "aten::addmm",
        R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"]|)"
        R"([[2304],[2048,768],[768,2304],[],[]]|[[1],[768,1],[1,768],[],[]]|["","","","1","2"])");
    REQUIRE(call.arguments.size() == 5);
    REQUIRE(call.tensor(2) != nullptr);
    CHECK(call.tensor(2)->dims == std::vector<std::int64_t>{768, 2304});
    CHECK(call.tensor(2)->type == ElementType::bf16);
    CHECK_FALSE(call.tensor(2)->contiguous());
    CHECK(call.tensor(2)->dense());
    CHECK(call.tensor(1)->contiguous());
    CHECK(call.tensor(1)->bytes() == 2048 * 768 * 2);
    CHECK(call.tensor(3) == nullptr);
    CHECK(call.whole(4) == 2);
    CHECK_FALSE(call.whole(0));
    CHECK(shape_text(call) == "[2304] x [2048,768] x [768,2304] bf16");
}

TEST_CASE("lists of tensors, lists of scalars and broadcast strides", "[aten]") {
    const Call cat = parse_call("aten::cat", R"(["TensorList","Scalar"]|[[[2,1],[2,1024]],[]]|)"
                                             R"([[[1,1],[0,1]],[]]|["","-1"])");
    REQUIRE(cat.tensors().size() == 2);
    CHECK(cat.tensor(0) == nullptr);
    CHECK(cat.tensors()[1]->elements() == 2048);
    CHECK(cat.tensors()[1]->stored_elements() == 1024);
    CHECK_FALSE(cat.tensors()[1]->dense());
    CHECK(cat.whole(1) == -1);
    CHECK(shape_text(cat) == "[2,1] x [2,1024]");

    const Call mean =
        parse_call("aten::mean", R"(["float","ScalarList","Scalar",""]|[[2,8],[],[],[]]|)"
                                 R"([[8,1],[],[],[]]|["","[-1, 0]","True",""])");
    CHECK(mean.wholes(1) == std::vector<std::int64_t>{-1, 0});
    CHECK(mean.flag(2));
    CHECK_FALSE(mean.flag(3));
    CHECK(mean.tensors().size() == 1);
}

TEST_CASE("the text of a product's shape omits the output", "[aten]") {
    const std::string inputs =
        R"(["float","float","float"]|[[8,4],[4,2],[8,2]]|[[4,1],[2,1],[2,1]]|["","",""])";
    CHECK(shape_text(parse_call("aten::mm", inputs)) == "[8,4] x [4,2] fp32");
    CHECK(shape_text(parse_call("aten::where", inputs)) == "[8,4] x [4,2] x [8,2] fp32");
}

TEST_CASE("strange input gives no tensors and no error", "[aten]") {
    for (const char* inputs : {"", "|||", "[", R"(["float"])", R"(["float"]|[7]|[]|[])",
                               R"(["float"]|[["x"]]|[[1]]|[""])", R"({"a":1}|[]|[]|[])",
                               R"([1,2]|[[1],[2]]|[[1],[1]]|[])"}) {
        const Call call = parse_call("aten::strange", inputs);
        CHECK(call.tensors().empty());
        CHECK(call.value(99).empty());
    }
    const Call odd = parse_call("x", R"(["float"]|[[3,-1]]|[[1]]|[""])");
    REQUIRE(odd.tensor(0) != nullptr);
    CHECK(odd.tensor(0)->elements() == 0);
    CHECK(odd.tensor(0)->strides.empty());
    const Call huge = parse_call("x", R"(["float"]|[[4611686018427387904,4]]|[[4,1]]|[""])");
    CHECK(huge.tensor(0)->bytes() > 0);
}

TEST_CASE("every element type has a size and the names of Python and C++", "[aten]") {
    struct Row {
        ElementType type;
        std::int64_t size;
        std::vector<const char*> names;
    };
    const std::vector<Row> rows{
        {ElementType::fp64, 8, {"torch.float64", "double"}},
        {ElementType::fp32, 4, {"torch.float32", "float"}},
        {ElementType::fp16, 2, {"torch.float16", "c10::Half"}},
        {ElementType::bf16, 2, {"torch.bfloat16", "c10::BFloat16"}},
        {ElementType::fp8, 1, {"torch.float8_e4m3fn", "c10::Float8_e5m2"}},
        {ElementType::int64, 8, {"torch.int64", "long int", "Long"}},
        {ElementType::int32, 4, {"torch.int32", "int"}},
        {ElementType::int16, 2, {"torch.int16", "short int", "Short"}},
        {ElementType::int8, 1, {"torch.int8", "torch.uint8", "signed char", "unsigned char"}},
        {ElementType::boolean, 1, {"torch.bool", "bool"}},
        {ElementType::complex64, 8, {"torch.complex64", "c10::complex<float>"}},
        {ElementType::complex128, 16, {"torch.complex128", "c10::complex<double>"}},
        {ElementType::unknown, 0, {"TensorList", "", "torch."}}};
    REQUIRE(rows.size() == static_cast<std::size_t>(ElementType::complex128) + 1);
    for (const Row& row : rows) {
        CHECK(size_of(row.type) == row.size);
        for (const char* name : row.names) {
            INFO(name);
            CHECK(parse_element_type(name) == row.type);
        }
    }
}
