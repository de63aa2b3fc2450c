#include "hardware/whole_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include "hardware/nearest.h"

namespace ridge {
namespace {

constexpr std::int64_t largest_whole = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t longest_line = 4096;
constexpr int most_levels = 64;

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? largest_whole : result;
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? largest_whole : result;
}

std::int64_t quotient_of(std::int64_t a, std::int64_t b, bool up) {
    if (b == 0 || (b == -1 && a < 0)) return 0;
    return a / b + (up && a % b > 0 ? 1 : 0);
}

/// Rounded down; shares are 0 to 1.
std::int64_t part_of(std::int64_t whole, double share) {
    constexpr double most = 9e18;
    const double part = static_cast<double>(whole) * share;
    return part < most && part > -most ? static_cast<std::int64_t>(part) : largest_whole;
}

std::int64_t item_of(const ExpressionNode& node, std::int64_t index, const Scope& scope) {
    const auto& list = scope.fields->lists[static_cast<std::size_t>(node.value)];
    const bool inside = index >= 0 && index < static_cast<std::int64_t>(list.size());
    return inside ? list[static_cast<std::size_t>(index)] : 0;
}

std::int64_t most_of(const ExpressionNodes& nodes, std::int32_t root, const Scope& scope) {
    std::int64_t most = 0;
    Scope one = scope;
    for (const auto& kind : scope.kinds) {
        one.symbols = kind;
        most = std::max(most, evaluate(nodes, root, one));
    }
    return most;
}

std::int64_t combined_whole(ExpressionKind kind, std::int64_t a, std::int64_t b) {
    switch (kind) {
        case ExpressionKind::exact:
        case ExpressionKind::divide:
            return quotient_of(a, b, false);
        case ExpressionKind::split:
            return quotient_of(a, b, true);
        case ExpressionKind::minimum:
            return std::min(a, b);
        case ExpressionKind::maximum:
            return std::max(a, b);
        case ExpressionKind::add:
            return sum_of(a, b);
        case ExpressionKind::subtract:
            return sum_of(a, product_of(b, -1));
        case ExpressionKind::multiply:
            return product_of(a, b);
        case ExpressionKind::remainder:
            return b > 0 ? a % b : 0;
        case ExpressionKind::equal:
            return a == b ? 1 : 0;
        case ExpressionKind::different:
            return a != b ? 1 : 0;
        case ExpressionKind::less:
            return a < b ? 1 : 0;
        case ExpressionKind::less_equal:
            return a <= b ? 1 : 0;
        default:
            return 0;
    }
}

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@';
}
bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Recursive descent over one line; `level_` bounds the depth.
class ExpressionParser {
  public:
    ExpressionParser(Tokens& tokens, Names& names, ExpressionNodes& nodes)
        : tokens_(tokens), names_(names), nodes_(nodes) {}

    std::int32_t choice() {
        if (++level_ > most_levels) tokens_.fail("the expression nests too deeply");
        std::int32_t value = binary(0);
        if (condition_follows()) {
            tokens_.expect("if");
            const std::int32_t condition = binary(0);
            tokens_.expect("else");
            value =
                add({.kind = ExpressionKind::choose, .a = condition, .b = value, .c = choice()});
        }
        --level_;
        return value;
    }

  private:
    struct Operator {
        std::string_view token;
        ExpressionKind kind;
        int level;
        bool swapped;
    };
    static constexpr std::array<Operator, 13> operators{
        {{"or", ExpressionKind::either, 0, false},
         {"and", ExpressionKind::both, 1, false},
         {"==", ExpressionKind::equal, 3, false},
         {"!=", ExpressionKind::different, 3, false},
         {"<", ExpressionKind::less, 3, false},
         {"<=", ExpressionKind::less_equal, 3, false},
         {">", ExpressionKind::less, 3, true},
         {">=", ExpressionKind::less_equal, 3, true},
         {"+", ExpressionKind::add, 4, false},
         {"-", ExpressionKind::subtract, 4, false},
         {"*", ExpressionKind::multiply, 5, false},
         {"/", ExpressionKind::divide, 5, false},
         {"%", ExpressionKind::remainder, 5, false}}};
    static constexpr int negation = 2;
    static constexpr int unary_level = 6;

    std::int32_t add(const ExpressionNode& node) {
        nodes_.push_back(node);
        return static_cast<std::int32_t>(nodes_.size()) - 1;
    }
    /// `if` belongs to the expression only with an `else`; otherwise to the statement.
    [[nodiscard]] bool condition_follows() const {
        if (tokens_.peek() != "if") return false;
        Tokens ahead = tokens_;
        int depth = 0;
        int inner = 0;
        while (!ahead.at_end()) {
            const std::string_view token = ahead.next();
            if (token == "(" || token == "[") ++depth;
            if (token == ")" || token == "]") --depth;
            if (depth < 0 || (depth == 0 && token == ",")) return false;
            if (depth > 0) continue;
            if (token == "if") ++inner;
            if (token == "else" && --inner == 0) return true;
        }
        return false;
    }
    std::int32_t binary(int level) {
        if (level == unary_level) return unary();
        if (level == negation && tokens_.peek() == "not") {
            static_cast<void>(tokens_.next());
            if (++level_ > most_levels) tokens_.fail("the expression nests too deeply");
            const std::int32_t inner =
                add({.kind = ExpressionKind::negate_truth, .a = binary(level)});
            --level_;
            return inner;
        }
        std::int32_t left = binary(level + 1);
        for (;;) {
            const auto* const found =
                std::find_if(operators.begin(), operators.end(), [&](const Operator& each) {
                    return each.level == level && each.token == tokens_.peek();
                });
            if (found == operators.end()) return left;
            static_cast<void>(tokens_.next());
            std::int32_t right = binary(level + 1);
            if (found->swapped) std::swap(left, right);
            left = add({.kind = found->kind, .a = left, .b = right});
        }
    }
    std::int32_t unary() {
        if (tokens_.accept("-")) {
            if (++level_ > most_levels) tokens_.fail("the expression nests too deeply");
            const std::int32_t inner = unary();
            --level_;
            return add({.kind = ExpressionKind::negate, .a = inner});
        }
        if (tokens_.accept("(")) {
            const std::int32_t inner = choice();
            tokens_.expect(")");
            return inner;
        }
        const std::string_view token = tokens_.peek();
        if (!token.empty() && std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
            return add({.value = number()});
        }
        if (!token.empty() && token[0] == '\'') {
            const std::string_view text = tokens_.next();
            return add({.value = names_.word(text.substr(1, text.size() - 2))});
        }
        if (!is_name(token)) tokens_.fail("expected a value, found '" + std::string(token) + "'");
        const std::string name(tokens_.next());
        return tokens_.accept("(") ? call(name) : named(name);
    }
    std::int64_t number() {
        std::int64_t value = 0;
        for (const char digit : tokens_.next()) {
            if (std::isdigit(static_cast<unsigned char>(digit)) == 0) {
                tokens_.fail("expected a whole number");
            }
            value = sum_of(product_of(value, 10), digit - '0');
        }
        return value;
    }
    std::int32_t named(const std::string& name) {
        const std::int32_t local = names_.local(name);
        if (local >= 0) return add({.kind = ExpressionKind::local, .value = local});
        const std::int64_t slot = symbol(name);
        if (tokens_.accept("[")) {
            const std::int32_t index = choice();
            tokens_.expect("]");
            return add({.kind = ExpressionKind::item, .a = index, .value = slot});
        }
        return add({.kind = ExpressionKind::symbol, .value = slot});
    }
    std::int64_t symbol(const std::string& name) {
        const std::int32_t slot = names_.symbol(name);
        if (slot >= 0) return slot;
        const std::string close = nearest(name, names_.all());
        tokens_.fail_before("unknown name " + name,
                            close.empty() ? close : "did you mean '" + close + "'?");
    }
    std::int32_t call(const std::string& name) {
        ExpressionNode node;
        if (name == "given" || name == "length" || name == "contains") {
            node.kind = name == "given"    ? ExpressionKind::given
                        : name == "length" ? ExpressionKind::length
                                           : ExpressionKind::contains;
            node.value = symbol(std::string(tokens_.name()));
            if (node.kind == ExpressionKind::contains) {
                tokens_.expect(",");
                node.a = choice();
            }
        } else if (name == "part") {
            node.kind = ExpressionKind::part;
            node.a = choice();
            tokens_.expect(",");
            node.value = symbol(std::string(tokens_.name()));
        } else {
            node = function(name);
        }
        tokens_.expect(")");
        return add(node);
    }
    ExpressionNode function(const std::string& name) {
        struct Function {
            std::string_view name;
            ExpressionKind kind;
            bool two;
        };
        constexpr std::array<Function, 6> functions{{{"min", ExpressionKind::minimum, true},
                                                     {"max", ExpressionKind::maximum, true},
                                                     {"exact", ExpressionKind::exact, true},
                                                     {"share", ExpressionKind::split, true},
                                                     {"shard", ExpressionKind::split, false},
                                                     {"most", ExpressionKind::most, false}}};
        for (const Function& each : functions) {
            if (each.name != name) continue;
            // Each `most` walks the kinds of layers, so one within another is refused.
            if (each.kind == ExpressionKind::most && std::exchange(within_most_, true)) {
                tokens_.fail("most() within most()");
            }
            ExpressionNode node{.kind = each.kind, .a = choice()};
            if (each.kind == ExpressionKind::most) within_most_ = false;
            if (each.two) {
                tokens_.expect(",");
                node.b = choice();
            } else if (each.kind == ExpressionKind::split) {
                node.b = add({.kind = ExpressionKind::symbol, .value = symbol("tp")});
            }
            return node;
        }
        tokens_.fail_before("unknown function " + name);
    }

    Tokens& tokens_;
    Names& names_;
    ExpressionNodes& nodes_;
    int level_ = 0;
    bool within_most_ = false;
};

}  // namespace

std::int64_t evaluate(const ExpressionNodes& nodes, std::int32_t root, const Scope& scope) {
    const ExpressionNode& node = nodes[static_cast<std::size_t>(root)];
    const auto of = [&](std::int32_t child) { return evaluate(nodes, child, scope); };
    const auto slot = static_cast<std::size_t>(node.value);
    switch (node.kind) {
        case ExpressionKind::number:
            return node.value;
        case ExpressionKind::symbol:
            return scope.symbols[slot];
        case ExpressionKind::local:
            return slot < scope.locals.size() ? scope.locals[slot].number : 0;
        case ExpressionKind::item:
            return item_of(node, of(node.a), scope);
        case ExpressionKind::length:
            return static_cast<std::int64_t>(scope.fields->lists[slot].size());
        case ExpressionKind::given:
            return scope.fields->given[slot];
        case ExpressionKind::contains: {
            const auto& list = scope.fields->lists[slot];
            return std::find(list.begin(), list.end(), of(node.a)) != list.end() ? 1 : 0;
        }
        case ExpressionKind::most:
            return most_of(nodes, node.a, scope);
        case ExpressionKind::part:
            return part_of(of(node.a), scope.fields->shares[slot]);
        case ExpressionKind::negate_truth:
            return of(node.a) == 0 ? 1 : 0;
        case ExpressionKind::negate:
            return product_of(of(node.a), -1);
        case ExpressionKind::both:
            return of(node.a) != 0 && of(node.b) != 0 ? 1 : 0;
        case ExpressionKind::either:
            return of(node.a) != 0 || of(node.b) != 0 ? 1 : 0;
        case ExpressionKind::choose:
            return of(node.a) != 0 ? of(node.b) : of(node.c);
        default:
            return combined_whole(node.kind, of(node.a), of(node.b));
    }
}

Tokens::Tokens(std::string_view text, Location place) : text_(text), place_(std::move(place)) {
    if (text_.size() > longest_line) {
        text_ = {};
        fail("a line has at most 4096 characters");
    }
    advance();
}

void Tokens::advance() {
    begin_ = end_;
    while (begin_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[begin_])) != 0) {
        ++begin_;
    }
    end_ = begin_;
    if (begin_ == text_.size()) {
        token_ = {};
        return;
    }
    const char first = text_[begin_];
    if (first == '\'' || first == '"') {
        const std::size_t close = text_.find(first, begin_ + 1);
        if (close == std::string_view::npos) fail("a quote is not closed");
        end_ = close + 1;
    } else if (starts_name(first)) {
        ++end_;
        while (end_ < text_.size() && continues_name(text_[end_])) ++end_;
    } else if (std::isdigit(static_cast<unsigned char>(first)) != 0) {
        while (end_ < text_.size() && (continues_name(text_[end_]) || text_[end_] == '.')) ++end_;
    } else {
        const bool two = begin_ + 1 < text_.size() && text_[begin_ + 1] == '=' &&
                         (first == '=' || first == '!' || first == '<' || first == '>');
        end_ += two ? 2 : 1;
    }
    token_ = text_.substr(begin_, end_ - begin_);
}

std::string_view Tokens::next() {
    const std::string_view token = token_;
    previous_ = begin_;
    advance();
    return token;
}

bool Tokens::accept(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
}

void Tokens::expect(std::string_view token) {
    if (accept(token)) return;
    fail("expected '" + std::string(token) + "'" +
         (at_end() ? " at the end of the line" : ", found '" + std::string(token_) + "'"));
}

std::string_view Tokens::name() {
    if (!is_name(token_)) fail("expected a name, found '" + std::string(token_) + "'");
    return next();
}

std::string_view Tokens::quoted() {
    if (token_.empty() || token_[0] != '"') fail("expected a text in double quotes");
    const std::string_view token = next();
    return token.substr(1, token.size() - 2);
}

void Tokens::fail(const std::string& message, std::string hint) const {
    Location place = place_;
    place.column += static_cast<std::int64_t>(begin_);
    throw InputError(message, place, std::move(hint));
}

void Tokens::fail_before(const std::string& message, std::string hint) const {
    Tokens before = *this;
    before.begin_ = previous_;
    before.fail(message, std::move(hint));
}

bool is_name(std::string_view token) {
    return !token.empty() && starts_name(token[0]);
}

std::int32_t parse_expression(Tokens& tokens, Names& names, ExpressionNodes& nodes) {
    return ExpressionParser(tokens, names, nodes).choice();
}

}  // namespace ridge
