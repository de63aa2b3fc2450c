#include "model/machine/residual_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "hardware/error.h"
#include "hardware/number_text.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

constexpr hardware::Range spread_range{0.1, 2.0};

std::string path_of(ResidualClass residual_class, std::string_view field) {
    const std::string_view name = name_of(residual_class);
    std::string path;
    path.reserve(correction_section.size() + name.size() + field.size() + 2);
    path += correction_section;
    path += '.';
    path += name;
    path += '.';
    return path += field;
}

/// A field as its description states it.
struct WrittenField {
    std::string path;
    SharedText text;
    Location location;

    [[nodiscard]] auto key() const {
        return std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t,
                          std::int64_t>(path, text.view(), location.file, location.line,
                                        location.column);
    }
    bool operator<(const WrittenField& other) const { return key() < other.key(); }
};

/// The box of the data and the trees as a description states them.
struct WrittenForest {
    WrittenField range;
    WrittenField splits;
    WrittenField trees;

    [[nodiscard]] auto key() const { return std::tie(range, splits, trees); }
    bool operator<(const WrittenForest& other) const { return key() < other.key(); }
};

/// One class as its description states it.
struct WrittenClass {
    ResidualClass residual_class{};
    WrittenField implementation;
    WrittenForest forest;
    double spread = 1.0;

    [[nodiscard]] auto key() const {
        return std::tie(residual_class, implementation, forest, spread);
    }
    bool operator<(const WrittenClass& other) const { return key() < other.key(); }
};

/// Reads the text of one field; every error names the field.
class Text {
  public:
    explicit Text(const WrittenField& field)
        : path_(field.path), text_(field.text.view()), location_(field.location) {}

    [[noreturn]] void refuse(std::string_view part, const char* why) const {
        throw InputError(fmt::format("{}: '{}' {}", path_, part, why), location_);
    }

    /// The parts between commas, each split at its spaces.
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
        const auto value = whole_real(word);
        if (!value) refuse(word, "is not a number");
        return *value;
    }

    [[nodiscard]] std::uint8_t feature(FeatureNames names, std::string_view word) const {
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) refuse(word, "is not a feature of this correction");
        return static_cast<std::uint8_t>(found - names.begin());
    }

  private:
    const std::string& path_;
    std::string_view text_;
    const Location& location_;
};

void read_range(const Text& text, FeatureNames names, ResidualRange& range) {
    std::size_t known = 0;
    for (const auto& words : text.parts()) {
        if (words.size() != 3) text.refuse(words[0], "needs a least and a largest value");
        const double least = text.number(words[1]);
        const double most = text.number(words[2]);
        if (most < least) text.refuse(words[0], "has a largest value below its least");
        const std::size_t feature = text.feature(names, words[0]);
        range.least[feature] = least;
        range.most[feature] = most;
        ++known;
    }
    if (known != names.size()) {
        text.refuse("range", "does not name every feature once");
    }
}

std::vector<ResidualSplit> read_splits(const Text& text, FeatureNames names) {
    std::vector<ResidualSplit> splits;
    for (const auto& words : text.parts()) {
        if (words.size() < 3 || words.size() % 2 == 0) {
            text.refuse(words[0], "needs thresholds, each with a width");
        }
        const std::uint8_t feature = text.feature(names, words[0]);
        if (!splits.empty() && feature <= splits.back().feature) {
            text.refuse(words[0], "is not in the order of the features");
        }
        for (std::size_t i = 1; i < words.size(); i += 2) {
            const ResidualSplit split{feature, residual_unit * text.number(words[i]),
                                      residual_unit * text.number(words[i + 1])};
            if (!(split.width > 0.0)) text.refuse(words[i + 1], "is not a positive width");
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
            text.refuse(words[0], "begins a tree that does not have four splits and 16 values");
        }
        if (trees.size() == most_residual_trees) text.refuse(words[0], "is one tree too many");
        ResidualTree& tree = trees.emplace_back();
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const double split = text.number(words[level]);
            if (!(split >= 0.0 && split < static_cast<double>(splits) &&
                  split == std::floor(split))) {
                text.refuse(words[level], "is not the number of a split");
            }
            tree.splits[level] = static_cast<std::uint8_t>(split);
        }
        for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
            tree.values[leaf] = residual_unit * text.number(words[residual_levels + leaf]);
            if (std::abs(tree.values[leaf]) > 1.0) {
                text.refuse(words[residual_levels + leaf], "is larger than 10000");
            }
        }
    }
    return trees;
}

/// The field whose path is `prefix` and `name`, beside the trees.
WrittenField written_field(const hardware::Description& gpu, const std::string& prefix,
                           std::string_view name) {
    std::string path = prefix + std::string(name);
    const hardware::Datum* const datum = gpu.find(path);
    if (datum == nullptr) {
        throw InputError("the description of " + gpu.name + " has " + prefix + "trees but no " +
                         path);
    }
    return {std::move(path), datum->text, datum->location};
}

WrittenForest written_forest(const hardware::Description& gpu, const std::string& prefix) {
    return {.range = written_field(gpu, prefix, "range"),
            .splits = written_field(gpu, prefix, "splits"),
            .trees = written_field(gpu, prefix, "trees")};
}

ResidualForest read_forest(const WrittenForest& written, FeatureNames names, ResidualRange& range) {
    read_range(Text(written.range), names, range);
    std::vector<ResidualSplit> splits = read_splits(Text(written.splits), names);
    std::vector<ResidualTree> trees = read_trees(Text(written.trees), splits.size());
    return {std::move(splits), std::move(trees)};
}

WrittenClass written_class(const hardware::Description& gpu, ResidualClass residual_class) {
    const std::string prefix = path_of(residual_class, {});
    WrittenClass written{.residual_class = residual_class,
                         .implementation = written_field(gpu, prefix, "implementation"),
                         .forest = written_forest(gpu, prefix),
                         .spread = 1.0};
    const WrittenField spread = written_field(gpu, prefix, "spread");
    written.spread = gpu.number(spread.path).value_or(1.0);
    // A correction of one GPU's records, taken from a relative, leaves larger errors here. (K5)
    if (gpu.find(spread.path)->inherited && rests_on_records(residual_class)) {
        written.spread = std::sqrt(written.spread);
    }
    if (!spread_range.contains(written.spread)) {
        throw InputError(spread.path + " must lie between 0.1 and 2", spread.location);
    }
    return written;
}

ResidualFit fit_of(const WrittenClass& written) {
    ResidualFit fit{.implementation = parse_implementation(written.implementation.text.view()),
                    .spread = written.spread,
                    .range = {},
                    .forest = {}};
    fit.forest = read_forest(written.forest, residual_features(written.residual_class), fit.range);
    return fit;
}

/// Reads a class once for all machines of the process whose descriptions state the same text. The
/// cache is cleared when it holds many classes.
std::shared_ptr<const LazyResidualFit> shared_fit(WrittenClass written) {
    constexpr std::size_t most_kept = 16 * residual_class_count;
    using Key = std::shared_ptr<const WrittenClass>;
    struct ByContent {
        bool operator()(const Key& a, const Key& b) const { return *a < *b; }
    };
    static std::mutex changing;
    static std::map<Key, std::shared_ptr<const LazyResidualFit>, ByContent> kept;
    const std::lock_guard lock(changing);
    auto key = std::make_shared<const WrittenClass>(std::move(written));
    const auto found = kept.find(key);
    if (found != kept.end()) return found->second;
    if (kept.size() == most_kept) kept.clear();
    auto fit = std::make_shared<LazyResidualFit>([key] { return fit_of(*key); });
    return kept.emplace(std::move(key), std::move(fit)).first->second;
}

long in_units(double value) {
    return std::lround(value / residual_unit);
}

}  // namespace

std::vector<hardware::Field> residual_schema() {
    std::vector<hardware::Field> fields;
    fields.reserve(5 * residual_class_count);
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const auto each = static_cast<ResidualClass>(i);
        const auto add = [&](std::string_view name, std::string_view meaning) {
            fields.push_back({.path = path_of(each, name),
                              .kind = hardware::ValueKind::text,
                              .dimension = {},
                              .presence = hardware::Presence::optional,
                              .title = "residual correction",
                              .meaning = meaning,
                              .range = {}});
        };
        add("implementation", "implementation whose kernels it corrects");
        add("spread", "spread of the corrected residuals over that of the uncorrected ones");
        fields.back().kind = hardware::ValueKind::number;
        fields.back().range = spread_range;
        add("range", "least and largest value of each feature in the data");
        add("splits",
            "thresholds of features, each with the width of its ramp, "
            "x 10000");
        add("trees", "splits and leaves of each tree, in ln(measured / predicted) x 10000");
    }
    return fields;
}

std::shared_ptr<const Residuals> read_residuals(const hardware::Description& gpu) {
    std::shared_ptr<Residuals> found;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const auto each = static_cast<ResidualClass>(i);
        if (gpu.find(path_of(each, "trees")) == nullptr) continue;
        if (!found) found = std::make_shared<Residuals>();
        found->set(each, shared_fit(written_class(gpu, each)));
    }
    return found;
}

void LazyResidualFit::read_now() const {
    const std::lock_guard lock(reading_);
    if (is_read_.load(std::memory_order_relaxed)) return;
    fit_ = read_();
    is_read_.store(true, std::memory_order_release);
}

std::optional<KernelCorrection> read_kernel_correction(const hardware::Description& gpu,
                                                       const std::string& section,
                                                       FeatureNames names) {
    const std::string prefix = section + '.' + std::string(correction_prefix);
    if (gpu.find(prefix + "trees") == nullptr) return std::nullopt;
    KernelCorrection correction;
    correction.forest = read_forest(written_forest(gpu, prefix), names, correction.range);
    const auto width = [&](std::string_view name) {
        return gpu.value(section + '.' + std::string(name)).value_or(0.0);
    };
    correction.below = width(correction_below_name);
    correction.above = width(correction_above_name);
    return correction;
}

std::array<std::string, correction_text_count> correction_texts(
    FeatureNames names, const KernelCorrection& correction) {
    return {range_text(names, correction.range), splits_text(names, correction.forest),
            trees_text(correction.forest)};
}

std::string range_text(FeatureNames names, const ResidualRange& range) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("{}{} {:.4g} {:.4g}", i == 0 ? "" : ", ", names[i], range.least[i],
                            range.most[i]);
    }
    return text;
}

std::string splits_text(FeatureNames names, const ResidualForest& forest) {
    std::string text;
    const ResidualSplit* before = nullptr;
    for (const ResidualSplit& split : forest.splits()) {
        if (before == nullptr || before->feature != split.feature) {
            text += text.empty() ? "" : ", ";
            text += names[split.feature];
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
