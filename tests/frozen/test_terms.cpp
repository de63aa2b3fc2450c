// What the laws say of a thousand calls on machines whose parameters do not change (frozen_machine.h): time,
// work, traffic, memory, tiles, power and each term, against data/terms.txt (table.h).
//
// The calls were drawn once by "[frozen-draw]"; one that shows a case better may be added by hand.
#include <array>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "model/predict.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::model {
namespace {

void append_tiling(std::string& text, const Tiling& t) {
    if (t.tiles == 0) return;
    text +=
        fmt::format(" tile {}x{}x{} tiles {} split {} resident {} waves {} useful {:.6g} {:.6g}",
                    t.tile.m, t.tile.n, t.tile.k, t.tiles, t.split, t.blocks_per_sm, t.waves,
                    t.tile_efficiency, t.wave_efficiency);
}

/// The answer in one line: names and numbers with blanks between.
std::string answer_line(const Outcome& outcome) {
    if (const auto* const refused = std::get_if<NotModelled>(&outcome)) {
        return "refused: " + refused->reason;
    }
    const auto& p = std::get<Prediction>(outcome);
    const Work& w = p.work;
    std::string text = fmt::format(
        "{} {} {} time {:.6g} bound {:.6g} flop {:.6g} fma {:.6g} special {:.6g} first {:.6g} "
        "{:.6g} "
        "dram {:.6g} {:.6g} l2 {:.6g} shared {:.6g} kernels {} executed {:.6g} {:.6g} memory "
        "{:.6g}",
        name_of(p.implementation), name_of(p.bound), name_of(p.limiter), p.time.in(units::us),
        p.lower_bound.in(units::us), w.flop().base(), w.fma.base(), w.special,
        w.compulsory_read.base(), w.compulsory_write.base(), w.dram_read.base(),
        w.dram_write.base(), w.l2.base(), w.shared.base(), w.kernels, p.executed_tensor.base(),
        p.executed_fma.base(), p.footprint.base());
    append_tiling(text, p.tiling);
    if (p.energy) {
        text += fmt::format(" power {:.6g} {:.6g}", p.energy->power.base(), p.energy->clock.base());
    }
    for (const Term& term : p.terms) {
        text += fmt::format(" {} {:.6g} {:.6g}", name_of(term.resource), term.time.in(units::us),
                            term.amount);
    }
    return text;
}

/// Of a call "GPU SOFTWARE: matmul m=..." with "-" for no software.
std::string terms_of(const std::string& question) {
    const std::size_t blank = question.find(' ');
    const std::size_t colon = question.find(": ");
    const std::string software = question.substr(blank + 1, colon - blank - 1);
    const Machine& machine =
        test::frozen_machine(question.substr(0, blank), software == "-" ? "" : software);
    const OperationText call = parse_operation(question.substr(colon + 2));
    return answer_line(predict(make_operation(call.kind, call.parameters),
                               make_execution(call.parameters), machine));
}

TEST_CASE("the laws say what they said of a thousand calls", "[frozen]") {
    test::check_table("terms", terms_of);
}

/// A random call of this operation as a text, with the execution's fields.
std::string drawn_text(test::Random& random, OperationKind kind, Implementation implementation) {
    Operation operation = test::random_operation(random, kind);
    if (random.coin()) operation = test::cornered(operation, random);
    std::string text = text_of(kind, parameters_of(operation));
    constexpr std::array l2_states{"", " l2=cold", " l2=dirty"};
    constexpr std::array launches{"", " launch=graph", " launch=stream"};
    text += random.pick(l2_states);
    text += random.pick(launches);
    if (implementation != Implementation::automatic) {
        text += " impl=" + std::string(name_of(implementation));
    }
    return text;
}

/// Tries up to twenty calls until one has a prediction.
std::string drawn_call(test::Random& random, const test::FrozenName& at, OperationKind kind,
                       Implementation implementation) {
    std::string question;
    for (int tries = 0; tries < 20; ++tries) {
        question = at.gpu + " " + (at.software.empty() ? "-" : at.software) + ": " +
                   drawn_text(random, kind, implementation);
        if (!at.software.empty()) question += " software=" + at.software;
        const std::string answer = test::answer_or_refusal(terms_of, question);
        if (answer.rfind("refused", 0) != 0 && answer.rfind("error", 0) != 0) break;
    }
    return question;
}

TEST_CASE("draws the calls of the table", "[.][frozen-draw]") {
    test::write_text(RIDGE_FROZEN "/parameters.txt", test::frozen_text());
    test::Random random(20261129);
    std::vector<std::string> questions;
    const auto names = test::frozen_names();
    for (const OperationInfo& info : operation_table()) {
        std::vector<Implementation> all{Implementation::automatic};
        all.insert(all.end(), info.implementations.begin(), info.implementations.end());
        for (const Implementation each : all) {
            for (std::size_t i = 0; i < 4; ++i) {
                questions.push_back(drawn_call(random, names[i], info.kind, each));
            }
        }
        for (std::size_t i = 4; i < names.size(); ++i) {
            for (int times = 0; times < 3; ++times) {
                questions.push_back(
                    drawn_call(random, names[i], info.kind, Implementation::automatic));
            }
        }
    }
    test::write_table("terms", questions, terms_of);
}

}  // namespace
}  // namespace ridge::model
