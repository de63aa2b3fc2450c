// Measured attention calls from CSV.
#include <fstream>
#include <map>

#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/fit/fit_attention.h"
#include "model/fields.h"

namespace ridge::measure {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::size_t start = 0;
    while (true) {
        const std::size_t comma = line.find(',', start);
        cells.push_back(line.substr(start, comma - start));
        if (comma == std::string::npos) return cells;
        start = comma + 1;
    }
}

}  // namespace

std::vector<AttentionRow> read_attention_rows(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    if (!in || !std::getline(in, line)) throw InputError("cannot read the file", {path, 1, 1});
    const std::vector<std::string> header = cells_of(line);
    std::vector<AttentionRow> rows;
    std::map<std::pair<std::int64_t, std::int64_t>, int> groups;
    for (int number = 2; std::getline(in, line); ++number) {
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() < header.size()) throw InputError("cells are missing", {path, number, 1});
        AttentionRow row;
        model::Parameters parameters;
        for (std::size_t i = 0; i < header.size(); ++i) {
            if (const auto field = model::find_field(header[i])) parameters.set(*field, cells[i]);
            if (header[i] == "gpu") row.gpu = cells[i];
            if (header[i] == "measured_us") {
                row.measured = parse_number(cells[i], "measured_us") * units::us;
            }
        }
        row.op = std::get<model::Attention>(
            make_operation(model::OperationKind::attention, parameters));
        row.execution = make_execution(parameters);
        // Neighbouring groups go to different folds.
        const auto group = groups.try_emplace({row.op.batch, row.op.heads}, groups.size() * 3 % 5);
        row.fold = group.first->second;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace ridge::measure
