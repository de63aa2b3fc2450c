#include "programs/host.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

struct HostTable {
    std::vector<Host> hosts;
    std::vector<std::string> gpus;           ///< of each host: how the names of its chips begin
    std::vector<std::string> measured_with;  ///< the same of chips whose records it comes from
};

std::string text_of(const hardware::Node& row, std::string_view key) {
    const hardware::Node* const node = row.child(key);
    RIDGE_CONTRACT(node != nullptr);
    return std::string(node->text);
}

double number_of(const hardware::Node& row, std::string_view key) {
    const hardware::Node* const node = row.child(key);
    RIDGE_CONTRACT(node != nullptr);
    return node->real;
}

HostTable read_hosts() {
    HostTable table;
    for (const hardware::EmbeddedFile& file : embedded_hosts()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        for (const hardware::Node& row : document.root.child("host")->children) {
            table.hosts.push_back({.name = text_of(row, "name"),
                                   .processor = text_of(row, "processor"),
                                   .launch = parse_quantity<Time>(text_of(row, "launch")),
                                   .slow = number_of(row, "slow"),
                                   .slow_share = number_of(row, "slow_share")});
            table.gpus.push_back(text_of(row, "gpus"));
            table.measured_with.push_back(text_of(row, "measured_with"));
        }
    }
    return table;
}

const HostTable& measured() {
    static const HostTable table = read_hosts();
    return table;
}

/// The first of the beginnings that a name has; their number if it has none.
std::size_t beginning_of(std::string_view name, const std::vector<std::string>& beginnings) {
    const auto found =
        std::find_if(beginnings.begin(), beginnings.end(),
                     [name](const std::string& each) { return name.starts_with(each); });
    return static_cast<std::size_t>(found - beginnings.begin());
}

}  // namespace

Time Host::per_kernel() const {
    return cost("host.kernel") * launch;
}
Time Host::per_gradient_kernel() const {
    return cost("host.gradient_kernel") * launch;
}
Time Host::per_update_kernel() const {
    return cost("host.update_kernel") * launch;
}
Time Host::per_layer() const {
    return cost("host.layer") * launch;
}
Time Host::per_step() const {
    return cost("host.step") * launch;
}
Time Host::per_training_step() const {
    return cost("host.training_step") * launch;
}
Time Host::per_graph(std::int64_t kernels) const {
    return (cost("host.graph") + cost("host.graph_kernel") * static_cast<double>(kernels)) * launch;
}

Time gap_of_stream() {
    return time_cost("host.gap_of_stream");
}
Time gap_of_graph() {
    return time_cost("host.gap_of_graph");
}

std::span<const Host> hosts() {
    return measured().hosts;
}

const Host& find_host(std::string_view name) {
    std::string names;
    for (const Host& host : hosts()) {
        if (host.name == name) return host;
        names += (names.empty() ? "" : ", ") + host.name;
    }
    throw InputError("host '" + std::string(name) + "' is not known", {}, "one of " + names);
}

Host at_launch(Host host, Time launch) {
    host.launch = launch;
    return host;
}

Host among(Host host, std::int64_t ranks) {
    const double one = 1.0 + (host.slow - 1.0) * host.slow_share;
    const double any = 1.0 - std::pow(1.0 - host.slow_share, static_cast<double>(ranks));
    host.launch = host.launch * ((1.0 + (host.slow - 1.0) * any) / one);
    return host;
}

const Host& host_beside(std::string_view gpu) {
    const std::size_t place = beginning_of(gpu, measured().gpus);
    return hosts()[place < hosts().size() ? place : 0];
}

bool has_measured_host(std::string_view gpu) {
    return beginning_of(gpu, measured().measured_with) < hosts().size();
}

}  // namespace ridge::programs
