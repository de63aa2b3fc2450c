#include "hardware/error.h"
#include "kernel/causes/point.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::kernel;

namespace {

const model::Machine& described() {
    static const model::Machine made = model::make_machine(model::catalogue().at("h100-sxm"));
    return made;
}

KernelPoint product() {
    return {.flop = 137.4e9,
            .type = model::DataType::bf16,
            .pipe = PointPipe::tensor,
            .dram_bytes = 101e6,
            .l2_bytes = 805e6,
            .blocks = 512,
            .threads = 256,
            .registers = 168,
            .shared_bytes = 204800};
}

}  // namespace

TEST_CASE("a product by its figures is bound by the tensor cores", "[point]") {
    const Roofs roofs = *roofs_of(described());
    const PointAnswer answer = answer_for(product(), described(), roofs);
    CHECK(answer.bound == "compute");
    CHECK(answer.limiter == "tensor cores");
    CHECK(answer.waves == Approx(512.0 / 132.0));
    CHECK(answer.wave_fill == Approx(512.0 / (4.0 * 132.0)));
    CHECK(answer.roofline ==
          Approx(137.4e9 / described().tensor_peak(model::DataType::bf16)->base()));
    CHECK(answer.seconds > answer.roofline);
    CHECK(answer.low <= answer.seconds);
    CHECK(answer.high >= answer.seconds);
    CHECK(answer.gap.empty());
}

TEST_CASE("the parts of a measured time sum to it", "[point]") {
    const Roofs roofs = *roofs_of(described());
    for (const double measured : {50e-6, 139e-6, 240e-6, 2e-3}) {
        KernelPoint point = product();
        point.measured = measured;
        double sum = 0.0;
        for (const PointTerm& part : answer_for(point, described(), roofs).gap) sum += part.seconds;
        CHECK(sum == Approx(measured));
    }
}

TEST_CASE("a copy by its bytes is bound by memory, and few warps make it slower", "[point]") {
    const Roofs roofs = *roofs_of(described());
    KernelPoint copy{.dram_bytes = 537e6, .blocks = 1056, .threads = 256, .registers = 32};
    const PointAnswer many = answer_for(copy, described(), roofs);
    CHECK(many.bound == "memory");
    CHECK(many.seconds == Approx(181e-6).epsilon(0.1));  // measured by the planted kernel h01
    copy.blocks = 32;
    CHECK(answer_for(copy, described(), roofs).seconds > 2.0 * many.seconds);
}

TEST_CASE("a point needs work, a type that its pipe has, and a block that fits", "[point]") {
    const Roofs roofs = *roofs_of(described());
    CHECK_THROWS_AS(answer_for({}, described(), roofs), InputError);
    KernelPoint wrong = product();
    wrong.type = model::DataType::fp32;
    CHECK_THROWS_AS(answer_for(wrong, described(), roofs), InputError);
    KernelPoint large = product();
    large.shared_bytes = 1 << 20;
    CHECK_THROWS_AS(answer_for(large, described(), roofs), InputError);
}
