// What a step of each preset is on a machine whose parameters do not change (frozen_machine.h): parameters, memory,
// work, traffic, kernels and times of some hundred requests, against data/steps.txt (table.h).
//
// The requests were drawn once by "[frozen-draw]".
#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "programs/configs/presets.h"
#include "programs/model_step.h"
#include "tests/frozen/drawn_for.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/sums.h"
#include "tests/frozen/table.h"
#include "tests/model/random_operation.h"

namespace ridge::programs {
namespace {

constexpr std::array step_phases{Phase::prefill, Phase::decode, Phase::train};
constexpr std::array step_softwares{Software::transformers, Software::compiled, Software::serving};

/// The options of a request by name; values are whole numbers, but for `weights`.
void set_option(Request& request, const std::string& name, const std::string& value) {
    if (name == "weights") {
        request.quantisation = parse_quantisation(value, name);
        return;
    }
    const std::int64_t number = std::stoll(value);
    static const std::map<std::string, std::function<void(Request&, std::int64_t)>> options{
        {"phase", [](Request& r, std::int64_t v) { r.phase = static_cast<Phase>(v); }},
        {"software", [](Request& r, std::int64_t v) { r.software = static_cast<Software>(v); }},
        {"batch", [](Request& r, std::int64_t v) { r.batch = v; }},
        {"seq", [](Request& r, std::int64_t v) { r.seq = v; }},
        {"fp8_cache", [](Request& r, std::int64_t) { r.cache_type = model::DataType::fp8; }},
        {"all_logits", [](Request& r, std::int64_t) { r.logits = Logits::all; }},
        {"no_update", [](Request& r, std::int64_t) { r.optimizer = Optimizer::none; }},
        {"mixed", [](Request& r, std::int64_t) { r.mixed = true; }},
        {"checkpoint",
         [](Request& r, std::int64_t v) { r.checkpoint = static_cast<Checkpoint>(v); }},
        {"tp", [](Request& r, std::int64_t v) { r.tensor_parallel = v; }},
        {"ep", [](Request& r, std::int64_t v) { r.expert_parallel = v; }},
        {"zero", [](Request& r, std::int64_t v) { r.zero = v; }},
        {"dp", [](Request& r, std::int64_t v) { r.data_parallel = v; }},
        {"images", [](Request& r, std::int64_t v) { r.images = v; }},
        {"audio", [](Request& r, std::int64_t v) { r.audio = v; }},
        {"drafting", [](Request& r, std::int64_t) { r.drafting = true; }}};
    options.at(name)(request, number);
}

std::string step_answer(const std::string& line) {
    std::istringstream words(line);
    std::string model;
    words >> model;
    Request request;
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        set_option(request, word.substr(0, equals), word.substr(equals + 1));
    }
    if (request.images > 0) request.image_width = request.image_height = 672;
    const ModelStep step = make_step(find_model(model), request);
    const Host host{.name = "frozen",
                    .processor = {},
                    .launch = 3.0 * units::us,
                    .slow = 1.3,
                    .slow_share = 0.2};
    const StepTime t = predict(step, test::frozen_machine("h200-sxm", ""), host);
    const StepMemory m = memory_of(step);
    const Totals& all = t.gpu.total;
    std::string text = fmt::format(
        "parameters {} {} weights {} cache {} tokens {} kernels {} flop {:.6g} dram {:.6g} "
        "{:.6g} us {:.6g} {:.6g} "
        "{:.6g} linked {:.6g} {:.6g} memory {} {} {}",
        step.parameters, step.active_parameters, step.weights_bytes, step.kv_cache_bytes,
        step.tokens, all.kernels, all.work.flop().base(), all.work.dram_read.base(),
        all.work.dram_write.base(), all.time.in(units::us), t.host.in(units::us),
        t.wall.in(units::us), t.communication.in(units::us), t.exposed.in(units::us), m.resident,
        m.peak, m.reserved);
    for (const StepMemory::Part& part : m.parts) {
        std::string name(part.name);
        for (char& c : name) c = c == ' ' ? '_' : c;
        text += fmt::format(" {} {}", name, part.bytes);
    }
    return text;
}

}  // namespace

TEST_CASE("a step of each preset is what it was", "[frozen]") {
    test::check_table("steps", step_answer);
}

namespace {

std::string drawn_request(test::Random& random, const std::string& model) {
    constexpr std::array batches{1, 3, 16, 64};
    constexpr std::array lengths{1, 7, 128, 1000, 4096};
    constexpr std::array degrees{1, 1, 1, 2, 4};
    const Phase phase = random.pick(step_phases);
    // One after the other: compilers differ in which argument they take first.
    const int software = phase == Phase::train ? 0 : static_cast<int>(random.pick(step_softwares));
    const int batch = random.pick(batches);
    const int length = random.pick(lengths);
    std::string text = fmt::format("{} phase={} software={} batch={} seq={}", model,
                                   static_cast<int>(phase), software, batch, length);
    const auto option = [&](const char* name, const std::string& value) {
        text += std::string(" ") + name + "=" + value;
    };
    if (random.whole(0, 3) == 0) option("images", "1");
    if (random.whole(0, 7) == 0) option("audio", "10");
    option("tp", std::to_string(random.pick(degrees)));
    if (phase != Phase::train) {
        if (random.whole(0, 3) == 0) option("fp8_cache", "1");
        if (random.whole(0, 3) == 0) option("all_logits", "1");
        if (random.whole(0, 3) == 0) option("drafting", "1");
        if (random.whole(0, 2) == 0) option("weights", random.pick(quantisation_words()));
        option("ep", std::to_string(random.pick(degrees)));
    } else {
        if (random.coin()) option("mixed", "1");
        if (random.whole(0, 3) == 0) option("no_update", "1");
        option("checkpoint", std::to_string(random.whole(0, 2)));
        option("zero", std::to_string(random.whole(0, 3)));
        option("dp", std::to_string(random.pick(degrees)));
    }
    return text;
}

}  // namespace

namespace {

/// "MODEL SEED": eight drawn requests, those beyond a limit too.
std::string sums_of_steps(const std::string& question) {
    auto [model, random] = test::drawn_for(question);
    test::Sums sums;
    for (int i = 0; i < 8; ++i, sums.next()) {
        std::string request = drawn_request(random, model);
        constexpr std::array<const char*, 12> beyond{" batch=0",
                                                     " batch=1048577",
                                                     " seq=0",
                                                     " dp=1025",
                                                     " tp=1024",
                                                     " ep=1025",
                                                     " dp=1024",
                                                     " images=257",
                                                     " tp=8",
                                                     " zero=4",
                                                     " batch=100001 seq=100001",
                                                     " audio=-1"};
        if (random.whole(0, 3) == 0) request += random.pick(beyond);
        sums.add_text(test::answer_or_refusal(step_answer, request));
    }
    return sums.text();
}

}  // namespace

TEST_CASE("steps of many requests are what they were", "[frozen]") {
    test::check_table("step_draws", sums_of_steps);
}

TEST_CASE("draws the questions of the table of many requests", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    std::uint64_t seed = 4'000'000;
    for (const std::string& model : preset_names()) {
        for (int i = 0; i < 2; ++i) questions.push_back(fmt::format("{} {}", model, ++seed));
    }
    test::write_table("step_draws", questions, sums_of_steps);
}

TEST_CASE("draws the requests of the table", "[.][frozen-draw]") {
    test::Random random(20261129);
    std::vector<std::string> questions;
    for (const std::string& model : preset_names()) {
        for (int i = 0; i < 3; ++i) {
            std::string question;
            for (int tries = 0; tries < 20; ++tries) {
                question = drawn_request(random, model);
                if (test::answer_or_refusal(step_answer, question).rfind("error", 0) != 0) break;
            }
            questions.push_back(question);
        }
    }
    test::write_table("steps", questions, step_answer);
}

}  // namespace ridge::programs
