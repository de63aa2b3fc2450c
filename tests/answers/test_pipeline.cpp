// Stages of a pipeline and shares of a sequence: what they hold, what they cost, and that their parts
// add up to the whole.
#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "answers/candidate.h"
#include "answers/pipeline.h"
#include "answers/plan.h"
#include "hardware/units.h"
#include "programs/configs/presets.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using answers::Layout;
using answers::PlanQuestion;
using answers::PlanRow;
using answers::Purpose;

constexpr std::int64_t one_gib = std::int64_t{1} << 30;

answers::Place h100() {
    return {.machine = &machine("h100-sxm"),
            .usable = 78 * one_gib,
            .host = programs::host_beside("h100-sxm")};
}

PlanQuestion long_training(std::int64_t seq) {
    return {.purpose = Purpose::train,
            .seq = seq,
            .software = programs::Software::transformers,
            .reserve = 2 * one_gib};
}

programs::ModelStep training_step_of(const std::string& model, std::int64_t seq) {
    programs::Request request;
    request.phase = programs::Phase::train;
    request.seq = seq;
    request.logits = programs::Logits::all;
    return make_step(programs::find_model(model), request, false);
}

/// Query-key pairs of the attention in one direction.
double pairs(const programs::Program& program, model::Direction direction) {
    double sum = 0.0;
    for (const programs::Entry& entry : program.entries) {
        const auto* attention = std::get_if<model::Attention>(&entry.operation);
        if (attention == nullptr || attention->direction != direction) continue;
        const auto keys = static_cast<double>(attention->seq_kv);
        const double seen = attention->causal ? (keys + 1.0) / 2.0 : keys;
        sum += static_cast<double>(entry.count * attention->batch * attention->seq_q) * seen;
    }
    return sum;
}

std::int64_t exchanges(const programs::Program& program, model::CollectiveKind kind) {
    std::int64_t count = 0;
    for (const programs::Entry& entry : program.entries) {
        const auto* one = std::get_if<model::Collective>(&entry.operation);
        if (one != nullptr && one->kind == kind) count += entry.count;
    }
    return count;
}

}  // namespace

TEST_CASE("the degrees of every layout multiply to its GPUs", "[pipeline]") {
    const auto model = programs::find_model("llama-3.1-8b");
    for (const auto use : {answers::Use::serving, answers::Use::training, answers::Use::adapters}) {
        bool staged = false;
        bool shared = false;
        for (const Layout& layout : answers::layouts_of(model, 8, use, {}, 32768)) {
            CHECK(layout.gpus() == 8);
            staged = staged || layout.pipeline > 1;
            shared = shared || layout.context_parallel > 1;
        }
        CHECK(staged == (use != answers::Use::adapters));
        CHECK(shared == (use == answers::Use::training));
    }
    // Short sequences are not shared unasked.
    for (const Layout& layout : answers::layouts_of(model, 8, answers::Use::training, {}, 4096)) {
        CHECK(layout.context_parallel == 1);
    }
    const answers::LayoutChoice asked{.pipeline = {2}, .context_parallel = {4}};
    const auto layouts = answers::layouts_of(model, 8, answers::Use::training, asked, 4096);
    REQUIRE_FALSE(layouts.empty());
    CHECK(answers::text_of(layouts.front()).starts_with("pp 2, cp 4"));
}

TEST_CASE("the stages of a pipeline hold the model once, and the head with the last",
          "[pipeline]") {
    const auto model = programs::find_model("llama-3.1-70b");
    const auto stage = answers::stage_of(model, 4);
    CHECK(stage.layers() == 20);
    const double held = answers::without_embedding(stage, 4);
    // A vocabulary of 128256 times 8192 is a twentieth of a stage.
    const double embedding = 128256.0 * 8192.0;
    CHECK(held == Approx(1.0 - embedding / static_cast<double>(parameters_of(stage))));
    const double last = static_cast<double>(parameters_of(stage)) * held;
    const double layers = static_cast<double>(parameters_of(model)) - 2.0 * embedding;
    CHECK(last == Approx(layers / 4.0 + embedding).epsilon(1e-3));
    CHECK(answers::without_embedding(model, 1) == 1.0);
}

TEST_CASE("a served pipeline gives up time per token for memory", "[pipeline]") {
    const auto model = programs::find_model("llama-3.1-8b");
    PlanQuestion question;
    question.batch = 32;
    const auto place = h100();
    const PlanRow whole = answers::Serving(model, question, place, {}).row(32);
    const PlanRow half = answers::Serving(model, question, place, {.pipeline = 2}).row(32);
    REQUIRE(whole.pace);
    REQUIRE(half.pace);
    CHECK(half.gpus == 2);
    // Each stage holds half of the layers, and of the cache of all sequences.
    CHECK(static_cast<double>(half.memory.weights) <
          0.6 * static_cast<double>(whole.memory.weights));
    CHECK(half.memory.cache == whole.memory.cache / 2);
    // Two groups of 16 read the weights once each: a token takes longer than half, and no less than
    // a step of 16 on one GPU.
    const PlanRow group = answers::Serving(model, question, place, {}).row(16);
    CHECK(half.pace->time > 0.9 * group.pace->time);
    CHECK(half.tokens_per_s > whole.tokens_per_s);
    CHECK(half.tokens_per_s < 2.0 * whole.tokens_per_s);
    CHECK(half.first_token->time > whole.first_token->time);
}

TEST_CASE("the idle time of a pipeline shrinks with its micro-batches", "[pipeline]") {
    const auto model = programs::find_model("qwen3-0.6b");
    auto place = h100();  // with a host that hides no pipeline's idle time behind its own
    place.host = programs::at_launch(place.host, 0.1 * units::us);
    const auto step = [&](std::int64_t stages, std::int64_t turns) {
        const PlanRow row = answers::training_row(model, long_training(2048), place,
                                                  {.pipeline = stages, .accumulation = turns});
        REQUIRE(row.pace);
        return row.pace->time.in(units::ms);
    };
    // (m + p - 1) turns and one update: equal steps between equal numbers of micro-batches.
    const double turn = step(4, 9) - step(4, 8);
    CHECK(turn > 0.0);
    CHECK(step(4, 16) - step(4, 8) == Approx(8.0 * turn));
    const PlanRow few = answers::training_row(model, long_training(2048), place,
                                              {.pipeline = 4, .accumulation = 4});
    const PlanRow many = answers::training_row(model, long_training(2048), place,
                                               {.pipeline = 4, .accumulation = 32});
    CHECK(many.tokens_per_s > 1.3 * few.tokens_per_s);
    CHECK(many.tokens_per_s < (1.0 + 3.0 / 4.0) * few.tokens_per_s);
}

TEST_CASE("shares of a sequence attend to the whole of it, and exchange it", "[pipeline]") {
    constexpr std::int64_t seq = 32768;
    const programs::Program whole = training_step_of("llama-3.2-1b", seq).program;
    for (const std::int64_t parts : {2, 4}) {
        programs::ModelStep shared = training_step_of("llama-3.2-1b", seq / parts);
        const std::int64_t layers = 16;
        answers::share_sequence(shared, parts, seq);
        const programs::Program& share = shared.program;
        for (const auto direction : {model::Direction::forward, model::Direction::backward}) {
            // The causal half, and half of the share itself, which is counted as whole.
            const double all = static_cast<double>(parts) * pairs(share, direction);
            CHECK(all == Approx(pairs(whole, direction) * (1.0 + 1.0 / static_cast<double>(parts)))
                             .epsilon(1e-3));
        }
        CHECK(exchanges(share, model::CollectiveKind::all_gather) == 2 * layers);
        CHECK(exchanges(share, model::CollectiveKind::reduce_scatter) == layers);
        // Keys and values of 8 heads of 64 elements, two bytes each; and their gradients.
        CHECK(answers::gathered_bytes(share) == 2 * (2 * seq * 8 * 64 * 2));
    }
}

TEST_CASE("sharing a long sequence saves memory, and time but for the exchange", "[pipeline]") {
    const auto model = programs::find_model("llama-3.2-1b");
    const auto place = h100();
    const Layout full{.checkpoint = programs::Checkpoint::full};
    Layout shared = full;
    shared.context_parallel = 4;
    const PlanRow one = answers::training_row(model, long_training(32768), place, full);
    const PlanRow four = answers::training_row(model, long_training(32768), place, shared);
    REQUIRE(four.pace);
    CHECK(four.batch == 1);
    CHECK(four.memory.activations < one.memory.activations / 2);
    if (one.pace) {
        CHECK(four.tokens_per_s > 2.0 * one.tokens_per_s);
        CHECK(four.tokens_per_s < 4.0 * one.tokens_per_s);
    }
    programs::Program latent;
    programs::Entry entry;
    entry.operation = model::Mla{};
    latent.entries.push_back(entry);
    CHECK(answers::cannot_share(latent).has_value());
    CHECK_FALSE(answers::cannot_share(training_step_of("llama-3.2-1b", 4096).program).has_value());
}

TEST_CASE("the evidence of a row is shares of one, none weaker than its grade", "[pipeline]") {
    const auto model = programs::find_model("llama-3.1-8b");
    PlanQuestion question;
    question.batch = 4;
    const auto place = h100();
    const PlanRow row = answers::Serving(model, question, place, {}).row(4);
    double sum = 0.0;
    for (const double share : row.evidence_shares) sum += share;
    CHECK(sum == Approx(1.0));
    REQUIRE(row.pace);
    for (std::size_t i = 0; i < static_cast<std::size_t>(row.pace->evidence); ++i) {
        CHECK(row.evidence_shares.at(i) < 1e-3);
    }
}

}  // namespace ridge::test
