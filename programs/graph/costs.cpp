#include "programs/graph/costs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::programs {
namespace {

using hardware::Node;
using hardware::NodeKind;

using Costs = std::vector<std::pair<std::string, double>>;

/// Adds all numbers and times below a table. Other texts are remarks.
void add_costs(const Node& table, const std::string& path, Costs& all) {
    for (const Node& each : table.children) {
        if (path.empty() && each.kind != NodeKind::table) continue;
        const std::string name =
            path.empty() ? std::string(each.key) : path + '.' + std::string(each.key);
        if (each.kind == NodeKind::table) add_costs(each, name, all);
        if (each.kind == NodeKind::integer) {
            all.emplace_back(name, static_cast<double>(each.integer));
        }
        if (each.kind == NodeKind::real) all.emplace_back(name, each.real);
        if (each.kind == NodeKind::text && each.key != "source") {
            all.emplace_back(name, parse_quantity<Time>(each.text).base());
        }
    }
}

Costs read_costs() {
    Costs all;
    for (const hardware::EmbeddedFile& file : embedded_costs()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        add_costs(document.root, {}, all);
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

double cost(std::string_view path) {
    static const Costs all = read_costs();
    const auto found =
        std::lower_bound(all.begin(), all.end(), path,
                         [](const auto& each, std::string_view name) { return each.first < name; });
    RIDGE_CONTRACT(found != all.end() && found->first == path);
    return found->second;
}

Time time_cost(std::string_view path) {
    return Time::from_base(cost(path));
}

}  // namespace ridge::programs
