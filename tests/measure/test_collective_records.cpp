// Predictions of collectives beside the records of two and four H200: those of the fits, and those drawn
// at random, which no fit saw.
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

TEST_CASE("kernels and graphs that no fit saw are met on two pairs and on four GPUs") {
    struct Limits {
        const char* folder;
        const char* launch;
        double small, middle, large;
    };
    const std::array limits{
        Limits{"h200-sxm-collectives-judge", "kernel", 0.04, 0.06, 0.025},
        Limits{"h200-sxm-collectives-judge", "graph", 0.045, 0.055, 0.045},
        Limits{"h200-sxm-collectives-third-judge", "kernel", 0.065, 0.055, 0.02},
        Limits{"h200-sxm-collectives-third-judge", "graph", 0.035, 0.045, 0.03},
        Limits{"h200-sxm-collectives-x4-judge", "kernel", 0.05, 0.075, 0.04},
        Limits{"h200-sxm-collectives-x4-judge", "graph", 0.055, 0.075, 0.05}};
    for (const Limits& limit : limits) {
        CAPTURE(limit.folder, limit.launch);
        auto judged = errors_of(limit.folder);
        const std::string launch = limit.launch;
        CHECK(judged[launch + " small"].value() < limit.small);
        CHECK(judged[launch + " middle"].value() < limit.middle);
        CHECK(judged[launch + " large"].value() < limit.large);
        CHECK(judged[launch + " middle"].count > 2);
    }
}

TEST_CASE("kernels and graphs of the fits' suites are met on all machines") {
    for (const char* folder : {"h200-sxm-collectives", "h200-sxm-collectives-again",
                               "h200-sxm-collectives-third", "h200-sxm-collectives-x4"}) {
        auto seen = errors_of(folder);
        CAPTURE(folder);
        CHECK(seen["kernel small"].value() < 0.03);
        CHECK(seen["kernel middle"].value() < 0.05);
        CHECK(seen["kernel large"].value() < 0.03);
        const bool four = std::string_view(folder).ends_with("x4");
        CHECK(seen["graph middle"].value() < (four ? 0.065 : 0.05));
    }
}

TEST_CASE("suites of collectives agree on different machines") {
    const std::array pairs{std::pair{"h200-sxm-collectives", "h200-sxm-collectives-again"},
                           std::pair{"h200-sxm-collectives", "h200-sxm-collectives-third"},
                           std::pair{"h200-sxm-collectives-x4", "h200-sxm-collectives-x4-again"}};
    for (const auto& [one, other] : pairs) {
        CAPTURE(one, other);
        for (const auto launch : {model::LaunchMode::kernel, model::LaunchMode::graph}) {
            const std::vector<double> ratios = ratios_of(one, other, launch);
            REQUIRE(ratios.size() > 50);
            CHECK(median_of(ratios) < 0.01);
            CHECK(*std::max_element(ratios.begin(), ratios.end()) < 0.07);
        }
    }
}
