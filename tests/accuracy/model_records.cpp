#include "tests/accuracy/model_records.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "measure/record/csv_reader.h"
#include "tests/catch.h"
#include "tests/support/whole_file.h"

namespace ridge::test {

std::int64_t ModelRow::count(const std::string& name) const {
    return std::strtoll(cells.at(name).c_str(), nullptr, 10);
}

double ModelRow::number(const std::string& name) const {
    return std::strtod(cells.at(name).c_str(), nullptr);
}

std::vector<CsvRow> csv_rows(const std::string& file) {
    std::istringstream in(unpacked_text(std::string(RIDGE_RECORDS) + "/" + file));
    measure::CsvReader reader(in, file);
    std::vector<CsvRow> rows;
    while (reader.next()) {
        if (reader.raw().starts_with("#")) continue;
        REQUIRE(reader.problem().empty());
        rows.push_back({.cells = {reader.cells().begin(), reader.cells().end()},
                        .text = std::string(reader.raw())});
    }
    REQUIRE_FALSE(rows.empty());
    return rows;
}

std::vector<std::vector<std::string>> published_cells(const std::string& file, std::size_t count) {
    std::vector<std::vector<std::string>> all;
    for (CsvRow& row : csv_rows("published/" + file)) {
        REQUIRE(row.cells.size() == count);
        all.push_back(std::move(row.cells));
    }
    all.erase(all.begin());
    return all;
}

std::vector<ModelRow> model_rows(const std::string& name) {
    const std::vector<CsvRow> table = csv_rows("torch-models/" + name + ".csv");
    const std::vector<std::string>& names = table.at(0).cells;
    std::vector<ModelRow> rows;
    for (std::size_t line = 1; line < table.size(); ++line) {
        ModelRow row;
        for (std::size_t i = 0; i < names.size(); ++i)
            row.cells[names[i]] = table[line].cells.at(i);
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

programs::Request request_of(const ModelRow& row, programs::Software software) {
    return {.phase = phase_of(row.cells.at("phase")),
            .software = software,
            .batch = row.count("batch"),
            .seq = row.count("seq")};
}

double mean_percent(const std::vector<double>& errors) {
    double sum = 0.0;
    for (const double error : errors) sum += std::abs(error);
    return 100.0 * sum / static_cast<double>(errors.size());
}

}  // namespace ridge::test
