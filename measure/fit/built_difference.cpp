#include "measure/fit/built_difference.h"

#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "hardware/loader.h"
#include "hardware/number_text.h"
#include "hardware/shared_text.h"
#include "model/catalogue/data_files.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

using hardware::Description;

constexpr double tolerance = 1e-4;

/// The description in a file; empty if it is broken.
std::optional<Description> read(const std::string& text, const std::string& path) {
    hardware::Loaded loaded =
        model::is_trees_file(text)
            ? model::read_trees(SharedText::copy_of(text), path)
            : hardware::load_text(text, path, model::schema(), model::calibration_form());
    if (!loaded.problems.empty()) return std::nullopt;
    return std::move(loaded.description);
}

bool is_close(double a, double b, double least) {
    return std::abs(a - b) <= std::max(least, tolerance * std::abs(a));
}

/// Whether two texts have the same words, and numbers that are close; whole ones are leaves of trees.
bool words_agree(const std::string& a, const std::string& b) {
    std::istringstream left(a);
    std::istringstream right(b);
    std::string one;
    std::string other;
    while (left >> one) {
        if (!(right >> other)) return false;
        if (one == other) continue;
        const auto x = whole_real(one);
        const auto y = whole_real(other);
        const double least = one.find('.') == std::string::npos ? 1.0 : 0.0;
        if (!x || !y || !is_close(*x, *y, least)) return false;
    }
    return !(right >> other);
}

bool agree(const Description& a, const Description& b, const std::string& field) {
    const auto& one = a.data.at(field);
    const auto& other = b.data.at(field);
    if (one.sources != other.sources) return false;
    const auto* const x = std::get_if<double>(&one.value);
    const auto* const y = std::get_if<double>(&other.value);
    if (x != nullptr && y != nullptr) return is_close(*x, *y, 0.0);
    return words_agree(written(one), written(other));
}

std::string inputs_of(const Description& from, const std::string& source) {
    const auto found = from.sources.find(source);
    if (found == from.sources.end()) return {};
    return found->second.records.str() + ' ' + found->second.digest.str();
}

}  // namespace

std::vector<BuiltDifference> differences(const BuiltFile& made, const std::string& committed) {
    if (made.text == committed) return {};
    const auto now = read(made.text, made.path);
    const auto before = read(committed, made.path);
    if (!now || !before) return {{}};
    std::map<std::string, BuiltDifference> all;
    for (const auto& [field, datum] : before->data) {
        if (now->data.contains(field) && agree(*before, *now, field)) continue;
        all[field] = {.field = field, .committed = written(datum), .made = {}};
    }
    for (const auto& [field, datum] : now->data) {
        if (before->data.contains(field) && !all.contains(field)) continue;
        all[field].field = field;
        all[field].made = written(datum);
    }
    for (const auto& [key, source] : now->sources) {
        const std::string old = inputs_of(*before, key);
        const std::string made_from = inputs_of(*now, key);
        if (old != made_from) all[key] = {.field = key, .committed = old, .made = made_from};
    }
    std::vector<BuiltDifference> list;
    for (auto& [field, each] : all) list.push_back(std::move(each));
    return list;
}

}  // namespace ridge::measure
