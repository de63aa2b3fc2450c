// Pointwise kernels and column sums of recorded calls: the cost of a loop over tensors in several
// orders, and of an operand that was not just written. (eq. S10)
#include <array>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "programs/aten/operations.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/programs/understood.h"

using namespace ridge;
using namespace ridge::programs;
using namespace ridge::model;

namespace {

struct Recorded {
    std::string name, types, dims, strides;
    std::string values = "";
};

Understood understood(const Recorded& call) {
    return test::understood(call.name,
                            call.types + "|" + call.dims + "|" + call.strides + "|" + call.values);
}

const std::string two_of_bf16 = R"(["c10::BFloat16","c10::BFloat16"])";
const std::string bf16_into_fp32 = R"(["float","c10::BFloat16"])";

/// Clocks per element for computing an index; 0 if the call needs no index beyond the model's.
double clocks(const std::string& types, const std::string& dims, const std::string& strides) {
    const Understood found = understood({"aten::mul", types, dims, strides});
    if (found.entries.empty()) return 0.0;
    return found.entries.front().indexed_clocks / static_cast<double>(found.result_elements);
}

double time_us(const Recorded& call) {
    return predict(understood(call), test::h200()).answer.time.in(units::us);
}

}  // namespace

TEST_CASE("a loop costs an index for each dimension that its tensors do not share", "[aten]") {
    // A vector along the last dimension, which the model knows: two dimensions.
    CHECK(clocks(two_of_bf16, "[[32,56,56,384],[384]]", "[[1204224,21504,384,1],[1]]") == 0.0);
    // A vector per image: images, pixels, channels.
    CHECK(clocks(two_of_bf16, "[[32,56,56,384],[32,1,1,384]]",
                 "[[1204224,21504,384,1],[384,384,384,1]]") == Approx(0.71));
    // A table of positions, with the heads outside or inside of the positions.
    CHECK(clocks(two_of_bf16, "[[2,16,2048,128],[1,1,2048,128]]",
                 "[[4194304,262144,128,1],[262144,262144,128,1]]") == 0.0);
    CHECK(clocks(two_of_bf16, "[[2,16,2048,128],[1,1,2048,128]]",
                 "[[4194304,128,2048,1],[262144,262144,128,1]]") == Approx(0.88));
    // Both operands have the same order in memory, whatever it is: one dimension.
    CHECK(clocks(two_of_bf16, "[[2,16,2048,128],[2,16,2048,128]]",
                 "[[4194304,128,2048,1],[4194304,128,2048,1]]") == 0.0);
    // A broadcast operand of another type is cast as it is read; one as large as the result is not.
    CHECK(clocks(bf16_into_fp32, "[[2,32,1024,1024],[2,1,1024,1024]]",
                 "[[33554432,1048576,1024,1],[1048576,1048576,1024,1]]") == Approx(1.13));
    CHECK(clocks(bf16_into_fp32, "[[64,64],[64,64]]", "[[64,1],[64,1]]") == 0.0);
    // Unknown strides, dimensions of size one and scalars add no dimension.
    CHECK(clocks(two_of_bf16, "[[64,1,64],[64,1,1]]", "") == 0.0);
    CHECK(clocks(two_of_bf16, "[[64,64],[]]", "[[64,1],[]]") == 0.0);
    CHECK(clocks(two_of_bf16, "[[],[]]", "[[],[]]") == 0.0);
}

TEST_CASE("the previous kernel has written one of two operands", "[aten]") {
    const auto add = [](const std::string& n) {
        return Recorded{"aten::add", two_of_bf16, "[[" + n + "],[" + n + "]]", "[[1],[1]]"};
    };
    const Understood found = understood(add("6316032"));
    REQUIRE(found.entries.size() == 1);
    CHECK(found.entries[0].from_dram == Approx(2.0 / 3.0));
    // Times in traces of an H200: dinov2, T5, Llama, and one that does not fit in the cache anyway.
    CHECK(time_us(add("6316032")) == Approx(8.64).epsilon(0.08));
    CHECK(time_us(add("2359296")) == Approx(3.91).epsilon(0.08));
    CHECK(time_us(add("4718592")) == Approx(6.54).epsilon(0.08));
    CHECK(time_us(add("9437184")) == Approx(12.89).epsilon(0.1));
    // A single operand was written by the previous kernel.
    const Understood one = understood({"aten::relu", R"(["c10::BFloat16"])", "[[4096]]", "[[1]]"});
    CHECK(one.entries.empty());
}

TEST_CASE("times with broadcast and cast operands are close to those of an H200", "[aten]") {
    CHECK(time_us({"aten::add_", bf16_into_fp32, "[[2,32,1024,1024],[2,1,1024,1024]]",
                   "[[33554432,1048576,1024,1],[1048576,1048576,1024,1]]"}) ==
          Approx(294.6).epsilon(0.05));
    CHECK(time_us({"aten::mul", two_of_bf16, "[[32,56,56,384],[32,1,1,384]]",
                   "[[1204224,21504,384,1],[384,384,384,1]]"}) == Approx(105.97).epsilon(0.05));
    CHECK(time_us({"aten::mul", two_of_bf16, "[[2,16,2048,128],[1,1,2048,128]]",
                   "[[4194304,128,2048,1],[262144,262144,128,1]]"}) == Approx(29.5).epsilon(0.05));
}

TEST_CASE("GELU uses the error function unless the call says otherwise", "[aten]") {
    const auto text = [](const std::string& values) {
        const Understood found =
            understood({"aten::gelu", R"(["c10::BFloat16",""])", "[[64],[]]", "[[1],[]]", values});
        return std::get<Elementwise>(found.steps.at(0).operation).expression.text();
    };
    CHECK(text(R"(["","none"])") == "gelu_erf(x)");
    CHECK(text("") == "gelu_erf(x)");
    CHECK(text(R"(["","tanh"])") != "gelu_erf(x)");
    const Understood minus = understood({"aten::isneginf", R"(["float"])", "[[64]]", "[[1]]"});
    CHECK(minus.basis == Basis::shapes);
    CHECK(size_of(std::get<Elementwise>(minus.steps.at(0).operation).result()) == 1);
}

TEST_CASE("partly filled blocks of columns take as long as full ones", "[aten]") {
    const auto stretch = [](std::int64_t columns) {
        const Understood found = understood({"aten::sum", R"(["c10::BFloat16","ScalarList"])",
                                             "[[4096," + std::to_string(columns) + "],[]]", "",
                                             R"(["","[0]","False",""])"});
        return found.entries.empty() ? 1.0 : found.entries.front().stretch;
    };
    CHECK(stretch(96) == Approx(4.0 / 3.0));     // two blocks of 16 threads
    CHECK(stretch(192) == Approx(4.0 / 3.0));    // two of 32
    CHECK(stretch(320) == Approx(384.0 / 320));  // three
    for (const std::int64_t full : {8, 64, 128, 256, 384, 3072}) CHECK(stretch(full) == 1.0);
}

TEST_CASE("lists of tensors without shapes are sized by the blocks of their kernels", "[aten]") {
    static const Machine machine = make_machine(catalogue().at("h200-sxm"));
    const auto time = [](const char* name, std::vector<std::int64_t> blocks) {
        const auto found = lists_by_blocks(name, blocks, ElementType::bf16);
        REQUIRE(found);
        CHECK(found->family == OperatorFamily::optimizer);
        CHECK(found->basis == Basis::bytes);
        CHECK(found->kernels.size() == blocks.size());
        return predict(*found, machine).answer.time.in(units::us);
    };
    // ELECTRA's AdamW on an H200, three launches each.
    CHECK(time("aten::_foreach_mul_", {320, 320, 211}) == Approx(74.1).epsilon(0.15));
    CHECK(time("aten::_foreach_sqrt", {320, 320, 211}) == Approx(86.8).epsilon(0.15));
    CHECK(time("aten::_foreach_addcdiv_", {320, 320, 211}) == Approx(144.4).epsilon(0.15));
    // A few blocks leave multiprocessors idle but take as long.
    CHECK(time("aten::_foreach_mul_", {65}) > 0.4 * time("aten::_foreach_mul_", {320}));
    const std::array<std::int64_t, 1> one{32};
    const std::array<std::int64_t, 2> broken{320, 321};
    CHECK_FALSE(lists_by_blocks("aten::mul", one, ElementType::bf16));
    CHECK_FALSE(lists_by_blocks("aten::_foreach_mul_", one, ElementType::unknown));
    CHECK_FALSE(lists_by_blocks("aten::_foreach_mul_", broken, ElementType::bf16));
    CHECK_FALSE(lists_by_blocks("aten::_foreach_mul_", {}, ElementType::bf16));
}
