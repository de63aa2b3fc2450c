// Dispatch time and number of kernels: small models of the families (h200-fit.csv and h100-fit.csv,
// to which the host's times are fitted), and shallow models and compiled steps, which fitted
// nothing.
#include <cmath>
#include <string>
#include <vector>

#include "programs/configs/presets.h"
#include "programs/model_step.h"
#include "tests/accuracy/model_records.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::programs {
namespace {

using test::ModelRow;
using test::request_of;

/// Error of the dispatch time, on a host as fast as it was beside the step.
double host_error(const ModelRow& row, const ModelStep& step, const std::string& gpu) {
    const model::Machine& machine = test::machine(gpu + "-sxm");
    const Host host = at_launch(host_beside(machine.name), row.number("probe_us") * units::us);
    return predict(step, machine, host).host.in(units::us) / row.number("dispatch_us") - 1.0;
}

TEST_CASE("small models of the families") {
    const std::string folder = std::string(RIDGE_RECORDS) + "/torch-models/fit/";
    std::vector<double> errors;
    for (const char* gpu : {"h200", "h100"}) {
        for (const ModelRow& row : test::model_rows(std::string(gpu) + "-fit")) {
            const Architecture a = find_model(folder + row.cells.at("model") + ".json");
            const Request request = request_of(row, Software::transformers);
            const ModelStep step = make_step(a, request);
            CAPTURE(gpu, row.cells.at("model"), row.cells.at("phase"));
            CHECK(step.parameters == row.count("parameters"));
            const auto kernels = static_cast<double>(step.program.kernels());
            if (request.phase != Phase::train) {
                CHECK(step.program.kernels() == row.count("kernels"));
            } else {
                const auto peak = static_cast<double>(memory_of(step).extra());
                CHECK(std::abs(kernels / row.number("kernels") - 1.0) <= 0.01);
                CHECK(std::abs(peak / row.number("peak_extra_bytes") - 1.0) <= 0.035);
            }
            if (row.number("wall_us") < 1.4 * row.number("time_us")) continue;
            errors.push_back(host_error(row, step, gpu));
        }
    }
    REQUIRE(errors.size() > 80);
    CAPTURE(test::mean_percent(errors));
    CHECK(test::mean_percent(errors) <= test::bound("models.small.mean"));
}

TEST_CASE("presets with few layers, some with experts") {
    const std::string folder = std::string(RIDGE_RECORDS) + "/torch-models/shallow/";
    const model::Machine& machine = test::machine("h200-sxm");
    std::vector<double> times;
    for (const ModelRow& row : test::model_rows("h200-shallow")) {
        const Architecture a = find_model(folder + row.cells.at("model") + ".json");
        const ModelStep step = make_step(a, request_of(row, Software::transformers));
        CAPTURE(row.cells.at("model"), row.cells.at("phase"));
        CHECK(step.parameters == row.count("parameters"));
        const auto kernels = static_cast<double>(step.program.kernels());
        CHECK(std::abs(kernels / row.number("kernels") - 1.0) <= 0.025);
        const auto peak = static_cast<double>(memory_of(step).extra());
        CHECK(std::abs(peak / row.number("peak_extra_bytes") - 1.0) <= 0.035);
        const StepTime time = predict(step, machine, host_beside(machine.name));
        times.push_back(time.gpu.total.time.in(units::us) / row.number("time_us") - 1.0);
    }
    REQUIRE(times.size() == 15);
    CAPTURE(test::mean_percent(times));
    CHECK(test::mean_percent(times) <= test::bound("models.shallow.time"));
}

TEST_CASE("compiled steps") {
    std::vector<double> errors;
    std::vector<double> kernels;
    std::vector<double> times;
    for (const char* gpu : {"h200", "h100"}) {
        for (const ModelRow& row : test::model_rows(std::string(gpu) + "-compiled")) {
            if (row.cells.at("mode") != "default") continue;
            Architecture a = find_model(row.cells.at("model"));
            a.kinds = {
                a.kinds[a.layer_kinds[0]]};  // the first layers of these presets are all alike
            a.layer_kinds.assign(static_cast<std::size_t>(row.count("layers")), 0);
            const ModelStep step = make_step(a, request_of(row, Software::compiled));
            if (row.number("wall_us") > 1.4 * row.number("time_us")) {
                errors.push_back(host_error(row, step, gpu));
            }
            const model::Machine& machine = test::machine(std::string(gpu) + "-sxm");
            const StepTime time = predict(step, machine, host_beside(machine.name));
            times.push_back(time.gpu.total.time.in(units::us) / row.number("time_us") - 1.0);
            kernels.push_back(static_cast<double>(step.program.kernels()) / row.number("kernels") -
                              1.0);
        }
    }
    REQUIRE(times.size() == 18);
    CAPTURE(test::mean_percent(errors), test::mean_percent(kernels), test::mean_percent(times));
    CHECK(test::mean_percent(times) <= test::bound("models.compiled.time"));
    CHECK(test::mean_percent(errors) <= test::bound("models.compiled.mean"));
    CHECK(test::mean_percent(kernels) <= test::bound("models.compiled.kernels"));
}

}  // namespace
}  // namespace ridge::programs
