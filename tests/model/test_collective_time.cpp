// Limits of the model of collectives, worked by hand.
#include "model/collectives/time.h"

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

FabricParameters fabric_of(std::string_view gpu) {
    const auto catalogue = model::catalogue();
    return *make_machine(catalogue.at(gpu)).fabric;
}

Collective sum(std::int64_t bytes, std::int64_t gpus, DataType type = DataType::fp16) {
    return {.kind = CollectiveKind::all_reduce, .gpus = gpus, .bytes = bytes, .type = type};
}

TEST_CASE("the ring's time is the sum of its parts", "[collective]") {
    FabricParameters f;
    f.link = 100.0 * units::GB / units::s;
    f.simple = {10.0 * units::us, 2.0 * units::us, 0.5};
    f.ll_start = 5.0 * units::us;
    f.ll_hop = 1.0 * units::us;
    f.local_share = 0.5;
    f.engage = 4.0 * units::us;
    // 8 GPUs, 80 MB: 14 steps of 10 MB, plus half a part locally: 145 MB at 50 GB/s.
    const CollectiveTime simple = ring_time(f, sum(80'000'000, 8), CollectivePath::simple);
    CHECK(simple.start.in(units::us) == Approx(10.0));
    CHECK(simple.hops.in(units::us) == Approx(28.0));
    CHECK(simple.wire.in(units::us) == Approx(2900.0));
    CHECK(simple.total.in(units::us) == Approx(2938.0));
    // 2 GPUs, 8 KiB: parts of 4 KiB use half of the channels; 2 steps; 10 KiB at half of 50 GB/s.
    const CollectiveTime ll = ring_time(f, sum(8192, 2), CollectivePath::ll);
    CHECK(ll.start.in(units::us) == Approx(7.0));
    CHECK(ll.total.in(units::us) == Approx(7.0 + 2.0 + 0.4096));
}

TEST_CASE("the tuner chooses the protocol", "[collective]") {
    // NVLink3, 2 GPUs: LL takes 6.6 + 1.2 us + S / 87.7 GB/s, Simple takes 8.4 + 6.8 us +
    // S / 240 GB/s. They meet at S = 1.02 MB.
    const FabricParameters f = fabric_of("a100-sxm-80gb");
    CHECK(chosen_protocol(f, sum(1'000'000, 2)) == CollectivePath::ll);
    CHECK(chosen_protocol(f, sum(1'050'000, 2)) == CollectivePath::simple);
    // 8 GPUs: LL takes 15 us + 1.75 S / 87.7 GB/s, LL128 takes 40.6 us + 1.75 S / 220.8 GB/s. They
    // meet at 2.13 MB.
    CHECK(chosen_protocol(f, sum(2'100'000, 8)) == CollectivePath::ll);
    CHECK(chosen_protocol(f, sum(2'200'000, 8)) == CollectivePath::ll128);
    CHECK(chosen_protocol(f, sum(1 << 30, 8)) == CollectivePath::simple);
}

TEST_CASE("only floating-point types are added in the switches", "[collective]") {
    const FabricParameters f = fabric_of("h100-sxm");
    const std::int64_t large = std::int64_t{512} << 20;
    CHECK(collective_time(f, sum(large, 8)).path == CollectivePath::nvls);
    CHECK(collective_time(f, sum(large, 8, DataType::int8)).path == CollectivePath::simple);
    CHECK(collective_time(f, sum(large, 4)).path == CollectivePath::simple);
    CHECK(collective_time(fabric_of("a100-sxm-80gb"), sum(large, 8)).path ==
          CollectivePath::simple);
}

TEST_CASE("on one path, more GPUs or more bytes never take less time", "[collective]") {
    for (const std::string_view gpu : {"a100-sxm-80gb", "h200-sxm", "v100-sxm", "l4"}) {
        const FabricParameters f = fabric_of(gpu);
        for (const CollectiveKind kind :
             {CollectiveKind::all_reduce, CollectiveKind::all_gather,
              CollectiveKind::reduce_scatter, CollectiveKind::broadcast}) {
            for (const CollectivePath path :
                 {CollectivePath::ll, CollectivePath::ll128, CollectivePath::simple}) {
                if (path == CollectivePath::ll128 && f.ll128_rate <= 0.0) continue;
                Time last{};
                for (std::int64_t bytes = 256; bytes <= std::int64_t{1} << 32; bytes *= 2) {
                    const Time time =
                        ring_time(f, {.kind = kind, .gpus = 4, .bytes = bytes}, path).total;
                    CHECK(time >= last);
                    last = time;
                }
            }
        }
        for (std::int64_t bytes = 1 << 16; bytes <= std::int64_t{1} << 32; bytes *= 4) {
            Time last{};
            for (std::int64_t gpus = 2; gpus <= 16; gpus *= 2) {
                const Collective op{
                    .kind = CollectiveKind::all_reduce, .gpus = gpus, .bytes = bytes};
                const Time time = ring_time(f, op, CollectivePath::simple).total;
                CHECK(time >= last);
                last = time;
            }
        }
    }
}

TEST_CASE("adding in the switch halves the bound; more than two bridged cards use PCIe",
          "[collective]") {
    const model::Catalogue catalogue = model::catalogue();
    const auto predicted = [&catalogue](const char* gpu, std::int64_t gpus) {
        const Collective op{.kind = CollectiveKind::all_reduce,
                            .gpus = gpus,
                            .bytes = 1'000'000'000,
                            .type = DataType::bf16};
        return std::get<Prediction>(predict(op, {}, make_machine(catalogue.at(gpu))));
    };
    const Prediction switched = predicted("h100-sxm", 8);
    CHECK(switched.lower_bound.in(units::ms) == Approx(7.0 / 8.0 / 0.45));
    Time terms{};
    for (const Term& term : switched.terms) terms += term.time;
    CHECK(switched.lower_bound < terms);
    for (const char* gpu : {"h100-pcie", "h100-nvl", "a100-pcie-80gb"}) {
        INFO(gpu);
        const Machine machine = make_machine(catalogue.at(gpu));
        CHECK(predicted(gpu, 2).bandwidth == *machine.link_per_direction);
        CHECK(predicted(gpu, 8).bandwidth == *machine.pcie_per_direction);
        CHECK(predicted(gpu, 8).time > 3.0 * predicted(gpu, 2).time);
    }
}

TEST_CASE("all-to-all grows with bytes, and send chooses its path by size", "[collective]") {
    const FabricParameters f = fabric_of("h200-sxm");
    Time last{};
    for (std::int64_t bytes = 256; bytes <= std::int64_t{1} << 32; bytes *= 2) {
        const CollectiveTime t =
            collective_time(f, {.kind = CollectiveKind::all_to_all, .gpus = 8, .bytes = bytes});
        CHECK(t.total >= last);
        last = t.total;
    }
    const auto send = [&](std::int64_t bytes) {
        return collective_time(f, {.kind = CollectiveKind::send, .gpus = 2, .bytes = bytes});
    };
    CHECK(send(1024).path == CollectivePath::peer_ll);
    CHECK(send(1 << 30).path == CollectivePath::peer_simple);
}

TEST_CASE("host copies reach 0.866 of PCIe, pageable ones the copy rate of the host",
          "[collective]") {
    const Bandwidth pcie = 64.0 * units::GB / units::s;
    const CopyParameters copies = *make_machine(catalogue().at("h200-sxm")).copies;
    const auto copy = [](CollectiveKind kind, std::int64_t bytes) {
        return Collective{.kind = kind, .bytes = bytes};
    };
    const Collective large = copy(CollectiveKind::host_to_device, 64'000'000'000);
    const CollectiveTime t = host_copy_time(copies, pcie, large);
    CHECK(t.total.in(units::s) == Approx(1.0 / 0.866 + 2.6e-6));
    CHECK(staged_copy_time(copies, pcie, large).total.in(units::s) == Approx(8.0 + 29e-6));
    // A copy of 1 KB to the device travels with the command; one from the device does not.
    const Collective small = copy(CollectiveKind::host_to_device, 1024);
    CHECK(host_copy_time(copies, pcie, small).total.in(units::us) == Approx(0.77 + 1.024 / 24.6));
    CHECK(host_copy_time(copies, pcie, copy(CollectiveKind::device_to_host, 1024)).total >
          2.2 * units::us);
    // The call hides a short copy; a long copy hides the call.
    CHECK(host_call_time(copies, small.kind, 1.0 * units::us).in(units::us) == Approx(16.0));
    CHECK(host_call_time(copies, small.kind, 100.0 * units::us).in(units::us) == Approx(108.5));
    // On a slow link the link determines the time.
    const Bandwidth slow = 4.0 * units::GB / units::s;
    CHECK(staged_copy_time(copies, slow, large).wire == host_copy_time(copies, slow, large).wire);
}

TEST_CASE("copies without a kernel have their own implementations", "[collective]") {
    const Machine machine = make_machine(catalogue().at("h200-sxm"));
    const auto time = [&](CollectiveKind kind, Implementation implementation) {
        const Collective op{.kind = kind, .bytes = std::int64_t{1} << 30};
        const Outcome outcome = predict(op, {.implementation = implementation}, machine);
        CHECK(std::get<Prediction>(outcome).implementation == implementation);
        return std::get<Prediction>(outcome).time;
    };
    // The host copies pageable memory once more.
    CHECK(time(CollectiveKind::host_to_device, Implementation::pageable) >
          2.0 * time(CollectiveKind::host_to_device, Implementation::library));
    CHECK(time(CollectiveKind::send, Implementation::copy_engine) <
          0.5 * time(CollectiveKind::host_to_device, Implementation::library));
}

}  // namespace
}  // namespace ridge::model
