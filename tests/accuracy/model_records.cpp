#include "tests/accuracy/model_records.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/catch.h"

namespace ridge::test {

std::int64_t ModelRow::count(const std::string& name) const {
    return std::strtoll(cells.at(name).c_str(), nullptr, 10);
}

double ModelRow::number(const std::string& name) const {
    return std::strtod(cells.at(name).c_str(), nullptr);
}

std::vector<ModelRow> model_rows(const std::string& name) {
    std::ifstream in(std::string(RIDGE_RECORDS) + "/torch-models/" + name + ".csv");
    REQUIRE(in.good());
    std::vector<std::string> names;
    std::vector<ModelRow> rows;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("#")) continue;
        if (line.ends_with('\r')) line.pop_back();
        std::vector<std::string> cells;
        std::istringstream text(line + ",");
        for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
        if (names.empty()) {
            names = cells;
            continue;
        }
        ModelRow row;
        for (std::size_t i = 0; i < names.size(); ++i) row.cells[names[i]] = cells.at(i);
        rows.push_back(row);
    }
    return rows;
}

programs::Phase phase_of(const std::string& word) {
    static const std::map<std::string, programs::Phase> phases{
        {"prefill", programs::Phase::prefill},
        {"decode", programs::Phase::decode},
        {"train", programs::Phase::train}};
    CAPTURE(word);
    REQUIRE(phases.count(word) == 1);
    return phases.at(word);
}

double mean_percent(const std::vector<double>& errors) {
    double sum = 0.0;
    for (const double error : errors) sum += std::abs(error);
    return 100.0 * sum / static_cast<double>(errors.size());
}

}  // namespace ridge::test
