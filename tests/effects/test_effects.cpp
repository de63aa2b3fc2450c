// Every effect on every GPU (under sanitizers one GPU in several), predictions beside measurements, the
// command and the page.
#include "effects/study.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "cli/console/table.h"
#include "effects/chart.h"
#include "effects/opening.h"
#include "effects/page.h"
#include "model/access/divergence.h"
#include "model/attention/online_softmax.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/sample.h"

namespace {

using namespace ridge;
using effects::Measured;
using effects::Study;

struct Gpu {
    explicit Gpu(const model::Catalogue& all, const std::string& name)
        : description(all.at(name)), machine(model::make_machine(description)), catalogue(all) {}

    [[nodiscard]] effects::Subject subject() const {
        return {.machine = machine, .gpu = description, .catalogue = catalogue};
    }

    const hardware::Description& description;
    model::Machine machine;
    const model::Catalogue& catalogue;
};

/// A relation, evaluated by other code than that which chose the sentence.
bool holds(const effects::Relation& relation) {
    if (relation.relation == '>') return relation.a > relation.b;
    if (relation.relation == '<') return relation.a < relation.b;
    return std::max(relation.a, relation.b) < 1.05 * std::min(relation.a, relation.b);
}

/// An effect as it is and with each knob at another value.
std::vector<effects::Subject> asked_of(const effects::Effect& effect, const Gpu& gpu) {
    std::vector<effects::Subject> out{gpu.subject()};
    for (const effects::Knob* knob : effect.knobs) {
        out.push_back(gpu.subject());
        out.back().knobs[knob->name] =
            std::min(knob->most, 2 * std::max<std::int64_t>(knob->usual, 1));
    }
    return out;
}

/// Whether only a measurement fills this place.
bool is_measured_place(const std::string& place) {
    return place.find(":measured") != std::string::npos;
}

}  // namespace

TEST_CASE("every effect is shown on every GPU of the catalogue or refused with a reason",
          "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    test::Sample sample;
    for (const model::CatalogueEntry& entry : catalogue.entries()) {
        if (!sample.takes_next()) continue;
        const Gpu gpu(catalogue, entry.name);
        for (const effects::Effect& effect : effects::effects()) {
            CAPTURE(entry.name, std::string(effect.name));
            const Study study = evaluate(effect, gpu.subject(), {});
            if (!study.refused.empty()) {
                CHECK(study.refused.size() > 10);
                continue;
            }
            CHECK_FALSE(study.paragraphs.empty());
            CHECK_FALSE(study.formula.empty());
            const auto charts = charts_of(study, gpu.subject());
            CHECK_FALSE(charts.empty());
            for (const std::string& paragraph : study.paragraphs) {
                CHECK(paragraph.find('{') == std::string::npos);
            }
        }
    }
}

TEST_CASE("every sentence of every effect on every GPU is supported by its figures", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const std::regex comparing(
        "times (as|less|faster|slower|longer)|a factor of|instead of|about the same|about as long");
    const std::regex counted("([0-9.]+) times (as|less|faster|slower|longer)");
    std::size_t compared = 0;
    test::Sample sample;
    for (const model::CatalogueEntry& entry : catalogue.entries()) {
        if (!sample.takes_next()) continue;
        const Gpu gpu(catalogue, entry.name);
        const Measured measured = Measured::of(entry.name);
        for (const effects::Effect& effect : effects::effects()) {
            for (const effects::Subject& subject : asked_of(effect, gpu)) {
                const Study study = evaluate(effect, subject, measured);
                for (const std::vector<effects::Claim>& paragraph : study.claims) {
                    for (const effects::Claim& claim : paragraph) {
                        CAPTURE(entry.name, std::string(effect.name), claim.text);
                        for (const effects::Relation& relation : claim.relations) {
                            CAPTURE(relation.left, relation.a, relation.right, relation.b);
                            CHECK(holds(relation));
                        }
                        // What compares says on which figures it rests.
                        if (std::regex_search(claim.text, comparing) &&
                            claim.text.find("Measured") == std::string::npos &&
                            claim.text.find("measured") == std::string::npos) {
                            ++compared;
                            CHECK_FALSE(claim.relations.empty());
                        }
                        std::smatch number;
                        if (std::regex_search(claim.text, number, counted)) {
                            CHECK(std::stod(number[1]) >= 1.05);
                        }
                        CHECK(claim.text.find('$') == std::string::npos);
                    }
                }
            }
        }
    }
    CHECK(compared > 1500 / test::one_in());
}

TEST_CASE("an effect that rests on a data sheet alone is not shown", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "mi300x");
    for (const char* name : {"tiling", "matmul-mystery", "alignment", "fusion", "launch"}) {
        CAPTURE(name);
        CHECK_FALSE(evaluate(effects::find_effect(name), gpu.subject(), {}).refused.empty());
    }
    CHECK(evaluate(effects::find_effect("attention-vram"), gpu.subject(), {}).refused.empty());
}

TEST_CASE("a knob changes the question, and only where the effect has it", "[effects]") {
    const auto five = test::run(
        {"effect", "coalescing", "--gpu", "h100-sxm", "--stride", "5", "--format", "json"});
    const auto parsed = nlohmann::json::parse(five.out).at(0);
    CHECK(parsed["ratio"]["what"] == "Useful bandwidth, stride 1 over stride 5");
    CHECK(parsed["claims"][0]["text"].get<std::string>().find("At a stride of 5 words") == 0);
    CHECK(parsed["claims"][0]["relations"][0]["left"] == "useful@1/useful@5");
    const auto other = test::run({"effect", "fusion", "--gpu", "h100-sxm", "--stride", "5"});
    CHECK(other.code == 1);
    CHECK(other.err.find("--elements") != std::string::npos);
    CHECK(test::run({"effect", "coalescing", "--gpu", "h100-sxm", "--stride", "500"}).code == 1);
    const auto text = test::run({"effect", "coalescing", "--gpu", "h100-sxm"});
    // The answer stands first, then one chart.
    CHECK(text.out.find("At a stride of 8 words") <
          text.out.find("Useful bandwidth against stride"));
    CHECK(text.out.find("Reading from a misaligned start") == std::string::npos);
    CHECK(test::run({"effect", "coalescing", "--gpu", "h100-sxm", "--all-charts"})
              .out.find("Reading from a misaligned start") != std::string::npos);
}

TEST_CASE("on data-centre GPUs every sentence about predictions is there", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    for (const char* name : {"h200-sxm", "h100-sxm", "a100-sxm-80gb"}) {
        const Gpu gpu(catalogue, name);
        for (const effects::Effect& effect : effects::effects()) {
            const Study study = evaluate(effect, gpu.subject(), {});
            CAPTURE(name, std::string(effect.name), study.refused);
            CHECK(study.refused.empty());
            CHECK(study.predicted_ratio.has_value());
            for (const std::string& place : study.unfilled) {
                // The A100 has no fp8, so its sentences are missing.
                const bool fp8 = place.find("fp8") != std::string::npos;
                CAPTURE(place);
                CHECK((is_measured_place(place) || (fp8 && std::string(name) == "a100-sxm-80gb")));
            }
        }
    }
}

TEST_CASE("a GPU without bf16 is asked about fp16, and its text speaks of fp16", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "v100-sxm");
    for (const char* name : {"roofline", "alignment", "matmul-mystery", "power", "mlp"}) {
        CAPTURE(name);
        const Study study = evaluate(effects::find_effect(name), gpu.subject(), {});
        CAPTURE(study.refused);
        CHECK(study.refused.empty());
        for (const std::string& paragraph : study.paragraphs) {
            CHECK(paragraph.find("bf16") == std::string::npos);
        }
    }
    for (const measure::Question& question :
         questions(effects::find_effect("matmul-mystery"), gpu.subject())) {
        CHECK(type_of(question.operation) == model::DataType::fp16);
    }
}

TEST_CASE(
    "predictions and measurements agree in direction, and differ by a fifth at most or the text "
    "says why",
    "[effects][accuracy]") {
    const model::Catalogue catalogue = model::catalogue();
    for (const char* name : {"h200-sxm", "h100-sxm"}) {
        const Gpu gpu(catalogue, name);
        const Measured measured = Measured::of(name);
        CHECK(measured.size() > 200);
        std::size_t compared = 0;
        for (const effects::Effect& effect : effects::effects()) {
            const Study study = evaluate(effect, gpu.subject(), measured);
            CAPTURE(name, std::string(effect.name), study.verdict);
            CHECK_FALSE(study.verdict.empty());
            if (!study.measured_ratio) continue;
            ++compared;
            CHECK(effects::same_direction(*study.predicted_ratio, *study.measured_ratio));
            const double far = effects::apart(*study.predicted_ratio, *study.measured_ratio);
            CHECK((far <= effects::close_enough || !study.ratio.why.empty()));
            CHECK(far < 0.27);  // 0.254 at most
        }
        CHECK(compared >= 17);
    }
}

TEST_CASE("charts of a measured GPU have hollow and filled marks", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h200-sxm");
    const Study study =
        evaluate(effects::find_effect("coalescing"), gpu.subject(), Measured::of("h200-sxm"));
    const auto charts = charts_of(study, gpu.subject());
    REQUIRE_FALSE(charts.empty());
    std::set<plot::Origin> origins;
    for (const plot::Mark& mark : charts.front().marks) origins.insert(mark.origin);
    CHECK(origins.size() == 2);
}

TEST_CASE("kernels are listed by name beside the model's tiles", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h200-sxm");
    const Study study =
        evaluate(effects::find_effect("mlp"), gpu.subject(), Measured::of("h200-sxm"));
    REQUIRE(study.kernels.size() == 15);
    for (const effects::KernelRow& row : study.kernels) {
        CAPTURE(row.name, row.operation);
        CHECK(row.operation.rfind("matmul ", 0) == 0);
        CHECK(row.predicted.find(" x ") != std::string::npos);
        CHECK(row.measured.find("nvjet_sm90") != std::string::npos);
        CHECK(row.measured.find("blocks") != std::string::npos);
        CHECK(row.measured.find('<') == std::string::npos);
    }
    CHECK(study.kernels.front().measured.find("; splitKreduce_kernel, 128 blocks") !=
          std::string::npos);
    const plot::Sections page = page_of({&study, 1}, gpu.subject());
    REQUIRE(page.sections.front().tables.size() == 1);
    CHECK(page.sections.front().tables.front().rows.size() == study.kernels.size());
    // On another GPU nothing was measured, and the rows show the model's choice.
    const Gpu other(catalogue, "a100-sxm-80gb");
    for (const effects::KernelRow& row :
         evaluate(effects::find_effect("mlp"), other.subject(), {}).kernels) {
        CHECK(row.measured.empty());
        CHECK_FALSE(row.predicted.empty());
    }
}

TEST_CASE("the questions of an effect have distinct texts and name their implementation",
          "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h100-sxm");
    for (const effects::Effect& effect : effects::effects()) {
        std::set<std::string> texts;
        for (const measure::Question& question : questions(effect, gpu.subject())) {
            CHECK(texts.insert(canonical_text(question)).second);
            CHECK(question.execution.implementation != model::Implementation::automatic);
        }
    }
}

TEST_CASE("the chance and time of branches taken at random", "[effects][model]") {
    CHECK(model::both_branches(0.0) == Approx(0.0).margin(1e-12));
    CHECK(model::both_branches(1.0) == Approx(0.0).margin(1e-12));
    CHECK(model::both_branches(0.5, 1) == Approx(0.0).margin(1e-12));
    CHECK(model::both_branches(0.5, 2) == Approx(0.5));
    CHECK(model::both_branches(0.05) == Approx(1.0 - std::pow(0.95, 32)));
    // A uniform warp takes one branch; a mixed warp takes both, one after the other.
    CHECK(model::branch_time(0.0, 100.0, 7.0) == Approx(7.0));
    CHECK(model::branch_time(1.0, 100.0, 7.0) == Approx(100.0));
    CHECK(model::branch_time(0.5, 100.0, 7.0) == Approx(107.0).epsilon(1e-6));
    CHECK(model::branch_time(0.05, 100.0, 100.0) == Approx(180.6).epsilon(1e-3));
}

TEST_CASE("the softmax in one pass is the softmax", "[effects][model]") {
    model::OnlineSoftmax all;
    for (const double x : {2.0, 5.0, 1.0, 7.0}) all = with_value(all, x);
    CHECK(all.maximum == 7.0);
    CHECK(all.sum == Approx(std::exp(-5.0) + std::exp(-2.0) + std::exp(-6.0) + 1.0));
    model::OnlineSoftmax left;
    model::OnlineSoftmax right;
    for (const double x : {2.0, 5.0}) left = with_value(left, x);
    for (const double x : {1.0, 7.0}) right = with_value(right, x);
    CHECK(merged(left, right).sum == Approx(all.sum));
    CHECK(merged({}, all).sum == Approx(all.sum));
}

TEST_CASE("ridge effect lists effects, shows one, prints tables and corrects names", "[effects]") {
    const auto list = test::run({"effect", "list"});
    CHECK(list.code == 0);
    for (const effects::Effect& effect : effects::effects()) {
        CHECK(list.out.find(std::string(effect.name)) != std::string::npos);
    }
    const auto wrong = test::run({"effect", "coalesing", "--gpu", "h100-sxm"});
    CHECK(wrong.code == 1);
    CHECK(wrong.err.find("did you mean 'coalescing'") != std::string::npos);
    CHECK(test::run({"effect"}).err.find("NAME is missing") != std::string::npos);
    const auto json = test::run({"effect", "all", "--gpu", "a100", "--format", "json"});
    const auto parsed = nlohmann::json::parse(json.out);
    CHECK(parsed.size() == effects::effects().size());
    const auto csv = test::run({"effect", "tiling", "--gpu", "a100", "--format", "csv"});
    CHECK(csv.out.rfind("effect,series,x,predicted,measured,evidence,unit\n", 0) == 0);
    // A product of two 2048 x 2048 matrices in fp32: its operands are read once per tile.
    for (const std::int64_t edge : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
        constexpr std::int64_t n = 2048;
        const std::int64_t bytes = 4 * n * (2 * n * n / edge) + 4 * n * n;
        const std::string line = "\ntiling,edge," + std::to_string(edge) + "," +
                                 std::to_string(bytes) + ",,datasheet,B\n";
        CAPTURE(line);
        CHECK(csv.out.find(line) != std::string::npos);
    }
    const auto tpu = test::run({"effect", "coalescing", "--gpu", "tpu-v4"});
    CHECK(tpu.code == 2);
    CHECK(tpu.out.find("cannot be shown") != std::string::npos);
}

TEST_CASE("no line of an effect is wider than the terminal", "[effects]") {
    for (const effects::Effect& effect : effects::effects()) {
        const auto shown =
            test::run({"effect", std::string(effect.name), "--gpu", "h200-sxm", "--height", "8"});
        CAPTURE(std::string(effect.name));
        CHECK(shown.code == 0);
        std::istringstream lines(shown.out);
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            CHECK(cli::display_width(line) <= 80);
        }
    }
}

TEST_CASE("the page of all effects holds every figure and works offline", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h100-sxm");
    std::vector<Study> studies;
    std::size_t figures = 0;
    for (const effects::Effect& effect : effects::effects()) {
        studies.push_back(evaluate(effect, gpu.subject(), Measured::of("h100-sxm")));
        if (!charts_of(studies.back(), gpu.subject()).empty()) ++figures;
    }
    const std::string html = plot::render_sections(page_of(studies, gpu.subject()));
    std::size_t drawn = 0;
    for (std::size_t at = 0; (at = html.find("<figure>", at)) != std::string::npos; ++at) ++drawn;
    CHECK(drawn == figures);
    for (const effects::Effect& effect : effects::effects()) {
        CHECK(html.find("<a href=\"#" + std::string(effect.name) + "\">") != std::string::npos);
        CHECK(html.find("<section id=\"" + std::string(effect.name) + "\"") != std::string::npos);
    }
    for (const char* outside : {"src=\"http", "href=\"http", "url(http", "@import"}) {
        CHECK(html.find(outside) == std::string::npos);
    }
}

TEST_CASE("the page opens with the vocabulary for this GPU and closes with all ratios",
          "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h100-sxm");
    const std::vector<std::string> words = effects::opening_of(gpu.subject()).paragraphs;
    REQUIRE(words.size() == 5);
    CHECK(words[0].find("has 132.") != std::string::npos);
    CHECK(words[1].find("up to 64 warps") != std::string::npos);
    CHECK(words[3].find("989 TFLOP/s in bf16") != std::string::npos);
    // A TPU has neither warps nor tensor cores, so sentences about them are left out.
    const Gpu tpu(catalogue, "tpu-v4");
    for (const std::string& paragraph : effects::opening_of(tpu.subject()).paragraphs) {
        CHECK(paragraph.find("warps and in every clock") == std::string::npos);
        CHECK(paragraph.find('{') == std::string::npos);
    }

    std::vector<Study> studies;
    for (const char* name : {"launch", "scaling"}) {
        studies.push_back(
            evaluate(effects::find_effect(name), gpu.subject(), Measured::of("h100-sxm")));
    }
    const plot::Sections page = page_of(studies, gpu.subject());
    REQUIRE(page.sections.size() == 4);
    CHECK(page.sections.front().id == "words");
    const auto& rows = page.sections.back().tables.at(0).rows;
    REQUIRE(rows.size() == 2);
    CHECK(rows[0][0] == "Launching kernels");
    CHECK(rows[0][4].find(" %") != std::string::npos);
    CHECK(rows[1][3] == "-");
}

TEST_CASE("an effect asks nothing that no run can answer", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const Gpu gpu(catalogue, "h200-sxm");
    std::size_t asked = 0;
    for (const effects::Effect& effect : effects::effects()) {
        for (const measure::Question& question : questions(effect, gpu.subject())) {
            ++asked;
            const bool library =
                question.execution.implementation == model::Implementation::library;
            CHECK_FALSE((library && question.execution.tile.has_value()));
        }
    }
    CHECK(asked > 400);
}
