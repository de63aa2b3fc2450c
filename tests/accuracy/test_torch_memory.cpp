// What attention allocates, compared with PyTorch 2.11 on an H200 and an H100:
// records/torch-memory, written by scripts/measure/torch-memory.py. The rules were found on
// `found-*`, then frozen, then judged on `judged-*`, shapes drawn afterwards.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_refusal.h"
#include "model/footprint/footprint.h"
#include "tests/accuracy/model_records.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

constexpr std::array measured_columns{"inputs",           "inference_peak",     "forward_peak",
                                      "forward_saved",    "backward_peak",      "backward_after",
                                      "reserved_inputs",  "reserved_inference", "reserved_forward",
                                      "reserved_backward"};
constexpr std::size_t reserved_inputs = 6;
constexpr std::size_t backward_after = 5;

struct Row {
    std::map<std::string, std::string> cells;
    std::string text;

    [[nodiscard]] std::int64_t count(const std::string& name) const {
        return std::strtoll(cells.at(name).c_str(), nullptr, 10);
    }
    [[nodiscard]] bool refused() const { return !cells.at("reason").empty(); }
    [[nodiscard]] bool expandable() const {
        return cells.at("set").find("expandable") != std::string::npos;
    }
};

std::vector<Row> rows_of(const std::string& file) {
    const std::vector<test::CsvRow> table = test::csv_rows("torch-memory/" + file);
    const std::vector<std::string>& header = table.at(0).cells;
    std::vector<Row> rows;
    for (std::size_t line = 1; line < table.size(); ++line) {
        Row row;
        row.text = table[line].text;
        for (std::size_t i = 0; i < header.size(); ++i)
            row.cells[header[i]] = table[line].cells.at(i);
        rows.push_back(row);
    }
    return rows;
}

AttentionCall call_of(const Row& row) {
    AttentionCall call;
    call.attention = {.batch = row.count("batch"),
                      .heads = row.count("heads"),
                      .kv_heads = row.count("kv_heads"),
                      .seq_q = row.count("seq_q"),
                      .seq_kv = row.count("seq_kv"),
                      .head_dim = row.count("head_dim"),
                      .type = parse_data_type(row.cells.at("type"), "type"),
                      .causal = row.count("causal") == 1};
    call.software = parse_attention_software("torch-" + row.cells.at("backend"));
    call.layout = parse_tensor_layout(row.cells.at("layout"));
    call.dropout = std::strtod(row.cells.at("dropout").c_str(), nullptr);
    call.mask = parse_mask_kind(row.cells.at("mask"));
    if (call.mask != MaskKind::none) call.mask_shape = parse_mask_shape(row.cells.at("mask_shape"));
    return call;
}

std::array<std::int64_t, 10> predicted(const Row& row) {
    const AttentionPlan plan = attention_plan(call_of(row));
    INFO(row.text);
    REQUIRE(std::holds_alternative<MemoryPlan>(plan));
    // With expandable segments the workspaces of the two cuBLAS handles share their segments.
    const AllocatorOptions options{.expandable_segments = row.expandable()};
    const std::vector<std::int64_t> workspaces(row.expandable() ? 2 : 0, 32 << 20);
    const MemoryTimeline timeline = replay(std::get<MemoryPlan>(plan), options, workspaces);
    const AttentionMemory memory = attention_memory(timeline);
    return {memory.inputs,
            memory.inference_peak,
            memory.forward_peak,
            memory.forward_saved,
            memory.backward_peak,
            memory.backward_after,
            timeline.phase(memory_phase::inputs).peak.reserved,
            memory.reserved_inference,
            memory.reserved_forward,
            memory.reserved_backward};
}

/// For each backend, the number of rows, and of rows in which some figure differs.
struct Tally {
    std::map<std::string, int> rows;
    std::map<std::string, int> different;
};

/// Compares every figure. Flash, memory-efficient and cuDNN must match to the byte, the peaks of
/// math within 2 %.
Tally compare(const std::string& file) {
    Tally tally;
    for (const Row& row : rows_of(file)) {
        if (row.refused()) continue;
        const std::string& backend = row.cells.at("backend");
        const auto bytes = predicted(row);
        ++tally.rows[backend];
        bool exact = true;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            // What the warm-up left in expandable segments shows only in the inputs.
            if (i == reserved_inputs && row.expandable()) continue;
            const std::int64_t measured = row.count(measured_columns[i]);
            INFO(row.text << "\n" << measured_columns[i] << " predicted " << bytes[i]);
            exact = exact && bytes[i] == measured;
            if (backend != "math") {
                CHECK(bytes[i] == measured);
            } else if (i < backward_after) {
                CHECK(static_cast<double>(bytes[i]) ==
                      Approx(static_cast<double>(measured)).epsilon(0.02));
            }
        }
        if (!exact) ++tally.different[backend];
    }
    return tally;
}

TEST_CASE("PyTorch's allocations on shapes that the rules were found on", "[memory]") {
    Tally h200 = compare("found-h200.csv");
    for (const char* backend : {"flash", "efficient", "cudnn", "math"}) {
        INFO(backend);
        CHECK(h200.rows[backend] >= 100);
        CHECK(h200.different[backend] == 0);
    }
    Tally h100 = compare("found-h100.csv");
    CHECK(h100.rows["cudnn"] >= 100);
    CHECK(h100.different["cudnn"] == 0);
    CHECK(h100.different["flash"] == 0);
}

TEST_CASE("PyTorch's allocations on shapes drawn after the rules were frozen", "[memory]") {
    Tally judged = compare("judged-h200.csv");
    for (const char* backend : {"flash", "efficient", "cudnn", "math"}) {
        INFO(backend);
        CHECK(judged.rows[backend] >= 100);
    }
    for (const char* backend : {"flash", "efficient", "cudnn"}) {
        CHECK(judged.different[backend] == 0);
    }
    // Two of 280 rows differ, in what is reserved and after the backward pass: among free blocks of
    // equal size the real allocator takes the one at the lowest address, and cudaMalloc decides
    // that.
    CHECK(judged.different["math"] <= 2);
}

/// Drawn and measured after the rules were frozen; half of the head sizes are no multiple of eight.
TEST_CASE("the math backend with heads that share keys", "[memory]") {
    Tally grouped = compare("grouped-h200.csv");
    CHECK(grouped.rows["math"] == 60);
    CHECK(grouped.different["math"] == 0);
    // Without a product before it, a call also makes cuBLAS's workspace (V14): the whole difference that a
    // judge saw for 4 x 16/8 x 200 x 96 in bf16.
    const std::vector<Row> warm = rows_of("grouped-h200.csv");
    const std::vector<Row> cold = rows_of("grouped-cold-h200.csv");
    REQUIRE(cold.size() == warm.size());
    for (std::size_t i = 0; i < warm.size(); ++i) {
        INFO(cold[i].text);
        const std::int64_t workspace =
            library_workspace(call_of(cold[i]), false, 90).cublas_per_thread;
        for (const char* column : {"inference_peak", "forward_peak", "backward_peak"}) {
            CHECK(cold[i].count(column) == warm[i].count(column) + workspace);
        }
    }
    CHECK(warm.front().count("inference_peak") == 48120832);
    CHECK(cold.front().count("inference_peak") == 81675264);
}

/// Value of the last field of this name in a line of JSON.
std::string field_of(const std::string& line, const std::string& name) {
    const std::string key = "\"" + name + "\": ";
    std::size_t start = line.rfind(key);  // the phases come last
    REQUIRE(start != std::string::npos);
    start += key.size();
    const bool quoted = line[start] == '"';
    return quoted ? line.substr(start + 1, line.find('"', start + 1) - start - 1)
                  : line.substr(start, line.find_first_of(",}", start) - start);
}

TEST_CASE("allocations and releases are PyTorch's, in the same order", "[memory]") {
    std::ifstream in(std::string(RIDGE_RECORDS) + "/torch-memory/events-h200.jsonl");
    REQUIRE(in.good());
    int traced = 0;
    for (std::string line; std::getline(in, line);) {
        Row row;
        for (const char* name :
             {"backend", "batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim", "type",
              "layout", "causal", "dropout", "mask", "mask_shape"}) {
            row.cells[name] = field_of(line, name);
        }
        const AttentionPlan outcome = attention_plan(call_of(row));
        INFO(line);
        REQUIRE(std::holds_alternative<MemoryPlan>(outcome));
        const auto& plan = std::get<MemoryPlan>(outcome);
        for (const MemoryPlan::Phase& phase : plan.phases()) {
            std::string predicted_steps;
            for (std::size_t i = phase.first; i < phase.last; ++i) {
                const MemoryPlan::Step& step = plan.steps()[i];
                predicted_steps += (step.takes ? " +" : " -") +
                                   std::to_string(plan.allocations()[step.allocation].bytes);
            }
            std::istringstream words(field_of(line, std::string(phase.name)));
            std::string measured_steps;
            for (std::string word; words >> word;) {
                if (word[0] == '+' || word[0] == '-') measured_steps += " " + word;
            }
            CHECK(predicted_steps == measured_steps);
        }
        ++traced;
    }
    CHECK(traced == 12);
}

TEST_CASE("shapes that a backend refuses are refused with its reason", "[memory]") {
    int refused = 0;
    for (const char* file : {"found-h200.csv", "found-h100.csv", "judged-h200.csv"}) {
        for (const Row& row : rows_of(file)) {
            const auto reason = attention_refusal(call_of(row));
            INFO(row.text);
            CHECK(reason.has_value() == row.refused());
            if (!row.refused() || !reason) continue;
            ++refused;
            // PyTorch gives some reasons only once in a process.
            if (row.cells.at("reason").rfind("No available kernel", 0) == 0) continue;
            CHECK(row.cells.at("reason").rfind(*reason, 0) == 0);
        }
    }
    CHECK(refused >= 100);
}

}  // namespace
}  // namespace ridge::model
