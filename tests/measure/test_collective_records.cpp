// Predictions of collectives beside the records of two H200: those of the fit, of another machine, and
// those drawn after the fit.
#include <map>

#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::measure;

namespace {

struct Mean {
    double sum = 0.0;
    double count = 0.0;

    void add(double error) {
        sum += std::abs(error);
        ++count;
    }
    [[nodiscard]] double value() const { return sum / count; }
};

std::string class_of(std::int64_t bytes) {
    if (bytes <= std::int64_t{64} << 10) return "small";
    return bytes <= std::int64_t{8} << 20 ? "middle" : "large";
}

/// Mean absolute errors by launch and size: "kernel small".
std::map<std::string, Mean> errors_of(const std::string& folder) {
    static const model::Catalogue catalogue = model::catalogue();
    static const model::Machine h200 = model::make_machine(catalogue.at("h200-sxm"));
    const RecordFile file = read_all_records({std::string(RIDGE_RECORDS "/") + folder});
    CHECK(file.damaged.empty());
    std::map<std::string, Mean> errors;
    for (const Record& record : file.records) {
        REQUIRE(record.measured());
        const auto& op = std::get<model::Collective>(record.question.operation);
        CHECK(op.nvls == model::SwitchAddition::off);
        const auto outcome = model::predict(op, record.question.execution, h200);
        const auto& prediction = std::get<model::Prediction>(outcome);
        errors[std::string(name_of(record.question.execution.launch)) + " " + class_of(op.bytes)]
            .add(prediction.time / record.time() - 1.0);
    }
    return errors;
}

/// Median times of the questions that both folders answer, one over the other.
std::vector<double> ratios_of(const std::string& one, const std::string& other,
                              model::LaunchMode launch) {
    std::map<std::string, double> times;
    for (const Record& record : read_all_records({std::string(RIDGE_RECORDS "/") + one}).records) {
        times[key_of(record)] = record.time().base();
    }
    std::vector<double> ratios;
    for (const Record& record :
         read_all_records({std::string(RIDGE_RECORDS "/") + other}).records) {
        const auto found = times.find(key_of(record));
        if (found == times.end() || record.question.execution.launch != launch) continue;
        ratios.push_back(std::abs(record.time().base() / found->second - 1.0));
    }
    return ratios;
}

}  // namespace

TEST_CASE("kernels and graphs drawn after the fit, on another machine, are met") {
    auto judged = errors_of("h200-sxm-collectives-judge");
    CHECK(judged["kernel small"].value() < 0.08);
    CHECK(judged["kernel middle"].value() < 0.08);
    CHECK(judged["kernel large"].value() < 0.03);
    CHECK(judged["graph small"].value() < 0.06);
    CHECK(judged["graph middle"].value() < 0.06);
    CHECK(judged["graph large"].value() < 0.05);
    CHECK(judged["kernel small"].count > 20);
}

TEST_CASE("kernels and graphs of the fit's suite are met on both machines") {
    for (const char* folder : {"h200-sxm-collectives", "h200-sxm-collectives-again"}) {
        auto seen = errors_of(folder);
        CAPTURE(folder);
        CHECK(seen["kernel small"].value() < 0.06);
        CHECK(seen["kernel middle"].value() < 0.04);
        CHECK(seen["kernel large"].value() < 0.03);
        CHECK(seen["graph middle"].value() < 0.05);
    }
}

TEST_CASE("two suites of collectives agree on two machines") {
    for (const auto launch : {model::LaunchMode::kernel, model::LaunchMode::graph}) {
        const std::vector<double> ratios =
            ratios_of("h200-sxm-collectives", "h200-sxm-collectives-again", launch);
        REQUIRE(ratios.size() > 50);
        CHECK(median_of(ratios) < 0.01);
        CHECK(*std::max_element(ratios.begin(), ratios.end()) < 0.07);
    }
}
