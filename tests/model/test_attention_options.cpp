// Effects of attention's options on its time: options without effect change nothing, masks cost at
// most a given factor, more queries are never much faster, and writing the cache is never free.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/random_operation.h"
#include "tests/model/tally.h"

namespace ridge::model {
namespace {

/// Calls per property. On seven GPUs, in every implementation, each makes 35 to 73 pairs.
const std::size_t calls = test::case_count(1000);
const std::span<const Implementation> implementations =
    info_of(OperationKind::attention).implementations;

const std::vector<Machine>& attention_gpus() {
    static const std::vector<Machine> all = [] {
        const model::Catalogue catalogue = model::catalogue();
        std::vector<Machine> found;
        for (const char* gpu :
             {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200", "l40s", "v100-sxm", "mi300x"}) {
            found.push_back(make_machine(catalogue.at(gpu)));
        }
        return found;
    }();
    return all;
}

std::optional<Prediction> predicted(const Attention& op, Implementation implementation,
                                    const Machine& machine, L2State l2 = L2State::warm) {
    const Outcome outcome =
        predict(Operation(op), {.implementation = implementation, .l2 = l2}, machine);
    const auto* prediction = std::get_if<Prediction>(&outcome);
    if (prediction == nullptr) return std::nullopt;
    return *prediction;
}

/// Random calls: prompts, decoding, and a few queries over a cache; paged or not.
Attention random_call(test::Random& random) {
    Attention op = test::random_attention(random, test::Heads::grouped);
    if (random.coin()) op.seq_q = std::min(op.seq_kv, random.whole(1, 8));
    if (random.coin()) op.seq_kv = random.whole(op.seq_kv, 65536);
    op.direction = Direction::forward;
    op.window = 0;
    op.kv_write = false;
    op.paged = random.coin();
    return op;
}

std::string words_of(const Attention& op, const Attention& changed, Implementation implementation,
                     const Machine& machine, const Prediction& before, const Prediction& after) {
    return test::describe(op) + " -> " + test::describe(changed) + " " +
           std::string(name_of(implementation)) + " on " + machine.name + ": " +
           std::to_string(before.time.in(units::us)) + " -> " +
           std::to_string(after.time.in(units::us)) + " us";
}

/// Predicts random calls and changed ones. Calls that the change leaves as they are do not count.
template <class Check>
void for_each_pair(std::uint64_t seed, Attention (*change)(test::Random&, const Attention&),
                   Check&& check, Attention (*draw)(test::Random&) = random_call) {
    test::Random random(seed);
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < calls; ++i) {
        const Attention op = draw(random);
        const Attention changed = change(random, op);
        if (test::describe(changed) == test::describe(op)) continue;
        for (const Machine& machine : attention_gpus()) {
            for (const Implementation implementation : implementations) {
                for (const L2State l2 : {L2State::warm, L2State::cold}) {
                    const auto before = predicted(op, implementation, machine, l2);
                    const auto after = predicted(changed, implementation, machine, l2);
                    if (!before || !after) continue;
                    ++pairs;
                    const auto text = [&] {
                        return words_of(op, changed, implementation, machine, *before, *after);
                    };
                    check(*before, *after, text);
                }
            }
        }
    }
    CHECK(pairs >= 30 * calls);
}

TEST_CASE("a window that hides no key changes nothing", "[attention][property]") {
    for_each_pair(
        31,
        [](test::Random& random, const Attention& op) {
            Attention windowed = op;
            windowed.window = op.causal || op.seq_q == 1
                                  ? op.seq_kv + random.whole(0, 100)
                                  : 2 * (op.seq_q + op.seq_kv) + random.whole(0, 100);
            return windowed;
        },
        [](const Prediction& before, const Prediction& after, auto&& text) {
            const bool same = after.time == before.time &&
                              after.lower_bound == before.lower_bound &&
                              after.work.dram() == before.work.dram();
            if (!same) FAIL_CHECK(text());
        });
}

TEST_CASE("a causal mask over one query changes nothing", "[attention][property]") {
    for_each_pair(
        32,
        [](test::Random&, const Attention& op) {
            Attention causal = op;
            causal.causal = !op.causal;
            return causal;
        },
        [](const Prediction& before, const Prediction& after, auto&& text) {
            if (after.time != before.time) FAIL_CHECK(text());
        },
        [](test::Random& random) {
            Attention op = random_call(random);
            op.seq_q = 1;
            return op;
        });
}

// Tiles of different lengths leave a tail, and other block sizes fill the GPU differently.
constexpr double dearest_mask = 1.6;
constexpr double dearest_ever = 2.0;

TEST_CASE("a causal mask makes a call at most 1.6 times as long", "[attention][property]") {
    test::Tally masks{.usual = dearest_mask, .ever = dearest_ever};
    // The math backend makes the mask a tensor and adds it to the scores in fp32.
    test::Tally tensors{.usual = dearest_mask, .ever = 2.5};
    for_each_pair(
        33,
        [](test::Random&, const Attention& op) {
            Attention causal = op;
            causal.causal = op.seq_q <= op.seq_kv;
            return causal;
        },
        [&](const Prediction& before, const Prediction& after, auto&& text) {
            const bool tensor = after.implementation == Implementation::torch_math;
            (tensor ? tensors : masks).add(after.time / before.time, text);
        });
    masks.check();
    tensors.check();
}

TEST_CASE("a window makes a call at most 1.6 times as long, unless the library leaves SMs idle",
          "[attention][property]") {
    test::Tally windows{.usual = dearest_mask, .ever = dearest_ever};
    for_each_pair(
        34,
        [](test::Random& random, const Attention& op) {
            Attention windowed = op;
            windowed.window = random.coin()
                                  ? random.size(op.seq_kv)
                                  : std::max<std::int64_t>(1, op.seq_kv - random.whole(1, 20));
            return windowed;
        },
        [&windows](const Prediction& before, const Prediction& after, auto&& text) {
            if (noted<note::UnsplitKeys>(after)) return;
            windows.add(after.time / before.time, text);
        });
    windows.check();
}

// Found by scripts/soak: flash3 counts only the keys that one block of queries loads.
TEST_CASE("flash3 does not split keys of which a window leaves few to a block of queries") {
    const Machine h200 = make_machine(model::catalogue().at("h200-sxm"));
    Attention op{.batch = 16, .heads = 3, .kv_heads = 1, .seq_q = 242, .seq_kv = 300};
    op.head_dim = 256;
    op.causal = true;
    const auto full = predicted(op, Implementation::flash3, h200);
    op.window = 64;
    const auto windowed = predicted(op, Implementation::flash3, h200);
    REQUIRE((full && windowed));
    CHECK(windowed->tiling.split == 1);
    CHECK(windowed->time <= dearest_mask * full->time);
}

// Found by scripts/soak: blocks of the combine kernel overlap their reads of partial results.
TEST_CASE(
    "if flash3 splits the keys, a call takes at most 2.5 times as long as with one more query") {
    const Machine h200 = make_machine(model::catalogue().at("h200-sxm"));
    Attention op{.heads = 84, .kv_heads = 21, .seq_q = 240, .seq_kv = 595};
    op.head_dim = 96;
    const auto split = predicted(op, Implementation::flash3, h200);
    ++op.seq_q;
    const auto whole = predicted(op, Implementation::flash3, h200);
    REQUIRE((split && whole));
    CHECK(split->tiling.split == 5);
    CHECK(whole->tiling.split == 1);
    CHECK(split->time <= 2.5 * whole->time);
}

TEST_CASE("writing the cache always takes time", "[attention][property]") {
    for_each_pair(
        35,
        [](test::Random&, const Attention& op) {
            Attention writes = op;
            writes.kv_write = true;
            return writes;
        },
        [](const Prediction& before, const Prediction& after, auto&& text) {
            const bool held =
                after.time >= before.time && after.work.kernels == before.work.kernels + 1;
            if (!held) FAIL_CHECK(text());
        });
}

TEST_CASE("a call with one more query takes at least half the time", "[attention][property]") {
    // The kernels for one query copy the grouped queries before and after the product.
    test::Tally falls{.usual = 2.0, .ever = 2.5};
    for_each_pair(
        36,
        [](test::Random&, const Attention& op) {
            Attention more = op;
            more.seq_q = op.causal ? std::min(op.seq_kv, op.seq_q + 1) : op.seq_q + 1;
            return more;
        },
        [&falls](const Prediction& before, const Prediction& after, auto&& text) {
            if (noted<note::RooflineOnly>(before)) return;
            falls.add(before.time / after.time, text);
        });
    falls.check();
}

TEST_CASE("a page table changes the time at most threefold, unless the library leaves SMs idle",
          "[attention][property]") {
    test::Tally pages{.usual = 3.0, .ever = 4.0};
    for_each_pair(
        37,
        [](test::Random&, const Attention& op) {
            Attention other = op;
            other.paged = !op.paged;
            return other;
        },
        [&pages](const Prediction& before, const Prediction& after, auto&& text) {
            for (const Prediction& each : {before, after}) {
                // A roofline alone counts the partial results of split keys as DRAM traffic.
                if (noted<note::UnsplitKeys>(each)) return;
                if (noted<note::RooflineOnly>(each)) return;
            }
            pages.add(std::max(after.time / before.time, before.time / after.time), text);
        });
    pages.check();
}

}  // namespace
}  // namespace ridge::model
