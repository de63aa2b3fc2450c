// Access patterns: sectors, wavefronts and passes worked by hand, and the times that follow.
#include <string>

#include "hardware/error.h"
#include "model/access/work.h"
#include "model/access/working_set.h"
#include "model/advice.h"
#include "model/bundled/access.h"
#include "model/catalogue/catalogue.h"
#include "model/explain.h"
#include "model/footprint/footprint.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

constexpr Pieces pieces{.sector = 32, .access = 64, .most_skipped = 240.0 * units::B};
constexpr std::int64_t elements = 1 << 26;

using test::h200;

Access access(AccessPattern pattern, std::int64_t degree, DataType type = DataType::fp32) {
    return {.pattern = pattern, .elements = elements, .degree = degree, .type = type};
}

Prediction predicted(const Access& op, L2State l2 = L2State::cold, const Machine& on = h200()) {
    validate(op);
    return std::get<Prediction>(predict(op, {.l2 = l2}, on));
}

double microseconds(const Access& op) {
    return predicted(op).time.in(units::us);
}

using test::problem_of;

}  // namespace

TEST_CASE("a strided warp touches min(32, 4 s) sectors of 4-byte words", "[access]") {
    for (const std::int64_t stride : {1, 2, 3, 5, 7, 8, 9, 16, 32, 1000}) {
        INFO("stride " << stride);
        const AccessWork work = access_work(access(AccessPattern::strided, stride), pieces);
        const auto sectors = static_cast<double>(std::min<std::int64_t>(32, 4 * stride));
        CHECK(work.sectors == sectors);
        CHECK(work.useful == Approx(4.0 / sectors));
        CHECK(work.work.l2.base() == Approx(elements * sectors));
        // DRAM delivers 64 bytes at once, so a stride costs DRAM up to 16 words.
        const auto delivered = static_cast<double>(std::min<std::int64_t>(64, 4 * stride));
        CHECK(work.work.dram_read.base() == Approx(elements * delivered));
        // Beyond 240 bytes each word has its own DRAM page; beyond 128 bytes, its own L2 line.
        const double step = 4.0 * static_cast<double>(stride);
        CHECK(work.skipped.base() == Approx(elements * std::min(step - delivered, 240.0)));
        CHECK(work.lines.base() == Approx(elements * std::min(step, 128.0)));
        CHECK(work.work.compulsory_read.base() == 4.0 * elements);
    }
    // Two-byte words with stride 8: the warp touches 16 sectors. Eight-byte words: 8 sectors.
    CHECK(access_work(access(AccessPattern::strided, 8, DataType::bf16), pieces).sectors == 16);
    CHECK(access_work(access(AccessPattern::strided, 1, DataType::fp64), pieces).sectors == 8);
    CHECK(access_work(access(AccessPattern::strided, 4, DataType::fp64), pieces).sectors == 32);
    CHECK(access_work(access(AccessPattern::strided, 1, DataType::int8), pieces).sectors == 1);
}

TEST_CASE("a misaligned warp touches one more sector, which DRAM reads once", "[access]") {
    for (const std::int64_t offset : {0, 1, 7, 8, 15, 16, 31, 1024}) {
        INFO("offset " << offset);
        const AccessWork work = access_work(access(AccessPattern::misaligned, offset), pieces);
        CHECK(work.sectors == (offset % 8 == 0 ? 4.0 : 5.0));
        CHECK(work.useful == Approx(offset % 8 == 0 ? 1.0 : 0.8));
        CHECK(work.work.dram_read.base() == 4.0 * elements);
    }
    CHECK(access_work(access(AccessPattern::misaligned, 1, DataType::fp64), pieces).sectors == 9);
    CHECK(access_work(access(AccessPattern::misaligned, 16, DataType::bf16), pieces).sectors == 2);
    CHECK(access_work(access(AccessPattern::misaligned, 1, DataType::bf16), pieces).sectors == 3);
}

TEST_CASE("branches take a pass per path, bank conflicts a pass per way", "[access]") {
    const AccessWork split = access_work(access(AccessPattern::divergent, 5), pieces);
    CHECK(split.passes == 5.0);
    CHECK(split.work.fma.base() == 1024.0 * elements);  // 512 FMA, whatever the path
    CHECK(split.work.dram_write.base() == 4.0 * elements);
    const AccessWork banks = access_work(access(AccessPattern::bank_conflict, 16), pieces);
    CHECK(banks.passes == 16.0);
    CHECK(banks.work.shared.base() == 4.0 * elements);
    CHECK(banks.work.dram() == Bytes{});
}

TEST_CASE("strides cost DRAM time; beyond 64 bytes, only for the bytes they pass over",
          "[access]") {
    const double row = microseconds(access(AccessPattern::strided, 1));
    CHECK(row > 4.0 * elements / 4.8e12 * 1e6);
    // Each word that is passed over adds its bytes at the rate of DRAM; the corrections change this
    // by 4 % at most.
    const MemoryParameters& memory = *h200().memory;
    const double passed = 4.0 * elements / (memory.dram * memory.read_efficiency).base() * 1e6;
    for (const std::int64_t stride : {2, 8, 16}) {
        INFO("stride " << stride);
        const double added = microseconds(access(AccessPattern::strided, stride)) - row;
        CHECK(added == Approx(static_cast<double>(stride - 1) * passed).epsilon(0.04));
    }
    const double skipped = 4.0 * 48 * elements / h200().memory->skip.base() * 1e6;
    const auto analytic = [](std::int64_t stride) {
        Machine machine = h200();
        machine.residuals = nullptr;
        return predicted(access(AccessPattern::strided, stride), L2State::cold, machine)
            .time.in(units::us);
    };
    CHECK(analytic(64) == Approx(analytic(16) + skipped).epsilon(0.02));
    CHECK(predicted(access(AccessPattern::strided, 8)).limiter == Resource::dram);
}

TEST_CASE("misalignment costs the L2, not DRAM", "[access]") {
    const double aligned = microseconds(access(AccessPattern::misaligned, 0));
    const double shifted = microseconds(access(AccessPattern::misaligned, 1));
    CHECK(shifted >= aligned);
    CHECK(shifted < 1.01 * aligned);
    CHECK(microseconds(access(AccessPattern::misaligned, 8)) == Approx(aligned));

    Access small = access(AccessPattern::misaligned, 0);
    small.elements = 1 << 21;
    Access small_shifted = small;
    small_shifted.degree = 1;
    const Prediction in_l2 = predicted(small, L2State::warm);
    CHECK(predicted(small_shifted, L2State::warm).work.l2 / in_l2.work.l2 == Approx(1.25));
    CHECK(predicted(small_shifted, L2State::warm).time > in_l2.time);
}

TEST_CASE("times of branches and conflicts grow with their degree", "[access]") {
    for (const AccessPattern pattern : {AccessPattern::divergent, AccessPattern::bank_conflict}) {
        Access op = access(pattern, 1);
        op.elements = std::int64_t{1} << 30;  // so that the start of a block hardly counts
        const double one = microseconds(op);
        for (const std::int64_t degree : {2, 3, 8, 32}) {
            INFO(name_of(pattern) << " " << degree);
            op.degree = degree;
            const double ratio = microseconds(op) / one;
            CHECK(ratio == Approx(static_cast<double>(degree)).epsilon(0.02));
        }
    }
    // 2^30 words of 4 bytes at 128 bytes per clock and multiprocessor.
    Access many = access(AccessPattern::bank_conflict, 1);
    many.elements = std::int64_t{1} << 30;
    const double least = 4.0 * 0x1p30 / h200().shared_bandwidth->base() * 1e6;
    CHECK(microseconds(many) == Approx(least).epsilon(0.02));
}

TEST_CASE("few elements take the latency of one multiprocessor", "[access]") {
    Access chain{.pattern = AccessPattern::divergent, .elements = 32, .degree = 4};
    // One warp: four chains of 512 dependent FMA, four cycles each.
    const double cycles = 4.0 * 512 * 4;
    CHECK(predicted(chain).time.base() >= cycles / h200().boost_clock.base());
    Access bank{.pattern = AccessPattern::bank_conflict, .elements = 4096, .degree = 32};
    const Prediction one = predicted(bank);
    bank.elements = 4096 * h200().sm_count;
    CHECK(predicted(bank).time.base() == Approx(one.time.base()));
}

TEST_CASE("advice names the best case of the pattern and its speed-up", "[access]") {
    const Access op = access(AccessPattern::strided, 8);
    const Prediction now = predicted(op);
    const auto advice = advise(op, {.l2 = L2State::cold}, now, h200());
    REQUIRE(advice.size() == 1);
    CHECK(advice.front().change == "change stride from 8 to 1");
    CHECK(advice.front().speed_up == Approx(now.time / advice.front().time));
    CHECK(advice.front().speed_up > 7.0);
    CHECK(advise(access(AccessPattern::strided, 1), {}, now, h200()).empty());

    bool told = false;
    for (const std::string& line : explain(op, now, h200())) {
        told = told || line.find("32 sectors: the kernel asked for 12.5 %") != std::string::npos;
    }
    CHECK(told);
}

TEST_CASE("a chase takes the latency of the level that holds its pointers", "[access]") {
    const auto latency = [](double mib, L2State l2 = L2State::warm) {
        const auto words = static_cast<std::int64_t>(mib * 1024.0 * 1024.0 / 4.0);
        const Access op{.pattern = AccessPattern::chase, .elements = words};
        const Time start = h200().memory->launch.kernel;
        const auto loads = static_cast<double>(bundled::chase_loads(words * 4));
        return (predicted(op, l2).time - start) / loads / (units::cycle / h200().boost_clock);
    };
    // Cycles of the description: 32.03 in L1, 280.9 in near L2, 411 in far L2, 688.9 in DRAM.
    CHECK(latency(0.0078125) == Approx(32.0).epsilon(0.01));
    CHECK(latency(4.0) == Approx(280.9).epsilon(0.001));
    CHECK(latency(1024.0) == Approx(688.9).epsilon(0.001));
    // Where the set fills the L2, predictions are within 12 % of what an H200 took
    // (records/h200-sxm-effects).
    CHECK(latency(32.0) == Approx(445.4).epsilon(0.12));
    CHECK(latency(48.0) == Approx(602.8).epsilon(0.12));
    // After a flush, each pointer comes from DRAM once.
    CHECK(latency(4.0, L2State::cold) == Approx(688.9).epsilon(0.001));
    CHECK(latency(0.0078125, L2State::cold) < 33.0);

    Machine bare = h200();
    bare.l1_latency.reset();
    const Access op{.pattern = AccessPattern::chase, .elements = 64};
    const Outcome outcome = predict(op, {}, bare);
    REQUIRE(std::holds_alternative<NotModelled>(outcome));
    CHECK(std::get<NotModelled>(outcome).reason.find("latency.l1") != std::string::npos);
}

TEST_CASE("reading a working set again and again runs at the rate of its level", "[access]") {
    const auto rate = [](double mib) {
        const auto words = static_cast<std::int64_t>(mib * 1024.0 * 1024.0 / 16.0) * 4;
        const Access op{.pattern = AccessPattern::reread, .elements = words};
        return static_cast<double>(bundled::reread_bytes) /
               predicted(op, L2State::warm).time.base();
    };
    const double l1 = rate(0.0625);
    const double l2 = rate(8.0);
    const double dram = rate(1024.0);
    CHECK(l1 > 0.8 * h200().shared_bandwidth->base());
    CHECK(l1 < h200().shared_bandwidth->base());
    CHECK(l2 < 0.5 * l1);
    CHECK(dram < 0.8 * l2);
    CHECK(dram > 0.85 * h200().dram_bandwidth.base());
    CHECK(dram < h200().dram_bandwidth.base());
    double last = l1;
    for (double mib = 0.0625; mib <= 1024.0; mib *= 1.25) {
        const double now = rate(mib);
        CHECK(now <= 1.001 * last);
        last = now;
    }
}

TEST_CASE("a machine without the needed figures gives the reason", "[access]") {
    const model::Catalogue catalogue = model::catalogue();
    const auto reason = [](const Access& op, const Machine& machine) {
        const Outcome outcome = predict(op, {}, machine);
        const auto* refused = std::get_if<NotModelled>(&outcome);
        return refused == nullptr ? std::string() : refused->reason;
    };
    const Access strided = access(AccessPattern::strided, 2);
    CHECK(reason(strided, make_machine(catalogue.at("tpu-v4"))).find("warps") != std::string::npos);
    CHECK(reason(strided, make_machine(catalogue.at("mi300x"))).find("warps") != std::string::npos);
    Machine bare = h200();
    bare.shared_bandwidth.reset();
    CHECK(reason(access(AccessPattern::bank_conflict, 2), bare).find("shared.bytes_per_clock") !=
          std::string::npos);
    CHECK(reason(strided, bare).empty());
    // Without a memory model the time is the roofline, with every pass.
    bare = h200();
    bare.memory.reset();
    const Prediction plain = predicted(access(AccessPattern::bank_conflict, 8), {}, bare);
    CHECK(plain.confidence() == Confidence::roofline);
    CHECK(plain.time >= 8.0 * (4.0 * elements * units::B / *bare.shared_bandwidth));
    const Outcome eager = predict(strided, {.implementation = Implementation::torch}, h200());
    CHECK(std::holds_alternative<NotModelled>(eager));
}

TEST_CASE("the degree has the name that fits its pattern", "[access]") {
    const auto parsed = [](std::string_view text) { return test::make<Access>(text); };
    CHECK(parsed("access pattern=strided elements=10 stride=3").degree == 3);
    CHECK(parsed("access pattern=misaligned elements=10 offset=5 dtype=bf16").degree == 5);
    CHECK(parsed("access pattern=divergent elements=10 paths=32").degree == 32);
    CHECK(parsed("access pattern=bank_conflict elements=10 ways=7").degree == 7);
    CHECK(parsed("access pattern=misaligned elements=10").degree == 0);
    CHECK(parsed("access pattern=divergent elements=10").degree == 1);
    CHECK(parsed("access pattern=strided elements=10").type == DataType::bf16);
    CHECK(parsed("access pattern=divergent elements=10").type == DataType::fp32);
    CHECK(parsed("access pattern=chase elements=64").degree == 1);
    CHECK(parsed("access pattern=reread elements=2048").type == DataType::fp32);

    const auto complains = [](std::string_view text, std::string_view part) {
        INFO(text << ": " << problem_of(text));
        CHECK(problem_of(text).find(part) != std::string::npos);
    };
    complains("access elements=10", "pattern is missing");
    complains("access pattern=strided", "elements is missing");
    complains("access pattern=strided elements=10 ways=2", "ways does not belong to pattern");
    complains("access pattern=strided elements=10 stride=0", "stride must be from 1");
    complains("access pattern=misaligned elements=10 offset=2000000", "offset must be from 0");
    complains("access pattern=divergent elements=10 paths=33", "paths must be from 1 to 32");
    complains("access pattern=bank_conflict elements=10 ways=0", "ways must be from 1 to 32");
    complains("access pattern=bank_conflict elements=10 dtype=bf16", "dtype:");
    complains("access pattern=chase elements=64 stride=2", "stride does not belong to pattern");
    complains("access pattern=chase elements=100",
              "elements: pattern chase takes a multiple of 32");
    complains("access pattern=chase elements=32", "elements must be from 64");
    complains("access pattern=reread elements=2050", "pattern reread takes a multiple of 4");
    complains("access pattern=reread elements=1024", "elements must be from 2048");
    complains("access pattern=reread elements=4096 dtype=fp16", "dtype:");
    complains("access pattern=strided elements=0", "elements must be at least 1");
    complains("access pattern=strided elements=281474976710656 stride=1024", "too large");
}

TEST_CASE("the footprint includes the bytes between the words", "[access]") {
    const auto bytes = [](const Access& op) {
        return footprint(op, Implementation::bundled, Pass::inference).total().base();
    };
    CHECK(bytes({.pattern = AccessPattern::strided, .elements = 10, .degree = 8}) == 4.0 * 73);
    CHECK(bytes({.pattern = AccessPattern::misaligned, .elements = 10, .degree = 8}) == 4.0 * 18);
    CHECK(bytes({.pattern = AccessPattern::divergent, .elements = 10, .degree = 8}) == 40.0);
    CHECK(bytes({.pattern = AccessPattern::bank_conflict, .elements = 10, .degree = 8}) == 0.0);
    CHECK(bytes({.pattern = AccessPattern::chase, .elements = 64}) == 256.0);
    CHECK(bytes({.pattern = AccessPattern::reread, .elements = 4096}) == 16384.0);
}

}  // namespace ridge::model
