// Execution traces: what operators read and write, by hand and from a recorded step.
#include "programs/traces/execution_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using namespace programs;

const std::string recorded = std::string(RIDGE_TRACES) + "/attention_step.json.gz";
const std::string beside = std::string(RIDGE_TRACES) + "/attention_step.execution.json.gz";

std::string written(const char* text) {
    const auto file = std::filesystem::temp_directory_path() / "ridge_execution_trace.json";
    std::ofstream(file) << text;
    return file.string();
}

}  // namespace

TEST_CASE("an operator's storages are read from an execution trace", "[execution]") {
    const ExecutionTrace trace = read_execution_trace(written(R"({"schema": "1.1.1", "nodes": [
      {"id": 5, "name": "aten::add", "ctrl_deps": 2,
       "inputs": {"values": [[7, 17, 0, 16, 4, "cuda:0"], [[8, 18, 0, 16, 4, "cuda:0"]], [1, 2, 3, 4, 5, 6], 1],
                  "shapes": [[16], [[16]], [], []]},
       "outputs": {"values": [[9, 19, 0, 16, 4, "cuda:0"]], "shapes": [[16]]},
       "attrs": [{"name": "rf_id", "type": "uint64", "value": 33}, {"name": "tid", "type": "uint64", "value": 1}]},
      {"id": 6, "name": "aten::_foreach_add_",
       "inputs": {"values": [[[9, 19, 0, 16, 4, "cuda:0"]]]}, "outputs": {"values": []},
       "attrs": [{"name": "rf_id", "value": 34}]}],
      "finish_ts": 3})"));
    const OperatorFlow* const add = trace.flow_of(33);
    REQUIRE(add != nullptr);
    CHECK(add->reads == std::vector<std::int64_t>{17, 18});
    CHECK(add->writes == std::vector<std::int64_t>{19});
    REQUIRE(trace.flow_of(34) != nullptr);
    CHECK(trace.flow_of(34)->writes == std::vector<std::int64_t>{19});
    CHECK(trace.flow_of(1) == nullptr);
    CHECK_THROWS_AS(read_execution_trace(written("{\"nodes\": [{\"id\"")), InputError);
    CHECK_THROWS_AS(read_execution_trace(written("{\"traceEvents\": []}")), InputError);
}

TEST_CASE("an execution trace proves which kernels could be one", "[execution]") {
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Trace trace = read_trace(recorded);
    const auto fusions = [&] {
        std::vector<Saving> found;
        for (const Saving& each : report_of(trace, machine).savings) {
            if (each.kind == SavingKind::fusion) found.push_back(each);
        }
        return found;
    };
    for (const Saving& each : fusions()) CHECK_FALSE(each.proven);
    trace.execution = read_execution_trace(beside);
    const auto proven = fusions();
    REQUIRE_FALSE(proven.empty());
    for (const Saving& each : proven) CHECK(each.proven);
}

}  // namespace ridge::test
