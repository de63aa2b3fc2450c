// Memory of attention against a size that varies: `ridge vram attention --seq 1024:131072:*2`.
//
// One column or line per implementation, the capacities of the GPUs across the chart, and the size
// that is the largest to fit into each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/charts/chart_output.h"
#include "cli/commands/memory_curves.h"
#include "cli/console/context.h"
#include "model/core/fields.h"

namespace ridge::cli {

/// Texts of the fields; one is a range, and `impl` may be a list.
using FieldTexts = std::map<model::Field, std::string>;
using MemoryOf = std::function<MemoryOrRefusal(const FieldTexts&)>;

/// Whether a field is a range.
[[nodiscard]] bool has_range(const FieldTexts& texts);

struct LengthQuestion {
    FieldTexts texts;
    std::string pass;                 ///< "inference"
    std::vector<MemoryLimit> limits;  ///< of the GPUs; may be empty
    std::string format;
    ChartOutput chart;
};

/// Writes the table, or the chart if a file or the format asks for it. InputError if more than one
/// field is a range.
void write_lengths(const Context& context, const LengthQuestion& question, const MemoryOf& memory);

}  // namespace ridge::cli
