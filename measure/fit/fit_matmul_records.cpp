// Fits matrix products to records of one GPU: each bundled kernel by itself, and the library's
// kernel sets that public tables do not determine (tf32, fp32, and 16-bit operands whose rows are
// not multiples of 16 bytes). Launch, DRAM rate, L2 residency and power come from the set of
// aligned 16-bit products, which the tables determine.
#include <optional>
#include <utility>

#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "model/matmul/tiles.h"
#include "model/matmul/work.h"

namespace ridge::measure {
namespace {

using model::BundledMatmul;
using model::Implementation;
using model::Machine;
using model::MatmulParameters;
using model::MatmulPipe;

constexpr std::string_view prefix = "model.matmul.";

[[noreturn]] void refuse(const Machine& machine, const std::string& section) {
    throw InputError("GPU '" + machine.name + "' has no " + std::string(prefix) + section +
                     ".issue_fraction to start from");
}

/// The bundled kernel's value, as long as it starts above zero: a least-squares fit of logarithms
/// cannot leave zero.
template <class Value>
void add_if_set(std::vector<FreeParameter>& free, const Machine& machine,
                const std::string& section, const model::BundledKernel& kernel,
                const std::string& name, Value BundledMatmul::*member) {
    const auto slot = kernel.parameters;
    const auto place = [slot, member, section](Machine& m) -> Value& {
        auto& known = m.matmul.bundled.*slot;
        if (!known) refuse(m, section);
        return (*known).*member;
    };
    FreeParameter parameter = free_parameter(std::string(prefix) + section + "." + name, place);
    parameter.per_gpu = true;
    if (parameter.read(machine) > 0.0) free.push_back(std::move(parameter));
}

/// `drift` stays: it is about bytes, which times do not determine.
std::vector<FreeParameter> bundled_parameters(const Machine& machine, const std::string& section,
                                              const model::BundledKernel& kernel) {
    using B = BundledMatmul;
    std::vector<FreeParameter> free;
    add_if_set(free, machine, section, kernel, "launch", &B::launch);
    add_if_set(free, machine, section, kernel, "start", &B::start);
    add_if_set(free, machine, section, kernel, "fill", &B::fill);
    add_if_set(free, machine, section, kernel, "cold_fill", &B::cold_fill);
    add_if_set(free, machine, section, kernel, "step", &B::step);
    add_if_set(free, machine, section, kernel, "step_miss", &B::step_miss);
    add_if_set(free, machine, section, kernel, "step_unaligned", &B::step_unaligned);
    add_if_set(free, machine, section, kernel, "fill_unaligned", &B::fill_unaligned);
    add_if_set(free, machine, section, kernel, "issue_fraction", &B::issue_fraction);
    add_if_set(free, machine, section, kernel, "store_bytes_per_clock", &B::store_per_sm);
    add_if_set(free, machine, section, kernel, "feed_bytes_per_clock", &B::feed_per_sm);
    return free;
}

template <class Value>
FreeParameter in_set(const std::string& section, MatmulPipe pipe, const std::string& name,
                     Value MatmulParameters::*member) {
    const auto place = [pipe, member, section](Machine& m) -> Value& {
        auto& known = m.matmul.pipes[static_cast<std::size_t>(pipe)];
        if (!known) refuse(m, section);
        return (*known).*member;
    };
    FreeParameter parameter = free_parameter(std::string(prefix) + section + "." + name, place);
    parameter.per_gpu = true;
    return parameter;
}

std::vector<FreeParameter> library_parameters(const Machine& machine, const std::string& section,
                                              MatmulPipe pipe) {
    using P = MatmulParameters;
    std::vector<FreeParameter> free{in_set(section, pipe, "fill", &P::fill),
                                    in_set(section, pipe, "k_step", &P::k_step),
                                    in_set(section, pipe, "issue_fraction", &P::issue_fraction),
                                    in_set(section, pipe, "second_kernel", &P::second_kernel)};
    FreeParameter miss = in_set(section, pipe, "k_step_miss", &P::k_step_miss);
    if (miss.read(machine) > 0.0) free.push_back(std::move(miss));
    if (model::falls_back(pipe)) {
        free.push_back(in_set(section, pipe, "store_bytes_per_clock", &P::store_per_sm));
    }
    return free;
}

/// The library's kernel set of a row; empty for those that public tables determine.
std::optional<std::pair<std::string, MatmulPipe>> library_set(const model::Matmul& op) {
    if (op.type == model::DataType::tf32) return {{"tf32", MatmulPipe::tf32}};
    if (op.type == model::DataType::fp32) return {{"fma", MatmulPipe::vector}};
    if (size_of(op.type) != 2 || op.n == 1) return std::nullopt;
    const std::int64_t bytes = model::matmul_alignment(op);
    if (bytes >= 16) return std::nullopt;
    if (bytes >= 4) return {{"align_4", MatmulPipe::align_4}};
    return {{"align_2", MatmulPipe::align_2}};
}

/// The section whose parameters a row helps to fit; empty for none.
std::string section_of(const MeasuredRow& row) {
    if (row.kind != model::OperationKind::matmul) return {};
    const Implementation implementation = row.execution.implementation;
    if (model::bundled_kernel(implementation)) return std::string(name_of(implementation));
    if (implementation != Implementation::library) return {};
    const auto set = library_set(std::get<model::Matmul>(row.operation));
    return set ? set->first : std::string();
}

std::vector<FreeParameter> free_parameters(const FitProblem& problem, const std::string& section) {
    const MeasuredRow& first = problem.rows.front();
    const Machine& machine = problem.machines.begin()->second;
    if (const auto kernel = model::bundled_kernel(first.execution.implementation)) {
        return bundled_parameters(machine, section, *kernel);
    }
    return library_parameters(machine, section,
                              library_set(std::get<model::Matmul>(first.operation))->second);
}

}  // namespace

std::vector<FitReport> fit_matmul_records(const FitRequest& request) {
    return fit_kernels(request, section_of, free_parameters);
}

}  // namespace ridge::measure
