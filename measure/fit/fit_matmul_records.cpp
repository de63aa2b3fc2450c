// Fits matrix products to records of one GPU: each bundled kernel separately, and the library's
// kernel sets that public tables do not determine (tf32, fp32, and 16-bit operands whose rows are
// not multiples of 16 bytes). Launch, DRAM rate, L2 residency and power come from the set of
// aligned 16-bit products, which the tables determine. A GPU without tables starts from its
// family's values (`Prior::family`); for it, that set and the 8-bit set are fitted as well.
#include "measure/fit/fit.h"
#include "model/matmul/tiles.h"
#include "model/matmul/work.h"

namespace ridge::measure {
namespace {

using model::Implementation;

/// The library's kernel set that a row ran; empty if there is none.
std::string library_set(const model::Matmul& op) {
    if (op.type == model::DataType::tf32) return "tf32";
    if (op.type == model::DataType::fp32) return "fma";
    if (op.type == model::DataType::fp8) return "fp8";
    if (model::bits_of(op.type) != 16 || op.n == 1) return {};
    const std::int64_t bytes = model::matmul_alignment(op);
    if (bytes >= 16) return "tensor";
    return bytes >= 4 ? "align_4" : "align_2";
}

bool tables_determine(std::string_view section) {
    return section == "tensor" || section == "fp8";
}

/// The section whose parameters a row helps to fit; empty if there is none.
std::string matmul_section(const MeasuredRow& row) {
    if (row.kind != model::OperationKind::matmul) return {};
    const Implementation implementation = row.execution.implementation;
    if (implementation == Implementation::coalesced) return "naive";  // they share parameters
    if (model::bundled_kernel(implementation)) return std::string(name_of(implementation));
    if (implementation != Implementation::library) return {};
    return library_set(std::get<model::Matmul>(row.operation));
}

std::vector<FreeParameter> matmul_free_parameters(const FitProblem& problem,
                                                  const std::string& section) {
    const auto origin = tables_determine(section) ? model::Origin::tables : model::Origin::records;
    return free_parameters("matmul." + section, origin, problem.machines.begin()->second,
                           Sharing::per_gpu);
}

}  // namespace

std::vector<FitReport> fit_matmul_records(const FitRequest& request) {
    const bool tables = request.prior == Prior::none;
    const auto kernel_of = [tables](const MeasuredRow& row) {
        const std::string section = matmul_section(row);
        return tables && tables_determine(section) ? std::string() : section;
    };
    return fit_kernels(request, kernel_of, matmul_free_parameters);
}

}  // namespace ridge::measure
