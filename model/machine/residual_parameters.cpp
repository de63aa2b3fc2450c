#include "model/machine/residual_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, residual_class_count> class_names{
    "product_16",     "product_8",     "product_4",      "prefill",       "decode",
    "prefill_cache8", "decode_cache8", "latent_prefill", "latent_decode", "experts"};

constexpr std::array<std::string_view, 7> product_features{"m",    "n",       "k",     "tiles",
                                                           "wave", "compute", "memory"};
constexpr std::array<std::string_view, 9> attention_features{
    "batch", "kv_heads", "group", "tokens", "head_dim", "blocks", "wave", "compute", "memory"};
constexpr std::array<std::string_view, 9> latent_features{
    "batch", "heads", "queries", "tokens", "cache", "blocks", "wave", "compute", "memory"};
constexpr std::array<std::string_view, 11> expert_features{
    "tokens", "hidden", "intermediate", "topk",    "experts", "split",
    "load",   "type",   "rows",         "compute", "memory"};

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

void read_terms(const Text& text, ResidualClass residual_class, ResidualFit& fit) {
    constexpr double largest = 1.0;
    for (const auto& words : text.parts()) {
        if (words.size() > 3) text.refuse(words[0], "has more than two features");
        if (fit.terms.full()) text.refuse(words[0], "is one term too many");
        ResidualTerm term{.coefficient = text.number(words[0])};
        if (std::abs(term.coefficient) > largest) text.refuse(words[0], "is beyond 1");
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::size_t power = words[i].find('^');
            const double degree =
                power == std::string_view::npos ? 1.0 : text.number(words[i].substr(power + 1));
            if (!(degree >= 1.0 && degree <= most_residual_degree)) {
                text.refuse(words[i], "has a degree that is not 1 to 4");
            }
            (i == 1 ? term.first : term.second) =
                text.feature(residual_class, words[i].substr(0, power));
            (i == 1 ? term.first_degree : term.second_degree) = static_cast<std::uint8_t>(degree);
        }
        fit.terms.push_back(term);
    }
}

std::string factor_text(ResidualClass residual_class, std::uint8_t feature, std::uint8_t degree) {
    if (degree == 0) return {};
    std::string text = " " + std::string(residual_features(residual_class)[feature]);
    if (degree > 1) text += fmt::format("^{}", degree);
    return text;
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
        add("terms", "residual correction: coefficients and features, in ln(measured / predicted)");
    }
    return fields;
}

std::shared_ptr<const Residuals> read_residuals(const hardware::Description& gpu) {
    std::shared_ptr<Residuals> found;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const auto each = static_cast<ResidualClass>(i);
        if (gpu.find(path_of(each, "terms")) == nullptr) continue;
        for (const char* needed : {"implementation", "spread", "range"}) {
            if (gpu.find(path_of(each, needed)) == nullptr) {
                throw InputError("the description of " + gpu.name + " has " +
                                 path_of(each, "terms") + " but no " + path_of(each, needed));
            }
        }
        ResidualFit fit{.implementation = parse_implementation(
                            gpu.text(path_of(each, "implementation")).value_or("")),
                        .spread = gpu.number(path_of(each, "spread")).value_or(1.0),
                        .range = {},
                        .terms = {}};
        if (!spread_range.contains(fit.spread)) {
            throw InputError(path_of(each, "spread") + " must lie between 0.1 and 1",
                             gpu.find(path_of(each, "spread"))->location);
        }
        read_range(Text(gpu, path_of(each, "range")), each, fit);
        read_terms(Text(gpu, path_of(each, "terms")), each, fit);
        if (!found) found = std::make_shared<Residuals>();
        found->classes[i] = fit;
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

std::string terms_text(ResidualClass residual_class, const ResidualFit& fit) {
    std::string text;
    for (const ResidualTerm& term : fit.terms) {
        text += fmt::format("{}{:.4f}{}{}", text.empty() ? "" : ", ", term.coefficient,
                            factor_text(residual_class, term.first, term.first_degree),
                            factor_text(residual_class, term.second, term.second_degree));
    }
    return text;
}

}  // namespace ridge::model
