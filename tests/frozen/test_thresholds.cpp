// What the laws say of calls at thresholds: sizes, and products of two sizes, that are equal to a whole parameter of the
// machine or one more, and products of few rows, whose kernels PyTorch chooses by many of them. On machines whose
// parameters do not change (frozen_machine.h), as sums over eighty calls (sums.h), against data/thresholds.txt (table.h).
//
// A question is "call GPU KIND IMPLEMENTATION SEED" or "thin GPU IMPLEMENTATION SEED".
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "hardware/error.h"
#include "model/predict.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/sums.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::model {
namespace {

constexpr double largest_threshold = 1e9;
constexpr int calls_of_a_line = 80;

/// The whole values of a machine's parameters in the file, without those that are no size of a call.
const std::vector<std::int64_t>& thresholds_of(const std::string& gpu) {
    static std::map<std::string, std::vector<std::int64_t>> all;
    std::vector<std::int64_t>& found = all[gpu];
    if (!found.empty()) return found;
    for (const double value : test::frozen_values(gpu)) {
        if (value != std::floor(value) || value < 2.0 || value > largest_threshold) continue;
        found.push_back(static_cast<std::int64_t>(value));
    }
    return found;
}

/// A divisor of a threshold up to 32768 whose other factor is no larger, or nothing.
std::optional<std::int64_t> drawn_divisor(test::Random& random, std::int64_t product) {
    constexpr std::int64_t largest = 32768;
    for (int tries = 0; tries < 12; ++tries) {
        std::int64_t divisor = 1;
        for (const std::int64_t prime : {2, 2, 2, 2, 2, 2, 2, 3, 5, 5, 5, 7}) {
            if (random.coin() && product % (divisor * prime) == 0) divisor *= prime;
        }
        if (divisor <= largest && product / divisor <= largest) return divisor;
    }
    return std::nullopt;
}

/// One size of a call at a threshold, or two whose product is; the call itself if that is not valid.
Operation at_threshold(const Operation& operation, const std::string& gpu, test::Random& random) {
    Parameters parameters = parameters_of(operation);
    std::vector<Field> counts;
    for (const FieldInfo& info : field_table()) {
        if (info.kind == FieldKind::count && parameters.has(info.field))
            counts.push_back(info.field);
    }
    if (counts.empty()) return operation;
    const std::int64_t threshold = random.pick(thresholds_of(gpu)) + random.whole(-1, 2) / 2;
    const auto divisor = drawn_divisor(random, threshold);
    if (counts.size() > 1 && divisor && (threshold > 32768 || random.whole(0, 2) == 0)) {
        parameters.set_count(random.pick(counts), *divisor);
        parameters.set_count(random.pick(counts), threshold / *divisor);
    } else {
        parameters.set_count(random.pick(counts), threshold);
    }
    try {
        const Operation found = make_operation(kind_of(operation), parameters);
        validate(found);
        return found;
    } catch (const InputError&) {
        return operation;
    }
}

/// A product of 1 to 128 rows, mostly 2 to 16, as PyTorch's programs have them: in one type, with any k and columns.
Operation thin_product(test::Random& random) {
    constexpr std::array types{DataType::fp32, DataType::bf16, DataType::fp16,
                               DataType::tf32, DataType::int8, DataType::fp32};
    constexpr std::array rows{17, 24, 32, 33, 48, 64, 65, 88, 89, 96, 128, 132};
    constexpr std::array epilogues{Epilogue::none, Epilogue::none, Epilogue::bias,
                                   Epilogue::bias_gelu, Epilogue::accumulate};
    const DataType type = random.pick(types);
    return Matmul{
        .batch = random.whole(0, 3) > 0 ? 1 : random.size(64),
        .m = random.whole(0, 3) > 0 ? random.whole(1, 16) : random.pick(rows),
        .n = random.size(16384),
        .k = random.size(16384),
        .type = type,
        .accumulate = DataType::fp32,
        .output = type == DataType::tf32 || type == DataType::int8 ? DataType::fp32 : type,
        .a_layout = random.whole(0, 3) > 0 ? Layout::row_major : Layout::column_major,
        .b_layout = random.coin() ? Layout::row_major : Layout::column_major,
        .epilogue = random.pick(epilogues)};
}

void add_answer(test::Sums& sums, const Prediction& p) {
    sums.add("time", p.time.in(units::us));
    sums.add("bound", p.lower_bound.in(units::us));
    sums.add("moved", p.work.dram_read.base() + 2.0 * p.work.dram_write.base() +
                          3.0 * p.work.l2.base() + 5.0 * p.work.shared.base());
    sums.add("done", p.executed_tensor.base() + 2.0 * p.executed_fma.base());
    sums.add("tiles", static_cast<double>(p.tiling.tiles * p.tiling.split + p.work.kernels));
    double terms = 0.0;
    for (const Term& term : p.terms) {
        terms += term.time.in(units::us) * (1.0 + static_cast<double>(term.resource));
    }
    sums.add("terms", terms);
}

Operation drawn_operation(const std::string& kind, const std::string& gpu, test::Random& random) {
    if (kind == "thin") {
        const Operation product = thin_product(random);
        return random.coin() ? at_threshold(product, gpu, random) : product;
    }
    const Operation operation = test::random_operation(random, parse_operation_kind(kind));
    return at_threshold(random.coin() ? test::cornered(operation, random) : operation, gpu, random);
}

std::string sums_at_thresholds(const std::string& question) {
    std::istringstream words(question);
    std::string gpu;
    std::string kind;
    std::string implementation;
    std::uint64_t seed = 0;
    words >> gpu >> kind >> implementation >> seed;
    test::Random random = test::Random::of_table(seed);
    test::Sums sums(1.01);
    std::size_t refused = 0;
    for (int i = 0; i < calls_of_a_line; ++i, sums.next()) {
        const Operation operation = drawn_operation(kind, gpu, random);
        Execution execution = test::random_execution(operation, random);
        execution.implementation = parse_implementation(implementation);
        const Outcome outcome = predict(operation, execution, test::frozen_machine(gpu, ""));
        if (const auto* const p = std::get_if<Prediction>(&outcome)) {
            add_answer(sums, *p);
        } else {
            refused += 1 + std::get<NotModelled>(outcome).reason.size();
        }
    }
    return fmt::format("refused {}{}", refused, sums.text());
}

TEST_CASE("calls at thresholds are what they were", "[frozen]") {
    test::check_table("thresholds", sums_at_thresholds);
}

TEST_CASE("draws the questions of the table of thresholds", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    std::uint64_t seed = 1'000'000;
    for (const std::string gpu : {"h200-sxm", "a100-sxm-80gb", "l40s"}) {
        const bool first = gpu == "h200-sxm";
        for (const OperationInfo& info : operation_table()) {
            std::vector<Implementation> all{Implementation::automatic};
            all.insert(all.end(), info.implementations.begin(), info.implementations.end());
            for (const Implementation each : all) {
                const int lines = info.kind == OperationKind::matmul ? 8 : first ? 3 : 1;
                for (int i = 0; i < lines; ++i) {
                    questions.push_back(
                        fmt::format("{} {} {} {}", gpu, info.name, name_of(each), ++seed));
                }
            }
        }
        for (int i = 0; i < (first ? 200 : 50); ++i) {
            questions.push_back(fmt::format("{} thin torch {}", gpu, ++seed));
        }
        for (const char* each : {"library", "compiled", "auto"}) {
            for (int i = 0; i < 10; ++i) {
                questions.push_back(fmt::format("{} thin {} {}", gpu, each, ++seed));
            }
        }
    }
    test::write_table("thresholds", questions, sums_at_thresholds);
}

}  // namespace
}  // namespace ridge::model
