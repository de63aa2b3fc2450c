// A kernel known by its figures (model/own): its time, its parts, and its fields.
#include "hardware/error.h"
#include "model/advice.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/own/predict.h"
#include "model/predict.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::model;

namespace {

const Machine& hopper() {
    static const Machine made = make_machine(catalogue().at("h100-sxm"));
    return made;
}

constexpr OwnKernel own_product{.flop = 137'400'000'000,
                                .type = DataType::bf16,
                                .pipe = KernelPipe::tensor,
                                .bytes = 101'000'000,
                                .l2_bytes = 805'000'000,
                                .grid = 512,
                                .block = 256,
                                .registers = 168,
                                .shared = 204'800};

Prediction predicted(const OwnKernel& op) {
    return std::get<Prediction>(predict(Operation{op}, Execution{}, hopper()));
}

}  // namespace

TEST_CASE("a product by its figures is bound by the tensor cores", "[own]") {
    const Prediction p = predicted(own_product);
    CHECK(p.bound == model::Bound::compute);
    CHECK(p.limiter == model::Resource::tensor);
    CHECK(p.tiling.tiles == 512);
    CHECK(p.tiling.waves == 4);
    CHECK(p.tiling.wave_efficiency == Approx(512.0 / (4.0 * 132.0)));
    CHECK(p.lower_bound.base() == Approx(137.4e9 / hopper().tensor_peak(DataType::bf16)->base()));
    CHECK(p.time > p.lower_bound);
    CHECK(p.low <= p.time);
    CHECK(p.high >= p.time);
    CHECK(p.work.flop().base() == Approx(137.4e9));
    CHECK(p.work.dram().base() == Approx(101e6));
    CHECK(p.work.l2.base() == Approx(805e6));
    CHECK(noted<note::ResidentWarps>(p)->warps == Approx(8.0));
}

TEST_CASE("the parts of a measured time sum to it", "[own]") {
    for (const double measured : {50e-6, 139e-6, 240e-6, 2e-3}) {
        double sum = 0.0;
        for (const GapPart& part :
             gap_of(own_product, Execution{}, hopper(), Time::from_base(measured))) {
            CHECK(part.time > Time{});
            sum += part.time.base();
        }
        CHECK(sum == Approx(measured));
    }
}

TEST_CASE("a copy by its bytes is bound by memory, and few warps make it slower", "[own]") {
    OwnKernel copy{.bytes = 537'000'000, .grid = 1056, .registers = 32};
    const Prediction many = predicted(copy);
    CHECK(many.bound == model::Bound::memory);
    CHECK(many.limiter == model::Resource::dram);
    CHECK(many.time.in(units::us) == Approx(181.0).epsilon(0.1));  // the planted kernel h01
    copy.grid = 32;
    CHECK(predicted(copy).time > 2.0 * many.time);
    copy.grid = 0;
    CHECK(predicted(copy).tiling.tiles == 0);
}

TEST_CASE("a kernel needs work, a type that its pipe has, and a block that fits", "[own]") {
    CHECK_THROWS_AS(validate(OwnKernel{}), InputError);
    CHECK_THROWS_AS(validate(OwnKernel{.flop = 1, .block = 2048}), InputError);
    CHECK_THROWS_AS(validate(OwnKernel{.flop = 1, .registers = 256}), InputError);
    OwnKernel wrong = own_product;
    wrong.type = DataType::fp32;
    const auto refused = predict(Operation{wrong}, Execution{}, hopper());
    CHECK(std::get<NotModelled>(refused).reason.find("no fp32") != std::string::npos);
    OwnKernel large = own_product;
    large.shared = 1 << 20;
    const auto unfit = predict(Operation{large}, Execution{}, hopper());
    CHECK(std::get<NotModelled>(unfit).reason.find("one block") != std::string::npos);
    CHECK(gap_of(large, Execution{}, hopper(), 1.0 * units::ms).empty());
}

TEST_CASE("a kernel's fields are read and written", "[own]") {
    const OperationText text = parse_operation(
        "kernel flop=137400000000 dtype=bf16 pipe=tensor bytes=101MB l2-bytes=805MB grid=16x32 "
        "block=64x4 registers=168 shared=200KiB");
    const auto op = std::get<OwnKernel>(make_operation(text.kind, text.parameters));
    CHECK(op.flop == own_product.flop);
    CHECK(op.grid == 512);
    CHECK(op.block == 256);
    CHECK(op.shared == 204'800);
    CHECK(op.l2_bytes == own_product.l2_bytes);
    CHECK(text_of(text.kind, parameters_of(op)) ==
          "kernel dtype=bf16 flop=137400000000 pipe=tensor bytes=101000000 l2_bytes=805000000 "
          "grid=512 registers=168 shared=204800");
}

TEST_CASE("fewer registers for another block are advised where they help", "[own]") {
    const OwnKernel stream{.bytes = 537'000'000, .grid = 4224, .block = 256, .registers = 200};
    const Execution execution;
    const auto advice = advise(stream, execution, predicted(stream), hopper());
    REQUIRE_FALSE(advice.empty());
    CHECK(advice.front().change.find("registers from 200") != std::string::npos);
}
