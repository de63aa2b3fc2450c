#include "tests/accuracy/reference.h"

#include <toml++/toml.h>
#include <cstdlib>
#include <filesystem>
#include <iostream>

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
