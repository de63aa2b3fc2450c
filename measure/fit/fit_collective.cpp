// Fits the time model of collectives to NCCL times of one or more GPUs on the same kind of fabric.
//
// Free is every field of model.collective but the GPUs from which on the switch adds. What the
// library's tuner believes is not fitted: it decides the protocol, not the time.

#include "hardware/error.h"
#include "measure/fit/fit.h"

namespace ridge::measure {
namespace {

model::FabricParameters& fabric_of(model::Machine& machine) {
    if (!machine.fabric) {
        throw InputError("GPU '" + machine.name + "' has no model.collective fields to start from");
    }
    return *machine.fabric;
}

template <class Value>
FreeParameter member(const std::string& field, Value model::FabricParameters::*place) {
    return free_parameter("model.collective." + field, [place](model::Machine& machine) -> Value& {
        return fabric_of(machine).*place;
    });
}

void add_protocol(std::vector<FreeParameter>& parameters, const std::string& name,
                  model::ProtocolCost model::FabricParameters::*place) {
    const auto cost = [place](model::Machine& machine) -> model::ProtocolCost& {
        return fabric_of(machine).*place;
    };
    const std::string path = "model.collective." + name;
    parameters.push_back(free_parameter(
        path + ".start", [cost](model::Machine& m) -> Time& { return cost(m).start; }));
    parameters.push_back(
        free_parameter(path + ".hop", [cost](model::Machine& m) -> Time& { return cost(m).hop; }));
    parameters.push_back(free_parameter(
        path + ".rate", [cost](model::Machine& m) -> double& { return cost(m).rate; }));
}

std::vector<FreeParameter> collective_parameters(bool with_nvls) {
    using Fabric = model::FabricParameters;
    std::vector<FreeParameter> parameters;
    add_protocol(parameters, "ll", &Fabric::ll);
    add_protocol(parameters, "ll128", &Fabric::ll128);
    add_protocol(parameters, "simple", &Fabric::simple);
    parameters.push_back(member("local_share", &Fabric::local_share));
    parameters.push_back(member("engage.time", &Fabric::engage));
    parameters.push_back(member("engage.bytes", &Fabric::engage_bytes));
    parameters.push_back(member("peer_ll.start", &Fabric::peer_ll_start));
    parameters.push_back(member("peer_ll.peer", &Fabric::peer_ll_peer));
    parameters.push_back(member("peer_ll.bandwidth", &Fabric::peer_ll_bandwidth));
    parameters.push_back(member("peer.start", &Fabric::peer_start));
    parameters.push_back(member("peer.peer", &Fabric::peer_peer));
    parameters.push_back(member("peer.rate", &Fabric::peer_rate));
    parameters.push_back(member("peer.fill", &Fabric::peer_fill));
    parameters.push_back(member("peer.fill_bytes", &Fabric::peer_fill_bytes));
    if (with_nvls) {
        parameters.push_back(member("nvls.start", &Fabric::nvls_start));
        parameters.push_back(member("nvls.rate", &Fabric::nvls_rate));
    }
    return parameters;
}

std::string group_of(const MeasuredRow& row, const model::Prediction&) {
    return row.gpu + " " + std::string(model::name_of(row.operation));
}

/// Rows of one operation, number of GPUs and size are held out together.
std::string shape_of(const MeasuredRow& row) {
    const auto& op = std::get<model::Collective>(row.operation);
    return std::string(model::name_of(row.operation)) + std::to_string(op.gpus) + "/" +
           std::to_string(op.bytes);
}

}  // namespace

std::vector<FitReport> fit_collective(const FitRequest& request) {
    std::vector<FitReport> reports;
    for (FitProblem& problem : split_rows(read_folder(request.data, {"collectives"}), request)) {
        const auto& fabric = problem.machines.begin()->second.fabric;
        problem.parameters = collective_parameters(fabric && fabric->nvls_gpus > 0);
        problem.group = group_of;
        problem.fold_key = shape_of;
        reports.push_back(run_fit(problem));
    }
    return reports;
}

}  // namespace ridge::measure
