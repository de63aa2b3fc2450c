// Whole models on two H200s of one node: records/torch-models/h200-x2.csv, written by
// scripts/measure/torch-parallel.py. No constant was chosen from them.
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
    Request request = test::request_of(row);
    if (how == "tp") request.tensor_parallel = 2;
    if (how == "ddp" || how.starts_with("zero")) request.data_parallel = 2;
    if (how.starts_with("zero")) request.zero = static_cast<std::int32_t>(how.back() - '0');
    return request;
}

/// FSDP2 keeps its share of the weights beside the gathered weights; stage 2 of the ZeRO paper does
/// not.
double kept_share(const ModelRow& row, const ModelStep& step) {
    return row.cells.at("how") == "zero2" ? static_cast<double>(step.weights_bytes) / 2.0 : 0.0;
}

TEST_CASE("memory of measured steps on two GPUs") {
    int compared = 0;
    for (const ModelRow& row : test::model_rows("h200-x2")) {
        const Request request = parallel_request(row);
        if (request.tensor_parallel > 1) continue;  // embedding and head are not split there
        const ModelStep step = make_step(find_model(row.cells.at("model")), request);
        const StepMemory memory = memory_of(step);
        const double found = static_cast<double>(memory.resident + 2 * cublas_workspace) +
                             static_cast<double>(memory.extra()) + kept_share(row, step);
        const double measured = row.number("allocated_before") + row.number("peak_extra_bytes");
        CAPTURE(row.cells.at("model"), row.cells.at("how"), found, measured);
        CHECK(std::abs(found / measured - 1.0) < 0.006);
        ++compared;
    }
    CHECK(compared == 8);
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
