// The canonical text of an expression, with as few parentheses as its operators need.
#include <array>
#include <cmath>

#include "hardware/number_text.h"
#include "model/expression/expression.h"
#include "model/expression/functions.h"

namespace ridge::model {
namespace {

// Binding strengths of the canonical text.
enum Strength : int { of_comparison = 1, of_sum, of_product, of_sign, of_power, of_primary };

int strength_of(const Node& node) {
    if (compares(node.function)) return of_comparison;
    switch (node.function) {
        case Function::add:
        case Function::subtract:
            return of_sum;
        case Function::multiply:
        case Function::divide:
            return of_product;
        case Function::negate:
            return of_sign;
        case Function::constant:
            return std::signbit(node.constant) ? of_sign : of_primary;
        case Function::power:
        case Function::square:
            return of_power;
        default:
            return of_primary;
    }
}

class Writer {
  public:
    explicit Writer(const std::vector<Node>& nodes) : nodes_(nodes) {}

    std::string write() {
        append(static_cast<std::int32_t>(nodes_.size()) - 1, of_comparison);
        return std::move(text_);
    }

  private:
    void append(std::int32_t index, int weakest) {
        const Node& node = nodes_[static_cast<std::size_t>(index)];
        const bool parenthesised = strength_of(node) < weakest;
        if (parenthesised) text_ += '(';
        append_bare(node);
        if (parenthesised) text_ += ')';
    }

    void append_bare(const Node& node) {
        const std::string_view name = name_of(node.function);
        switch (node.function) {
            case Function::input:
                text_ += node.name;
                break;
            case Function::constant:
                append_shortest(text_, node.constant);
                break;
            case Function::less:
            case Function::less_equal:
            case Function::equal:
            case Function::not_equal:
                append_infix(node, name, of_sum, of_sum);
                break;
            case Function::add:
            case Function::subtract:
                append_infix(node, name, of_sum, of_product);
                break;
            case Function::multiply:
            case Function::divide:
                append_infix(node, name, of_product, of_sign);
                break;
            case Function::negate:
                text_ += '-';
                append(node.first, of_sign);
                break;
            case Function::square:
                append(node.first, of_primary);
                text_ += "^2";
                break;
            case Function::power:
                append(node.first, of_primary);
                text_ += '^';
                append(node.second, of_sign);
                break;
            default:
                append_call(node, name);
        }
    }

    void append_infix(const Node& node, std::string_view sign, int left, int right) {
        append(node.first, left);
        text_ += ' ';
        text_ += sign;
        text_ += ' ';
        append(node.second, right);
    }

    void append_call(const Node& node, std::string_view name) {
        text_ += name;
        std::string_view before = "(";
        for (const std::int32_t argument : {node.first, node.second, node.third}) {
            if (argument < 0) continue;
            text_ += before;
            append(argument, of_comparison);
            before = ", ";
        }
        text_ += ')';
    }

    const std::vector<Node>& nodes_;
    std::string text_;
};

}  // namespace

std::string to_string(const Expression& expression) {
    return expression.empty() ? std::string() : Writer(expression.nodes()).write();
}

}  // namespace ridge::model
