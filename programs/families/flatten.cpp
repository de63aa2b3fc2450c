// Flattens a procedure for one kind of layer and one step.
#include <algorithm>
#include <limits>
#include <utility>

#include "hardware/error.h"
#include "programs/families/procedure.h"

namespace ridge::programs {
namespace {

constexpr std::size_t most_instructions = 60000;
constexpr std::size_t most_statements = 100000;

}  // namespace

class Flattening {
  public:
    Flattening(const Procedures& all, const Procedures::Site& site) : all_(all), site_(site) {}

    Code run(std::int32_t procedure, int arguments) {
        std::vector<Bound> given;
        for (int i = 0; i < arguments; ++i) given.push_back(fresh());
        std::vector<Bound> results = call(procedure, std::move(given), -1);
        if (!results.empty()) code_.result = operand(results.front());
        end_values();
        return std::move(code_);
    }

  private:
    using Argument = Procedures::Argument;
    using Statement = Procedures::Statement;

    Bound fresh() { return {.kind = Bound::Kind::value, .number = code_.values++}; }

    [[nodiscard]] std::int64_t number(std::int32_t root, const std::vector<Bound>& frame) const {
        const Scope scope{.symbols = (*site_.kinds)[site_.kind],
                          .fields = site_.fields,
                          .locals = frame,
                          .kinds = *site_.kinds};
        return evaluate(all_.nodes_, root, scope);
    }

    [[nodiscard]] Bound bound(const Argument& argument, const std::vector<Bound>& frame) const {
        switch (argument.kind) {
            case Argument::Kind::local:
                return frame[static_cast<std::size_t>(argument.number)];
            case Argument::Kind::global:
                return {.kind = Bound::Kind::global, .number = argument.number};
            case Argument::Kind::weight:
                return {.kind = Bound::Kind::weight, .number = argument.number};
            case Argument::Kind::number:
                return {.kind = Bound::Kind::number, .number = number(argument.number, frame)};
            case Argument::Kind::label:
                return {.kind = Bound::Kind::label, .label = argument.label};
            case Argument::Kind::none:
            case Argument::Kind::word:
                break;
        }
        return {};
    }

    static Operand operand(const Bound& bound) {
        const auto index = static_cast<std::int32_t>(bound.number);
        switch (bound.kind) {
            case Bound::Kind::value:
                return {.kind = Operand::Kind::value, .number = index};
            case Bound::Kind::global:
                return {.kind = Operand::Kind::global, .number = index};
            case Bound::Kind::weight:
                return {.kind = Operand::Kind::weight, .number = index};
            default:
                return {};
        }
    }

    std::vector<Bound> call(std::int32_t index, std::vector<Bound> frame, std::int16_t module) {
        const Procedures::Procedure& procedure = all_.procedures_[static_cast<std::size_t>(index)];
        if (procedure.module >= 0) module = procedure.module;
        frame.resize(procedure.locals);
        std::vector<Bound> results;
        const std::size_t held = joined_.size();
        for (const Statement& each : procedure.statements) {
            if (++statements_ > most_statements) throw InputError("the procedures run too long");
            if (each.condition >= 0 && number(each.condition, frame) == 0) continue;
            const std::int16_t here = each.module >= 0 ? each.module : module;
            switch (each.kind) {
                case Statement::Kind::number:
                case Statement::Kind::alias:
                    assign(each, bound(each.arguments.front(), frame), frame, here);
                    break;
                case Statement::Kind::result:
                    results.clear();
                    for (const Argument& a : each.arguments) results.push_back(bound(a, frame));
                    break;
                case Statement::Kind::primitive:
                    primitive(each, frame, here, results);
                    break;
                case Statement::Kind::call:
                case Statement::Kind::results_of_call:
                    called(each, frame, here, results);
                    break;
            }
        }
        // The result of a joint product lives until the procedure that asked for it ends.
        while (joined_.size() > held) {
            begin(Op::release, module);
            code_.operands.push_back(operand(joined_.back()));
            code_.instructions.back().operands = 1;
            joined_.pop_back();
        }
        return results;
    }

    void called(const Statement& each, std::vector<Bound>& frame, std::int16_t module,
                std::vector<Bound>& results) {
        std::vector<Bound> given;
        for (const Argument& a : each.arguments) given.push_back(bound(a, frame));
        const std::vector<Bound> returned = call(each.procedure, std::move(given), module);
        if (each.kind == Statement::Kind::results_of_call) {
            results = returned;
            return;
        }
        for (std::size_t i = 0; i < each.targets.size(); ++i) {
            const Bound value = i < returned.size() ? returned[i] : Bound{};
            store(each.targets[i], value, frame, module);
        }
    }

    void assign(const Statement& each, const Bound& value, std::vector<Bound>& frame,
                std::int16_t module) {
        Bound made = value;
        if (value.kind == Bound::Kind::global && each.kind == Statement::Kind::alias) {
            // Another handle of what the name holds now.
            made = fresh();
            begin(Op::hold, module);
            code_.operands.push_back(operand(value));
            code_.operands.push_back(operand(made));
            code_.instructions.back().operands = 1;
            code_.instructions.back().results = 1;
        }
        for (const Argument& target : each.targets) store(target, made, frame, module);
    }

    void store(const Argument& target, const Bound& value, std::vector<Bound>& frame,
               std::int16_t module) {
        if (target.kind == Argument::Kind::local) {
            frame[static_cast<std::size_t>(target.number)] = value;
            return;
        }
        begin(Op::hold, module);
        code_.operands.push_back(operand(value));
        code_.operands.push_back(operand({.kind = Bound::Kind::global, .number = target.number}));
        code_.instructions.back().operands = 1;
        code_.instructions.back().results = 1;
    }

    void begin(Op op, std::int16_t module) {
        if (code_.instructions.size() >= most_instructions ||
            code_.operands.size() > std::numeric_limits<std::uint16_t>::max() - 64) {
            throw InputError("a procedure has too many instructions");
        }
        code_.instructions.push_back(
            {.op = op,
             .module = module,
             .first_operand = static_cast<std::uint16_t>(code_.operands.size()),
             .first_number = static_cast<std::uint32_t>(code_.numbers.size())});
    }

    void primitive(const Statement& each, std::vector<Bound>& frame, std::int16_t module,
                   std::vector<Bound>& results) {
        if (each.op == Op::linear && joins(each, frame, module)) return;
        begin(each.op, module);
        Instruction& made = code_.instructions.back();
        made.label = each.label.kind == Argument::Kind::none ? std::string_view()
                                                             : bound(each.label, frame).label;
        bool named = false;
        for (const Argument& argument : each.arguments) {
            if (argument.kind == Argument::Kind::word && !std::exchange(named, true)) {
                made.word = static_cast<std::int16_t>(argument.number);
                continue;
            }
            if (argument.kind == Argument::Kind::word) {  // a type behind a function
                code_.numbers.push_back(argument.number);
                ++made.numbers;
                continue;
            }
            const Bound value = bound(argument, frame);
            if (argument.kind == Argument::Kind::number) {
                code_.numbers.push_back(value.number);
                ++made.numbers;
                continue;
            }
            check_tensor(each, argument, value);
            if (value.kind == Bound::Kind::weight && made.weight < 0) {
                made.weight = static_cast<std::int16_t>(value.number);
            }
            code_.operands.push_back(operand(value));
            ++made.operands;
        }
        made.results = static_cast<std::uint8_t>(each.targets.size());
        for (const Argument& target : each.targets) {
            Bound value;
            if (target.kind == Argument::Kind::global) {
                value = {.kind = Bound::Kind::global, .number = target.number};
            } else {
                value = fresh();
                if (target.kind == Argument::Kind::local) {
                    frame[static_cast<std::size_t>(target.number)] = value;
                } else {
                    results = {value};
                }
            }
            code_.operands.push_back(operand(value));
        }
    }

    /// A tensor that an operation needs must have been made under the conditions that hold here, and
    /// a weight must exist in this kind of layer.
    void check_tensor(const Statement& each, const Argument& argument, const Bound& value) const {
        const bool may_lack = each.op == Op::release || each.op == Op::cat ||
                              each.op == Op::batched || argument.kind == Argument::Kind::none;
        const bool lacks =
            value.kind == Bound::Kind::weight
                ? (*site_.rows)[static_cast<std::size_t>(value.number)] == 0
                : value.kind != Bound::Kind::value && value.kind != Bound::Kind::global;
        if (lacks && !may_lack) {
            throw InputError(
                value.kind == Bound::Kind::weight
                    ? "a weight that this kind of layer does not have"
                    : "a tensor that does not exist under the conditions that hold here",
                each.place);
        }
    }

    /// A product that a software runs together with others of the same input: the first of the
    /// group runs them all, the others take their part.
    bool joins(const Statement& each, std::vector<Bound>& frame, std::int16_t module) {
        const Bound weight = bound(each.arguments[1], frame);
        if (weight.kind != Bound::Kind::weight) return false;
        const auto rule = static_cast<std::int32_t>(weight.number);
        const std::int32_t first = all_.group_of(rule);
        const std::string& group = all_.weights_[static_cast<std::size_t>(rule)].group;
        if (!all_.merges_ || group.empty()) return false;
        std::vector<std::int32_t> members;
        for (std::size_t i = 0; i < all_.weights_.size(); ++i) {
            if (all_.weights_[i].group == group && (*site_.rows)[i] > 0) {
                members.push_back(static_cast<std::int32_t>(i));
            }
        }
        if (members.size() < 2) return false;
        const Bound input = bound(each.arguments[0], frame);
        const auto known = parts_.find({input.number, first});
        if (known == parts_.end()) {
            std::vector<Bound> parts = joint_product(input, first, members, module);
            parts_[{input.number, first}] = std::move(parts);
        }
        const auto place = std::find(members.begin(), members.end(), rule) - members.begin();
        const Bound part = parts_[{input.number, first}][static_cast<std::size_t>(place)];
        for (const Argument& target : each.targets) store(target, part, frame, module);
        return true;
    }

    std::vector<Bound> joint_product(const Bound& input, std::int32_t first,
                                     const std::vector<std::int32_t>& members,
                                     std::int16_t module) {
        const Bound joined = fresh();
        begin(Op::linear, module);
        Instruction& product = code_.instructions.back();
        product.label = label_of(first);
        product.weight = static_cast<std::int16_t>(first);
        product.operands = 2;
        product.results = 1;
        code_.operands.push_back(operand(input));
        code_.operands.push_back(operand({.kind = Bound::Kind::weight, .number = first}));
        code_.operands.push_back(operand(joined));
        begin(Op::split_group, module);
        code_.operands.push_back(operand(joined));
        std::vector<Bound> parts;
        for (const std::int32_t member : members) {
            parts.push_back(fresh());
            code_.operands.push_back(operand(parts.back()));
            code_.numbers.push_back((*site_.rows)[static_cast<std::size_t>(member)]);
        }
        Instruction& cut = code_.instructions.back();
        cut.label = product_cut;
        cut.operands = 1;
        cut.results = static_cast<std::uint8_t>(members.size());
        cut.numbers = cut.results;
        joined_.push_back(joined);
        return parts;
    }

    [[nodiscard]] std::string_view label_of(std::int32_t rule) const {
        const std::string& group = all_.weights_[static_cast<std::size_t>(rule)].group;
        for (const std::string& label : all_.labels_) {
            if (label == group + "_proj") return label;
        }
        return group;
    }

    /// Marks the last use of each value; a value that nothing uses ends where it is made.
    void end_values() {
        std::vector<std::uint8_t> used(static_cast<std::size_t>(code_.values), 0);
        if (code_.result.kind == Operand::Kind::value) {
            used[static_cast<std::size_t>(code_.result.number)] = 1;
        }
        for (auto each = code_.instructions.rbegin(); each != code_.instructions.rend(); ++each) {
            const int all = each->operands + each->results;
            for (int i = all - 1; i >= 0; --i) {
                Operand& one = code_.operands[each->first_operand + static_cast<std::size_t>(i)];
                if (one.kind != Operand::Kind::value) continue;
                // The second tensor of cast_like lends its type, and need not exist any more.
                if (each->op == Op::cast_like && i == 1) continue;
                std::uint8_t& seen = used[static_cast<std::size_t>(one.number)];
                one.last = seen == 0;
                if (i < each->operands) seen = 1;
            }
        }
    }

    static constexpr std::string_view product_cut = "qkv cut";
    const Procedures& all_;
    const Procedures::Site& site_;
    Code code_;
    std::size_t statements_ = 0;
    std::vector<Bound> joined_;
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<Bound>> parts_;
};

Code Procedures::code(std::string_view name, const Site& site, int arguments) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw InputError("no procedure " + std::string(name));
    const auto parameters = procedures_[static_cast<std::size_t>(found->second)].parameters;
    if (parameters != static_cast<std::size_t>(arguments)) {
        throw InputError(std::string(name) + " must take " + std::to_string(arguments) +
                         " arguments");
    }
    return Flattening(*this, site).run(found->second, arguments);
}

}  // namespace ridge::programs
