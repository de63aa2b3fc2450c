// Predictions compared with published rates of PyTorch products,
// records/published/products.csv. docs/accuracy/published.md lists them one by one;
// scripts/accuracy/published.py writes it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "model/core/fields.h"
#include "model/predict.h"
#include "tests/accuracy/model_records.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

struct PublishedRate {
    std::string gpu;
    DataType type{};
    std::int64_t size = 0;  ///< 0: the best of several sizes
    double tflops = 0.0;
};

std::vector<PublishedRate> published_rates() {
    std::vector<PublishedRate> all;
    for (const std::vector<std::string>& cells : test::published_cells("products.csv", 6)) {
        all.push_back({.gpu = cells[0],
                       .type = parse_data_type(cells[1], "dtype"),
                       .size = cells[2] == "best" ? 0 : std::strtoll(cells[2].c_str(), nullptr, 10),
                       .tflops = std::strtod(cells[3].c_str(), nullptr)});
    }
    return all;
}

double predicted_rate(const PublishedRate& rate) {
    constexpr std::array sizes{1024L, 2048L, 4096L, 8192L, 10240L};
    double best = 0.0;
    for (const std::int64_t size : sizes) {
        if (rate.size != 0 && rate.size != size) continue;
        const Matmul op{.m = size, .n = size, .k = size, .type = rate.type};
        const auto p = std::get<Prediction>(predict(op, {}, test::machine(rate.gpu)));
        best = std::max(best, 2.0 * std::pow(static_cast<double>(size), 3) / p.time.base() / 1e12);
    }
    return best;
}

/// Mean error of predicted times, in percent.
double mean_error(const std::vector<PublishedRate>& rates) {
    std::vector<double> errors;
    for (const PublishedRate& rate : rates) {
        errors.push_back(rate.tflops / predicted_rate(rate) - 1.0);
    }
    return test::mean_percent(errors);
}

TEST_CASE("predictions stay close to published rates of products") {
    std::map<std::string, std::vector<PublishedRate>> of_gpu;
    for (const PublishedRate& rate : published_rates()) of_gpu[rate.gpu].push_back(rate);
    REQUIRE(of_gpu.size() == 15);
    for (auto& [gpu, rates] : of_gpu) {
        const std::string bounds = "published_products." + gpu;
        const double all = mean_error(rates);
        // Launches, and a clock that has not risen yet, matter for small products.
        std::erase_if(rates, [](const auto& rate) { return rate.size != 0 && rate.size < 4096; });
        const double large = mean_error(rates);
        CAPTURE(gpu, all, large);
        CHECK(all <= test::bound(bounds + ".mean"));
        CHECK(large <= test::bound(bounds + ".large"));
    }
}

}  // namespace
}  // namespace ridge::model
