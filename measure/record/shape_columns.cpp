#include "measure/record/shape_columns.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::measure {

namespace {

struct NamedRole {
    std::string_view name;
    ColumnRole role;
};
constexpr std::array roles{
    NamedRole{"op", ColumnRole::operation}, NamedRole{"operation", ColumnRole::operation},
    NamedRole{"gpu", ColumnRole::gpu},      NamedRole{"measured_us", ColumnRole::measured},
    NamedRole{"count", ColumnRole::count},  NamedRole{"calls", ColumnRole::count},
    NamedRole{"name", ColumnRole::name}};
constexpr std::array<std::string_view, 4> remarks{"source", "kernel", "note", "comment"};

bool may_stand(std::string_view name, const OtherColumns& others) {
    return others.all || std::find(remarks.begin(), remarks.end(), name) != remarks.end() ||
           std::find(others.names.begin(), others.names.end(), name) != others.names.end();
}

constexpr std::array<std::string_view, 9> times{
    "measured", "time", "duration", "latency", "elapsed", "median", "mean", "average", "avg"};

struct NamedUnit {
    std::string_view name;
    Time unit;
};
constexpr std::array time_units{
    NamedUnit{"ns", units::ns},           NamedUnit{"us", units::us},
    NamedUnit{"\xc2\xb5s", units::us},    NamedUnit{"\xce\xbcs", units::us},
    NamedUnit{"usec", units::us},         NamedUnit{"microseconds", units::us},
    NamedUnit{"ms", units::ms},           NamedUnit{"msec", units::ms},
    NamedUnit{"milliseconds", units::ms}, NamedUnit{"s", units::s},
    NamedUnit{"sec", units::s},           NamedUnit{"seconds", units::s}};

/// The words of a name in small letters, split at everything that is no letter.
std::vector<std::string> small_words(std::string_view name) {
    std::vector<std::string> words{""};
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalpha(byte) != 0 || byte >= 0x80) {
            words.back() += static_cast<char>(std::tolower(byte));
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

std::string nearest_column(std::string_view name) {
    std::vector<std::string> known;
    known.reserve(roles.size() + model::field_table().size());
    for (const NamedRole& each : roles) known.emplace_back(each.name);
    for (const model::FieldInfo& info : model::field_table()) known.emplace_back(info.name);
    return nearest(name, known);
}

}  // namespace

std::optional<Time> unit_of_time_column(std::string_view name) {
    std::vector<std::string> words = small_words(name);
    if (words.empty()) return std::nullopt;
    const auto* const unit =
        std::find_if(time_units.begin(), time_units.end(),
                     [&](const NamedUnit& each) { return each.name == words.back(); });
    if (unit != time_units.end()) words.pop_back();
    const bool all = std::all_of(words.begin(), words.end(), [](const std::string& word) {
        return std::find(times.begin(), times.end(), word) != times.end();
    });
    if (!all) return std::nullopt;
    return unit == time_units.end() ? Time{} : unit->unit;
}

OtherColumns parse_kept_columns(std::string_view text) {
    if (text == "all") return {.names = {}, .all = true};
    OtherColumns kept;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        kept.names.emplace_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return kept;
}

ShapeColumns::ShapeColumns(CsvReader& reader, const OtherColumns& others) : file_(reader.file()) {
    if (!reader.next()) throw InputError("the file is empty", {file_, 1, 1});
    if (!reader.problem().empty()) {
        throw InputError("the header: " + reader.problem(), {file_, 1, 1});
    }
    std::vector<std::string_view> seen;
    for (const std::string_view name : reader.cells()) {
        const auto same = [name](std::string_view other) { return same_word(name, other); };
        if (std::any_of(seen.begin(), seen.end(), same)) {
            throw InputError("column '" + std::string(name) + "' appears twice", {file_, 1, 1});
        }
        seen.push_back(name);
        columns_.push_back(column_of(name, others));
        require_once(columns_.back().role);
        names_.emplace_back(name);
    }
}

ShapeColumns::Column ShapeColumns::column_of(std::string_view name,
                                             const OtherColumns& others) const {
    for (const NamedRole& each : roles) {
        if (each.role == ColumnRole::measured) continue;
        if (same_word(name, each.name)) return {.role = each.role};
    }
    for (const model::FieldInfo& info : model::field_table()) {
        if (same_word(name, info.name)) return {.role = ColumnRole::field, .field = info.field};
    }
    if (!others.all && may_stand(name, others)) return {};
    if (const auto unit = unit_of_time_column(name)) {
        if (*unit > Time{}) return {.role = ColumnRole::measured, .unit = *unit};
        if (others.unit > Time{}) return {.role = ColumnRole::measured, .unit = others.unit};
        throw InputError("the column '" + std::string(name) + "' has no unit", {file_, 1, 1},
                         "name it " + std::string(name) + "_us, " + std::string(name) +
                             "_ms, ...; ridge diagnose takes --unit us, too");
    }
    if (may_stand(name, others)) return {};
    if (name.find_first_of(";\t") != name.npos) {
        throw InputError("the header is one column: '" + std::string(name) + "'", {file_, 1, 1},
                         "cells are separated by commas");
    }
    const std::string close = nearest_column(name);
    throw InputError("column '" + std::string(name) + "' is not known", {file_, 1, 1},
                     close.empty() ? "rename it or leave it out; --keep lets it pass"
                                   : "did you mean '" + close + "'?");
}

void ShapeColumns::require_kept(const OtherColumns& keep) const {
    for (const std::string& name : keep.names) {
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
        throw InputError("keep: there is no column '" + name + "'", {file_, 1, 1});
    }
}

bool ShapeColumns::has(ColumnRole role) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [role](const Column& column) { return column.role == role; });
}

void ShapeColumns::require_once(ColumnRole role) const {
    if (role != ColumnRole::measured && role != ColumnRole::operation) return;
    const auto plays = [role](const Column& column) { return column.role == role; };
    if (std::count_if(columns_.begin(), columns_.end(), plays) < 2) return;
    throw InputError(role == ColumnRole::measured ? "two columns hold measured times"
                                                  : "two columns name the operation",
                     {file_, 1, 1}, "leave one out");
}

Time ShapeColumns::measured_unit() const {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [](const Column& column) {
        return column.role == ColumnRole::measured;
    });
    return found == columns_.end() ? Time{} : found->unit;
}

void ShapeColumns::require(ColumnRole role, std::string_view name, std::string hint) const {
    if (has(role)) return;
    throw InputError("no column '" + std::string(name) + "'", {file_, 1, 1}, std::move(hint));
}

std::string_view ShapeColumns::cell(const std::vector<std::string_view>& cells,
                                    ColumnRole role) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].role == role) return cells[i];
    }
    return {};
}

std::string_view ShapeColumns::cell(const std::vector<std::string_view>& cells,
                                    std::string_view name) const {
    const auto found = std::find_if(names_.begin(), names_.end(), [name](std::string_view each) {
        return same_word(each, name);
    });
    return found == names_.end() ? std::string_view()
                                 : cells[static_cast<std::size_t>(found - names_.begin())];
}

void ShapeColumns::require_whole(const std::vector<std::string_view>& cells) const {
    if (cells.size() == columns_.size()) return;
    throw InputError("the row has " + std::to_string(cells.size()) + " cells, the header " +
                     std::to_string(columns_.size()));
}

model::Parameters ShapeColumns::parameters(model::OperationKind kind,
                                           const std::vector<std::string_view>& cells,
                                           const model::Parameters& defaults) const {
    model::Parameters parameters = defaults;
    const auto sets = [&](std::size_t i) {
        const Column& column = columns_[i];
        return column.role == ColumnRole::field && !cells[i].empty() && applies(kind, column.field);
    };
    bool has_software = defaults.has(model::Field::software);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        has_software = has_software || (columns_[i].field == model::Field::software && sets(i));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        // Without an engine, what a table calls the kernel is a remark.
        const bool remark = columns_[i].field == model::Field::kernel && !has_software;
        if (sets(i) && !remark) parameters.set(columns_[i].field, cells[i]);
    }
    return parameters;
}

}  // namespace ridge::measure
