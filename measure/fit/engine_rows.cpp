#include "measure/fit/engine_rows.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "hardware/error.h"
#include "measure/fit/left_out.h"
#include "model/machine/machine_software.h"
#include "model/software.h"

namespace ridge::measure {
namespace {

/// Tables of engines that the laws cover.
const std::vector<std::string> tables{"engine_matmul",     "engine_attention", "engine_moe",
                                      "engine_all_reduce", "engine_gdn",       "engine_kda",
                                      "engine_mamba2",     "engine_mixed"};

/// Rows of one kernel of an engine, by its section of parameters.
using KernelRows = std::map<std::string, std::vector<MeasuredRow>>;

/// All rows that were read, those of one table, or those of the folder's tables of engines.
std::vector<MeasuredRow> engine_rows(const FitRequest& request) {
    if (request.read != nullptr) return *request.read;
    if (!request.tables.empty() || std::filesystem::is_directory(request.data)) {
        return table_rows(request, tables);
    }
    return read_rows(request.data, request.keep, request.gpu_of_tables);
}

KernelRows by_kernel(std::vector<MeasuredRow> rows, const model::Machine& machine,
                     bool every_shape) {
    KernelRows kernels;
    for (MeasuredRow& row : rows) {
        if (row.execution.software.is_usual()) continue;
        if (!every_shape && is_left_out(row.operation)) continue;
        const model::SoftwareRun run = model::run_of(row.operation, row.execution, machine);
        if (run.kernel == nullptr || !run.refusal.empty()) continue;
        kernels[run.kernel->recipe->section].push_back(std::move(row));
    }
    return kernels;
}

}  // namespace

const model::EngineKernel& EngineKernelRows::kernel() const {
    const auto found = std::find_if(
        machine.engine.begin(), machine.engine.end(),
        [this](const model::EngineKernel& each) { return each.recipe->section == section; });
    RIDGE_CONTRACT(found != machine.engine.end());
    return *found;
}

model::FeatureNames EngineKernelRows::features() const {
    return model::law_table()[kernel().recipe->law].features;
}

void EngineKernelRows::drop_correction() {
    for (model::EngineKernel& each : machine.engine) {
        if (each.recipe->section == section) each.correction = nullptr;
    }
}

std::vector<EngineKernelRows> engine_kernel_rows(const FitRequest& request) {
    std::map<std::string, std::vector<MeasuredRow>> of_gpu;
    for (MeasuredRow& row : engine_rows(request)) {
        const bool wanted =
            request.gpus.empty() ||
            std::find(request.gpus.begin(), request.gpus.end(), row.gpu) != request.gpus.end();
        if (wanted) of_gpu[row.gpu].push_back(std::move(row));
    }
    std::vector<EngineKernelRows> all;
    for (auto& [gpu, rows] : of_gpu) {
        const model::Machine usual = request.machine(gpu);
        const model::SoftwareChoice only = usual.software->chosen();
        if (!only.is_usual()) {
            std::erase_if(
                rows, [only](const MeasuredRow& row) { return row.execution.software != only; });
        }
        for (auto& [section, of_kernel] : by_kernel(std::move(rows), usual, request.every_shape)) {
            EngineKernelRows& each = all.emplace_back();
            each.gpu = gpu;
            each.section = section;
            each.machine = model::machine_with(usual, of_kernel.front().execution.software);
            each.rows = std::move(of_kernel);
        }
    }
    return all;
}

}  // namespace ridge::measure
