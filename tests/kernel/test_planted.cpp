// The causes of kernels with planted faults, from counters recorded on an H100.
//
// data/planted_h100.csv has one row for each kernel of tests/device/planted and one column for each
// counter (`scripts/measure/planted-records.py` writes it from a run of `ridge profile --counters`).
// tests/device/planted/faults.csv says which causes are right and which half a kernel belongs to:
// the rules were tuned on one half only.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "kernel/causes/split.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::kernel;

namespace {

// What was reached; these may only be tightened.
constexpr int least_tuned = 20;
constexpr int least_held = 19;
constexpr double median_error = 0.115;
constexpr double mean_error = 0.1795;
constexpr int least_judged = 14;  // of 16; they judged the first rules, and led to these
constexpr double judged_median_error = 0.037;
constexpr double judged_mean_error = 0.126;
constexpr int least_fresh = 18;  // of 18; they judged those rules (16), and led to these
constexpr double fresh_median_error = 0.2125;
constexpr double fresh_mean_error = 0.2695;
constexpr int least_third = 24;  // of 27, run once after that; one rule of savings followed
constexpr double third_median_error = 0.213;
constexpr double third_mean_error = 0.291;

std::vector<std::string> cells_of(const std::string& line, char separator = ',') {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, separator);) cells.push_back(cell);
    return cells;
}

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
    std::ifstream stream(file);
    REQUIRE(stream);
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty() && line.front() != '#') rows.push_back(cells_of(line));
    }
    return rows;
}

Counted counted_of(const std::vector<std::string>& header, const std::vector<std::string>& cells) {
    Counted counted;
    for (std::size_t i = 1; i < cells.size(); ++i) {
        if (cells[i].empty()) continue;
        const std::string& name = header[i];
        if (name == "grid" || name == "block") {
            auto& sizes = name == "grid" ? counted.grid : counted.block;
            const auto each = cells_of(cells[i], 'x');
            for (std::size_t d = 0; d < each.size(); ++d) sizes.at(d) = std::stoll(each[d]);
            continue;
        }
        const double value = std::stod(cells[i]);
        if (name == "time_us") {
            counted.measured = value * units::us;
        } else if (name == "registers") {
            counted.registers = static_cast<std::int64_t>(value);
        } else if (name == "shared_bytes") {
            counted.shared_bytes = static_cast<std::int64_t>(value);
        } else {
            counted.metrics[name] = value;
        }
    }
    return counted;
}

using Splits = std::map<std::string, Split>;

Splits splits_of(const std::string& file, const std::string& gpu) {
    const auto roofs = roofs_of(model::make_machine(model::catalogue().at(gpu)));
    const auto rows = rows_of(std::string(RIDGE_KERNEL_DATA) + "/" + file);
    Splits made;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        made[rows[i].front()] = *split_causes(counted_of(rows.front(), rows[i]), *roofs);
    }
    return made;
}

/// Bytes that each kernel stores in global memory.
std::map<std::string, double> stores_of(const std::string& file) {
    const auto rows = rows_of(std::string(RIDGE_KERNEL_DATA) + "/" + file);
    std::map<std::string, double> bytes;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        bytes[rows[i].front()] = counted_of(rows.front(), rows[i])
                                     .first_of({"smsp__sass_data_bytes_mem_global_op_st.sum"});
    }
    return bytes;
}

const Splits& splits() {
    static const Splits all = splits_of("planted_h100.csv", "h100-sxm");
    return all;
}
const Splits& judged_splits() {
    static const Splits all = splits_of("planted_judge_h200.csv", "h200-sxm");
    return all;
}

const Splits& fresh_splits() {
    static const Splits all = splits_of("planted_fresh_h200.csv", "h200-sxm");
    return all;
}

struct Planted {
    std::string kernel;
    std::vector<std::string> right;
    bool held_out = false;
    bool one_fault = true;
};

std::vector<Planted> faults(const std::string& file = "faults.csv") {
    std::vector<Planted> all;
    for (const auto& row : rows_of(std::string(RIDGE_KERNEL_DATA) + "/" + file)) {
        REQUIRE(row.size() == 5);
        all.push_back({row[0], cells_of(row[1], '|'), row[2] == "held", row[3] == "1"});
    }
    return all;
}

bool is_right(const Planted& planted, const Splits& all) {
    const Split& split = all.at(planted.kernel + "a");
    const std::string first(split.parts.empty() ? "" : key_of(split.parts.front().cause));
    return std::find(planted.right.begin(), planted.right.end(), first) != planted.right.end();
}

struct Errors {
    double median = 0.0;
    double mean = 0.0;
};
/// A twin that still has more than half of the planted cause is not mended, and judges no saving.
bool is_mended(const Planted& planted, const Splits& all) {
    const Part& fault = all.at(planted.kernel + "a").parts.front();
    const Part* const left = all.at(planted.kernel + "b").of(fault.cause);
    return left == nullptr || left->seconds <= 0.5 * fault.seconds;
}

/// Of the time without the planted cause, where it was found, against the mended kernel's.
Errors saving_errors(const std::vector<Planted>& faults, const Splits& all) {
    std::vector<double> errors;
    for (const Planted& planted : faults) {
        if (!planted.one_fault || !is_right(planted, all) || !is_mended(planted, all)) continue;
        const Split& split = all.at(planted.kernel + "a");
        const double mended = all.at(planted.kernel + "b").measured;
        const double predicted = split.measured - split.parts.front().saves;
        errors.push_back(std::abs(predicted - mended) / mended);
    }
    std::sort(errors.begin(), errors.end());
    double sum = 0.0;
    for (const double error : errors) sum += error;
    return {errors[errors.size() / 2], sum / static_cast<double>(errors.size())};
}

}  // namespace

TEST_CASE("the parts of every recorded kernel sum to its time", "[planted]") {
    for (const auto& [name, split] : splits()) {
        INFO(name);
        double sum = split.ideal + split.unexplained;
        for (const Part& part : split.parts) {
            CHECK(part.seconds >= 0.0);
            CHECK(part.saves >= 0.0);
            CHECK(part.saves <= split.measured);
            sum += part.seconds;
        }
        CHECK(sum == Approx(split.measured).epsilon(1e-6));
        CHECK(split.ideal >= 0.0);
        CHECK(split.unexplained >= 0.0);
    }
}

TEST_CASE("the first cause named is the planted one", "[planted]") {
    int tuned = 0;
    int held = 0;
    int right_tuned = 0;
    int right_held = 0;
    for (const Planted& planted : faults()) {
        const bool right = is_right(planted, splits());
        UNSCOPED_INFO(planted.kernel << (right ? " right" : " wrong"));
        (planted.held_out ? held : tuned) += 1;
        (planted.held_out ? right_held : right_tuned) += right ? 1 : 0;
    }
    CHECK(tuned + held == 39);
    CHECK(right_tuned >= least_tuned);
    CHECK(right_held >= least_held);
}

TEST_CASE("what removing the cause would give is near the mended kernel's time", "[planted]") {
    const Errors errors = saving_errors(faults(), splits());
    CHECK(errors.median <= median_error);
    CHECK(errors.mean <= mean_error);
}

TEST_CASE("kernels that were written and run after the rules were fixed", "[planted]") {
    int right = 0;
    std::vector<Planted> judged;
    for (const Planted& planted : faults("judge_faults.csv")) {
        // A fault that costs nothing is none: n12 hides behind memory.
        const Splits& all = judged_splits();
        if (all.at(planted.kernel + "a").measured < all.at(planted.kernel + "b").measured) continue;
        judged.push_back(planted);
        right += is_right(planted, all) ? 1 : 0;
        UNSCOPED_INFO(planted.kernel << (is_right(planted, all) ? " right" : " wrong"));
    }
    CHECK(judged.size() == 16);
    CHECK(right >= least_judged);
    const Errors errors = saving_errors(judged, judged_splits());
    CHECK(errors.median <= judged_median_error);
    CHECK(errors.mean <= judged_mean_error);
    int little = 0;
    int all = 0;
    for (const auto& [name, split] : judged_splits()) {
        if (name.front() != 'n' && name.front() != 'g') continue;
        ++all;
        little += split.unexplained <= 0.1 * split.measured ? 1 : 0;
    }
    CHECK(all == 38);
    CHECK(little >= 35);
}

TEST_CASE("kernels that were written before the formulas changed once and run after it",
          "[planted]") {
    const Splits& all = fresh_splits();
    const std::vector<Planted> planted = faults("fresh_faults.csv");
    int right = 0;
    for (const Planted& each : planted) {
        right += is_right(each, all) ? 1 : 0;
        UNSCOPED_INFO(each.kernel << (is_right(each, all) ? " right" : " wrong"));
    }
    CHECK(planted.size() == 18);
    CHECK(right >= least_fresh);
    const Errors errors = saving_errors(planted, all);
    CHECK(errors.median <= fresh_median_error);
    CHECK(errors.mean <= fresh_mean_error);
    int little = 0;
    int clean = 0;
    for (const auto& each : all) {
        const auto& name = each.first;
        const auto& split = each.second;
        little += split.unexplained <= 0.1 * split.measured ? 1 : 0;
        const bool named =
            std::any_of(split.parts.begin(), split.parts.end(),
                        [&](const Part& part) { return part.seconds > 0.05 * split.measured; });
        clean += name.front() == 'f' && !named ? 1 : 0;
    }
    CHECK(all.size() == 41);
    CHECK(little >= 40);
    CHECK(clean >= 4);  // of five: the FMA loop of 1.6 waves loses 6 % at their end
}

TEST_CASE("a third set of kernels, written before these rules and run after them", "[planted]") {
    const Splits all = splits_of("planted_third_h200.csv", "h200-sxm");
    const auto stores = stores_of("planted_third_h200.csv");
    int right = 0;
    int wrong = 0;
    std::vector<Planted> judged;
    for (const Planted& each : faults("third_faults.csv")) {
        // A fault that costs nothing is none: r24's conversions take no longer than its twin's way.
        if (all.at(each.kernel + "a").measured < all.at(each.kernel + "b").measured) continue;
        (is_right(each, all) ? right : wrong) += 1;
        UNSCOPED_INFO(each.kernel << (is_right(each, all) ? " right" : " wrong"));
        // The compiler left out all but the last of the stores of r26's twin.
        constexpr double same_work = 0.125;
        if (stores.at(each.kernel + "b") >= same_work * stores.at(each.kernel + "a")) {
            judged.push_back(each);
        }
    }
    CHECK(right + wrong == 27);
    CHECK(judged.size() == 26);
    CHECK(right >= least_third);
    const Errors errors = saving_errors(judged, all);
    CHECK(errors.median <= third_median_error);
    CHECK(errors.mean <= third_mean_error);
    int little = 0;
    for (const auto& each : all) {
        const Split& split = each.second;
        little += split.unexplained <= 0.1 * split.measured ? 1 : 0;
        if (each.first.front() != 'e') continue;
        INFO(each.first);
        for (const Part& part : split.parts) CHECK(part.seconds <= 0.05 * split.measured);
    }
    CHECK(all.size() == 62);
    CHECK(little >= 59);
}

TEST_CASE("healthy kernels have no cause of more than 5 %", "[planted]") {
    int healthy = 0;
    for (const auto& [name, split] : splits()) {
        if (name.front() != 'h') continue;
        INFO(name);
        ++healthy;
        for (const Part& part : split.parts) CHECK(part.seconds <= 0.05 * split.measured);
    }
    CHECK(healthy == 10);
    // g02, packed halves, reaches 60 % of its pipe and is not one of them.
    for (const char* const name : {"g01", "g03", "g04"}) {
        INFO(name);
        const Split& split = judged_splits().at(name);
        for (const Part& part : split.parts) CHECK(part.seconds <= 0.05 * split.measured);
    }
}

TEST_CASE("little stays unexplained", "[planted]") {
    int little = 0;
    for (const auto& [name, split] : splits()) {
        little += split.unexplained <= 0.1 * split.measured ? 1 : 0;
    }
    CHECK(little >= 0.95 * static_cast<double>(splits().size()));
}
