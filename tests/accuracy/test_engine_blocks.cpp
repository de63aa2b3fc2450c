// Experts, all-reduce and linear attention of serving engines compared with aiconfigurator's tables,
// kernel by kernel of each engine.
#include <map>
#include <string>

#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;
using BlockGroups = std::map<std::string, std::vector<MeasuredRow>>;

/// Mean and p90 of each class have a bound, and the band of each holds 72 to 90 % of its rows.
void check_blocks(const std::string& prefix, const std::vector<std::string>& tables) {
    const auto folder = reference_folder();
    if (!folder) return;
    BlockGroups groups;
    for (MeasuredRow& row : measure::read_folder(*folder, tables)) {
        const std::string engine(row.execution.software.name());
        groups[prefix + "." + engine.substr(0, engine.find('-')) + "." + row.gpu].push_back(
            std::move(row));
    }
    CHECK_FALSE(groups.empty());
    for (const auto& [name, rows] : groups) check_bounds(accuracy_of(rows, machine), name);
}

TEST_CASE("blocks of experts, by engine", "[accuracy]") {
    check_blocks("engine_moe", {"engine_moe"});
}
TEST_CASE("all-reduce, by engine", "[accuracy]") {
    check_blocks("engine_all_reduce", {"engine_all_reduce"});
}
TEST_CASE("gated delta nets, by engine", "[accuracy]") {
    check_blocks("engine_gdn", {"engine_gdn"});
}
TEST_CASE("Kimi delta attention, by engine", "[accuracy]") {
    check_blocks("engine_kda", {"engine_kda"});
}
TEST_CASE("Mamba-2's convolution, by engine", "[accuracy]") {
    check_blocks("engine_mamba2", {"engine_mamba2"});
}

}  // namespace
}  // namespace ridge::test
