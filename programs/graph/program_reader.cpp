#include "programs/graph/program_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/fields.h"

namespace ridge::programs {
namespace {

using hardware::Node;
using hardware::NodeKind;

constexpr std::size_t most_operations = 10000;
constexpr std::int64_t most_runs = 1'000'000;

/// Refuses any key that is not in the list.
template <std::size_t N>
void check_keys(const Node& table, const std::array<std::string_view, N>& known) {
    for (const Node& child : table.children) {
        if (std::find(known.begin(), known.end(), child.key) != known.end()) continue;
        const std::vector<std::string> close =
            near(child.key, std::vector<std::string>(known.begin(), known.end()), 1);
        throw InputError("unknown key '" + std::string(child.key) + "'", child.key_location(),
                         close.empty() ? std::string() : "did you mean '" + close.front() + "'?");
    }
}

std::string text_of(const Node& table, std::string_view key, std::string otherwise) {
    const Node* node = table.child(key);
    if (node == nullptr) return otherwise;
    if (node->kind != NodeKind::text) {
        throw InputError(std::string(key) + " must be a string", node->location());
    }
    return std::string(node->text);
}

std::int64_t count_of(const Node& table, std::string_view key, std::int64_t least,
                      std::int64_t otherwise) {
    const Node* node = table.child(key);
    if (node == nullptr) return otherwise;
    if (node->kind != NodeKind::integer || node->integer < least || node->integer > most_runs) {
        throw InputError(std::string(key) + " must be " + std::to_string(least) + " to " +
                             std::to_string(most_runs),
                         node->location());
    }
    return node->integer;
}

/// A name of an enumeration whose values are 0 to `count` - 1.
template <typename Word>
Word word_of(const Node& table, std::string_view key, std::size_t count, Word otherwise) {
    const std::string text = text_of(table, key, std::string(name_of(otherwise)));
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
        const auto word = static_cast<Word>(i);
        if (name_of(word) == text) return word;
        all += (all.empty() ? "" : ", ") + std::string(name_of(word));
    }
    throw InputError(std::string(key) + ": '" + text + "' is not known",
                     table.child(key)->location(), "one of " + all);
}

Entry entry_of(const Node& table) {
    constexpr std::array<std::string_view, 7> keys{"op",     "name", "count", "kernels",
                                                   "module", "pass", "layer"};
    if (table.kind != NodeKind::table) {
        throw InputError("[[operation]] must be a table", table.location());
    }
    check_keys(table, keys);
    const std::string text = text_of(table, "op", "");
    if (text.empty()) throw InputError("op is missing", table.location(), "op = \"matmul m=...\"");
    Entry entry;
    try {
        const model::OperationText parsed = model::parse_operation(text);
        entry.operation = model::make_operation(parsed.kind, parsed.parameters);
        entry.execution = model::make_execution(parsed.parameters);
        entry.name = std::string(model::info_of(parsed.kind).name);
    } catch (const InputError& error) {
        throw InputError(error.message(), table.child("op")->location(), error.hint());
    }
    entry.name = text_of(table, "name", entry.name);
    entry.count = count_of(table, "count", 1, 1);
    entry.kernels = count_of(table, "kernels", 1, 1);
    entry.module = word_of(table, "module", module_count, Module::other);
    entry.pass = word_of(table, "pass", 3, Pass::forward);
    entry.first_layer = count_of(table, "layer", 0, -1);
    return entry;
}

}  // namespace

Program read_program(std::string_view text, const std::string& file) {
    const hardware::Document document = hardware::parse_document(text, file);
    if (document.problem) {
        throw InputError(document.problem->message, document.problem->location);
    }
    constexpr std::array<std::string_view, 2> keys{"name", "operation"};
    check_keys(document.root, keys);
    const Node* list = document.root.child("operation");
    if (list == nullptr || list->kind != NodeKind::array || list->children.empty()) {
        throw InputError("no [[operation]]", {.file = file});
    }
    if (list->children.size() > most_operations) {
        throw InputError("more than 10,000 operations", list->location());
    }
    Program program;
    program.name = text_of(document.root, "name", std::filesystem::path(file).stem().string());
    program.entries.reserve(list->children.size());
    for (const Node& each : list->children) program.entries.push_back(entry_of(each));
    return program;
}

std::optional<Program> find_program(const std::string& path) {
    std::error_code ignored;
    if (!path.ends_with(".toml") || !std::filesystem::is_regular_file(path, ignored)) {
        return std::nullopt;
    }
    const std::string text = hardware::read_text_file(path);
    const hardware::Document document = hardware::parse_document(text, path);
    if (document.problem || document.root.child("operation") == nullptr) return std::nullopt;
    return read_program(text, path);
}

}  // namespace ridge::programs
