// Memory against a size that varies: a table with one column per line, the capacities of the GPUs,
// the largest size that fits into each, and the chart of all.
//
//   MemoryCurves curves{.title = "attention heads=32, inference", .size = "seq", .named = "impl"};
//   curves.sizes = {1024, 2048};
//   curves.lines = {{.name = "flash2", .memory = {...}, .evidence = ...}};
//   write_curves(context, curves, format, chart);
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/charts/chart_output.h"
#include "cli/commands/vram.h"
#include "cli/console/context.h"
#include "cli/views/memory.h"

namespace ridge::cli {

/// The memory of one question, or why it has none.
using MemoryOrRefusal = std::variant<Bytes, std::string>;

struct MemoryLine {
    std::string name;
    std::vector<MemoryOrRefusal> memory;  ///< one per size
    MemoryEvidence evidence;
};

struct MemoryCurves {
    std::string title{};
    std::string subtitle{};
    std::string size{};   ///< what varies: "seq"
    std::string named{};  ///< what tells the lines apart: "impl"
    std::vector<std::int64_t> sizes{};
    std::vector<MemoryLine> lines{};
    std::vector<MemoryLimit> limits{};  ///< of the GPUs; may be empty
};

/// Writes the table, or the chart if a file or the format asks for it.
void write_curves(const Context& context, const MemoryCurves& curves, const std::string& format,
                  const ChartOutput& chart);

}  // namespace ridge::cli
