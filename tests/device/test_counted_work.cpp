// The model's counts compared with the hardware's: FLOP of products and attention, bytes at each
// level.
#include <array>

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "model/predict.h"
#include "tests/cuda/counter_groups.h"
#include "tests/device/machine.h"

using namespace ridge;
using namespace ridge::measure;
using test::all_groups;
using test::device_or_skip;
using test::prepared;

namespace {

struct Counted {
    Counters counters;
    model::Work work;
};

std::optional<Counted> counted(Device& device, const char* text) {
    const Question question = parse_question(text);
    const auto unit = prepared(device, question);
    REQUIRE(unit->verify().ok);
    const auto counters = unit->counters(all_groups, question.execution.l2);
    if (const auto* missing = std::get_if<Unavailable>(&counters)) {
        WARN("skipped: " << missing->reason << "; " << missing->remedy);
        return std::nullopt;
    }
    const auto machine = model::make_machine(model::catalogue().at("h200-sxm"));
    const auto outcome = model::predict(question.operation, question.execution, machine);
    REQUIRE(std::holds_alternative<model::Prediction>(outcome));
    return Counted{.counters = std::get<Counters>(counters),
                   .work = std::get<model::Prediction>(outcome).work};
}

bool is_hopper(const Device& device) {
    return device.info().compute_capability == 90;
}

}  // namespace

TEST_CASE("The model's FLOP of matrix products are those counted") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* text : {"matmul dtype=bf16 m=2048 n=2048 k=2048 impl=mma",
                             "matmul dtype=fp16 m=2048 n=2048 k=2048 impl=mma",
                             "matmul dtype=bf16 m=2048 n=2048 k=2048 impl=wgmma"}) {
        if (!is_hopper(*device) && std::string(text).ends_with("wgmma")) continue;
        INFO(text);
        const auto seen = counted(*device, text);
        if (!seen) return;
        REQUIRE(seen->counters.tensor);
        CHECK(seen->counters.tensor->base() == Approx(seen->work.tensor.base()).epsilon(0.01));
    }
    for (const char* implementation : {"naive", "coalesced", "tiled", "register_tiled"}) {
        INFO(implementation);
        const std::string text =
            std::string("matmul dtype=fp32 m=1024 n=1024 k=1024 impl=") + implementation;
        const auto seen = counted(*device, text.c_str());
        if (!seen) return;
        REQUIRE(seen->counters.fma);
        CHECK(seen->counters.fma->base() == Approx(seen->work.fma.base()).epsilon(0.01));
    }
}

TEST_CASE("The model's tensor FLOP of attention are those counted if tiles divide the lengths") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    const auto seen =
        counted(*device, "attention dtype=bf16 heads=16 seq=4096 head_dim=64 impl=mma");
    if (!seen) return;
    REQUIRE(seen->counters.tensor);
    CHECK(seen->counters.tensor->base() == Approx(seen->work.tensor.base()).epsilon(0.01));
}

// Counting by replay adds up to about 24 MB of foreign write-backs, so the arrays are large.
TEST_CASE("The model's DRAM bytes of streams over 8 x L2 are those counted") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* text : {"copy dtype=fp32 elements=536870912 impl=bundled l2=cold",
                             "elementwise expr=\"alpha*x + y\" dtype=fp32 elements=536870912 "
                             "impl=fused l2=cold"}) {
        INFO(text);
        const auto seen = counted(*device, text);
        if (!seen) return;
        REQUIRE(seen->counters.dram_read);
        REQUIRE(seen->counters.dram_write);
        CHECK(seen->counters.dram_read->base() ==
              Approx(seen->work.dram_read.base()).epsilon(0.01));
        CHECK(seen->counters.dram_write->base() ==
              Approx(seen->work.dram_write.base()).epsilon(0.01));
    }
}

TEST_CASE("The tile model's L2 bytes are those counted, even for a single wave") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const std::string text : {"matmul dtype=fp32 m=512 n=512 k=512 impl=tiled",
                                   "matmul dtype=fp32 m=1001 n=1333 k=1023 impl=tiled",
                                   "matmul dtype=fp32 m=2048 n=2048 k=2048 impl=register_tiled",
                                   "matmul dtype=fp32 m=1001 n=699 k=1023 impl=register_tiled",
                                   "matmul dtype=bf16 m=512 n=512 k=512 impl=mma",
                                   "matmul dtype=bf16 m=1928 n=2056 k=1032 impl=mma",
                                   "matmul dtype=bf16 m=1024 n=1024 k=1024 impl=wgmma",
                                   "matmul dtype=bf16 m=1000 n=760 k=3000 impl=wgmma",
                                   "matmul dtype=bf16 m=8 n=12800 k=168 b_layout=column impl=wgmma",
                                   "attention dtype=bf16 heads=16 seq=1000 head_dim=64 impl=mma",
                                   "attention dtype=bf16 heads=16 seq=1000 head_dim=128 causal=1 "
                                   "impl=mma",
                                   "attention dtype=bf16 heads=16 seq=1000 head_dim=128 impl=wgmma",
                                   "attention dtype=bf16 heads=16 seq=512 head_dim=64 causal=1 "
                                   "impl=wgmma"}) {
        if (!is_hopper(*device) && text.ends_with("wgmma")) continue;
        INFO(text);
        const auto seen = counted(*device, text.c_str());
        if (!seen) return;
        REQUIRE(seen->counters.sm_l2);
        CHECK(seen->counters.sm_l2->base() == Approx(seen->work.l2.base()).epsilon(0.05));
    }
}

TEST_CASE("The model's sectors and shared bytes of access patterns are those counted") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* text :
         {"access pattern=strided elements=67108864 stride=1 impl=bundled l2=cold",
          "access pattern=strided elements=67108864 stride=3 impl=bundled l2=cold",
          "access pattern=strided elements=67108864 stride=8 impl=bundled l2=cold"}) {
        INFO(text);
        const auto seen = counted(*device, text);
        if (!seen) return;
        REQUIRE(seen->counters.sm_l2);
        CHECK(seen->counters.sm_l2->base() == Approx(seen->work.l2.base()).epsilon(0.01));
        CHECK(seen->counters.dram_read->base() ==
              Approx(seen->work.dram_read.base()).epsilon(0.03));
    }
    // Blocks that drift apart read their shared sector once more: 0 to 15 % more bytes were seen.
    const auto shifted = counted(
        *device, "access pattern=misaligned elements=268435456 offset=1 impl=bundled l2=cold");
    REQUIRE(shifted);
    CHECK(shifted->counters.sm_l2->base() == Approx(shifted->work.l2.base()).epsilon(0.01));
    CHECK(shifted->counters.dram_read->base() > 0.99 * shifted->work.dram_read.base());
    CHECK(shifted->counters.dram_read->base() < shifted->work.l2.base());
    const auto banks =
        counted(*device, "access pattern=bank_conflict elements=67108864 ways=5 impl=bundled");
    REQUIRE(banks);
    REQUIRE(banks->counters.shared);
    CHECK(banks->counters.shared->base() == Approx(banks->work.shared.base()).epsilon(0.05));
    const auto branches =
        counted(*device, "access pattern=divergent elements=1048576 paths=3 impl=bundled");
    REQUIRE(branches);
    REQUIRE(branches->counters.fma);
    CHECK(branches->counters.fma->base() == Approx(branches->work.fma.base()).epsilon(0.01));
}

TEST_CASE("Access patterns compute right at ragged sizes and every degree") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const std::int64_t elements : {1, 31, 2047, 4097, 100003}) {
        for (const char* rest :
             {"pattern=strided stride=1", "pattern=strided stride=33 dtype=bf16",
              "pattern=strided stride=7 dtype=fp64", "pattern=strided stride=5 dtype=int8",
              "pattern=misaligned offset=3", "pattern=divergent paths=1",
              "pattern=divergent paths=7", "pattern=divergent paths=32",
              "pattern=bank_conflict ways=1", "pattern=bank_conflict ways=11",
              "pattern=bank_conflict ways=32"}) {
            const std::string text =
                "access impl=bundled elements=" + std::to_string(elements) + " " + rest;
            INFO(text);
            CHECK(prepared(*device, parse_question(text))->verify().ok);
        }
    }
}
