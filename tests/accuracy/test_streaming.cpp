// Eager kernels that stream their data, compared with NeuSight's tables; collectives, compared with
// aiconfigurator's.
#include <map>
#include <string>

#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {

TEST_CASE("eager elementwise, softmax and layernorm", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    std::map<std::string, std::vector<measure::MeasuredRow>> groups;
    for (measure::MeasuredRow& row :
         measure::read_folder(*folder, {"elementwise", "softmax", "layernorm"})) {
        if (row.measured < 20.0 * units::us) continue;
        const std::string type(model::name_of(model::type_of(row.operation)));
        const std::string operation(model::name_of(row.operation));
        groups[operation + "." + type + "." + row.gpu].push_back(std::move(row));
    }
    CHECK(groups.size() == 6);
    for (const auto& [name, rows] : groups) check_errors(accuracy_of(rows, machine), name);
}

TEST_CASE("collectives within one node", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    std::map<std::string, std::vector<measure::MeasuredRow>> groups;
    for (measure::MeasuredRow& row : measure::read_folder(
             *folder, {"collectives_a100", "collectives_h100", "collectives_h200"})) {
        groups["collectives." + row.gpu].push_back(std::move(row));
    }
    CHECK(groups.size() == 3);
    for (const auto& [name, rows] : groups) check_bounds(accuracy_of(rows, machine), name);
}

}  // namespace ridge::test
