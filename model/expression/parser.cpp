// Parses elementwise expressions by recursive descent into a merged, constant-folded graph.
//
// Each grammar rule is one member function of `Parser`; `Builder` owns the nodes. A node that
// equals an earlier one (up to the order of commuting arguments) is replaced by that one, so common
// subexpressions count once. Nesting is limited, so hostile input cannot exhaust the stack.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/number_text.h"
#include "model/expression/expression.h"
#include "model/expression/functions.h"

namespace ridge::model {
namespace {

[[noreturn]] void fail(std::size_t position, const std::string& message,
                       const std::string& hint = {}) {
    throw InputError(
        message,
        {.file = "expression", .line = 1, .column = static_cast<std::int64_t>(position) + 1}, hint);
}

bool commutes(Function function) {
    return function == Function::add || function == Function::multiply ||
           function == Function::minimum || function == Function::maximum ||
           function == Function::equal || function == Function::not_equal;
}

/// Owns the nodes while the graph grows; folds constants and merges equal nodes.
class Builder {
  public:
    std::int32_t constant(double value, std::size_t position) {
        if (!std::isfinite(value)) fail(position, "the constant is not a finite number");
        // Adding zero turns -0 into 0, which prints and merges like it.
        return merged({.function = Function::constant, .constant = value + 0.0});
    }

    std::int32_t input(std::string name, InputShape shape) {
        return merged({.function = Function::input, .name = std::move(name), .shape = shape});
    }

    /// `second` is -1 for a function of one argument, `third` for one of two.
    std::int32_t apply(Function function, std::int32_t first, std::int32_t second,
                       std::size_t position, std::int32_t third = -1) {
        const std::optional<double> x = constant_at(first);
        const std::optional<double> y = second < 0 ? std::optional(0.0) : constant_at(second);
        const std::optional<double> z = third < 0 ? std::optional(0.0) : constant_at(third);
        if (x && y && z) return constant(value_of(function, *x, *y, *z), position);
        if (function == Function::power && y) {
            if (const std::optional<Function> cheaper = power_as_unary(*y)) {
                return merged({.function = *cheaper, .first = first});
            }
        }
        return merged({.function = function, .first = first, .second = second, .third = third});
    }

    /// The nodes that the result needs, in order, the result last.
    [[nodiscard]] std::vector<Node> reachable(std::int32_t result) const {
        std::vector<char> used(nodes_.size(), 0);
        used[static_cast<std::size_t>(result)] = 1;
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            if (used[i] == 0) continue;
            for (const std::int32_t argument :
                 {nodes_[i].first, nodes_[i].second, nodes_[i].third}) {
                if (argument >= 0) used[static_cast<std::size_t>(argument)] = 1;
            }
        }
        std::vector<std::int32_t> renumbered(nodes_.size(), -1);
        std::vector<Node> kept;
        for (std::size_t i = 0; i <= static_cast<std::size_t>(result); ++i) {
            if (used[i] == 0) continue;
            renumbered[i] = static_cast<std::int32_t>(kept.size());
            Node node = nodes_[i];
            for (std::int32_t* const argument : {&node.first, &node.second, &node.third}) {
                if (*argument >= 0) *argument = renumbered[static_cast<std::size_t>(*argument)];
            }
            kept.push_back(std::move(node));
        }
        return kept;
    }

  private:
    using Key = std::tuple<Function, std::int32_t, std::int32_t, std::int32_t, double, std::string>;

    static std::optional<Function> power_as_unary(double exponent) {
        if (exponent == 2.0) return Function::square;
        if (exponent == 0.5) return Function::square_root;
        if (exponent == -0.5) return Function::reciprocal_square_root;
        if (exponent == -1.0) return Function::reciprocal;
        return std::nullopt;
    }

    [[nodiscard]] std::optional<double> constant_at(std::int32_t index) const {
        const Node& node = nodes_[static_cast<std::size_t>(index)];
        if (node.function != Function::constant) return std::nullopt;
        return node.constant;
    }

    std::int32_t merged(Node node) {
        std::int32_t low = node.first;
        std::int32_t high = node.second;
        if (commutes(node.function) && low > high) std::swap(low, high);
        const auto [entry, is_new] =
            known_.try_emplace(Key{node.function, low, high, node.third, node.constant, node.name},
                               static_cast<std::int32_t>(nodes_.size()));
        if (is_new) nodes_.push_back(std::move(node));
        return entry->second;
    }

    std::vector<Node> nodes_;
    std::map<Key, std::int32_t> known_;
};

/// Decides the shape of an input and remembers which declarations were used.
class Shapes {
  public:
    explicit Shapes(const InputDeclarations& declarations) {
        declare(declarations.scalars, InputShape::scalar);
        declare(declarations.vectors, InputShape::vector);
        declare(declarations.tensors, InputShape::tensor);
    }

    InputShape shape_of(const std::string& name) {
        const auto found = declared_.find(name);
        if (found != declared_.end()) {
            found->second.used = true;
            return found->second.shape;
        }
        for (const std::string_view scalar : {"c", "alpha", "beta", "eps"}) {
            if (name == scalar) return InputShape::scalar;
        }
        for (const std::string_view vector : {"bias", "gamma", "scale"}) {
            if (name == vector) return InputShape::vector;
        }
        return InputShape::tensor;
    }

    void check_all_used() const {
        for (const auto& [name, declaration] : declared_) {
            if (!declaration.used) {
                throw InputError("'" + name + "' is declared but does not occur in the expression");
            }
        }
    }

  private:
    struct Declaration {
        InputShape shape;
        bool used = false;
    };

    void declare(const std::vector<std::string>& names, InputShape shape) {
        for (const std::string& name : names) {
            if (!declared_.try_emplace(name, Declaration{.shape = shape}).second) {
                throw InputError("'" + name + "' is declared twice");
            }
        }
    }

    std::map<std::string, Declaration, std::less<>> declared_;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Parser {
  public:
    Parser(std::string_view text, const InputDeclarations& declarations)
        : text_(text), shapes_(declarations) {}

    std::vector<Node> parse() {
        const std::int32_t result = comparison();
        skip_space();
        if (position_ < text_.size()) {
            fail(position_, "expected an operator or the end, found " + found());
        }
        shapes_.check_all_used();
        return builder_.reachable(result);
    }

  private:
    /// Counts one level of nesting during its lifetime.
    class Level {
      public:
        explicit Level(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > deepest_expression) {
                fail(parser_.position_, "the expression is nested more than " +
                                            std::to_string(deepest_expression) + " deep");
            }
        }
        ~Level() { --parser_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        Level(Level&&) = delete;
        Level& operator=(Level&&) = delete;

      private:
        Parser& parser_;
    };

    /// Parses x > y as y < x, so that both are one node.
    std::int32_t comparison() {
        const std::int32_t left = sum();
        const std::size_t at = next();
        const std::optional<Comparison> sign = comparison_sign();
        if (!sign) return left;
        const std::int32_t right = sum();
        const std::size_t again = next();
        if (comparison_sign()) {
            fail(again, "comparisons do not chain", "write (x < y) * (y < z)");
        }
        return sign->swapped ? builder_.apply(sign->function, right, left, at)
                             : builder_.apply(sign->function, left, right, at);
    }

    struct Comparison {
        Function function;
        bool swapped;
    };

    std::optional<Comparison> comparison_sign() {
        if (accept("<=")) return Comparison{Function::less_equal, false};
        if (accept(">=")) return Comparison{Function::less_equal, true};
        if (accept("==")) return Comparison{Function::equal, false};
        if (accept("!=")) return Comparison{Function::not_equal, false};
        if (accept('<')) return Comparison{Function::less, false};
        if (accept('>')) return Comparison{Function::less, true};
        return std::nullopt;
    }

    std::int32_t sum() {
        std::int32_t left = product();
        for (;;) {
            const std::size_t at = next();
            if (accept('+')) {
                left = builder_.apply(Function::add, left, product(), at);
            } else if (accept('-')) {
                left = builder_.apply(Function::subtract, left, product(), at);
            } else {
                return left;
            }
        }
    }

    std::int32_t product() {
        std::int32_t left = signed_power();
        for (;;) {
            const std::size_t at = next();
            if (accept('*')) {
                left = builder_.apply(Function::multiply, left, signed_power(), at);
            } else if (accept('/')) {
                left = builder_.apply(Function::divide, left, signed_power(), at);
            } else {
                return left;
            }
        }
    }

    std::int32_t signed_power() {
        const Level level(*this);
        const std::size_t at = next();
        if (accept('-')) return builder_.apply(Function::negate, signed_power(), -1, at);
        const std::int32_t base = primary();
        const std::size_t power_at = next();
        if (!accept('^') && !accept("**")) return base;
        return builder_.apply(Function::power, base, signed_power(), power_at);
    }

    std::int32_t primary() {
        const std::size_t at = next();
        if (at >= text_.size()) fail(at, "expected a value, found the end");
        const char c = text_[at];
        if (is_digit(c) || c == '.') return number();
        if (begins_name(c)) return name();
        if (accept('(')) {
            const std::int32_t inner = comparison();
            expect(')', at);
            return inner;
        }
        fail(at, "expected a number, a name or '(', found " + found());
    }

    std::int32_t number() {
        const std::size_t at = position_;
        const RealText read = read_real(std::string_view(text_).substr(position_));
        if (read.error == std::errc::result_out_of_range) fail(at, "the number is out of range");
        if (read.error != std::errc()) fail(at, "expected a number");
        position_ += read.length;
        return builder_.constant(read.value, at);
    }

    std::int32_t name() {
        const std::size_t at = position_;
        while (position_ < text_.size() &&
               (begins_name(text_[position_]) || is_digit(text_[position_]))) {
            ++position_;
        }
        std::string word(text_.substr(at, position_ - at));
        const std::optional<CallableName> function = find_function(word);
        const std::size_t open = next();
        if (accept('(')) {
            if (!function) fail_unknown_function(word, at);
            return call(*function, at, open);
        }
        if (function) {
            fail(at, "'" + word + "' is a function and needs its arguments in parentheses");
        }
        if (word == "pi") return builder_.constant(std::numbers::pi, at);
        const InputShape shape = shapes_.shape_of(word);
        return builder_.input(std::move(word), shape);
    }

    std::int32_t call(const CallableName& called, std::size_t at, std::size_t open) {
        std::vector<std::int32_t> arguments{comparison()};
        while (next(), accept(',')) arguments.push_back(comparison());
        expect(')', open);
        const auto wanted = static_cast<std::size_t>(called.info->arguments);
        if (arguments.size() != wanted) {
            fail(at, std::string(called.name) + " takes " + std::to_string(wanted) +
                         (wanted == 1 ? " argument, got " : " arguments, got ") +
                         std::to_string(arguments.size()));
        }
        return builder_.apply(called.info->function, arguments.front(),
                              wanted > 1 ? arguments[1] : -1, at, wanted > 2 ? arguments[2] : -1);
    }

    [[noreturn]] static void fail_unknown_function(const std::string& word, std::size_t at) {
        std::vector<std::string> names;
        for (const CallableName& each : callable_names()) names.emplace_back(each.name);
        const std::string near = nearest(word, names);
        fail(at, "unknown function '" + word + "'",
             near.empty() ? std::string() : "did you mean '" + near + "'?");
    }

    void skip_space() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
            ++position_;
        }
    }

    /// The position of the next token.
    std::size_t next() {
        skip_space();
        return position_;
    }

    bool accept(std::string_view sign) {
        if (!text_.substr(position_).starts_with(sign)) return false;
        position_ += sign.size();
        return true;
    }

    bool accept(char c) {
        if (position_ >= text_.size() || text_[position_] != c) return false;
        ++position_;
        return true;
    }

    void expect(char c, std::size_t opened) {
        next();
        if (!accept(c)) {
            fail(position_, std::string("expected '") + c + "' for the '(' at column " +
                                std::to_string(opened + 1) + ", found " + found());
        }
    }

    [[nodiscard]] std::string found() const {
        if (position_ >= text_.size()) return "the end";
        const char c = text_[position_];
        if (c < ' ' || c > '~') return "a character that is not printable ASCII";
        return std::string("'") + c + "'";
    }

    std::string_view text_;
    std::size_t position_ = 0;
    std::int32_t depth_ = 0;
    Builder builder_;
    Shapes shapes_;
};

}  // namespace

Expression parse_expression(std::string_view text, const InputDeclarations& declarations) {
    if (text.size() > longest_expression) {
        throw InputError("the expression has " + std::to_string(text.size()) +
                         " characters, more than " + std::to_string(longest_expression));
    }
    if (text.find_first_not_of(" \t") == std::string_view::npos) {
        throw InputError("the expression is empty");
    }
    return {std::string(text), Parser(text, declarations).parse()};
}

}  // namespace ridge::model
