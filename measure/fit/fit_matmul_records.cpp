// Fits matrix products to records of one GPU: each bundled kernel by itself, and the library's
// kernel sets that public tables do not determine (tf32, fp32, and 16-bit operands whose rows are
// not multiples of 16 bytes). Launch, DRAM rate, L2 residency and power come from the set of
// aligned 16-bit products, which the tables determine.
#include "measure/fit/fit.h"
#include "model/matmul/tiles.h"
#include "model/matmul/work.h"

namespace ridge::measure {
namespace {

using model::Implementation;

/// The library's kernel set of a row; empty for those that public tables determine.
std::string library_set(const model::Matmul& op) {
    if (op.type == model::DataType::tf32) return "tf32";
    if (op.type == model::DataType::fp32) return "fma";
    if (size_of(op.type) != 2 || op.n == 1) return {};
    const std::int64_t bytes = model::matmul_alignment(op);
    if (bytes >= 16) return {};
    return bytes >= 4 ? "align_4" : "align_2";
}

/// The section whose parameters a row helps to fit; empty for none.
std::string section_of(const MeasuredRow& row) {
    if (row.kind != model::OperationKind::matmul) return {};
    const Implementation implementation = row.execution.implementation;
    if (implementation == Implementation::coalesced) return "naive";  // they share parameters
    if (model::bundled_kernel(implementation)) return std::string(name_of(implementation));
    if (implementation != Implementation::library) return {};
    return library_set(std::get<model::Matmul>(row.operation));
}

std::vector<FreeParameter> parameters_of(const FitProblem& problem, const std::string& section) {
    return free_parameters("matmul." + section, model::Origin::records,
                           problem.machines.begin()->second, Sharing::per_gpu);
}

}  // namespace

std::vector<FitReport> fit_matmul_records(const FitRequest& request) {
    return fit_kernels(request, section_of, parameters_of);
}

}  // namespace ridge::measure
