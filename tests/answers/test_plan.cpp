// A plan's memory adds up, its verdicts follow from it, and its searches agree with single layouts.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "answers/candidate.h"
#include "answers/plan.h"
#include "answers/plan_text.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using answers::Plan;
using answers::PlanQuestion;
using answers::PlanRow;
using answers::Purpose;

constexpr std::int64_t gib = std::int64_t{1} << 30;

answers::Place place_of(const std::string& gpu, std::int64_t usable) {
    return {.machine = &machine(gpu), .usable = usable, .host = programs::host_beside(gpu)};
}

PlanQuestion serving(std::vector<std::int64_t> gpus) {
    PlanQuestion question{.gpus = std::move(gpus), .reserve = 2 * gib};
    question.targets.tpot = answers::usual_token_time();
    return question;
}

PlanQuestion training(std::vector<std::int64_t> gpus) {
    return {.purpose = Purpose::train,
            .gpus = std::move(gpus),
            .software = programs::Software::transformers,
            .reserve = 2 * gib};
}

}  // namespace

TEST_CASE("weights, cache and reserve of a served model add up to its total", "[plan]") {
    const auto model = programs::find_model("llama-3.1-8b");
    PlanQuestion question = serving({1});
    question.batch = 16;
    const Plan plan = answers::plan(model, question, {{place_of("h100-sxm", 78 * gib)}});
    const PlanRow& row = plan.rows.at(0);
    CHECK(row.fits);
    CHECK(row.memory.weights == 2 * programs::parameters_of(model));
    // 32 layers, 8 heads of 128 elements, keys and values, two bytes each; 2048 + 256 tokens.
    CHECK(row.memory.cache == 16 * std::int64_t{2304} * 32 * 8 * 128 * 2 * 2);
    CHECK(row.memory.total() ==
          row.memory.weights + row.memory.cache + row.memory.activations + row.memory.reserve);
    CHECK(row.batch == 16);
    CHECK(row.pace->low < row.pace->time);
    CHECK(row.pace->time < row.pace->high);
    CHECK(row.tokens_per_s == Approx(16.0 / row.pace->time.in(units::s)));
}

TEST_CASE("a model that does not fit is told apart from one that does", "[plan]") {
    const auto model = programs::find_model("llama-3.1-70b");
    const Plan plan = answers::plan(model, serving({1, 2, 4}), {{place_of("h100-sxm", 78 * gib)}});
    CHECK_FALSE(plan.rows.at(0).fits);
    CHECK_FALSE(plan.rows.at(0).pace);
    CHECK(plan.rows.at(1).fits);
    CHECK(plan.rows.at(1).layout.tensor_parallel == 2);
    CHECK(plan.rows.at(2).tokens_per_s > plan.rows.at(1).tokens_per_s);
    CHECK(answers::recommended(plan) == &plan.rows.at(1));
    REQUIRE(plan.changes.size() == 3);
    CHECK(plan.changed == std::size_t{0});
    for (const answers::Change& change : plan.changes) {
        INFO(change.what);
        CHECK(change.then.fits);
        CHECK(change.then.gpus == 1);
        CHECK(change.then.memory.total() <= change.then.usable);
    }
    CHECK(plan.changes.at(0).what == "fp8 weights");
}

TEST_CASE("every row that is chosen meets the targets if any does", "[plan]") {
    const auto model = programs::find_model("qwen3-8b");
    PlanQuestion question = serving({1, 2});
    question.targets.tpot = 12.0 * units::ms;
    const Plan plan = answers::plan(model, question, {{place_of("h100-sxm", 78 * gib)}});
    for (const PlanRow& row : plan.rows) {
        CHECK(row.meets_targets);
        CHECK(row.pace->time <= *question.targets.tpot);
    }
    question.targets.tpot = 1.0 * units::us;
    const Plan hopeless = answers::plan(model, question, {{place_of("h100-sxm", 78 * gib)}});
    CHECK_FALSE(hopeless.rows.at(0).meets_targets);
    CHECK(answers::verdict_of(hopeless).find("misses the target") != std::string::npos);
}

TEST_CASE("the best layout is at least as good as each layout alone", "[plan]") {
    const auto model = programs::find_model("qwen3-8b");
    const auto place = place_of("h100-sxm", 78 * gib);
    std::int64_t count = 0;
    const PlanRow best = answers::best_row(model, serving({4}), place, 4, count);
    for (const std::int64_t tp : {1, 2, 4}) {
        PlanQuestion one = serving({4});
        one.layouts.tensor_parallel = {tp};
        const PlanRow row = answers::best_row(model, one, place, 4, count);
        CHECK(row.layout.tensor_parallel == tp);
        CHECK(best.tokens_per_s >= row.tokens_per_s);
    }
}

TEST_CASE("training memory holds weights, gradients and states of every parameter", "[plan]") {
    const auto model = programs::find_model("qwen3-0.6b");
    PlanQuestion question = training({1});
    question.batch = 1;
    question.layouts.checkpoint = {programs::Checkpoint::full};
    const Plan plan = answers::plan(model, question, {{place_of("h100-sxm", 78 * gib)}});
    const PlanRow& row = plan.rows.at(0);
    const std::int64_t parameters = programs::parameters_of(model);
    REQUIRE(row.fits);
    CHECK(row.memory.weights >= 4 * parameters);
    CHECK(row.memory.optimizer >= 8 * parameters);
    question.optimizer = answers::Optimizer::adamw8bit;
    const Plan small = answers::plan(model, question, {{place_of("h100-sxm", 78 * gib)}});
    CHECK(small.rows.at(0).memory.optimizer < row.memory.optimizer / 3);
    CHECK(small.rows.at(0).memory.total() < row.memory.total());
}

TEST_CASE("accumulating micro-batches takes longer than one and updates once", "[plan]") {
    const auto model = programs::find_model("qwen3-0.6b");
    const auto place = place_of("h100-sxm", 78 * gib);
    const PlanQuestion question = training({1});
    const PlanRow one = answers::training_row(model, question, place, {.micro_batch = 2});
    const PlanRow four =
        answers::training_row(model, question, place, {.micro_batch = 2, .accumulation = 4});
    CHECK(four.batch == 8);
    CHECK(four.memory.total() == one.memory.total());
    CHECK(four.pace->time < 4.0 * one.pace->time);
    CHECK(four.pace->time > 3.0 * one.pace->time);
}

TEST_CASE("adapters need less memory and time than all weights", "[plan]") {
    const auto model = programs::find_model("qwen3-0.6b");
    const auto place = place_of("h100-sxm", 78 * gib);
    PlanQuestion question = training({1});
    question.batch = 4;
    std::int64_t count = 0;
    const PlanRow all = answers::best_row(model, question, place, 1, count);
    question.purpose = Purpose::lora;
    question.mixed = false;
    const PlanRow lora = answers::best_row(model, question, place, 1, count);
    question.purpose = Purpose::qlora;
    const PlanRow qlora = answers::best_row(model, question, place, 1, count);
    REQUIRE(all.fits);
    REQUIRE(lora.fits);
    REQUIRE(qlora.fits);
    CHECK(lora.memory.optimizer < all.memory.optimizer / 20);
    CHECK(lora.memory.total() < all.memory.total());
    CHECK(qlora.memory.weights < lora.memory.weights);
    CHECK(lora.pace->time < all.pace->time);
    CHECK(qlora.pace->time > lora.pace->time);
}

TEST_CASE("ZeRO and more copies never need more memory of each GPU", "[plan]") {
    const auto model = programs::find_model("qwen3-0.6b");
    const auto place = place_of("h100-sxm", 78 * gib);
    const PlanQuestion question = training({4});
    std::int64_t before = 0;
    for (const std::int64_t zero : {0, 1, 2, 3}) {
        const PlanRow row = answers::training_row(model, question, place,
                                                  {.copies = 4, .zero = zero, .micro_batch = 1});
        if (zero > 0) CHECK(row.memory.total() <= before);
        before = row.memory.total();
    }
}

TEST_CASE("no layout needs less than its weights, gradients and states", "[plan]") {
    const auto place = place_of("h100-sxm", 78 * gib);
    for (const char* const name : {"qwen3-0.6b", "gpt2", "qwen3-30b-a3b", "gemma-3-1b"}) {
        const auto model = programs::find_model(name);
        for (const bool mixed : {true, false}) {
            PlanQuestion question = training({4});
            question.seq = 512;
            question.mixed = mixed;
            for (const answers::Layout& layout :
                 answers::layouts_of(model, 4, answers::Use::training, {}, question.seq)) {
                INFO(name << ": " << answers::text_of(layout) << ", mixed " << mixed);
                const auto need = answers::training_need(model, question, place, layout);
                const auto least = answers::least_memory(model, question, layout);
                CHECK(least <= need.memory.total() - question.reserve);
                CHECK(3 * least > need.memory.weights + need.memory.optimizer);
            }
        }
        for (const Purpose purpose : {Purpose::lora, Purpose::qlora}) {
            PlanQuestion question = training({1});
            question.seq = 512;
            question.purpose = purpose;
            const auto need = answers::adapter_need(model, question, place, {});
            CHECK(answers::least_memory(model, question, {}) <= need.memory.total());
        }
    }
}

TEST_CASE("of layouts that do not fit, the nearest is found without predicting them all",
          "[plan]") {
    const auto model = programs::find_model("qwen3-0.6b");
    for (const std::int64_t usable : {2 * gib, 4 * gib, 6 * gib}) {
        const auto place = place_of("h100-sxm", usable);
        const PlanQuestion question = training({4});
        std::int64_t count = 0;
        const PlanRow best = answers::best_row(model, question, place, 4, count);
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        bool fits = false;
        for (answers::Layout layout :
             answers::layouts_of(model, 4, answers::Use::training, {}, question.seq)) {
            layout.accumulation = layout.pipeline > 1 ? 4 * layout.pipeline : 1;
            const PlanRow need = answers::training_need(model, question, place, layout);
            fits = fits || need.fits;
            least = std::min(least, need.memory.total());
        }
        CHECK(best.fits == fits);
        CHECK(answers::any_fits(model, question, place, 4, count) == fits);
        if (!fits) CHECK(best.memory.total() == least);
    }
}

TEST_CASE("questions without an answer name the field", "[plan]") {
    const auto model = programs::find_model("gpt2");
    const auto place = place_of("h100-sxm", 78 * gib);
    const auto message = [&](const PlanQuestion& question) -> std::string {
        try {
            static_cast<void>(answers::plan(model, question, {{place}}));
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    };
    CHECK(message({.seq = 4096, .gpus = {1}}).find("seq") == 0);
    CHECK(message({.seq = 512, .batch = 0, .gpus = {1}}).find("batch") == 0);
    CHECK(message({.seq = 512, .gpus = {0}}).find("gpus") == 0);
}

}  // namespace ridge::test
