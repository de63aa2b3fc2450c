#include "model/machine/residual_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, residual_class_count> class_names{
    "product_16",     "product_8",     "product_4",      "prefill",       "decode",
    "prefill_cache8", "decode_cache8", "latent_prefill", "latent_decode", "experts"};

constexpr std::array<std::string_view, 11> product_features{
    "m",           "n",    "k",       "tiles",  "wave", "wave_square",
    "wave_narrow", "last", "compute", "memory", "bytes"};
constexpr std::array<std::string_view, 10> attention_features{
    "batch",  "kv_heads", "group",   "tokens", "head_dim",
    "blocks", "wave",     "compute", "memory", "time"};
constexpr std::array<std::string_view, 10> latent_features{
    "batch", "heads", "queries", "tokens", "cache", "blocks", "wave", "compute", "memory", "time"};
constexpr std::array<std::string_view, 12> expert_features{
    "tokens", "hidden", "intermediate", "topk",    "experts", "split",
    "load",   "type",   "rows",         "compute", "memory",  "time"};

constexpr hardware::Range spread_range{0.1, 1.0};

std::string path_of(ResidualClass residual_class, std::string_view field) {
    return fmt::format("{}.{}.{}", hardware::correction_section, name_of(residual_class), field);
}

/// Reads one field's text; every error names the field.
class Text {
  public:
    Text(const hardware::Description& gpu, std::string path) : path_(std::move(path)) {
        const hardware::Datum* const datum = gpu.find(path_);
        if (datum != nullptr) location_ = datum->location;
        text_ = gpu.text(path_).value_or("");
    }

    [[noreturn]] void refuse(std::string_view part, const char* why) const {
        throw InputError(fmt::format("{}: '{}' {}", path_, part, why), location_);
    }

    /// The parts between commas, each cut at its spaces.
    [[nodiscard]] std::vector<std::vector<std::string_view>> parts() const {
        std::vector<std::vector<std::string_view>> all(1);
        std::string_view rest = text_;
        while (!rest.empty()) {
            const std::size_t end = rest.find_first_of(", ");
            if (end != 0) all.back().push_back(rest.substr(0, end));
            if (end == std::string_view::npos) break;
            if (rest[end] == ',') all.emplace_back();
            rest.remove_prefix(end + 1);
        }
        for (const auto& words : all) {
            if (words.empty()) refuse(text_, "has an empty part");
        }
        return all;
    }

    [[nodiscard]] double number(std::string_view word) const {
        double value = 0.0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) {
            refuse(word, "is not a number");
        }
        return value;
    }

    [[nodiscard]] std::uint8_t feature(ResidualClass residual_class, std::string_view word) const {
        const auto names = residual_features(residual_class);
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) refuse(word, "is no feature of this class");
        return static_cast<std::uint8_t>(found - names.begin());
    }

  private:
    std::string path_;
    std::string text_;
    Location location_;
};

void read_range(const Text& text, ResidualClass residual_class, ResidualFit& fit) {
    std::size_t known = 0;
    for (const auto& words : text.parts()) {
        if (words.size() != 3) text.refuse(words[0], "needs a least and a largest value");
        const ResidualRange range{text.number(words[1]), text.number(words[2])};
        if (range.most < range.least) text.refuse(words[0], "has a range that falls");
        fit.range[text.feature(residual_class, words[0])] = range;
        ++known;
    }
    if (known != residual_features(residual_class).size()) {
        text.refuse("range", "does not name every feature once");
    }
}

std::vector<ResidualSplit> read_splits(const Text& text, ResidualClass residual_class) {
    std::vector<ResidualSplit> splits;
    for (const auto& words : text.parts()) {
        if (words.size() < 3 || words.size() % 2 == 0) {
            text.refuse(words[0], "needs thresholds, each with a width");
        }
        const std::uint8_t feature = text.feature(residual_class, words[0]);
        if (!splits.empty() && feature <= splits.back().feature) {
            text.refuse(words[0], "is not in the order of the features");
        }
        for (std::size_t i = 1; i < words.size(); i += 2) {
            const ResidualSplit split{feature, residual_unit * text.number(words[i]),
                                      residual_unit * text.number(words[i + 1])};
            if (!(split.width > 0.0)) text.refuse(words[i + 1], "is no width");
            if (splits.size() == most_residual_splits)
                text.refuse(words[i], "is one split too many");
            splits.push_back(split);
        }
    }
    return splits;
}

std::vector<ResidualTree> read_trees(const Text& text, std::size_t splits) {
    std::vector<ResidualTree> trees;
    for (const auto& words : text.parts()) {
        if (words.size() != residual_levels + residual_leaves) {
            text.refuse(words[0], "begins a tree that has not four splits and 16 values");
        }
        if (trees.size() == most_residual_trees) text.refuse(words[0], "is one tree too many");
        ResidualTree& tree = trees.emplace_back();
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const double split = text.number(words[level]);
            if (!(split >= 0.0 && split < static_cast<double>(splits) &&
                  split == std::floor(split))) {
                text.refuse(words[level], "is no split");
            }
            tree.splits[level] = static_cast<std::uint8_t>(split);
        }
        for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
            tree.values[leaf] = residual_unit * text.number(words[residual_levels + leaf]);
            if (std::abs(tree.values[leaf]) > 1.0) {
                text.refuse(words[residual_levels + leaf], "is beyond 10000");
            }
        }
    }
    return trees;
}

long in_units(double value) {
    return std::lround(value / residual_unit);
}

}  // namespace

std::string_view name_of(ResidualClass residual_class) {
    return class_names.at(static_cast<std::size_t>(residual_class));
}

std::span<const std::string_view> residual_features(ResidualClass residual_class) {
    switch (residual_class) {
        case ResidualClass::product_16:
        case ResidualClass::product_8:
        case ResidualClass::product_4:
            return product_features;
        case ResidualClass::prefill:
        case ResidualClass::decode:
        case ResidualClass::prefill_cache8:
        case ResidualClass::decode_cache8:
            return attention_features;
        case ResidualClass::latent_prefill:
        case ResidualClass::latent_decode:
            return latent_features;
        case ResidualClass::experts:
            return expert_features;
    }
    contract_violated("the class is known", __FILE__, __LINE__);
}

std::vector<hardware::Field> residual_schema() {
    std::vector<hardware::Field> fields;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const auto each = static_cast<ResidualClass>(i);
        const auto add = [&](std::string_view name, std::string meaning) {
            fields.push_back({.path = path_of(each, name),
                              .kind = hardware::ValueKind::text,
                              .dimension = {},
                              .presence = hardware::Presence::optional,
                              .meaning = std::move(meaning),
                              .range = {}});
        };
        add("implementation", "residual correction: whose kernels it holds for");
        add("spread", "residual correction: spread of what it leaves over that of the residuals");
        fields.back().kind = hardware::ValueKind::number;
        fields.back().range = spread_range;
        add("range", "residual correction: least and largest value of each feature in the data");
        add("splits",
            "residual correction: thresholds of features, each with the width of its ramp, "
            "x 10000");
        add("trees",
            "residual correction: splits and leaves of trees, in ln(measured / predicted) x 10000");
    }
    return fields;
}

std::shared_ptr<const Residuals> read_residuals(const hardware::Description& gpu) {
    std::shared_ptr<Residuals> found;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const auto each = static_cast<ResidualClass>(i);
        if (gpu.find(path_of(each, "trees")) == nullptr) continue;
        for (const char* needed : {"implementation", "spread", "range", "splits"}) {
            if (gpu.find(path_of(each, needed)) == nullptr) {
                throw InputError("the description of " + gpu.name + " has " +
                                 path_of(each, "trees") + " but no " + path_of(each, needed));
            }
        }
        ResidualFit fit{.implementation = parse_implementation(
                            gpu.text(path_of(each, "implementation")).value_or("")),
                        .spread = gpu.number(path_of(each, "spread")).value_or(1.0),
                        .range = {},
                        .forest = {}};
        if (!spread_range.contains(fit.spread)) {
            throw InputError(path_of(each, "spread") + " must lie between 0.1 and 1",
                             gpu.find(path_of(each, "spread"))->location);
        }
        read_range(Text(gpu, path_of(each, "range")), each, fit);
        std::vector<ResidualSplit> splits = read_splits(Text(gpu, path_of(each, "splits")), each);
        std::vector<ResidualTree> trees =
            read_trees(Text(gpu, path_of(each, "trees")), splits.size());
        fit.forest = ResidualForest(std::move(splits), std::move(trees));
        if (!found) found = std::make_shared<Residuals>();
        found->classes[i] = std::move(fit);
    }
    return found;
}

std::string range_text(ResidualClass residual_class, const ResidualFit& fit) {
    std::string text;
    const auto names = residual_features(residual_class);
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("{}{} {:.4g} {:.4g}", i == 0 ? "" : ", ", names[i], fit.range[i].least,
                            fit.range[i].most);
    }
    return text;
}

std::string splits_text(ResidualClass residual_class, const ResidualForest& forest) {
    std::string text;
    const ResidualSplit* before = nullptr;
    for (const ResidualSplit& split : forest.splits()) {
        if (before == nullptr || before->feature != split.feature) {
            text += text.empty() ? "" : ", ";
            text += residual_features(residual_class)[split.feature];
        }
        text += fmt::format(" {} {}", in_units(split.threshold), in_units(split.width));
        before = &split;
    }
    return text;
}

std::string trees_text(const ResidualForest& forest) {
    std::string text;
    for (const ResidualTree& tree : forest.trees()) {
        text += text.empty() ? "" : ", ";
        text += fmt::format("{}", fmt::join(tree.splits, " "));
        for (const double value : tree.values) {
            text += fmt::format(" {}", in_units(value));
        }
    }
    return text;
}

}  // namespace ridge::model
