// Expressions of data files (families of models, conditions of engine kernels): whole numbers, small and total.
//
//   Tokens tokens("min(seq, window - 1) if window else seq", {"my.toml", 7});
//   const std::int32_t root = parse_expression(tokens, names, nodes);
//   evaluate(nodes, root, values);
//
// Grammar, from weak to strong: `a if c else b`; or; and; not; == != < <= > >=; + -; * / %; unary -;
// numbers, 'words', names, list[i] and functions: min(a, b), max(a, b), shard(n) (n over the GPUs of
// tensor parallelism, rounded up), share(n, parts) (rounded up), exact(n, parts) (an error if it
// leaves a remainder), part(n, share) (rounded down), most(e) (the largest e of all kinds of
// layers), given(field), length(list), contains(list, e).
// Method: text becomes nodes once; names become slots, so that evaluating needs no look-up. There
// are no loops and no recursion. Sums and products that overflow become the largest number, a
// division by zero gives 0, so that every expression has a value.
// Limits: at most 64 levels and 4096 characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"

namespace ridge {

enum class ExpressionKind : std::uint8_t {
    number,
    symbol,
    local,
    item,
    length,
    given,
    contains,
    most,
    exact,
    split,
    part,
    minimum,
    maximum,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    equal,
    different,
    less,
    less_equal,
    both,
    either,
    negate_truth,
    negate,
    choose
};

struct ExpressionNode {
    ExpressionKind kind = ExpressionKind::number;
    std::int32_t a = -1;
    std::int32_t b = -1;
    std::int32_t c = -1;
    std::int64_t value = 0;  ///< of a number; slot of a symbol or local
};
using ExpressionNodes = std::vector<ExpressionNode>;

/// What a local name of a procedure stands for: a whole number, or something that is no number.
struct Bound {
    enum class Kind : std::uint8_t { nothing, number, value, global, weight, label };
    Kind kind = Kind::nothing;
    std::int64_t number = 0;      ///< or the number of a value, global or weight
    std::string_view label = {};  ///< of a kernel
};

/// The values of symbols. A symbol is a whole number, a share or a list.
struct SymbolValues {
    std::vector<std::int64_t> whole;
    std::vector<double> shares;
    std::vector<std::vector<std::int64_t>> lists;
    std::vector<std::uint8_t> given;  ///< whether the config states the field
};

struct Scope {
    std::span<const std::int64_t> symbols;
    const SymbolValues* fields = nullptr;                ///< shares, lists, what is given
    std::span<const Bound> locals{};                     ///< of a procedure
    std::span<const std::vector<std::int64_t>> kinds{};  ///< symbols of each kind of layer
};

[[nodiscard]] std::int64_t evaluate(const ExpressionNodes& nodes, std::int32_t root,
                                    const Scope& scope);

/// The tokens of one line.
class Tokens {
  public:
    Tokens(std::string_view text, Location place);

    /// The next token, "" at the end; its place is `location()`.
    [[nodiscard]] std::string_view peek() const { return token_; }
    std::string_view next();
    [[nodiscard]] bool accept(std::string_view token);
    void expect(std::string_view token);
    /// A name; otherwise an error.
    std::string_view name();
    /// The text between double quotes.
    std::string_view quoted();
    [[nodiscard]] bool at_end() const { return token_.empty(); }
    [[noreturn]] void fail(const std::string& message, std::string hint = {}) const;
    /// The same at the token before, which has been read.
    [[noreturn]] void fail_before(const std::string& message, std::string hint = {}) const;

  private:
    void advance();

    std::string_view text_;
    Location place_;
    std::size_t begin_ = 0;  ///< of the token
    std::size_t previous_ = 0;
    std::size_t end_ = 0;
    std::string_view token_;
};

[[nodiscard]] bool is_name(std::string_view token);

/// How names are found.
class Names {
  public:
    virtual ~Names() = default;
    /// Slot of a symbol, or -1.
    virtual std::int32_t symbol(std::string_view name) = 0;
    /// Slot of a local name, or -1.
    virtual std::int32_t local(std::string_view name) = 0;
    virtual std::int64_t word(std::string_view text) = 0;
    /// Names that exist, for hints.
    [[nodiscard]] virtual std::vector<std::string> all() const = 0;
};

/// Adds the nodes and returns the root. InputError with the place for anything else.
[[nodiscard]] std::int32_t parse_expression(Tokens& tokens, Names& names, ExpressionNodes& nodes);

}  // namespace ridge
