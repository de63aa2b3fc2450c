// Kernels of serving engines compared with the engines' tables, on shapes that no fit saw.
#include <map>
#include <string>

#include "measure/fit/left_out.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;
using Groups = std::map<std::string, std::vector<MeasuredRow>>;

/// A machine that resolves itself for the software of each row.
const model::Machine& with_software(const std::string& gpu) {
    static std::map<std::string, model::Machine> machines;
    const auto found = machines.find(gpu);
    if (found != machines.end()) return found->second;
    return machines.emplace(gpu, catalogue().machine(gpu)).first->second;
}

/// Rows of products that no fit saw, by type and GPU.
Groups left_out_products(const std::string& folder) {
    Groups groups;
    for (MeasuredRow& row : measure::read_folder(folder, {"engine_matmul"})) {
        if (!measure::is_left_out(row.operation)) continue;
        const std::string type(name_of(type_of(row.operation)));
        groups["engine." + type + "." + row.gpu].push_back(std::move(row));
    }
    return groups;
}

TEST_CASE("products of engines on shapes left out", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    const Groups groups = left_out_products(*folder);
    CHECK(groups.size() == 10);
    for (const auto& [name, rows] : groups) check_errors(accuracy_of(rows, with_software), name);
}

}  // namespace
}  // namespace ridge::test
