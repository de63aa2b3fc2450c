// The roofline on a machine of round numbers, with every figure by hand.
#include "model/roof/account.h"
#include "model/roof/roofline.h"

#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

/// 100 TFLOP/s tensor, 10 TFLOP/s vector, 1 T special/s, 1 TB/s DRAM, 4 TB/s L2: ridge 100.
Machine round_roof() {
    Machine machine;
    machine.name = "round";
    machine.tensor[static_cast<std::size_t>(DataType::bf16)] = 100.0 * units::TFLOP / units::s;
    machine.vector[static_cast<std::size_t>(DataType::fp32)] = 10.0 * units::TFLOP / units::s;
    machine.vector[static_cast<std::size_t>(DataType::fp64)] = 5.0 * units::TFLOP / units::s;
    machine.special_rate = 1e12;
    machine.dram_bandwidth = 1.0 * units::TB / units::s;
    machine.l2_bandwidth = 4.0 * units::TB / units::s;
    machine.kernel_floor = 1.0 * units::us;
    machine.launch = {.kernel = 1.0 * units::us,
                      .graph = 3.0 * units::us,
                      .stream = 4.0 * units::us,
                      .call = 7.0 * units::us};
    return machine;
}

Work work_of(double tensor, double compulsory, double dram) {
    Work work;
    work.tensor = tensor * units::FLOP;
    work.compulsory_read = compulsory * units::B;
    work.dram_read = dram * units::B;
    return work;
}

const Term* term_of(const Prediction& prediction, Resource resource) {
    for (const Term& term : prediction.terms) {
        if (term.resource == resource) return &term;
    }
    return nullptr;
}

Prediction predict_work(const Work& work) {
    const Machine machine = round_roof();
    Prediction prediction = roofline(work, roofs_of(machine, DataType::bf16), machine);
    settle_intensities(prediction);
    settle_limiter(prediction);
    return prediction;
}

TEST_CASE("each resource has its term", "[roofline]") {
    Work work = work_of(1e12, 1e9, 2e9);
    work.fma = 1e10 * units::FLOP;
    work.special = 5e8;
    work.l2 = 4e9 * units::B;
    const Prediction p = predict_work(work);
    CHECK(term_of(p, Resource::tensor)->time.in(units::ms) == Approx(10.0));
    CHECK(term_of(p, Resource::fma)->time.in(units::ms) == Approx(1.0));
    CHECK(term_of(p, Resource::special)->time.in(units::ms) == Approx(0.5));
    CHECK(term_of(p, Resource::dram)->time.in(units::ms) == Approx(2.0));
    CHECK(term_of(p, Resource::l2)->time.in(units::ms) == Approx(1.0));
    CHECK(term_of(p, Resource::launch)->time.in(units::us) == Approx(1.0));
    CHECK(term_of(p, Resource::shared) == nullptr);  // the machine has no shared-memory rate
    CHECK(p.time.in(units::us) == Approx(10001.0));
}

TEST_CASE("compute is the bound above the ridge point, memory below it", "[roofline]") {
    const Prediction high = predict_work(work_of(2e12, 1e9, 1e9));  // 2000 FLOP/B
    CHECK(high.ridge.base() == Approx(100.0));
    CHECK(high.intensity.base() == Approx(2000.0));
    CHECK(high.bound == Bound::compute);
    CHECK(high.limiter == Resource::tensor);
    CHECK(high.attainable.in(units::TFLOP / units::s) == Approx(100.0));

    const Prediction low = predict_work(work_of(2e10, 1e9, 1e9));  // 20 FLOP/B
    CHECK(low.bound == Bound::memory);
    CHECK(low.limiter == Resource::dram);
    CHECK(low.attainable.in(units::TFLOP / units::s) == Approx(20.0));
}

TEST_CASE("tiny work is limited by its launch", "[roofline]") {
    const Prediction p = predict_work(work_of(1e3, 1e3, 1e3));
    CHECK(p.bound == Bound::memory);  // 1 FLOP/B
    CHECK(p.limiter == Resource::launch);
}

TEST_CASE("the lower bound counts compulsory bytes, the terms count those of the implementation",
          "[roofline]") {
    const Prediction p = predict_work(work_of(1e9, 1e9, 7e9));
    CHECK(p.lower_bound.in(units::ms) == Approx(1.0));
    CHECK(term_of(p, Resource::dram)->time.in(units::ms) == Approx(7.0));
    CHECK(p.time > p.lower_bound);
    CHECK(p.footprint.in(units::GB) == Approx(1.0));
    // Compute is the bound if it takes longer than the compulsory bytes.
    CHECK(predict_work(work_of(1e12, 1e9, 7e9)).lower_bound.in(units::ms) == Approx(10.0));
}

TEST_CASE("every kernel takes the launch floor, and gaps follow the launch mode", "[roofline]") {
    Work work = work_of(0, 1e9, 1e9);
    work.kernels = 5;
    CHECK(predict_work(work).time.in(units::us) == Approx(1005.0));
    const Machine machine = round_roof();
    CHECK(launch_gaps(machine, LaunchMode::kernel, 5) == Time{});
    CHECK(launch_gaps(machine, LaunchMode::graph, 5).in(units::us) == Approx(10.0));
    // One call and four more submissions, none of which hides behind kernels that take no time.
    CHECK(launch_gaps(machine, LaunchMode::stream, 5).in(units::us) == Approx(6.0 + 4 * 4.0));
}

TEST_CASE("small types compute in fp32 on the vector pipe, fp64 uses its own rate", "[roofline]") {
    const Machine machine = round_roof();
    CHECK(roofs_of(machine, DataType::bf16).vector == machine.vector_peak(DataType::fp32));
    CHECK(roofs_of(machine, DataType::fp8).vector == machine.vector_peak(DataType::fp32));
    CHECK(roofs_of(machine, DataType::fp64).vector == machine.vector_peak(DataType::fp64));
    CHECK_FALSE(roofs_of(machine, DataType::fp8).tensor.has_value());
}

TEST_CASE("the two intensities differ if an implementation moves more bytes", "[roofline]") {
    const Prediction p = predict_work(work_of(1e9, 1e9, 4e9));
    CHECK(p.algorithmic.base() == Approx(1.0));
    CHECK(p.intensity.base() == Approx(0.25));
}

TEST_CASE(
    "an L2 that holds the data sets the bound; a smaller one saves its own size of DRAM reads",
    "[roofline]") {
    Machine machine = round_roof();
    machine.l2 = {.size = 100.0 * units::MB, .steepness = 10.0};
    machine.l2_bandwidth = 10.0 * machine.dram_bandwidth;
    const Work small = work_of(0, 1e7, 1e7);
    const Time near = small.compulsory() / *machine.l2_bandwidth;
    CHECK(roofline_bound(small, FlopRate{}, machine, L2State::warm) == near);
    CHECK(roofline_bound(small, FlopRate{}, machine, L2State::warm) > Time{});
    const Work large = work_of(0, 1e9, 1e9);
    CHECK(roofline_bound(large, FlopRate{}, machine, L2State::warm) ==
          (large.compulsory() - machine.l2.size) / machine.dram_bandwidth);
    machine.l2_bandwidth.reset();  // an L2 of unknown rate saves nothing
    CHECK(roofline_bound(small, FlopRate{}, machine, L2State::warm) ==
          small.compulsory() / machine.dram_bandwidth);
}

TEST_CASE("ridge points of GPUs in bf16", "[roofline]") {
    const model::Catalogue catalogue = model::catalogue();
    const auto ridge = [&catalogue](const char* gpu) {
        const Machine machine = make_machine(catalogue.at(gpu, model::View::datasheet));
        return roofline(work_of(1e12, 1e9, 1e9), roofs_of(machine, DataType::bf16), machine)
            .ridge.base();
    };
    CHECK(ridge("a100-sxm-40gb") == Approx(200.6).margin(0.05));
    CHECK(ridge("a100-sxm-80gb") == Approx(153.0).margin(0.05));
    CHECK(ridge("h100-sxm") == Approx(295.3).margin(0.05));
    CHECK(ridge("h200-sxm") == Approx(206.1).margin(0.05));
}

}  // namespace
}  // namespace ridge::model
