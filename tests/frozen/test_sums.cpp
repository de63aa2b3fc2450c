// What the laws say of some thousand calls, and what the rules make of varied calls of operators, on machines whose
// parameters do not change (frozen_machine.h), as sums over eight of them, against data/sums.txt (table.h).
//
// A question is "calls GPU SOFTWARE KIND IMPLEMENTATION SEED", or "operators SEED", whose calls are those of data/calls.txt
// with other sizes and types. An answer has the sums of the logarithms of each quantity, each with its own weight, so that
// every call counts and another compiler's rounding does not.
#include <array>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "model/explain.h"
#include "model/predict.h"
#include "programs/aten/operations.h"
#include "programs/aten/workspace.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/operator_sums.h"
#include "tests/frozen/sums.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::programs {
namespace {

void add_work(test::Sums& sums, const model::Prediction& p) {
    const model::Work& w = p.work;
    sums.add("flop", w.flop().base());
    sums.add("fma", w.fma.base() + 3.0 * w.special);
    sums.add("first", w.compulsory_read.base() + 2.0 * w.compulsory_write.base());
    sums.add("dram", w.dram_read.base() + 2.0 * w.dram_write.base());
    sums.add("l2", w.l2.base() + 2.0 * w.shared.base());
    sums.add("executed", p.executed_tensor.base() + 2.0 * p.executed_fma.base());
    sums.add("kernels", static_cast<double>(w.kernels));
    sums.add("memory", p.footprint.base());
}

void add_tiling(test::Sums& sums, const model::Tiling& t) {
    sums.add("tile", static_cast<double>(t.tile.m + 3 * t.tile.n + 7 * t.tile.k));
    sums.add("tiles", static_cast<double>(t.tiles));
    sums.add("split", static_cast<double>(3 * t.split + t.blocks_per_sm));
    sums.add("waves", static_cast<double>(t.waves));
    sums.add("useful", t.tile_efficiency + 3.0 * t.wave_efficiency);
}

void add_prediction(test::Sums& sums, const model::Prediction& p) {
    sums.add("time", p.time.in(units::us));
    sums.add("bound", p.lower_bound.in(units::us));
    add_work(sums, p);
    add_tiling(sums, p.tiling);
    sums.add("peak", p.peak.base() + p.attainable.base());
    sums.add("intensity",
             p.algorithmic.base() + 3.0 * p.intensity.base() + 7.0 * p.l2_intensity.base());
    if (p.energy) {
        sums.add("power", p.energy->power.base());
        sums.add("energy", 1e9 * p.energy->energy.base());
        sums.add("clock", p.energy->clock.base());
    }
    for (const model::Term& term : p.terms) {
        sums.add("terms", term.time.in(units::us) * (1.0 + static_cast<double>(term.resource)));
    }
    std::size_t letters = 0;
    for (const model::Note& note : p.notes) letters += model::describe(note).size();
    sums.add("words", static_cast<double>(letters + 100 * name_of(p.limiter).size()));
    sums.add("choice", static_cast<double>(p.implementation));
}

/// "GPU SOFTWARE KIND IMPLEMENTATION SEED", with "-" for no software.
std::string sums_of_calls(std::istringstream& words) {
    std::string gpu;
    std::string software;
    std::string kind_name;
    std::string implementation;
    std::uint64_t seed = 0;
    words >> gpu >> software >> kind_name >> implementation >> seed;
    const model::Machine& machine = test::frozen_machine(gpu, software == "-" ? "" : software);
    const model::OperationKind kind = model::parse_operation_kind(kind_name);
    test::Random random = test::Random::of_table(seed);
    test::Sums sums;
    int refused = 0;
    for (int i = 0; i < 8; ++i, sums.next()) {
        model::Operation operation = test::random_operation(random, kind);
        if (i % 2 == 1) operation = test::cornered(operation, random);
        model::Execution execution = test::random_execution(operation, random);
        execution.implementation = model::parse_implementation(implementation);
        if (software != "-") execution.software = model::SoftwareChoice::named(software);
        const model::Outcome outcome = predict(operation, execution, machine);
        if (const auto* const p = std::get_if<model::Prediction>(&outcome)) {
            add_prediction(sums, *p);
        } else {
            refused += 1 + static_cast<int>(std::get<model::NotModelled>(outcome).reason.size());
        }
    }
    return fmt::format("refused {}{}", refused, sums.text());
}

/// Each size of a call replaced by another, the same everywhere in the call; of half the calls the strides are not known.
std::string varied(const std::string& inputs, test::Random& random) {
    const std::size_t types_end = inputs.find('|');
    const std::size_t sizes_end = inputs.find('|', types_end + 1);
    const std::size_t strides_end = inputs.find('|', sizes_end + 1);
    std::string types = inputs.substr(0, types_end);
    constexpr std::array floats{"float", "c10::Half", "c10::BFloat16", "double"};
    if (random.coin()) {
        types = std::regex_replace(types, std::regex(R"(float|c10::Half|c10::BFloat16)"),
                                   random.pick(floats));
    }
    std::map<std::string, std::string> sizes;
    std::string changed;
    const std::string all = inputs.substr(types_end + 1, sizes_end - types_end - 1);
    const std::regex number(R"(\d+)");
    std::string::const_iterator at = all.begin();
    for (std::sregex_iterator each(all.begin(), all.end(), number), end; each != end; ++each) {
        const std::string old = each->str();
        if (sizes.find(old) == sizes.end()) {
            const std::int64_t size = std::stoll(old);
            const std::array others{size, 2 * size, size + 1, std::max<std::int64_t>(1, size / 2)};
            sizes[old] = std::to_string(size < 2 ? size : random.pick(others));
        }
        changed += std::string(at, all.begin() + each->position()) + sizes[old];
        at = all.begin() + each->position() + each->length();
    }
    changed += std::string(at, all.end());
    const bool same = random.whole(0, 2) == 0;
    return types + "|" +
           (same ? all + "|" + inputs.substr(sizes_end + 1, strides_end - sizes_end - 1)
                 : changed + "|") +
           inputs.substr(strides_end);
}

std::string sums_of_operators(std::uint64_t seed) {
    test::Random random = test::Random::of_table(seed);
    test::Sums sums;
    std::size_t unknown = 0;
    for (int i = 0; i < 8; ++i, sums.next()) {
        const std::string& recorded = random.pick(test::recorded_calls());
        const std::size_t blank = recorded.find(' ');
        const Call call =
            parse_call(recorded.substr(0, blank), varied(recorded.substr(blank + 1), random));
        if (!test::add_call(sums, call)) ++unknown;
    }
    return fmt::format("unknown {}{}", unknown, sums.text());
}

std::string sums_answer(const std::string& question) {
    std::istringstream words(question);
    std::string part;
    words >> part;
    if (part == "calls") return sums_of_calls(words);
    std::uint64_t seed = 0;
    words >> seed;
    return sums_of_operators(seed);
}

TEST_CASE("sums over many calls are what they were", "[frozen]") {
    test::check_table("sums", sums_answer);
}

TEST_CASE("draws the questions of the table of sums", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    const auto names = test::frozen_names();
    std::uint64_t seed = 0;
    for (const model::OperationInfo& info : model::operation_table()) {
        std::vector<model::Implementation> all{model::Implementation::automatic};
        all.insert(all.end(), info.implementations.begin(), info.implementations.end());
        for (const model::Implementation each : all) {
            for (const std::size_t machine : {0U, 1U, 2U}) {
                questions.push_back(fmt::format("calls {} - {} {} {}", names[machine].gpu,
                                                info.name, name_of(each), ++seed));
            }
        }
        for (std::size_t i = 4; i < names.size(); ++i) {
            questions.push_back(fmt::format("calls {} {} {} auto {}", names[i].gpu,
                                            names[i].software, info.name, ++seed));
        }
    }
    for (int i = 0; i < 250; ++i) questions.push_back(fmt::format("operators {}", ++seed));
    test::write_table("sums", questions, sums_answer);
}

}  // namespace
}  // namespace ridge::programs
