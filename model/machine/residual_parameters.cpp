#include "model/machine/residual_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "hardware/error.h"
#include "hardware/number_text.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 16> product_features{
    "m",       "n",      "k",     "tiles",   "wave",    "wave_square", "wave_narrow", "last",
    "compute", "memory", "bytes", "align_n", "align_k", "flat",        "deep",        "l2"};
constexpr std::array<std::string_view, 10> attention_features{
    "batch",  "kv_heads", "group",   "tokens", "head_dim",
    "blocks", "wave",     "compute", "memory", "time"};
constexpr std::array<std::string_view, 10> latent_features{
    "batch", "heads", "queries", "tokens", "cache", "blocks", "wave", "compute", "memory", "time"};
constexpr std::array<std::string_view, 12> expert_features{
    "tokens", "hidden", "intermediate", "topk",    "experts", "split",
    "load",   "type",   "rows",         "compute", "memory",  "time"};

constexpr std::array<std::string_view, 15> record_product_features{
    "m",       "n",       "k",    "batch",   "tiles",  "wave_square", "wave_narrow", "last",
    "align_n", "align_k", "type", "compute", "memory", "bytes",       "l2"};
constexpr std::array<std::string_view, 15> bundled_attention_features{
    "kernel", "batch", "heads",   "group",  "queries", "tokens", "head_dim", "type",
    "tiles",  "wave",  "compute", "memory", "time",    "align",  "l2"};
constexpr std::array<std::string_view, 9> bundled_row_features{
    "kernel", "rows", "cols", "type", "align", "bytes", "wave", "time", "l2"};
constexpr std::array<std::string_view, 9> bundled_pointwise_features{
    "kernel", "elements", "type", "inputs", "special", "fma", "bytes", "time", "l2"};
constexpr std::array<std::string_view, 10> bundled_movement_features{
    "kernel", "rows", "cols", "extent", "type", "align", "align_other", "bytes", "time", "l2"};
constexpr std::array<std::string_view, 8> bundled_access_features{
    "kernel", "elements", "degree", "type", "bytes", "wave", "time", "l2"};
/// "variant": the type and the layout of B.
constexpr std::array<std::string_view, 16> torch_product_features{
    "m",       "n",       "k",     "batch", "variant",      "bias",
    "align_n", "align_k", "tiles", "wave",  "tiles_narrow", "wave_narrow",
    "last",    "work",    "bytes", "l2"};
/// For one type and layout. In place of the variant they have the block's tile, which tells kernels
/// apart.
constexpr std::array<std::string_view, 16> torch_float_features{
    "m",       "n",       "k",     "batch", "tile",         "bias",
    "align_n", "align_k", "tiles", "wave",  "tiles_narrow", "wave_narrow",
    "last",    "work",    "bytes", "l2"};
constexpr std::array<std::string_view, 12> torch_attention_features{
    "kernel", "queries", "keys",   "heads", "group", "head_dim",
    "causal", "type",    "blocks", "wave",  "work",  "l2"};
constexpr std::array<std::string_view, 10> torch_row_features{
    "kernel", "axis", "backward", "rows", "cols", "elements", "type", "align", "wave", "l2"};
constexpr std::array<std::string_view, 12> torch_stream_features{
    "kernel", "elements", "bytes",  "type",   "output", "reads",
    "cost",   "cols",     "stride", "pieces", "align",  "l2"};

/// The largest factor of a correction: the usual one, and a wider one for classes whose times
/// scatter more. (docs/model.md K3)
constexpr double usual_correction = 1.2;
constexpr double wide_correction = 1.5;
/// For kernels among which a library chooses by rules that no equation here covers.
constexpr double widest_correction = 2.5;

/// What determines a class: public tables of many GPUs, or the records of one GPU.
enum class Rows : std::uint8_t { tables, records };

constexpr bool has(std::span<const std::string_view> features, std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
}

struct ClassEntry {
    ResidualClass residual_class;
    std::string_view name;
    std::span<const std::string_view> features;
    Rows rows = Rows::tables;
    double largest = usual_correction;
    bool has_kernel = has(features, "kernel");
    bool has_l2 = has(features, "l2");
};

/// Every class once, in the order of `ResidualClass`.
constexpr std::array<ClassEntry, residual_class_count> class_table{{
    {ResidualClass::product_16, "product_16", product_features, Rows::tables, wide_correction},
    {ResidualClass::product_8, "product_8", product_features, Rows::tables, wide_correction},
    {ResidualClass::product_4, "product_4", product_features},
    {ResidualClass::prefill, "prefill", attention_features},
    {ResidualClass::decode, "decode", attention_features},
    {ResidualClass::prefill_cache8, "prefill_cache8", attention_features},
    {ResidualClass::decode_cache8, "decode_cache8", attention_features},
    {ResidualClass::latent_prefill, "latent_prefill", latent_features},
    {ResidualClass::latent_decode, "latent_decode", latent_features},
    {ResidualClass::experts, "experts", expert_features},
    {ResidualClass::product_odd, "product_odd", record_product_features, Rows::records,
     wide_correction},
    {ResidualClass::product_wide, "product_wide", record_product_features, Rows::records,
     wide_correction},
    {ResidualClass::bundled_attention, "bundled_attention", bundled_attention_features,
     Rows::records, wide_correction},
    {ResidualClass::bundled_rows, "bundled_rows", bundled_row_features, Rows::records},
    {ResidualClass::bundled_pointwise, "bundled_pointwise", bundled_pointwise_features,
     Rows::records},
    {ResidualClass::bundled_movement, "bundled_movement", bundled_movement_features, Rows::records},
    {ResidualClass::bundled_access, "bundled_access", bundled_access_features, Rows::records},
    {ResidualClass::torch_product_16, "torch_product_16", torch_product_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_product_odd, "torch_product_odd", torch_product_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_odd_thin, "torch_product_odd_thin", torch_product_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32, "torch_product_fp32", torch_float_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_fp32_rows, "torch_product_fp32_rows", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32_thin, "torch_product_fp32_thin", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32_thin_rows, "torch_product_fp32_thin_rows",
     torch_float_features, Rows::records, widest_correction},
    {ResidualClass::torch_product_tf32, "torch_product_tf32", torch_float_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_tf32_rows, "torch_product_tf32_rows", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_8, "torch_product_8", torch_product_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_forward, "torch_forward", torch_attention_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_backward, "torch_backward", torch_attention_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_rows, "torch_rows", torch_row_features, Rows::records, wide_correction},
    {ResidualClass::torch_streams, "torch_streams", torch_stream_features, Rows::records,
     wide_correction},
}};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        if (static_cast<std::size_t>(class_table[i].residual_class) != i) return false;
        if (class_table[i].features.size() > most_residual_features) return false;
    }
    return true;
}
static_assert(is_in_order());

const ClassEntry& entry_of(ResidualClass residual_class) {
    return class_table.at(static_cast<std::size_t>(residual_class));
}

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

/// One class as its description states it.
struct WrittenClass {
    ResidualClass residual_class{};
    WrittenField implementation;
    WrittenField range;
    WrittenField splits;
    WrittenField trees;
    double spread = 1.0;

    [[nodiscard]] auto key() const {
        return std::tie(residual_class, implementation, range, splits, trees, spread);
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

    [[nodiscard]] std::uint8_t feature(ResidualClass residual_class, std::string_view word) const {
        const auto names = residual_features(residual_class);
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) refuse(word, "is not a feature of this class");
        return static_cast<std::uint8_t>(found - names.begin());
    }

  private:
    const std::string& path_;
    std::string_view text_;
    const Location& location_;
};

void read_range(const Text& text, ResidualClass residual_class, ResidualFit& fit) {
    std::size_t known = 0;
    for (const auto& words : text.parts()) {
        if (words.size() != 3) text.refuse(words[0], "needs a least and a largest value");
        const double least = text.number(words[1]);
        const double most = text.number(words[2]);
        if (most < least) text.refuse(words[0], "has a largest value below its least");
        const std::size_t feature = text.feature(residual_class, words[0]);
        fit.range.least[feature] = least;
        fit.range.most[feature] = most;
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

WrittenClass written_class(const hardware::Description& gpu, ResidualClass residual_class) {
    const auto field = [&](std::string_view name) {
        std::string path = path_of(residual_class, name);
        const hardware::Datum* const datum = gpu.find(path);
        if (datum == nullptr) {
            throw InputError("the description of " + gpu.name + " has " +
                             path_of(residual_class, "trees") + " but no " + path);
        }
        return WrittenField{std::move(path), datum->text, datum->location};
    };
    WrittenClass written{.residual_class = residual_class,
                         .implementation = field("implementation"),
                         .range = field("range"),
                         .splits = field("splits"),
                         .trees = field("trees"),
                         .spread = 1.0};
    const WrittenField spread = field("spread");
    written.spread = gpu.number(spread.path).value_or(1.0);
    // A correction taken from a relative leaves larger errors here than on its own GPU. (K5)
    if (gpu.find(spread.path)->inherited) written.spread = std::sqrt(written.spread);
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
    read_range(Text(written.range), written.residual_class, fit);
    std::vector<ResidualSplit> splits = read_splits(Text(written.splits), written.residual_class);
    std::vector<ResidualTree> trees = read_trees(Text(written.trees), splits.size());
    fit.forest = ResidualForest(std::move(splits), std::move(trees));
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

std::string_view name_of(ResidualClass residual_class) {
    return entry_of(residual_class).name;
}

std::span<const std::string_view> residual_features(ResidualClass residual_class) {
    return entry_of(residual_class).features;
}

bool has_kernel_feature(ResidualClass residual_class) {
    return entry_of(residual_class).has_kernel;
}

bool has_l2_feature(ResidualClass residual_class) {
    return entry_of(residual_class).has_l2;
}

bool rests_on_records(ResidualClass residual_class) {
    return entry_of(residual_class).rows == Rows::records;
}

double largest_correction(ResidualClass residual_class) {
    return entry_of(residual_class).largest;
}

double largest_correction() {
    return std::max(usual_correction, wide_correction);
}

double largest_log_correction(ResidualClass residual_class) {
    // Computed once, since each prediction needs one and a logarithm takes time.
    static const auto logarithms = [] {
        std::array<double, residual_class_count> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::log(class_table[i].largest);
        return all;
    }();
    return logarithms[static_cast<std::size_t>(residual_class)];
}

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
    for (const ClassEntry& entry : class_table) {
        const ResidualClass each = entry.residual_class;
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

std::string range_text(ResidualClass residual_class, const ResidualFit& fit) {
    std::string text;
    const auto names = residual_features(residual_class);
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("{}{} {:.4g} {:.4g}", i == 0 ? "" : ", ", names[i], fit.range.least[i],
                            fit.range.most[i]);
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
