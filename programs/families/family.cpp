#include "programs/families/family.h"

#include <algorithm>
#include <cstdlib>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "programs/families/family_sections.h"

namespace ridge::programs {
namespace {

using hardware::Document;
using hardware::Node;
using hardware::NodeKind;

constexpr int most_bases = 8;

std::string_view trimmed(std::string_view text) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && space(text.front())) text.remove_prefix(1);
    while (!text.empty() && space(text.back())) text.remove_suffix(1);
    return text;
}

/// Without the comment, which begins with # outside of quotes.
std::string_view without_comment(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quote != 0) {
            if (line[i] == quote) quote = 0;
        } else if (line[i] == '\'' || line[i] == '"') {
            quote = line[i];
        } else if (line[i] == '#') {
            return line.substr(0, i);
        }
    }
    return line;
}

/// Calls `take(line, place)` for each line that is not empty. The text of a multi-line string
/// begins on the line after its quotes.
template <class Take>
void each_line(std::string_view text, const Location& begin, Take take) {
    Location place = begin;
    if (text.find('\n') != std::string_view::npos) {
        ++place.line;
        place.column = 1;
    }
    for (; !text.empty(); ++place.line) {
        const std::size_t end = text.find('\n');
        const std::string_view line = without_comment(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (!trimmed(line).empty()) take(line, place);
    }
}

std::vector<std::string> texts_of(const Node& node) {
    std::vector<std::string> texts;
    const bool list = node.kind == NodeKind::array;
    for (const Node& item : node.children) {
        if (!list || item.kind != NodeKind::text) break;
        texts.emplace_back(item.text);
    }
    if (!list || texts.size() != node.children.size()) {
        throw InputError(std::string(node.key) + " must be a list of texts", node.location());
    }
    return texts;
}

std::string_view text_of(const Node& node) {
    if (node.kind != NodeKind::text) {
        throw InputError(std::string(node.key) + " must be a text", node.location());
    }
    return node.text;
}

std::string stem_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (name.ends_with(".toml")) name.remove_suffix(5);
    return std::string(name);
}

const hardware::EmbeddedFile* embedded_file(std::string_view name) {
    for (const hardware::EmbeddedFile& file : embedded_families()) {
        if (stem_of(file.path) == name) return &file;
    }
    return nullptr;
}

Document parsed(std::string_view text, const std::string& file) {
    Document document = hardware::parse_document(text, file);
    if (document.problem) {
        throw InputError(document.problem->message, document.problem->location);
    }
    return document;
}

void add_section(FamilySources& sources, FamilySection section, const Node& node) {
    each_line(text_of(node), node.location(), [&](std::string_view line, const Location& place) {
        Tokens tokens(line, place);
        sources.add(
            section,
            {.name = std::string(tokens.name()), .text = std::string(line), .place = place});
    });
}

void add_file(Family& family, FamilySources& sources, std::string_view text,
              const std::string& file, int depth) {
    if (depth > most_bases) throw InputError("more than 8 bases in a row", {.file = file});
    const Document document = parsed(text, file);
    if (const Node* base = document.root.child("base")) {
        const bool several = base->kind == NodeKind::array;
        for (const std::string& name :
             several ? texts_of(*base) : std::vector{std::string(text_of(*base))}) {
            const hardware::EmbeddedFile* found = embedded_file(name);
            if (found == nullptr) {
                throw InputError("base: no family '" + name + "'", base->location());
            }
            add_file(family, sources, found->text, std::string(found->path), depth + 1);
        }
    }
    family.model_types.clear();
    family.architectures.clear();
    for (const Node& node : document.root.children) {
        const auto* const section = std::find(section_names.begin(), section_names.end(), node.key);
        if (section != section_names.end()) {
            add_section(sources, static_cast<FamilySection>(section - section_names.begin()), node);
        } else if (node.key == "run") {
            add_procedures(text_of(node), node.location(), family.run);
        } else if (node.key == "model_types") {
            family.model_types = texts_of(node);
        } else if (node.key == "architectures") {
            family.architectures = texts_of(node);
        } else if (node.key == "ignored") {
            const std::vector<std::string> more = texts_of(node);
            family.ignored.insert(family.ignored.end(), more.begin(), more.end());
        } else if (node.key != "base") {
            throw InputError("unknown key " + std::string(node.key), node.key_location());
        }
    }
}

/// What the embedded files say about the configs that they take, without reading them whole.
struct Index {
    struct Row {
        std::string family;
        std::vector<std::string> model_types;
        std::vector<std::string> architectures;
    };
    std::vector<Row> rows;
};

const Index& index() {
    static const Index made = [] {
        Index all;
        for (const hardware::EmbeddedFile& file : embedded_families()) {
            const Document document = parsed(file.text, std::string(file.path));
            Index::Row row{.family = stem_of(file.path), .model_types = {}, .architectures = {}};
            if (const Node* types = document.root.child("model_types")) {
                row.model_types = texts_of(*types);
            }
            if (const Node* names = document.root.child("architectures")) {
                row.architectures = texts_of(*names);
            }
            all.rows.push_back(std::move(row));
        }
        return all;
    }();
    return made;
}

}  // namespace

std::int32_t Family::slot_of(std::string_view symbol) const {
    const auto found = slots.find(std::string(symbol));
    return found == slots.end() ? -1 : found->second;
}

std::int64_t Family::word_of(const std::string& text) const {
    const auto found = words.find(text);
    return found == words.end() ? -1 : found->second;
}

std::string Family::word_text(std::int64_t word) const {
    for (const auto& [text, number] : words) {
        if (number == word) return text;
    }
    return {};
}

void add_procedures(std::string_view text, const Location& begin,
                    std::vector<ProcedureText>& procedures) {
    ProcedureText* current = nullptr;
    each_line(text, begin, [&](std::string_view line, const Location& place) {
        if (line.front() == ' ' || line.front() == '\t') {
            Tokens tokens(line, place);
            if (current == nullptr) tokens.fail("a statement outside of a procedure");
            current->lines.push_back({.name = {}, .text = std::string(line), .place = place});
            return;
        }
        Tokens tokens(line, place);
        ProcedureText made{.name = std::string(tokens.name()), .place = place};
        tokens.expect("(");
        while (!tokens.accept(")")) {
            made.parameters.emplace_back(tokens.name());
            if (tokens.peek() != ")") tokens.expect(",");
        }
        if (tokens.accept("in")) made.module = std::string(tokens.name());
        tokens.expect(":");
        const auto known =
            std::find_if(procedures.begin(), procedures.end(),
                         [&](const ProcedureText& p) { return p.name == made.name; });
        current = known == procedures.end() ? &procedures.emplace_back() : &*known;
        *current = std::move(made);
    });
}

std::shared_ptr<const Family> read_family(std::string_view text, const std::string& file) {
    auto family = std::make_shared<Family>();
    FamilySources sources;
    family->name = stem_of(file);
    add_file(*family, sources, text, file, 0);
    build_sections(*family, sources);
    return family;
}

std::shared_ptr<const Family> find_family(const std::string& name) {
    static std::mutex lock;
    static std::map<std::string, std::shared_ptr<const Family>> known;
    const std::scoped_lock guard(lock);
    auto& found = known[name];
    if (found == nullptr) {
        const hardware::EmbeddedFile* file = embedded_file(name);
        if (file == nullptr) throw InputError("no family '" + name + "'");
        found = read_family(file->text, std::string(file->path));
    }
    return found;
}

std::shared_ptr<const Family> family_of(const std::string& model_type,
                                        std::span<const std::string> architectures) {
    const auto has = [](const std::vector<std::string>& list, const std::string& word) {
        return std::find(list.begin(), list.end(), word) != list.end();
    };
    for (const Index::Row& row : index().rows) {
        if (has(row.model_types, model_type)) return find_family(row.family);
    }
    for (const Index::Row& row : index().rows) {
        for (const std::string& name : architectures) {
            if (has(row.architectures, name)) return find_family(row.family);
        }
    }
    return nullptr;
}

std::vector<std::string> known_families() {
    std::vector<std::string> names;
    for (const Index::Row& row : index().rows) {
        names.insert(names.end(), row.model_types.begin(), row.model_types.end());
    }
    return names;
}

}  // namespace ridge::programs
