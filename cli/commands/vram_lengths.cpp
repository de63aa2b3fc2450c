#include "cli/commands/vram_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/commands/memory_curves.h"
#include "cli/options/sweep_range.h"
#include "hardware/error.h"

namespace ridge::cli {
namespace {

using model::Field;

bool is_range_of(Field field, const std::string& text) {
    return model::info_of(field).kind == model::FieldKind::count && is_range(text);
}

std::vector<std::string> implementations_of(const FieldTexts& texts) {
    const auto given = texts.find(Field::impl);
    if (given == texts.end()) return {"standard", "flash2"};
    std::vector<std::string> names;
    std::istringstream stream(given->second);
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    return names;
}

/// The field that is a range, with its sizes.
std::pair<Field, std::vector<std::int64_t>> sizes_of(const FieldTexts& texts) {
    constexpr std::size_t most_sizes = 1000;
    std::optional<std::pair<Field, std::vector<std::int64_t>>> found;
    for (const auto& [field, text] : texts) {
        if (!is_range_of(field, text)) continue;
        const std::string name(model::info_of(field).name);
        if (found) throw InputError(name + ": only one size can be a range here");
        found.emplace(field, parse_range(name, text).values);
        if (found->second.empty()) throw InputError(name + ": follows no range");
        if (found->second.size() > most_sizes) throw InputError(name + ": more than 1000 sizes");
    }
    RIDGE_CONTRACT(found);
    return *found;
}

/// "attention heads=32 head_dim=128 dtype=fp16, inference".
std::string title_of(const LengthQuestion& question) {
    std::string title = "attention";
    for (const auto& [field, text] : question.texts) {
        if (field == Field::impl || is_range_of(field, text)) continue;
        title += fmt::format(" {}={}", model::info_of(field).name, text);
    }
    return title + ", " + question.pass;
}

}  // namespace

bool has_range(const FieldTexts& texts) {
    return std::any_of(texts.begin(), texts.end(),
                       [](const auto& each) { return is_range_of(each.first, each.second); });
}

void write_lengths(const Context& context, const LengthQuestion& question, const MemoryOf& memory) {
    const auto found = sizes_of(question.texts);
    MemoryCurves curves{.title = title_of(question),
                        .subtitle = "peak that the allocator holds, tensors of the call included",
                        .size = std::string(model::info_of(found.first).name),
                        .named = "impl",
                        .sizes = found.second,
                        .lines = {},
                        .limits = question.limits};
    for (const std::string& implementation : implementations_of(question.texts)) {
        MemoryLine line{.name = implementation,
                        .memory = {},
                        .evidence = attention_evidence(implementation, std::nullopt)};
        for (const std::int64_t size : curves.sizes) {
            FieldTexts texts = question.texts;
            texts[found.first] = std::to_string(size);
            texts[Field::impl] = implementation;
            line.memory.push_back(memory(texts));
        }
        curves.lines.push_back(std::move(line));
    }
    write_curves(context, curves, question.format, question.chart);
}

}  // namespace ridge::cli
