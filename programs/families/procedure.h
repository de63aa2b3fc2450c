// The procedures of a family and of a software's rules, compiled.
//
//   const Procedures& all = procedures_of(*family, "transformers", rules_text);
//   const Code code = all.code("layer", {...});      // flat instructions for one kind of layer
//
// A procedure is a header `name(a, b) in module:` and statements:
//   q, k = split(x, n, n) as "cut" if n > 0     a primitive (primitives.h) or another procedure
//   y = x                                       another name for the same tensor
//   n = tokens * hidden                         a number
//   @cos = y                                    a tensor that lives beyond the procedure
//   return y, none
// Method: for one kind of layer and one step, `code` evaluates every condition and number, replaces
// calls by the statements of what they call, and gives each tensor a number. A tensor is given up by
// the last statement that uses it, or where it is made if nothing does; `release(x)` is a use and
// nothing else. Only the flat instructions run, once for each layer.
// Limits: no loops, no recursion (an error when loaded); 60,000 instructions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "programs/families/family.h"
#include "programs/families/primitives.h"

namespace ridge::programs {

/// A tensor that an instruction reads or writes: a value, a weight (the index of its rule), an
/// @name, or none.
struct Operand {
    enum class Kind : std::uint8_t { none, value, weight, global };
    Kind kind = Kind::none;
    bool last = false;  ///< the value is given up here
    std::int32_t number = 0;
};

struct Instruction {
    Op op = Op::release;
    std::int16_t word = 0;  ///< function or type
    std::int16_t weight = -1;
    std::int16_t module = -1;  ///< index in `Procedures::modules()`
    std::uint16_t first_operand = 0;
    std::uint8_t operands = 0;
    std::uint8_t results = 0;  ///< follow the operands
    std::uint8_t numbers = 0;
    std::uint32_t first_number = 0;
    std::string_view label{};
};

struct Code {
    std::vector<Instruction> instructions;
    std::vector<Operand> operands;
    std::vector<std::int64_t> numbers;
    std::int32_t values = 0;  ///< tensors; the arguments come first
    Operand result{};
};

class Procedures {
  public:
    /// InputError with the place of a line that is wrong. `rules` are the software's own procedures;
    /// the family's replace those of the same name.
    Procedures(const Family& family, std::vector<ProcedureText> rules, bool merges);
    ~Procedures();

    struct Site {
        const SymbolValues* fields = nullptr;
        const std::vector<std::vector<std::int64_t>>* kinds = nullptr;
        std::size_t kind = 0;
        /// Rows of each weight, and whether it exists, by rule.
        const std::vector<std::int64_t>* rows = nullptr;
    };
    /// The code of a procedure with `arguments` tensors (0 or 1).
    [[nodiscard]] Code code(std::string_view name, const Site& site, int arguments) const;
    [[nodiscard]] const std::vector<std::string>& modules() const { return modules_; }
    [[nodiscard]] const std::vector<std::string>& globals() const { return globals_; }
    /// Index of an @name; -1 if no procedure uses it.
    [[nodiscard]] std::int32_t global(std::string_view name) const;
    [[nodiscard]] bool merges() const { return merges_; }
    /// For a weight rule whose group is run as one product: the first rule of the group.
    [[nodiscard]] std::int32_t group_of(std::int32_t rule) const;

    struct Argument {
        enum class Kind : std::uint8_t { none, local, global, weight, number, word, label };
        Kind kind = Kind::none;
        std::int32_t number = 0;  ///< index, root of an expression, or word
        std::string_view label{};
    };
    struct Statement {
        enum class Kind : std::uint8_t { primitive, call, alias, number, result, results_of_call };
        Kind kind = Kind::primitive;
        Op op = Op::release;
        std::int32_t procedure = -1;
        std::int32_t condition = -1;
        std::int16_t module = -1;
        std::vector<Argument> arguments{};
        std::vector<Argument> targets{};  ///< locals and globals
        Argument label{};                 ///< a label or a local name
        Location place{};
    };
    struct Procedure {
        std::string name;
        std::size_t parameters = 0;
        std::size_t locals = 0;
        std::int16_t module = -1;
        std::vector<Statement> statements{};
    };

  private:
    friend class ProcedureCompiler;
    friend class Flattening;

    ExpressionNodes nodes_;
    std::vector<Procedure> procedures_;
    std::map<std::string, std::int32_t, std::less<>> by_name_;
    std::vector<std::string> modules_;
    std::vector<std::string> globals_;
    std::vector<WeightRule> weights_;
    std::deque<std::string> labels_;
    bool merges_ = false;
};

}  // namespace ridge::programs
