// Predictions compared with published figures of serving engines,
// records/published/serving.csv. Nothing was fitted to them; the engines choose their own
// kernels, batches and schedules.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/footprint/memory_fit.h"
#include "programs/configs/presets.h"
#include "programs/serving.h"
#include "tests/accuracy/model_records.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::programs {
namespace {

struct Figure {
    std::string gpu, model;
    Request request;
    std::int64_t answer = 0;
    bool first_token = false;
    double value = 0.0;  ///< tokens/s, or ms
};

std::int64_t count(const std::string& text) {
    return std::strtoll(text.c_str(), nullptr, 10);
}

std::vector<Figure> figures() {
    std::vector<Figure> all;
    for (const std::vector<std::string>& cells : test::published_cells("serving.csv", 10)) {
        const Request request{.software = Software::serving,
                              .batch = count(cells[5]),
                              .seq = count(cells[6]),
                              .cache_type = model::parse_data_type(cells[4], "kv_dtype"),
                              .quantisation = parse_quantisation(cells[3], "quantise")};
        all.push_back({.gpu = cells[0],
                       .model = cells[1],
                       .request = request,
                       .answer = count(cells[7]),
                       .first_token = cells[8] == "ttft_ms",
                       .value = std::strtod(cells[9].c_str(), nullptr)});
    }
    return all;
}

Time wall(const Architecture& a, const Request& request, const model::Machine& machine) {
    return predict(make_step(a, request, false), machine, host_beside(machine.name)).wall;
}

double predicted(const Figure& figure) {
    const model::Machine& machine = test::machine(figure.gpu);
    const Architecture a = find_model(figure.model);
    Request request = figure.request;
    if (figure.first_token) return wall(a, request, machine).in(units::ms);
    const auto answer = static_cast<double>(figure.answer);
    if (request.batch > 0) {  // a static batch: all prompts, then all answers
        const Time prompts = wall(a, request, machine);
        request.phase = Phase::decode;
        request.seq += figure.answer / 2;
        const Time token = wall(a, request, machine);
        return static_cast<double>(request.batch) * answer /
               (prompts + answer * token).in(units::s);
    }
    const Load load{.prompt = request.seq,
                    .answer = figure.answer,
                    .request = request,
                    .batches = doubling_batches(4096)};
    const std::int64_t usable = model::usable_memory(model::catalogue().at(figure.gpu)).bytes;
    double most = 0.0;
    for (const ServingPoint& point : serve(a, load, machine, usable)) {
        if (point.fits) most = std::max(most, point.tokens_per_s);
    }
    return most;
}

TEST_CASE("predictions stay close to published serving figures") {
    std::map<std::string, std::vector<double>> errors;
    for (const Figure& figure : figures()) {
        errors[figure.gpu].push_back(predicted(figure) / figure.value - 1.0);
    }
    REQUIRE(errors.size() == 5);
    for (const auto& [gpu, of_gpu] : errors) {
        const double mean = test::mean_percent(of_gpu);
        CAPTURE(gpu, mean);
        CHECK(mean <= test::bound("published." + gpu + ".mean"));
    }
}

}  // namespace
}  // namespace ridge::programs
