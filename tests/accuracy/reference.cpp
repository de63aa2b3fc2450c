#include "tests/accuracy/reference.h"

#include <toml++/toml.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

#include "model/machine/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::test {
double bound(const std::string& path) {
    static const toml::table bounds = toml::parse_file(RIDGE_ACCURACY_BOUNDS);
    const auto value = bounds.at_path(path).value<double>();
    INFO(path << " in bounds.toml");
    REQUIRE(value.has_value());
    return *value;
}

std::optional<std::string> reference_folder() {
    const char* const named = std::getenv("RIDGE_REFERENCE");
    const std::string folder = named != nullptr ? named : RIDGE_REFERENCE_FOLDER;
    if (std::filesystem::is_directory(folder)) return folder;
    std::cout << "skipped: no measured rows; RIDGE_REFERENCE names their directory\n";
    return std::nullopt;
}

const model::Machine& machine_of(const std::string& gpu) {
    static const hardware::Catalogue catalogue = model::catalogue();
    static std::map<std::string, model::Machine> machines;
    const auto found = machines.find(gpu);
    if (found != machines.end()) return found->second;
    return machines.emplace(gpu, model::make_machine(catalogue.at(gpu))).first->second;
}

std::vector<std::vector<std::string>> published_cells(const std::string& file, std::size_t count) {
    std::ifstream in(std::string(RIDGE_RECORDS) + "/published/" + file);
    REQUIRE(in.good());
    std::vector<std::vector<std::string>> all;
    bool header = true;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("#") || line.empty()) continue;
        if (std::exchange(header, false)) continue;
        std::vector<std::string> cells;
        std::istringstream text(line);
        for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
        REQUIRE(cells.size() == count);
        all.push_back(std::move(cells));
    }
    return all;
}

measure::ErrorSummary accuracy_of(
    const std::vector<measure::MeasuredRow>& rows,
    const std::function<const model::Machine&(const std::string&)>& machine) {
    std::vector<measure::TimeError> errors;
    for (const measure::MeasuredRow& row : rows) {
        const model::Outcome outcome =
            model::predict(row.operation, row.execution, machine(row.gpu));
        const auto* const p = std::get_if<model::Prediction>(&outcome);
        INFO(row.file << ":" << row.line);
        REQUIRE(p != nullptr);
        errors.push_back({.ratio = p->time / row.measured,
                          .inside = p->low <= row.measured && row.measured <= p->high});
    }
    return measure::summarise_errors(errors);
}

void check_errors(const measure::ErrorSummary& accuracy, const std::string& name) {
    INFO(name << ", " << accuracy.count << " rows");
    CHECK(100.0 * accuracy.mean <= bound(name + ".mean"));
    CHECK(100.0 * accuracy.p90 <= bound(name + ".p90"));
}

void check_bounds(const measure::ErrorSummary& accuracy, const std::string& name) {
    check_errors(accuracy, name);
    INFO(name << ", " << accuracy.count << " rows");
    CHECK(100.0 * accuracy.coverage >= bound("coverage.least"));
    CHECK(100.0 * accuracy.coverage <= bound("coverage.most"));
}

}  // namespace ridge::test
