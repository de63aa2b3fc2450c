// Whole models compared with transformers 5.17 on an H200 and an H100:
// records/torch-models, written by scripts/measure/torch-models.py. No constant was chosen from the
// models marked `judge`.
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

using test::mean_percent;
using test::model_rows;
using test::ModelRow;

struct StepErrors {
    std::vector<double> kernels, time, peak;
    std::vector<double> wall;  ///< steps that take at least 1.2 times as long as their kernels
    std::vector<double> judged_wall;  ///< of these, models that no constant was chosen from
};

std::map<std::string, StepErrors> errors_on(const std::string& gpu) {
    const model::Machine& machine = test::machine(gpu + "-sxm");
    std::map<std::string, StepErrors> errors;
    for (const ModelRow& row : model_rows(gpu)) {
        Architecture a = find_model(row.cells.at("model"));
        if (row.count("layers") > 0) {
            a.layer_kinds.resize(static_cast<std::size_t>(row.count("layers")));
        }
        if (!row.cells.at("window").empty()) {
            a = a.with("window", row.count("window"));
        }
        const Request request = test::request_of(row);
        const ModelStep step = make_step(a, request);
        const double peak = static_cast<double>(memory_of(step).extra());
        CAPTURE(gpu, a.name, row.cells.at("phase"), request.batch, request.seq);
        CHECK(step.parameters == row.count("parameters"));
        CHECK(step.weights_bytes == row.count("weights_bytes"));
        if (request.phase == Phase::prefill) {
            CHECK(step.kv_cache_bytes == row.count("kv_cache_bytes"));
        }
        StepErrors& of_phase = errors[row.cells.at("phase")];
        of_phase.kernels.push_back(
            static_cast<double>(step.program.kernels()) / row.number("kernels") - 1.0);
        of_phase.peak.push_back(peak / row.number("peak_extra_bytes") - 1.0);
        const StepTime time = predict(step, machine, host_beside(gpu));
        of_phase.time.push_back(time.gpu.total.time.in(units::us) / row.number("time_us") - 1.0);
        const double wall = row.number("wall_us");
        if (wall < 1.2 * row.number("time_us")) continue;
        const double error = time.wall.in(units::us) / wall - 1.0;
        of_phase.wall.push_back(error);
        if (row.count("judge") == 1) of_phase.judged_wall.push_back(error);
    }
    return errors;
}

TEST_CASE("steps of models that were measured") {
    const std::map<std::string, std::map<std::string, std::size_t>> measured{
        {"h200", {{"decode", 20}, {"prefill", 23}, {"train", 8}}},
        {"h100", {{"decode", 12}, {"prefill", 15}, {"train", 7}}}};
    for (const auto& [gpu, steps] : measured) {
        std::map<std::string, std::size_t> compared;
        for (const auto& [phase, errors] : errors_on(gpu)) {
            compared[phase] = errors.time.size();
            const std::string name = "models." + phase + "." + gpu;
            CAPTURE(name);
            CHECK(mean_percent(errors.kernels) <= test::bound(name + ".kernels"));
            CHECK(mean_percent(errors.peak) <= test::bound(name + ".peak"));
            CHECK(mean_percent(errors.time) <= test::bound(name + ".time"));
        }
        CHECK(compared == steps);
    }
}

// Wall times of the same step differed by up to 1.5 times between measurements.
TEST_CASE("steps that wait for their host") {
    std::vector<double> judged;
    for (const char* gpu : {"h200", "h100"}) {
        std::vector<double> all;
        for (const auto& [phase, errors] : errors_on(gpu)) {
            all.insert(all.end(), errors.wall.begin(), errors.wall.end());
            judged.insert(judged.end(), errors.judged_wall.begin(), errors.judged_wall.end());
        }
        CAPTURE(gpu, mean_percent(all));
        CHECK(mean_percent(all) <= test::bound(std::string("models.host.") + gpu + ".mean"));
    }
    REQUIRE(judged.size() >= 4);
    CAPTURE(mean_percent(judged));
    CHECK(mean_percent(judged) <= test::bound("models.host.judged.mean"));
    for (const double error : judged) CHECK(std::abs(error) <= 0.25);
}

}  // namespace
}  // namespace ridge::programs
