// Operations of serving engines compared with aiconfigurator's tables: attention over an 8-bit
// cache, latent attention, blocks of experts.
#include <map>
#include <string>

#include "measure/fit/expert_rows.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;
using Groups = std::map<std::string, std::vector<MeasuredRow>>;

void check_groups(const Groups& groups, std::size_t expected) {
    CHECK(groups.size() == expected);
    for (const auto& [name, rows] : groups) check_bounds(accuracy_of(rows, machine), name);
}

TEST_CASE("attention over an 8-bit cache", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    Groups groups;
    for (MeasuredRow& row : measure::read_folder(*folder, {"attention_kv8"})) {
        const bool decode = std::get<model::Attention>(row.operation).seq_q == 1;
        if (!decode && row.measured < 20.0 * units::us) continue;  // prefill is judged over 20 us
        const std::string phase = decode ? "decode" : "prefill";
        groups["attention_kv8." + phase + "." + row.gpu].push_back(std::move(row));
    }
    check_groups(groups, 6);
}

TEST_CASE("latent attention", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    Groups groups;
    for (MeasuredRow& row : measure::read_folder(*folder, {"mla_"})) {
        const bool decode = std::get<model::Mla>(row.operation).phase == model::MlaPhase::decode;
        const std::string phase = decode ? "decode" : "prefill";
        groups["mla." + phase + "." + row.gpu].push_back(std::move(row));
    }
    check_groups(groups, 6);
}

TEST_CASE("blocks of experts", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    measure::ExpertRows rows = measure::split_experts(measure::read_folder(*folder, {"moe_"}));
    Groups own;
    for (MeasuredRow& row : rows.own) own["moe." + row.gpu].push_back(std::move(row));
    check_groups(own, 3);
    // About 40 % of these rows ran tiles that were never tuned. The bands are made for tuned tiles,
    // so coverage is not checked.
    Groups shared;
    for (MeasuredRow& row : rows.shared) shared["moe_shared." + row.gpu].push_back(std::move(row));
    CHECK(shared.size() == 3);
    for (const auto& [name, list] : shared) check_errors(accuracy_of(list, machine), name);
}

}  // namespace
}  // namespace ridge::test
