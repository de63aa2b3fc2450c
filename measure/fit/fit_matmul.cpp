// Fits the matrix-product model to times of library products.
//
// Each GPU and each kernel set (16-bit, 8-bit, fp32) is one fit: the 8-bit kernels share launch,
// DRAM and fill with the 16-bit ones and have their own rates and quantising kernels; fp32 calls in
// a stream determine the host's part, the issue rate and the operand feed. Values that the rows
// hardly determine (L2 rate and residency, droop, cluster) stay as the description has them.

#include <algorithm>
#include <map>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "model/matmul/time.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using model::Machine;
using model::MatmulParameters;
using model::MatmulPipe;

MatmulParameters& parameters_of(Machine& machine, MatmulPipe pipe) {
    auto& found = machine.matmul.pipes[static_cast<std::size_t>(pipe)];
    if (!found) {
        throw InputError("GPU '" + machine.name + "' has no model.matmul fields to start from");
    }
    return *found;
}

MatmulPipe pipe_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Matmul>(row.operation);
    if (op.type == model::DataType::fp32) return MatmulPipe::vector;
    return size_of(op.type) == 1 ? MatmulPipe::eight_bit : MatmulPipe::tensor;
}

template <class Value>
FreeParameter in_set(const std::string& section, MatmulPipe pipe, const std::string& name,
                     Value MatmulParameters::*member) {
    FreeParameter parameter = free_parameter(
        "model.matmul." + section + "." + name,
        [pipe, member](Machine& m) -> Value& { return parameters_of(m, pipe).*member; });
    parameter.per_gpu = true;
    return parameter;
}

/// Rates and latencies that each tensor kernel set has for itself.
std::vector<FreeParameter> own_rates(const std::string& section, MatmulPipe pipe) {
    using P = MatmulParameters;
    return {in_set(section, pipe, "k_step", &P::k_step),
            in_set(section, pipe, "issue_fraction", &P::issue_fraction),
            in_set(section, pipe, "burst_fraction", &P::burst_fraction),
            in_set(section, pipe, "sustained_fraction", &P::sustained_fraction),
            in_set(section, pipe, "store_bytes_per_clock", &P::store_per_sm),
            in_set(section, pipe, "second_kernel", &P::second_kernel)};
}

std::vector<FreeParameter> tensor_parameters(const MatmulParameters& start) {
    using P = MatmulParameters;
    constexpr MatmulPipe pipe = MatmulPipe::tensor;
    auto all = own_rates("tensor", pipe);
    all.push_back(in_set("tensor", pipe, "launch", &P::launch));
    all.push_back(in_set("tensor", pipe, "fill", &P::fill));
    all.push_back(in_set("tensor", pipe, "cold_fill", &P::cold_fill));
    all.push_back(in_set("tensor", pipe, "dram_fraction", &P::dram_fraction));
    if (start.feed_elements > 0.0) {
        all.push_back(in_set("tensor", pipe, "feed_elements", &P::feed_elements));
    }
    if (start.gemv_per_sm > Bandwidth{}) {
        all.push_back(in_set("tensor", pipe, "gemv_bandwidth", &P::gemv_per_sm));
    }
    return all;
}

std::vector<FreeParameter> free_parameters(Machine& machine, MatmulPipe pipe) {
    using P = MatmulParameters;
    if (pipe == MatmulPipe::tensor) return tensor_parameters(parameters_of(machine, pipe));
    if (pipe == MatmulPipe::eight_bit) {
        auto all = own_rates("fp8", pipe);
        all.push_back(in_set("fp8", pipe, "quantise", &P::quantise));
        all.push_back(in_set("fp8", pipe, "quantise_warm", &P::quantise_warm));
        all.push_back(in_set("fp8", pipe, "quantise_cold", &P::quantise_cold));
        return all;
    }
    return {in_set("fma", pipe, "issue_fraction", &P::issue_fraction),
            in_set("fma", pipe, "feed_elements", &P::feed_elements),
            free_parameter("model.matmul.stream_launch", [](Machine& m) -> Time& {
                if (!m.matmul.stream_launch) throw InputError("no model.matmul.stream_launch");
                return *m.matmul.stream_launch;
            })};
}

std::string group_of(const MeasuredRow& row, const model::Prediction& prediction) {
    const auto& op = std::get<model::Matmul>(row.operation);
    const std::string start = row.gpu + " " + std::string(name_of(op.type)) + " ";
    if (prediction.tiling.split > 1) return start + "split k";
    return start + std::string(name_of(prediction.limiter));
}

/// Products with one pair of weights' extents are held out together.
std::string shape_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Matmul>(row.operation);
    return std::to_string(op.n) + "x" + std::to_string(op.k);
}

}  // namespace

std::vector<FitReport> fit_matmul(const FitRequest& request) {
    if (!request.records.empty()) return fit_matmul_records(request);
    std::map<MatmulPipe, std::vector<MeasuredRow>> sets;
    for (MeasuredRow& row : read_folder(request.data, {"matmul"})) {
        const bool wanted =
            request.gpus.empty() ||
            std::find(request.gpus.begin(), request.gpus.end(), row.gpu) != request.gpus.end();
        if (wanted) sets[pipe_of(row)].push_back(std::move(row));
    }
    if (sets.empty()) throw InputError("no rows of these GPUs", {request.data, 0, 0});
    std::vector<FitReport> reports;
    for (const auto& [pipe, rows] : sets) {
        for (FitProblem& problem : split_rows(rows, {request.data, {}, request.machine})) {
            problem.parameters = free_parameters(problem.machines.begin()->second, pipe);
            problem.group = group_of;
            problem.fold_key = shape_of;
            reports.push_back(run_fit(problem));
            const auto& op = std::get<model::Matmul>(problem.rows.front().operation);
            reports.back().name += " " + std::string(name_of(op.type));
        }
    }
    return reports;
}

}  // namespace ridge::measure
