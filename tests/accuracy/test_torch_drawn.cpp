// Models and steps drawn at random after all constants were chosen: the folders drawn and judge of
// records/torch-models. scripts/measure/draw-models.py drew them, scripts/measure/torch-models.py --drawn
// measured them.
#include <algorithm>
#include <cmath>
#include <map>
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

struct Errors {
    std::vector<double> kernels, time, peak;
};

/// Error of the wall time of a step that waits for its host, given the launch time measured beside
/// it.
double wall_error(const test::ModelRow& row, const ModelStep& step, const model::Machine& machine) {
    const Host host = at_launch(host_beside(machine.name), row.number("probe_us") * units::us);
    return predict(step, machine, host).wall.in(units::us) / row.number("wall_us") - 1.0;
}

double worst(const std::vector<double>& errors) {
    double most = 0.0;
    for (const double error : errors) most = std::max(most, 100.0 * std::abs(error));
    return most;
}

/// Checks the rows of a file against the bounds of this name: worst error of the number of kernels,
/// mean errors of peak and time, worst error of time, mean error of the wall times.
void check_rows(const std::string& file, const std::string& drawn, const std::string& gpu,
                const std::string& bounds, std::size_t waiting) {
    const std::string folder = std::string(RIDGE_RECORDS) + "/torch-models/" + drawn + "/";
    const model::Machine& machine = test::machine(gpu);
    std::map<std::string, Errors> errors;
    std::vector<double> walls;
    for (const test::ModelRow& row : test::model_rows(file)) {
        const std::string phase = row.cells.at("phase");
        const Request request = test::request_of(row);
        const Architecture a = find_model(folder + row.cells.at("model") + ".json");
        const ModelStep step = make_step(a, request);
        CAPTURE(row.cells.at("model"), phase, request.batch, request.seq);
        CHECK(step.parameters == row.count("parameters"));
        CHECK(step.weights_bytes == row.count("weights_bytes"));
        if (request.phase == Phase::prefill) {
            CHECK(step.kv_cache_bytes == row.count("kv_cache_bytes"));
        }
        Errors& of_phase = errors[phase];
        const auto kernels = static_cast<double>(step.program.kernels());
        of_phase.kernels.push_back(kernels / row.number("kernels") - 1.0);
        const auto peak = static_cast<double>(memory_of(step).extra());
        of_phase.peak.push_back(peak / row.number("peak_extra_bytes") - 1.0);
        if (row.number("wall_us") > 1.2 * row.number("time_us")) {
            walls.push_back(wall_error(row, step, machine));
        }
        const StepTime time = predict(step, machine, host_beside(machine.name));
        of_phase.time.push_back(time.gpu.total.time.in(units::us) / row.number("time_us") - 1.0);
    }
    REQUIRE(walls.size() == waiting);
    CAPTURE(test::mean_percent(walls));
    CHECK(test::mean_percent(walls) <= test::bound(bounds + ".host.mean"));
    REQUIRE(errors.size() == 3);
    for (const auto& [phase, found] : errors) {
        const std::string name = bounds + "." + phase;
        CAPTURE(name, test::mean_percent(found.peak), test::mean_percent(found.time));
        CHECK(worst(found.kernels) <= test::bound(name + ".kernels"));
        CHECK(test::mean_percent(found.peak) <= test::bound(name + ".peak"));
        CHECK(test::mean_percent(found.time) <= test::bound(name + ".time"));
        CHECK(worst(found.time) <= test::bound(name + ".worst"));
    }
}

TEST_CASE("models drawn at random") {
    check_rows("h200-drawn", "drawn", "h200-sxm", "models.drawn", 20);
}

TEST_CASE("models drawn to judge") {
    check_rows("h100-judge", "judge", "h100-sxm", "models.judge.h100", 29);
    check_rows("h200-judge", "judge", "h200-sxm", "models.judge.h200", 33);
}

}  // namespace
}  // namespace ridge::programs
