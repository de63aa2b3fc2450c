// Times of latent attention and of blocks of experts, worked by hand.
#include <cmath>

#include "model/mla/time.h"
#include "model/moe/time.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;
using test::make;

constexpr Execution warm{.l2 = L2State::warm, .launch = LaunchMode::kernel};
constexpr Execution cold{.l2 = L2State::cold, .launch = LaunchMode::kernel};

TEST_CASE("absorbed decoding combines tiles of heads with the stream of latents", "[mla]") {
    const Machine& machine = h200();
    const MlaDecodeParameters plain{.start = 5.0 * units::us, .query_passes = 1e-9};
    // One tile of 64 heads on each of 132 multiprocessors, with 100 blocks of 64 keys.
    const auto op = make<Mla>("mla batch=132 heads=64 seq_q=1 seq_kv=6400");
    const MlaTime time = mla_decode_time(op, plain, cold, machine);
    const double flop = 2.0 * 64.0 * 6400.0 * (576.0 + 512.0);
    const double tensor = flop / (989.4e12 / 132.0);
    const double dram = 132.0 * 6400.0 * 576.0 * 2.0 / 4.8e12;
    CHECK(time.split == 1);
    CHECK(time.tensor.base() == Approx(tensor));
    CHECK(time.dram.base() == Approx(dram));
    CHECK(time.total.base() ==
          Approx(5e-6 + std::pow(std::pow(tensor, 5.0) + std::pow(dram, 5.0), 0.2)));
    CHECK(time.executed_tensor.base() == Approx(132.0 * flop));
}

TEST_CASE("few sequences split their keys over the multiprocessors", "[mla]") {
    const Machine& machine = h200();
    const MlaDecodeParameters plain{.combine = 1.0 * units::us, .combine_split = 0.1 * units::us};
    // There are 132 / 2 = 66 parts of 1024 blocks; the longest has 16 blocks.
    const auto op = make<Mla>("mla batch=1 heads=128 seq_q=1 seq_kv=65536");
    const MlaTime split = mla_decode_time(op, plain, warm, machine);
    CHECK(split.split == 66);
    CHECK(split.tensor.base() == Approx(16.0 * 2.0 * 64.0 * 64.0 * 1088.0 / (989.4e12 / 132.0)));
    CHECK(split.tiles.base() == Approx(1e-6 + 66.0 * 0.1e-6));
    // Splitting does not pay for a short cache of one block of keys.
    CHECK(
        mla_decode_time(make<Mla>("mla batch=1 heads=128 seq_q=1 seq_kv=64"), plain, warm, machine)
            .split == 1);
}

TEST_CASE("below 64 heads, Blackwell uses tiles of 16 heads and reads latents again", "[mla]") {
    const Machine& machine = test::machine("b200");
    const MlaDecodeParameters plain{.narrow_fraction = 0.25, .repeats = 0.5};
    const auto op = make<Mla>("mla batch=64 heads=32 seq_q=1 seq_kv=32768");
    CHECK(decode_tile_heads(op, machine) == 16);
    CHECK(decode_tile_heads(make<Mla>("mla heads=64 seq_q=1 seq_kv=64"), machine) == 128);
    CHECK(decode_tile_heads(op, h200()) == 64);
    const MlaTime time = mla_decode_time(op, plain, cold, machine);
    // Two tiles of heads read the cache one and a half times.
    CHECK(time.dram.base() == Approx(1.5 * 64.0 * 32768.0 * 576.0 * 2.0 / 7.7e12));
}

TEST_CASE("prefill walks causal blocks of 128 by 128", "[mla]") {
    const Machine& machine = h200();
    const MlaPrefillParameters plain{.rotate_passes = 1e-9, .tail = 1e-9};
    // 4 tiles of queries per head see 1 + 2 + 3 + 4 blocks of keys; 330 heads fill 10 waves of 132.
    const auto op = make<Mla>("mla phase=prefill batch=33 heads=10 seq=512");
    const MlaTime time = mla_prefill_time(op, plain, warm, machine);
    const double block = 2.0 * 128.0 * 128.0 * (192.0 + 128.0) / (989.4e12 / 132.0);
    CHECK(time.total.base() == Approx(330.0 * 10.0 / 132.0 * block).epsilon(1e-6));
    CHECK(time.waves == Approx(10.0));
    // After 256 cached tokens each tile sees two more blocks.
    const auto later = make<Mla>("mla phase=prefill batch=33 heads=10 seq_q=512 seq_kv=768");
    CHECK(mla_prefill_time(later, plain, warm, machine).tensor.base() ==
          Approx(330.0 * 18.0 / 132.0 * block));
}

TEST_CASE("decoding an 8-bit cache has its own parameters and pipe", "[mla]") {
    const auto time_of = [](std::string_view text, const char* gpu) {
        return test::prediction_of(text, {.launch = LaunchMode::graph}, test::machine(gpu));
    };
    const char* const wide = "mla batch=64 heads=16 seq_q=1 seq_kv=16384";
    const char* const narrow = "mla batch=64 heads=16 seq_q=1 seq_kv=16384 kv_dtype=fp8";
    const Prediction sixteen = time_of(wide, "h200-sxm");
    const Prediction eight = time_of(narrow, "h200-sxm");
    CHECK(eight.peak / sixteen.peak == Approx(2.0).epsilon(1e-3));
    CHECK(eight.time < sixteen.time);
    CHECK(eight.time > 0.5 * sixteen.time);
    CHECK(sixteen.confidence() == Confidence::calibrated);
    // Another GPU of the architecture uses these values; an A100 has none.
    CHECK(time_of(wide, "h100-nvl").confidence() == Confidence::family);
    CHECK(time_of(wide, "a100-sxm-80gb").confidence() == Confidence::roofline);
}

TEST_CASE("a prediction from the roofline alone has the roofline's band", "[mla][moe]") {
    const Machine& machine = test::machine("a100-sxm-80gb");
    for (const char* const text :
         {"mla batch=64 heads=16 seq_q=1 seq_kv=16384",
          "moe tokens=512 hidden=1024 intermediate=512 topk=2 experts=8"}) {
        const Prediction p = test::prediction_of(text, warm, machine);
        CAPTURE(text);
        CHECK(p.confidence() == Confidence::roofline);
        CHECK(noted<note::RooflineOnly>(p) != nullptr);
        CHECK(p.low == p.lower_bound);
        CHECK(p.high.in(units::us) == Approx(4.0 * p.time.in(units::us) + 12.0));
    }
}

TEST_CASE("loads of experts are the mean of random draws", "[moe]") {
    const auto load = [](std::string_view text) {
        return moe_load(make<Moe>("moe hidden=4096 intermediate=1024 " + std::string(text)));
    };
    // Without ep every pair is local, whatever the distribution.
    CHECK(load("tokens=1024 topk=8 experts=256 distribution=power_law_1.2").pairs == 8192.0);
    CHECK(load("tokens=1024 topk=8 experts=256 ep=8").pairs == 1024.0);
    CHECK(load("tokens=1024 topk=8 experts=256 ep=8").active == 32.0);
    CHECK(load("tokens=1 topk=8 experts=256 ep=64").pairs == 1.0);
    // Means of 60 draws: 1556 pairs on 30.4 experts, 30307 on 31.9, 1762 on 55.2; 80 of 256 active.
    const MoeLoad some = load("tokens=1024 topk=8 experts=256 ep=8 distribution=power_law_1.2");
    CHECK(some.pairs == Approx(1556.0).epsilon(0.06));
    CHECK(some.active == Approx(30.4).epsilon(0.06));
    const MoeLoad many = load("tokens=16384 topk=8 experts=256 ep=8 distribution=power_law_1.2");
    CHECK(many.pairs == Approx(30307.0).epsilon(0.06));
    const MoeLoad wide = load("tokens=1024 topk=10 experts=512 ep=8 distribution=power_law_1.2");
    CHECK(wide.pairs == Approx(1762.0).epsilon(0.06));
    CHECK(load("tokens=16 topk=8 experts=256 distribution=power_law_1.01").active ==
          Approx(80.2).epsilon(0.06));
    // A steeper distribution is less even.
    CHECK(some.pairs >
          load("tokens=1024 topk=8 experts=256 ep=8 distribution=power_law_1.01").pairs);
}

/// Products of 10 us: DRAM takes 8 us and the pipe 3 us. With a warm L2, half of each.
Outcome ten_microseconds(const Matmul&, const Execution& execution, const Machine&) {
    const double share = execution.l2 == L2State::cold ? 1.0 : 0.5;
    Prediction p;
    p.evidence.chip = ChipEvidence::own;
    p.time = share * 10.0 * units::us;
    add_term(p, Resource::dram, share * 8.0 * units::us, 1.0);
    add_term(p, Resource::tensor, share * 3.0 * units::us, 1.0);
    return p;
}

TEST_CASE("the time of a block of experts is the sum of its kernels", "[moe]") {
    const Machine& machine = h200();
    const double clocks = machine.boost_clock.base() * 132.0;
    const MoeParameters plain{.start = 10.0 * units::us,
                              .sort = 4.0 * units::us,
                              .quantise = 5.0 * units::us,
                              .step = 0.1 * units::us,
                              .expert = 0.25 * units::us,
                              .product_factor = 0.5,
                              .uneven = 0.2,
                              .overlap = 1.0,
                              .row_rate = BytesPerCycle::from_base(8.0),
                              .token_rate = BytesPerCycle::from_base(4.0)};
    const auto op = make<Moe>("moe tokens=512 hidden=1024 intermediate=512 topk=2 experts=8");
    const auto time = moe_time(op, plain, cold, machine, ten_microseconds);
    REQUIRE(time.has_value());
    // 1024 pairs on 8 experts. Per element, rows move 2 + 2 x 2 bytes (gathered, results) for 1024
    // elements and 2 + 4 bytes (inner, gates) for 512.
    const double rows = 1024.0 * (1024.0 * 6.0 + 512.0 * 6.0) / (8.0 * clocks);
    const double tokens = 512.0 * 1024.0 * 2.0 / (4.0 * clocks);
    CHECK(time->launch.in(units::us) == Approx(14.0));
    CHECK(time->experts.in(units::us) == Approx(8.0 * 0.25));
    CHECK(time->steps.in(units::us) == Approx((16.0 + 8.0) * 0.1));  // steps of 64 elements
    CHECK(time->products.in(units::us) == Approx(0.5 * 20.0 + 6.0));
    CHECK(time->rows.base() == Approx(rows + tokens));
    CHECK(time->total.base() == Approx(14e-6 + 2e-6 + 2.4e-6 + 16e-6 + rows + tokens));
    // fp8 adds the quantising kernels and halves the steps; uneven loads lengthen the products.
    const auto narrow =
        moe_time(make<Moe>("moe tokens=512 hidden=1024 intermediate=512 topk=2 experts=8 dtype=fp8 "
                           "distribution=power_law_1.2"),
                 plain, cold, machine, ten_microseconds);
    REQUIRE(narrow.has_value());
    CHECK(narrow->launch.in(units::us) == Approx(19.0));
    CHECK(narrow->steps.in(units::us) == Approx(1.2));
    CHECK(narrow->products.in(units::us) == Approx(0.5 * 1.2 * 20.0 + 6.0));
    // A small block finds in L2 what remains there.
    const auto small = make<Moe>("moe tokens=8 hidden=1024 intermediate=512 topk=2 experts=8");
    CHECK(moe_time(small, plain, warm, machine, ten_microseconds)->dram.in(units::us) ==
          Approx(8.0).epsilon(0.01));
}

Outcome roofline_alone(const Matmul&, const Execution&, const Machine&) {
    return Prediction{};
}

TEST_CASE("without a model of the products there is no model of the experts", "[moe]") {
    const auto op = make<Moe>("moe tokens=512 hidden=1024 intermediate=512 topk=2 experts=8");
    CHECK_FALSE(moe_time(op, {}, cold, h200(), roofline_alone).has_value());
}

}  // namespace
}  // namespace ridge::model
