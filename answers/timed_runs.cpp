#include "answers/timed_runs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "hardware/error.h"
#include "hardware/text.h"
#include "measure/record/csv_reader.h"
#include "measure/record/shape_columns.h"
#include "model/core/fields.h"
#include "programs/report/attribution.h"

namespace ridge::answers {
namespace {

/// Items by name, in the order in which they first appear.
class Items {
  public:
    TimedItem& at(const std::string& name) {
        const auto [place, added] = places_.emplace(name, items_.size());
        if (added) items_.push_back({.name = name, .count = 0});
        return items_[place->second];
    }
    [[nodiscard]] std::vector<TimedItem> take() { return std::move(items_); }

  private:
    std::map<std::string, std::size_t> places_;
    std::vector<TimedItem> items_;
};

std::string software_text(const measure::Record& record) {
    std::string text = measure::software_of(record);
    if (!record.device.driver.empty()) {
        text += (text.empty() ? "" : ", ") + ("driver " + record.device.driver);
    }
    return text;
}

/// Where a table has names and times.
struct TableColumns {
    std::optional<std::size_t> name;
    std::size_t time = 0;
    Time unit{};
    std::optional<std::size_t> count;
};

TableColumns columns_of(const std::vector<std::string_view>& header, const std::string& file) {
    TableColumns found;
    bool timed = false;
    for (std::size_t i = 0; i < header.size(); ++i) {
        if (header[i] == "name" || (header[i] == "kernel" && !found.name)) found.name = i;
        if (header[i] == "count") found.count = i;
        const auto unit = measure::unit_of_time_column(header[i]);
        if (!unit || *unit <= Time{} || timed) continue;
        timed = true;
        found.time = i;
        found.unit = *unit;
    }
    if (!timed) throw InputError("there is no column of times", {file, 1, 1}, "time_us, ms, ...");
    return found;
}

std::string name_of_row(const TableColumns& columns, const std::vector<std::string>& header,
                        const std::vector<std::string_view>& cells) {
    if (columns.name && !cells[*columns.name].empty()) return std::string(cells[*columns.name]);
    std::string name;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i == columns.time || i == columns.count || cells[i].empty()) continue;
        name += (name.empty() ? "" : " ") + header[i] + "=" + std::string(cells[i]);
    }
    return name;
}

}  // namespace

TimedRun run_of(const programs::Trace& trace, const programs::TraceReport& report) {
    TimedRun run{.file = trace.file,
                 .device = report.device,
                 .span = Time::from_base(static_cast<double>(report.timeline.span_ns) * 1e-9)};
    Items items;
    // Of JAX's two files only one has shapes; the name of an instruction tells it apart in both.
    const bool by_shape = trace.recorder != programs::TraceSource::xla;
    for (const programs::Instance& instance : programs::instances_of(trace)) {
        const auto kernel = static_cast<std::size_t>(instance.kernels.front());
        const std::int32_t place = report.row_of[kernel];
        if (place < 0) continue;
        const programs::OperatorRow& row = report.operators[static_cast<std::size_t>(place)];
        const std::string& name = row.name.empty() ? row.kernel : row.name;
        const bool shaped = by_shape && !row.shape.empty();
        TimedItem& item = items.at(shaped ? name + " " + row.shape : name);
        item.samples.push_back(Time::from_base(static_cast<double>(instance.measured_ns) * 1e-9));
        ++item.count;
        item.code = row.kernel;
        item.placed = row.placed;
        item.kernels = static_cast<double>(row.kernels) /
                       static_cast<double>(std::max<std::int64_t>(1, row.count));
        if (row.launched && shaped) item.group = name;
    }
    run.items = items.take();
    return run;
}

TimedRun run_of(std::span<const measure::Record> records, const std::string& file) {
    TimedRun run{.file = file};
    Items items;
    for (const measure::Record& record : records) {
        if (!record.measured()) continue;
        if (run.device.empty()) run.device = record.device.name;
        TimedItem& item = items.at(measure::key_of(record));
        for (const measure::Sample& sample : record.timing->samples) {
            if (!sample.throttled) item.samples.push_back(sample.time);
        }
        item.count = 1;
        item.setting = software_text(record);
        if (record.geometry && !record.geometry->kernels.empty()) {
            item.code = record.geometry->kernels.front().name;
        }
    }
    run.items = items.take();
    return run;
}

TimedRun run_of_table(std::istream& stream, const std::string& file) {
    measure::CsvReader reader(stream, file);
    if (!reader.next()) throw InputError("the table is empty", {.file = file});
    const TableColumns columns = columns_of(reader.cells(), file);
    const std::vector<std::string> header(reader.cells().begin(), reader.cells().end());
    TimedRun run{.file = file};
    Items items;
    while (reader.next()) {
        const auto& cells = reader.cells();
        if (cells.size() != header.size()) {
            throw InputError("a row has another number of cells", {file, reader.line(), 1});
        }
        const double value = parse_number(cells[columns.time], "time");
        if (value <= 0.0) throw InputError("time: not above zero", {file, reader.line(), 1});
        TimedItem& item = items.at(name_of_row(columns, header, cells));
        item.samples.push_back(value * columns.unit);
        item.count = columns.count && !cells[*columns.count].empty()
                         ? model::parse_repetitions(cells[*columns.count])
                         : 1;
    }
    run.items = items.take();
    return run;
}

}  // namespace ridge::answers
