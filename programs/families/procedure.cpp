// Compiles the text of procedures.
#include "programs/families/procedure.h"

#include <algorithm>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::programs {

/// Parses the statements; resolves every name.
class ProcedureCompiler : public Names {
  public:
    ProcedureCompiler(Procedures& all, const Family& family, std::vector<ProcedureText> texts)
        : all_(all), family_(family), texts_(std::move(texts)) {
        for (const ProcedureText& text : texts_) {
            if (find_primitive(text.name) != nullptr) {
                throw InputError(text.name + " is an operation of ridge; choose another name",
                                 text.place);
            }
            all_.by_name_.emplace(text.name, static_cast<std::int32_t>(all_.procedures_.size()));
            all_.procedures_.push_back({.name = text.name, .parameters = text.parameters.size()});
        }
    }

    void compile() {
        for (std::size_t i = 0; i < texts_.size(); ++i) compile(texts_[i], all_.procedures_[i]);
        std::vector<std::uint8_t> states(texts_.size(), 0);
        for (std::size_t i = 0; i < texts_.size(); ++i) check_recursion(i, states);
    }

    std::int32_t symbol(std::string_view name) override { return family_.slot_of(name); }
    std::int32_t local(std::string_view name) override {
        const auto found = std::find(locals_.begin(), locals_.end(), name);
        return found == locals_.end() ? -1 : static_cast<std::int32_t>(found - locals_.begin());
    }
    std::int64_t word(std::string_view text) override {
        const std::int64_t known = family_.word_of(std::string(text));
        if (known > 0) return known;
        // A word that only procedures use: below those that a config can have.
        return -1 - place_in(words_, std::string(text));
    }
    [[nodiscard]] std::vector<std::string> all() const override {
        std::vector<std::string> names = family_.symbols;
        names.insert(names.end(), locals_.begin(), locals_.end());
        for (const WeightRule& weight : family_.weights) names.push_back(weight.name);
        return names;
    }

  private:
    using Argument = Procedures::Argument;
    using Statement = Procedures::Statement;

    void compile(const ProcedureText& text, Procedures::Procedure& procedure) {
        locals_ = text.parameters;
        procedure.module = module(text.module);
        for (const FamilyLine& line : text.lines) {
            Tokens tokens(line.text, line.place);
            procedure.statements.push_back(statement(tokens, line.place));
        }
        procedure.locals = locals_.size();
    }

    Statement statement(Tokens& tokens, const Location& place) {
        Statement made;
        made.place = place;
        if (tokens.accept("return")) {
            returned(tokens, made);
        } else if (is_call(tokens)) {
            called(tokens, made);
        } else {
            std::vector<std::string> targets;
            do targets.emplace_back(tokens.name());
            while (tokens.accept(","));
            tokens.expect("=");
            assigned(tokens, made);
            for (const std::string& name : targets) made.targets.push_back(target(name));
        }
        if (tokens.accept("as")) label(tokens, made);
        if (tokens.accept("in")) made.module = module(std::string(tokens.name()));
        if (tokens.accept("if")) {
            made.condition = parse_expression(tokens, *this, all_.nodes_);
        }
        if (!tokens.at_end()) tokens.fail("unexpected '" + std::string(tokens.peek()) + "'");
        return made;
    }

    static bool is_call(const Tokens& tokens) {
        Tokens ahead = tokens;
        return is_name(ahead.next()) && ahead.peek() == "(";
    }
    /// A call whose closing parenthesis ends the value, so that `min(a, b) / 2` is a number.
    [[nodiscard]] bool is_operation(const Tokens& tokens) const {
        Tokens ahead = tokens;
        const std::string name(ahead.next());
        return is_name(name) && ahead.peek() == "(" &&
               (find_primitive(name) != nullptr || all_.by_name_.contains(name));
    }
    void assigned(Tokens& tokens, Statement& made) {
        if (is_operation(tokens)) return called(tokens, made);
        Tokens ahead = tokens;
        const std::string_view first = ahead.next();
        const bool alone = ahead.at_end() || ahead.peek() == "if" || ahead.peek() == "in";
        if (alone && is_name(first) && names_tensor(first) && !chooses(ahead)) {
            made.kind = Statement::Kind::alias;
            made.arguments.push_back(tensor(tokens));
            return;
        }
        made.kind = Statement::Kind::number;
        made.arguments.push_back({.kind = Argument::Kind::number,
                                  .number = parse_expression(tokens, *this, all_.nodes_)});
    }
    static bool chooses(Tokens ahead) {
        while (!ahead.at_end()) {
            if (ahead.next() == "else") return true;
        }
        return false;
    }
    [[nodiscard]] bool names_tensor(std::string_view name) {
        return name[0] == '@' || name == "none" || local(name) >= 0 || weight(name) >= 0;
    }

    void returned(Tokens& tokens, Statement& made) {
        if (is_operation(tokens)) {
            called(tokens, made);
            const bool call = made.kind == Statement::Kind::call;
            if (call) {
                made.kind = Statement::Kind::results_of_call;
            } else {
                made.targets.push_back({.kind = Argument::Kind::none});
            }
            return;
        }
        made.kind = Statement::Kind::result;
        do made.arguments.push_back(tensor(tokens));
        while (tokens.accept(","));
    }

    void called(Tokens& tokens, Statement& made) {
        const std::string name(tokens.name());
        const Primitive* const primitive = find_primitive(name);
        tokens.expect("(");
        if (primitive != nullptr) {
            made.op = primitive->op;
            primitive_arguments(tokens, primitive->arguments, made);
            return;
        }
        const auto found = all_.by_name_.find(name);
        if (found == all_.by_name_.end()) unknown_procedure(tokens, name);
        made.kind = Statement::Kind::call;
        made.procedure = found->second;
        while (!tokens.accept(")")) {
            made.arguments.push_back(any(tokens));
            if (tokens.peek() != ")") tokens.expect(",");
        }
        const auto& callee = all_.procedures_[static_cast<std::size_t>(found->second)];
        if (made.arguments.size() != callee.parameters) {
            tokens.fail(name + " takes " + std::to_string(callee.parameters) + " arguments");
        }
    }
    [[noreturn]] void unknown_procedure(const Tokens& tokens, const std::string& name) const {
        std::vector<std::string> names;
        for (const auto& [known, index] : all_.by_name_) names.push_back(known);
        const std::string close = nearest(name, names);
        tokens.fail("unknown operation " + name,
                    close.empty() ? close : "did you mean '" + close + "'?");
    }

    void primitive_arguments(Tokens& tokens, std::string_view signature, Statement& made) {
        bool optional = false;
        bool first = true;
        for (std::size_t i = 0; i < signature.size();) {
            const char kind = signature[i];
            if (kind == '?') {
                optional = true;
                ++i;
                continue;
            }
            const bool many = kind == '*' || kind == '+';
            if ((optional || many) && tokens.peek() == ")") break;
            if (!first) tokens.expect(",");
            first = false;
            made.arguments.push_back(primitive_argument(tokens, kind));
            if (!many) ++i;
        }
        tokens.expect(")");
    }

    Argument primitive_argument(Tokens& tokens, char kind) {
        switch (kind) {
            case 'm':
            case 't': {
                const std::string name(tokens.name());
                const std::int32_t word = kind == 'm' ? find_math(name) : find_type(name);
                if (word < 0) {
                    tokens.fail("unknown " + std::string(kind == 'm' ? "function " : "type ") +
                                name);
                }
                return {.kind = Argument::Kind::word, .number = word};
            }
            case 'v':
            case '+':
                return tensor(tokens);
            case 'w': {
                const Argument argument = tensor(tokens);
                if (argument.kind == Argument::Kind::weight ||
                    argument.kind == Argument::Kind::local) {
                    return argument;
                }
                tokens.fail("expected the name of a weight");
            }
            default:
                return {.kind = Argument::Kind::number,
                        .number = parse_expression(tokens, *this, all_.nodes_)};
        }
    }

    Argument tensor(Tokens& tokens) {
        const std::string name(tokens.name());
        if (name == "none") return {};
        if (name[0] == '@') return {.kind = Argument::Kind::global, .number = global(name)};
        if (const std::int32_t index = local(name); index >= 0) {
            return {.kind = Argument::Kind::local, .number = index};
        }
        if (const std::int32_t index = weight(name); index >= 0) {
            return {.kind = Argument::Kind::weight, .number = index};
        }
        const std::string close = nearest(name, all());
        tokens.fail_before("unknown tensor " + name,
                           close.empty() ? close : "did you mean '" + close + "'?");
    }

    Argument any(Tokens& tokens) {
        if (!tokens.at_end() && tokens.peek()[0] == '"') {
            return {.kind = Argument::Kind::label, .label = kept(tokens.quoted())};
        }
        Tokens ahead = tokens;
        const std::string_view first = ahead.next();
        const bool alone = ahead.peek() == "," || ahead.peek() == ")";
        if (alone && is_name(first) && names_tensor(first)) return tensor(tokens);
        return {.kind = Argument::Kind::number,
                .number = parse_expression(tokens, *this, all_.nodes_)};
    }

    Argument target(const std::string& name) {
        if (name[0] == '@') return {.kind = Argument::Kind::global, .number = global(name)};
        std::int32_t index = local(name);
        if (index < 0) {
            index = static_cast<std::int32_t>(locals_.size());
            locals_.push_back(name);
        }
        return {.kind = Argument::Kind::local, .number = index};
    }

    void label(Tokens& tokens, Statement& made) {
        if (!tokens.at_end() && tokens.peek()[0] == '"') {
            made.label = {.kind = Argument::Kind::label, .label = kept(tokens.quoted())};
            return;
        }
        const std::int32_t index = local(tokens.name());
        if (index < 0) tokens.fail("expected a text in double quotes or a local name");
        made.label = {.kind = Argument::Kind::local, .number = index};
    }

    std::string_view kept(std::string_view text) { return all_.labels_.emplace_back(text); }
    std::int32_t weight(std::string_view name) const {
        const auto found = std::find_if(family_.weights.begin(), family_.weights.end(),
                                        [&](const WeightRule& w) { return w.name == name; });
        return found == family_.weights.end()
                   ? -1
                   : static_cast<std::int32_t>(found - family_.weights.begin());
    }
    std::int32_t global(const std::string& name) { return place_in(all_.globals_, name); }
    std::int16_t module(const std::string& name) {
        return name.empty() ? std::int16_t{-1}
                            : static_cast<std::int16_t>(place_in(all_.modules_, name));
    }
    static std::int32_t place_in(std::vector<std::string>& names, const std::string& name) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
        names.push_back(name);
        return static_cast<std::int32_t>(names.size()) - 1;
    }

    void check_recursion(std::size_t index, std::vector<std::uint8_t>& states) const {
        if (states[index] == 2) return;
        if (states[index] == 1) {
            throw InputError(texts_[index].name + " calls itself", texts_[index].place);
        }
        states[index] = 1;
        for (const Statement& each : all_.procedures_[index].statements) {
            if (each.procedure >= 0) {
                check_recursion(static_cast<std::size_t>(each.procedure), states);
            }
        }
        states[index] = 2;
    }

    Procedures& all_;
    const Family& family_;
    std::vector<ProcedureText> texts_;
    std::vector<std::string> locals_;
    std::vector<std::string> words_;
};

Procedures::Procedures(const Family& family, std::vector<ProcedureText> rules, bool merges)
    : nodes_(family.nodes), weights_(family.weights), merges_(merges) {
    for (const ProcedureText& text : family.run) {
        const auto known = std::find_if(rules.begin(), rules.end(), [&](const ProcedureText& rule) {
            return rule.name == text.name;
        });
        if (known == rules.end()) {
            rules.push_back(text);
        } else {
            *known = text;
        }
    }
    for (const WeightRule& weight : weights_) {
        if (!weight.group.empty()) labels_.push_back(weight.group + "_proj");
    }
    ProcedureCompiler(*this, family, std::move(rules)).compile();
}

Procedures::~Procedures() = default;

std::int32_t Procedures::global(std::string_view name) const {
    const auto found = std::find(globals_.begin(), globals_.end(), name);
    return found == globals_.end() ? -1 : static_cast<std::int32_t>(found - globals_.begin());
}

std::int32_t Procedures::group_of(std::int32_t rule) const {
    const std::string& group = weights_[static_cast<std::size_t>(rule)].group;
    if (!merges_ || group.empty()) return rule;
    const auto first = std::find_if(weights_.begin(), weights_.end(),
                                    [&](const WeightRule& w) { return w.group == group; });
    return static_cast<std::int32_t>(first - weights_.begin());
}

}  // namespace ridge::programs
