#include "programs/families/family_sections.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::size_t most_names = 1000;

bool defines_symbols(FamilySection section) {
    return section <= FamilySection::layer;
}

/// Parses the lines of a family. A name that is used before its line is parsed when it is needed.
class SectionBuilder : public FamilyNames {
  public:
    SectionBuilder(Family& family, const FamilySources& sources)
        : FamilyNames(family), family_(family) {
        for (const std::string_view name : step_symbol_names) add_symbol(std::string(name));
        for (std::size_t s = 0; defines_symbols(static_cast<FamilySection>(s)); ++s) {
            const auto section = static_cast<FamilySection>(s);
            for (const FamilyLine& line : sources.lines(section)) {
                pending_[line.name] = {.line = &line, .section = section};
                names_.push_back(line.name);
            }
        }
        if (pending_.size() > most_names) {
            throw InputError("a family has at most 1000 names",
                             names_.empty() ? Location{} : pending_[names_.front()].line->place);
        }
    }

    void build(const FamilySources& sources) {
        for (const std::string& name : names_) define(name);
        for (const FamilyLine& line : sources.lines(FamilySection::checks)) add_check(line);
        for (const FamilySection section :
             {FamilySection::weights, FamilySection::layer_weights, FamilySection::last_weights}) {
            for (const FamilyLine& line : sources.lines(section)) {
                add_weight(line, section == FamilySection::layer_weights);
                family_.weights.back().last = section == FamilySection::last_weights;
            }
        }
    }

    std::int32_t symbol(std::string_view name) override {
        const auto found = pending_.find(std::string(name));
        if (found != pending_.end()) {
            if (found->second.section > section_) {
                throw InputError(
                    std::string(name) + " belongs to the later section '" +
                        std::string(
                            section_names[static_cast<std::size_t>(found->second.section)]) +
                        "'",
                    place_);
            }
            define(found->first);
        }
        const std::int32_t slot = family_.slot_of(name);
        if (slot >= 0 && changes(slot)) changing_ = true;
        return slot;
    }
    [[nodiscard]] std::vector<std::string> all() const override {
        std::vector<std::string> names = names_;
        names.insert(names.end(), step_symbol_names.begin(), step_symbol_names.end());
        return names;
    }

  private:
    struct Pending {
        const FamilyLine* line = nullptr;
        FamilySection section = FamilySection::fields;
        enum class State : std::uint8_t { waiting, parsing, done } state = State::waiting;
    };

    [[nodiscard]] bool changes(std::int32_t slot) const {
        return changing_slots_[static_cast<std::size_t>(slot)];
    }

    std::int32_t add_symbol(const std::string& name) {
        const auto slot = static_cast<std::int32_t>(family_.symbols.size());
        family_.symbols.push_back(name);
        family_.slots.emplace(name, slot);
        changing_slots_.push_back(slot < static_cast<std::int32_t>(StepSymbol::i));
        return slot;
    }

    void define(const std::string& name) {
        Pending& pending = pending_.at(name);
        if (pending.state == Pending::State::done) return;
        if (pending.state == Pending::State::parsing) {
            throw InputError(name + " depends on itself", pending.line->place);
        }
        pending.state = Pending::State::parsing;
        const FamilySection section_before = section_;
        const bool changing_before = std::exchange(changing_, false);
        const Location place_before = place_;
        section_ = pending.section;
        place_ = pending.line->place;
        Tokens tokens(pending.line->text, pending.line->place);
        static_cast<void>(tokens.next());
        tokens.expect("=");
        if (section_ == FamilySection::fields) {
            add_field(tokens, name);
        } else {
            add_definition(tokens, name);
        }
        if (!tokens.at_end()) tokens.fail("unexpected '" + std::string(tokens.peek()) + "'");
        section_ = section_before;
        place_ = place_before;
        changing_ = changing_before;
        pending.state = Pending::State::done;
    }

    void add_definition(Tokens& tokens, const std::string& name) {
        const std::int32_t value = parse_expression(tokens, *this, family_.nodes);
        const std::int32_t slot = add_symbol(name);
        changing_slots_.back() = changing_;
        auto& list = section_ == FamilySection::model   ? family_.model
                     : section_ == FamilySection::kinds ? family_.kinds
                                                        : family_.layer;
        list.push_back({.slot = slot, .value = value, .changes = changing_});
    }

    static FieldKind kind_of(Tokens& tokens) {
        static constexpr std::array<std::string_view, 10> kinds{
            "count", "counts", "thousandths", "flag",  "number",
            "word",  "ending", "members",     "words", "letters"};
        const std::string_view word = tokens.peek();
        const auto* const found = std::find(kinds.begin(), kinds.end(), word);
        if (found == kinds.end()) {
            tokens.fail(
                "expected count, counts, thousandths, flag, number, word, ending, members, words "
                "or "
                "letters");
        }
        static_cast<void>(tokens.next());
        return static_cast<FieldKind>(found - kinds.begin());
    }

    void add_field(Tokens& tokens, const std::string& name) {
        Field field{.kind = kind_of(tokens)};
        tokens.expect("(");
        if (field.kind == FieldKind::number) {
            field.optional = tokens.peek() != ")";
            if (field.optional)
                field.share = std::strtod(std::string(tokens.next()).c_str(), nullptr);
        } else if (tokens.peek() != ")") {
            const bool words = field.kind == FieldKind::words || field.kind == FieldKind::letters;
            if (!words) field.otherwise = parse_expression(tokens, *this, family_.nodes);
            while (words || tokens.accept(",")) {
                const std::int32_t node = parse_expression(tokens, *this, family_.nodes);
                field.words.push_back(family_.nodes[static_cast<std::size_t>(node)].value);
                if (words && !tokens.accept(",")) break;
            }
        }
        tokens.expect(")");
        tokens.expect("as");
        const std::string paths(tokens.quoted());
        for (std::size_t begin = 0; paths != "-" && begin <= paths.size();) {
            const std::size_t end = std::min(paths.find('|', begin), paths.size());
            field.paths.push_back(paths.substr(begin, end - begin));
            begin = end + 1;
        }
        field.slot = add_symbol(name);
        if (!field.paths.empty()) family_.field_names.emplace(field.slot, field.paths.front());
        family_.fields.push_back(std::move(field));
    }

    std::int32_t condition(Tokens& tokens) {
        const bool has = tokens.accept("if");
        const std::int32_t root = has ? parse_expression(tokens, *this, family_.nodes) : -1;
        if (!tokens.at_end()) tokens.fail("unexpected '" + std::string(tokens.peek()) + "'");
        return root;
    }

    void begin_line(const FamilyLine& line, FamilySection section) {
        section_ = section;
        place_ = line.place;
    }

    void add_check(const FamilyLine& line) {
        begin_line(line, FamilySection::checks);
        Tokens tokens(line.text, line.place);
        Check check;
        const std::int32_t slot = symbol(tokens.name());
        if (slot < 0) tokens.fail("unknown name " + line.name);
        family_.nodes.push_back({.kind = ExpressionKind::symbol, .value = slot});
        check.value = static_cast<std::int32_t>(family_.nodes.size()) - 1;
        tokens.expect("=");
        const std::string kind(tokens.name());
        tokens.expect("(");
        if (kind == "between") {
            check.least = parse_expression(tokens, *this, family_.nodes);
            tokens.expect(",");
            check.most = parse_expression(tokens, *this, family_.nodes);
        } else if (kind == "divides") {
            check.kind = Check::Kind::divides;
            const std::int32_t other = symbol(tokens.peek());
            check.least = parse_expression(tokens, *this, family_.nodes);
            const auto known = family_.field_names.find(other);
            check.other = known == family_.field_names.end() ? "its whole" : known->second;
        } else if (kind == "refuse") {
            check.kind = Check::Kind::refuse;
        } else {
            tokens.fail("expected between, divides or refuse");
        }
        tokens.expect(")");
        tokens.expect("as");
        check.name = std::string(tokens.quoted());
        check.condition = condition(tokens);
        family_.checks.push_back(std::move(check));
    }

    static WeightRole role_of(Tokens& tokens, bool& transposed) {
        struct Role {
            std::string_view word;
            WeightRole role;
        };
        static constexpr std::array<Role, 10> roles{{{"embedding", WeightRole::embedding},
                                                     {"product", WeightRole::product},
                                                     {"conv1d", WeightRole::product},
                                                     {"expert", WeightRole::expert},
                                                     {"router", WeightRole::router},
                                                     {"plain", WeightRole::router},
                                                     {"stack", WeightRole::embedding},
                                                     {"norm", WeightRole::norm},
                                                     {"vector", WeightRole::bias},
                                                     {"head", WeightRole::head}}};
        const std::string_view word = tokens.peek();
        for (const Role& each : roles) {
            if (each.word != word) continue;
            transposed = word == "conv1d";
            static_cast<void>(tokens.next());
            return each.role;
        }
        tokens.fail(
            "expected embedding, product, conv1d, expert, router, plain, stack, norm, vector or "
            "head");
    }

    static void set_type(Tokens& tokens, WeightRule& rule) {
        const std::string_view type = tokens.name();
        rule.table = type.starts_with("int");
        rule.element = type == "fp32" || type == "int32" ? 4 : type == "int64" ? 8 : 0;
        if (rule.element == 0) tokens.fail("expected fp32, int32 or int64");
    }

    void add_weight(const FamilyLine& line, bool of_layer) {
        begin_line(line, FamilySection::weights);
        Tokens tokens(line.text, line.place);
        WeightRule rule{.name = std::string(tokens.name()), .of_layer = of_layer};
        tokens.expect("=");
        const std::string kind(tokens.peek());
        rule.role = role_of(tokens, rule.transposed);
        tokens.expect("(");
        rule.rows = parse_expression(tokens, *this, family_.nodes);
        const bool stacked = kind == "expert" || kind == "stack";
        const bool has_columns = rule.role != WeightRole::norm && rule.role != WeightRole::bias;
        if (has_columns) {
            tokens.expect(",");
            rule.columns = parse_expression(tokens, *this, family_.nodes);
        }
        if (stacked) {
            tokens.expect(",");
            rule.stacked = parse_expression(tokens, *this, family_.nodes);
        }
        if (tokens.accept(",")) rule.bias = parse_expression(tokens, *this, family_.nodes);
        if (tokens.accept(",")) {
            const std::string_view group = tokens.next();
            if (group.size() < 3 || group[0] != '\'') tokens.fail("expected a 'group'");
            rule.group = std::string(group.substr(1, group.size() - 2));
        }
        tokens.expect(")");
        rule.path = tokens.accept("as") ? std::string(tokens.quoted()) : rule.name;
        if (tokens.accept("in")) set_type(tokens, rule);
        rule.condition = condition(tokens);
        family_.weights.push_back(std::move(rule));
    }

    Family& family_;
    std::unordered_map<std::string, Pending> pending_;
    std::vector<std::string> names_;
    std::vector<bool> changing_slots_;
    FamilySection section_ = FamilySection::fields;
    Location place_;
    bool changing_ = false;
};

}  // namespace

void FamilySources::add(FamilySection section, FamilyLine line) {
    auto& own = lines_[static_cast<std::size_t>(section)];
    const auto same = [&](const FamilyLine& each) { return each.name == line.name; };
    if (section == FamilySection::checks) return own.push_back(std::move(line));
    const auto known = std::find_if(own.begin(), own.end(), same);
    if (known != own.end()) {
        *known = std::move(line);
        return;
    }
    const bool symbols = defines_symbols(section);
    for (std::size_t s = 0; s < lines_.size(); ++s) {
        const auto other = static_cast<FamilySection>(s);
        if (other == FamilySection::checks || defines_symbols(other) != symbols) continue;
        std::erase_if(lines_[s], same);
    }
    own.push_back(std::move(line));
}

void build_sections(Family& family, const FamilySources& sources) {
    SectionBuilder(family, sources).build(sources);
}

}  // namespace ridge::programs
