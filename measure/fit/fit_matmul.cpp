// Fits the matrix-product model to times of library products.
//
// Each kernel set (16-bit, 8-bit, fp32) of each GPU is one fit. The 8-bit kernels share launch,
// DRAM and fill with the 16-bit ones and have their own rates and quantising kernels. fp32 calls in
// a stream determine the host's part, the issue rate and the operand feed. Values that the rows
// hardly determine (L2 rate and residency, droop, cluster) keep their described values.

#include <algorithm>
#include <map>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "model/matmul/time.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using model::Machine;
using model::MatmulPipe;

MatmulPipe pipe_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Matmul>(row.operation);
    if (op.type == model::DataType::fp32) return MatmulPipe::vector;
    if (op.type == model::DataType::nvfp4) return MatmulPipe::four_bit;
    return model::bits_of(op.type) == 8 ? MatmulPipe::eight_bit : MatmulPipe::tensor;
}

/// Each GPU's parameters; the host's part of a call, which fp32 calls in a stream determine, is
/// shared.
std::vector<FreeParameter> parameters_of(const Machine& machine, MatmulPipe pipe) {
    const auto& section = model::matmul_sections()[static_cast<std::size_t>(pipe)];
    auto all = free_parameters(section.path, model::Origin::tables, machine, Sharing::per_gpu);
    if (pipe == MatmulPipe::vector) {
        const auto call = free_parameters("matmul", model::Origin::tables, machine);
        all.insert(all.end(), call.begin(), call.end());
    }
    return all;
}

std::string matmul_group(const MeasuredRow& row, const model::Prediction& prediction) {
    const auto& op = std::get<model::Matmul>(row.operation);
    const std::string start = row.gpu + " " + std::string(name_of(op.type)) + " ";
    if (prediction.tiling.split > 1) return start + "split k";
    return start + std::string(name_of(prediction.limiter));
}

/// Products with the same n and k are held out together.
std::string matmul_shape(const MeasuredRow& row) {
    const auto& op = std::get<model::Matmul>(row.operation);
    return std::to_string(op.n) + "x" + std::to_string(op.k);
}

}  // namespace

std::vector<FitReport> fit_matmul(const FitRequest& request) {
    if (!request.records.empty()) return fit_matmul_records(request);
    std::map<MatmulPipe, std::vector<MeasuredRow>> sets;
    for (MeasuredRow& row : table_rows(request, {"matmul"})) {
        const bool wanted =
            request.gpus.empty() ||
            std::find(request.gpus.begin(), request.gpus.end(), row.gpu) != request.gpus.end();
        if (wanted) sets[pipe_of(row)].push_back(std::move(row));
    }
    FitRequest alone = request;
    alone.gpus.clear();
    std::vector<FitReport> reports;
    for (const auto& [pipe, rows] : sets) {
        for (FitProblem& problem : split_rows(rows, alone)) {
            problem.parameters = parameters_of(problem.machines.begin()->second, pipe);
            problem.group = matmul_group;
            problem.fold_key = matmul_shape;
            reports.push_back(run_fit(problem));
            const auto& op = std::get<model::Matmul>(problem.rows.front().operation);
            reports.back().name += " " + std::string(name_of(op.type));
        }
    }
    return reports;
}

}  // namespace ridge::measure
