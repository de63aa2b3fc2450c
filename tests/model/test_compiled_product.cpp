// Products of torch.compile: which kernels they run, by hand, and the sums over these kernels.
#include <cmath>

#include "model/compiled_product.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

using test::h200;

constexpr Execution compiled_cold{.implementation = Implementation::compiled, .l2 = L2State::cold};

Matmul product(std::int64_t m, std::int64_t n, std::int64_t k, Epilogue epilogue,
               DataType type = DataType::bf16) {
    return {.m = m,
            .n = n,
            .k = k,
            .type = type,
            .output = type,
            .b_layout = Layout::column_major,
            .epilogue = epilogue};
}

const Matmul& product_of(const Step& step) {
    return std::get<Matmul>(step.operation);
}

const Elementwise& pointwise_of(const Step& step) {
    return std::get<Elementwise>(step.operation);
}

Prediction predicted(const Operation& op, const Execution& execution) {
    return std::get<Prediction>(predict(op, execution, h200()));
}

TEST_CASE("a compiled product without activation is the eager one", "[torch]") {
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::bias, Epilogue::accumulate}) {
        const Matmul op = product(64, 2048, 1024, epilogue);
        const Workload kernels = compiled_product(op, compiled_cold);
        REQUIRE(kernels.size() == 1);
        CHECK(product_of(kernels[0]).epilogue == epilogue);
        const Prediction compiled = predicted(op, compiled_cold);
        const Prediction eager =
            predicted(op, {.implementation = Implementation::torch, .l2 = L2State::cold});
        CHECK(compiled.implementation == Implementation::compiled);
        CHECK(compiled.time == eager.time);
        CHECK(compiled.high == eager.high);
    }
}

TEST_CASE("an activation is a separate kernel over the result", "[torch]") {
    const Workload half =
        compiled_product(product(64, 2048, 1024, Epilogue::bias_gelu), compiled_cold);
    REQUIRE(half.size() == 2);
    CHECK(product_of(half[0]).epilogue == Epilogue::bias);
    CHECK(half[0].execution.l2 == L2State::cold);
    CHECK(pointwise_of(half[1]).expression.fused().vector_reads == 0);
    CHECK(pointwise_of(half[1]).elements == 131072);
    CHECK(half[1].execution.l2 == L2State::warm);

    const Workload single = compiled_product(
        product(64, 2048, 1024, Epilogue::bias_relu, DataType::fp32), compiled_cold);
    REQUIRE(single.size() == 2);
    CHECK(product_of(single[0]).epilogue == Epilogue::none);
    CHECK(pointwise_of(single[1]).expression.fused().vector_reads == 1);
}

TEST_CASE("a bias is written first if the rows of the result are padded", "[torch]") {
    const auto kernels_of = [](std::int64_t m, std::int64_t n, Epilogue epilogue) {
        return compiled_product(product(m, n, 512, epilogue), compiled_cold).size();
    };
    CHECK(kernels_of(16, 1688, Epilogue::bias_gelu) == 3);  // 3376 bytes: 26.4 lines
    CHECK(kernels_of(16, 1664, Epilogue::bias_gelu) == 2);  // 26 lines
    CHECK(kernels_of(16, 1000, Epilogue::bias_gelu) == 2);  // short rows are not padded
    CHECK(kernels_of(1, 1688, Epilogue::bias_gelu) == 2);   // one row has no gaps
    CHECK(kernels_of(16, 1688, Epilogue::bias) ==
          1);  // a result that the program returns is not padded
    const Workload kernels =
        compiled_product(product(16, 1688, 512, Epilogue::bias_relu), compiled_cold);
    CHECK(kernels[0].execution.implementation == Implementation::torch);
    CHECK(product_of(kernels[1]).epilogue == Epilogue::accumulate);
}

TEST_CASE("operands of long products are copied into padded rows", "[torch]") {
    CHECK(is_worth_padding(300, 300, 300));  // 27e6 / 270e3 = 100
    CHECK_FALSE(is_worth_padding(299, 299, 299));
    const Workload both =
        compiled_product(product(16384, 8192, 2635, Epilogue::none), compiled_cold);
    REQUIRE(both.size() == 3);
    CHECK(pointwise_of(both[0]).elements == 16384 * 2640);
    CHECK(pointwise_of(both[1]).elements == 2640 * 8192);
    CHECK(product_of(both[2]).k == 2640);
    CHECK(both[2].execution.l2 == L2State::warm);

    Matmul by_rows = product(4096, 1163, 4096, Epilogue::none, DataType::tf32);
    by_rows.b_layout = Layout::row_major;
    const Workload one = compiled_product(by_rows, compiled_cold);
    REQUIRE(one.size() == 2);
    CHECK(pointwise_of(one[0]).elements == 4096 * 1164);
    CHECK(product_of(one[1]).n == 1164);
    CHECK(one[1].execution.l2 == L2State::cold);
    CHECK(compiled_product(product(64, 1163, 4099, Epilogue::none), compiled_cold).size() == 1);
}

TEST_CASE("times, bytes and bands of a compiled product are sums over its kernels", "[torch]") {
    const Matmul op = product(512, 4096, 1024, Epilogue::bias_gelu);
    const Prediction whole = predicted(op, compiled_cold);
    const Workload kernels = compiled_product(op, compiled_cold);
    const Prediction first = predicted(kernels[0].operation, kernels[0].execution);
    const Prediction second = predicted(kernels[1].operation, kernels[1].execution);
    CHECK(whole.time.base() == Approx((first.time + second.time).base()));
    CHECK(whole.work.dram().base() == Approx((first.work.dram() + second.work.dram()).base()));
    CHECK(whole.work.compulsory_write == 2.0 * 512 * 4096 * units::B);
    CHECK(whole.work.kernels == first.work.kernels + 1);
    const Time above = Time::from_base(
        std::hypot((first.high - first.time).base(), (second.high - second.time).base()));
    CHECK(whole.high.base() == Approx((whole.time + above).base()));
    CHECK(noted<note::ProductAlone>(whole)->time == first.time);
    CHECK(noted<note::PointwiseAfter>(whole)->time == second.time);
    CHECK(whole.time / whole.correction > Time{});
}

}  // namespace
}  // namespace ridge::model
