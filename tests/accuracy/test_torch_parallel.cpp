// Whole models on two and four H200s of one node: records/torch-models/h200-x2.csv, -x2-again, -x4 and
// -x4-others, written by scripts/measure/torch-parallel.py. The host time of wrappers was chosen from the
// first three.
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

constexpr std::int64_t cublas_workspace = std::int64_t{32} << 20;  // per thread, on Hopper

Request parallel_request(const ModelRow& row) {
    const std::string& how = row.cells.at("how");
    const auto gpus = static_cast<std::int64_t>(row.number("gpus"));
    Request request = test::request_of(row);
    if (how == "tp") request.tensor_parallel = gpus;
    if (how == "ddp" || how.starts_with("zero")) request.data_parallel = gpus;
    if (how.starts_with("zero")) request.zero = static_cast<std::int32_t>(how.back() - '0');
    return request;
}

TEST_CASE("memory of measured steps on two and four GPUs") {
    int compared = 0;
    for (const char* file : {"h200-x2", "h200-x4", "h200-x4-others"}) {
        for (const ModelRow& row : test::model_rows(file)) {
            const Request request = parallel_request(row);
            if (request.tensor_parallel > 1) continue;  // embedding and head are not split there
            const ModelStep step = make_step(find_model(row.cells.at("model")), request);
            const StepMemory memory = memory_of(step);
            const double found = static_cast<double>(memory.resident + 2 * cublas_workspace) +
                                 static_cast<double>(memory.extra());
            const double measured = row.number("allocated_before") + row.number("peak_extra_bytes");
            CAPTURE(file, row.cells.at("model"), row.cells.at("how"), found, measured);
            CHECK(std::abs(found / measured - 1.0) < 0.01);
            ++compared;
        }
    }
    CHECK(compared == 24);
}

/// Mean absolute error of the wall times of a file's steps.
double wall_error(const std::string& file) {
    const model::Machine& machine = test::machine("h200-sxm");
    double sum = 0.0;
    int count = 0;
    for (const ModelRow& row : test::model_rows(file)) {
        const Request request = parallel_request(row);
        const ModelStep step = make_step(find_model(row.cells.at("model")), request);
        const StepTime time = predict(step, machine, host_beside(machine.name));
        sum += std::abs(time.wall.in(units::us) / row.number("wall_us") - 1.0);
        ++count;
    }
    return sum / count;
}

// The slowest rank counts (W23); the same step still differs by up to twice from one machine to the next.
TEST_CASE("wall times of measured steps on several GPUs, on hosts as they were") {
    CHECK(wall_error("h200-x2") < 0.08);
    CHECK(wall_error("h200-x2-again") < 0.10);
    CHECK(wall_error("h200-x4") < 0.165);
    CHECK(wall_error("h200-x4-others") < 0.125);
}

TEST_CASE("steps bound by their GPUs, with communication beside the kernels") {
    const model::Machine& machine = test::machine("h200-sxm");
    int compared = 0;
    for (const char* file : {"h200-x2", "h200-x2-again", "h200-x4"}) {
        for (const ModelRow& row : test::model_rows(file)) {
            if (row.cells.at("phase") != "train" || row.number("seq") < 2048) continue;
            const Request request = parallel_request(row);
            const ModelStep step = make_step(find_model(row.cells.at("model")), request);
            const StepTime time = predict(step, machine, host_beside(machine.name));
            CAPTURE(file, row.cells.at("how"), time.wall.in(units::us));
            CHECK(std::abs(time.wall.in(units::us) / row.number("wall_us") - 1.0) < 0.11);
            CHECK(time.exposed < 0.5 * time.communication);
            ++compared;
        }
    }
    CHECK(compared == 6);
}

TEST_CASE("measured tensor-parallel steps") {
    const model::Machine& machine = test::machine("h200-sxm");
    int compared = 0;
    for (const ModelRow& row : test::model_rows("h200-x2")) {
        const Request request = parallel_request(row);
        if (request.tensor_parallel < 2) continue;
        const ModelStep step = make_step(find_model(row.cells.at("model")), request);
        const StepTime time = predict(step, machine, host_beside(machine.name));
        std::int64_t kernels = 0;
        double own = 0.0;
        for (std::size_t i = 0; i < step.program.entries.size(); ++i) {
            const Entry& entry = step.program.entries[i];
            if (entry.module == Module::communication) continue;
            kernels += entry.count * entry.kernels;
            own += time_of(entry, time.gpu.outcomes[i]).in(units::us);
        }
        CAPTURE(row.cells.at("phase"), request.batch, own, kernels);
        CHECK(
            std::abs(static_cast<double>(memory_of(step).extra()) / row.number("peak_extra_bytes") -
                     1.0) < 0.01);
        const double count = static_cast<double>(kernels) / row.number("kernels") - 1.0;
        CHECK(std::abs(count) < 0.05);
        CHECK(std::abs(own / row.number("time_us") - 1.0) < 0.12);
        ++compared;
    }
    CHECK(compared == 3);
}

}  // namespace
}  // namespace ridge::programs
