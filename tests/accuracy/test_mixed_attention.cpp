// Attention over mixed steps compared with the public table of it, on shapes that no fit saw.
#include <fstream>
#include <map>
#include <sstream>
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
const model::Machine& with_kernels(const std::string& gpu) {
    static std::map<std::string, model::Machine> machines;
    const auto found = machines.find(gpu);
    if (found != machines.end()) return found->second;
    return machines.emplace(gpu, catalogue().machine(gpu)).first->second;
}

/// The cells of the table's lines, by column.
std::vector<std::map<std::string, std::string>> lines_of(const std::string& path) {
    std::ifstream file(path);
    const auto cells_in = [](const std::string& text) {
        std::vector<std::string> cells;
        std::istringstream stream(text);
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        return cells;
    };
    std::string text;
    std::getline(file, text);
    const std::vector<std::string> header = cells_in(text);
    std::vector<std::map<std::string, std::string>> lines;
    while (std::getline(file, text)) {
        const std::vector<std::string> cells = cells_in(text);
        auto& line = lines.emplace_back();
        for (std::size_t i = 0; i < header.size(); ++i) line[header[i]] = cells.at(i);
    }
    return lines;
}

/// The rows of scripts/fit/mixed_attention.py that are in no fit, by GPU. The model has 32 heads over 8.
std::map<std::string, std::vector<MeasuredRow>> left_out_steps(const std::string& path) {
    std::map<std::string, std::vector<MeasuredRow>> of_gpu;
    for (const auto& line : lines_of(path)) {
        const auto count = [&line](const char* name) { return std::stoll(line.at(name)); };
        const std::int64_t fresh = count("prefill_tokens");
        if (fresh == 0 || count("decode_batch") == 0) continue;
        MeasuredRow row;
        row.gpu = line.at("gpu");
        row.kind = model::OperationKind::mixed_attention;
        row.operation = model::MixedAttention{.heads = 32 / count("tp"),
                                              .kv_heads = 8 / count("tp"),
                                              .seq_q = fresh,
                                              .seq_kv = fresh + count("prefill_cached"),
                                              .decodes = count("decode_batch"),
                                              .decode_kv = count("decode_cached") + 1};
        row.execution.software = model::SoftwareChoice::named("vllm-0.24.0");
        row.measured = std::stod(line.at("measured_us")) * units::us;
        row.file = path;
        if (measure::is_left_out(row.operation)) of_gpu[row.gpu].push_back(std::move(row));
    }
    return of_gpu;
}

TEST_CASE("attention over mixed steps on shapes left out", "[accuracy]") {
    const auto folder = reference_folder();
    if (!folder) return;
    const auto of_gpu = left_out_steps(*folder + "/serving_attention_mixed.csv");
    CHECK(of_gpu.size() == 2);
    for (const auto& [gpu, rows] : of_gpu) {
        CHECK(rows.size() > 100);
        check_bounds(accuracy_of(rows, with_kernels), "engine.mixed." + gpu);
    }
}

}  // namespace
}  // namespace ridge::test
