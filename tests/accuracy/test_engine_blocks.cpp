// Experts, all-reduce and linear attention of serving engines compared with aiconfigurator's tables,
// kernel by kernel of each engine.
#include <map>
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/software.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;
using BlockGroups = std::map<std::string, std::vector<MeasuredRow>>;

/// The GPU with the software that runs on it.
const model::Machine& gpu_of_blocks(const std::string& gpu) {
    static const model::Catalogue all = model::Catalogue::embedded();
    static std::map<std::string, model::Machine> machines;
    auto found = machines.find(gpu);
    if (found == machines.end()) found = machines.emplace(gpu, all.machine(gpu)).first;
    return found->second;
}

/// Whether the rows are of the version that was fitted: those of another have a wider band.
bool of_fitted_version(const MeasuredRow& row) {
    const model::SoftwareRun run =
        model::run_of(row.operation, row.execution, gpu_of_blocks(row.gpu));
    return run.fitted.is_usual();
}

/// Mean and p90 of each class have a bound, and its band holds 72 to 91 % of its rows.
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
    for (const auto& [name, rows] : groups) {
        const measure::ErrorSummary accuracy = accuracy_of(rows, gpu_of_blocks);
        if (of_fitted_version(rows.front())) {
            check_bounds(accuracy, name);
        } else {
            check_errors(accuracy, name);
        }
    }
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
