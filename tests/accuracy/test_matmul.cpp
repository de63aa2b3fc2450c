// Library matrix products compared with the times in aiconfigurator's and NeuSight's tables.
#include <map>
#include <string>

#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {

TEST_CASE("library matrix products", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    std::map<std::string, std::vector<measure::MeasuredRow>> groups;
    // Tables of the GPUs that the parameters are fitted to. Tables of other GPUs have no bounds.
    for (measure::MeasuredRow& row : measure::read_folder(
             *folder,
             {"matmul_a100", "matmul_h100", "matmul_h200", "matmul_b200", "matmul_fp32"})) {
        const std::string type(model::name_of(model::type_of(row.operation)));
        groups["matmul." + type + "." + row.gpu].push_back(std::move(row));
    }
    CHECK(groups.size() == 10);
    for (const auto& [name, rows] : groups) check_bounds(accuracy_of(rows, machine), name);
}

}  // namespace ridge::test
