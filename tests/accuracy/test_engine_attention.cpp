// Attention of serving engines by the laws of their kernels, compared with tables of vLLM, SGLang
// and TensorRT-LLM, on shapes and heads that no fit saw (measure/fit/left_out.h).
#include <map>
#include <string>
#include <vector>

#include "measure/fit/left_out.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::test {
namespace {

using measure::MeasuredRow;

/// With its files of software.
const model::Machine& with_engines(const std::string& gpu) {
    static std::map<std::string, model::Machine> machines;
    const auto found = machines.find(gpu);
    if (found != machines.end()) return found->second;
    return machines.emplace(gpu, catalogue().machine(gpu)).first->second;
}

/// prefill, decode, decode over an 8-bit cache, or encoder.
std::string phase_of(const model::Attention& op) {
    if (!op.kv_write && !op.causal) return "encoder";
    if (op.seq_q > 1 || op.seq_kv == 1) return "prefill";
    return model::cache_type_of(op) == op.type ? "decode" : "decode_kv8";
}

}  // namespace

TEST_CASE("attention kernels of engines on shapes left out", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    std::map<std::string, std::vector<MeasuredRow>> groups;
    for (MeasuredRow& row : measure::read_folder(*folder, {"engine_attention"})) {
        if (!measure::is_left_out(row.operation)) continue;
        const std::string phase = phase_of(std::get<model::Attention>(row.operation));
        if (phase == "prefill" && row.measured < 20.0 * units::us) continue;
        const std::string engine(row.execution.software.name());
        const std::string family = engine.substr(0, engine.find('-'));
        groups["engine_attention." + phase + "." + family + "." + row.gpu].push_back(
            std::move(row));
    }
    CHECK(groups.size() == 36);
    for (const auto& [name, rows] : groups) check_errors(accuracy_of(rows, with_engines), name);
}

}  // namespace ridge::test
