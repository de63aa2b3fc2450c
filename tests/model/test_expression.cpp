// Elementwise expressions: counts worked by hand, errors, and the canonical form.
#include "model/expression/expression.h"

#include <string>
#include <vector>

#include "hardware/error.h"
#include "model/expression/functions.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

void require_counts(const ExpressionCounts& counts, int kernels, int reads, int writes) {
    CHECK(counts.kernels == kernels);
    CHECK(counts.reads == reads);
    CHECK(counts.writes == writes);
}

void require_same(const ExpressionCounts& a, const ExpressionCounts& b) {
    require_counts(a, b.kernels, b.reads, b.writes);
    CHECK(a.vector_reads == b.vector_reads);
    CHECK(a.vector_writes == b.vector_writes);
    CHECK(a.flop == b.flop);
    CHECK(a.special == b.special);
}

InputError error_of(const std::string& text, const InputDeclarations& declarations = {}) {
    try {
        static_cast<void>(parse_expression(text, declarations));
    } catch (const InputError& error) {
        return error;
    }
    FAIL("no error for " << text);
    return InputError("unreachable");
}

TEST_CASE("sin^2 + cos^2 takes 11 passes unfused and 2 fused", "[expression]") {
    // sin, square, cos and square read one tensor each and the sum reads two: 6 reads, 5 writes.
    const Expression e = parse_expression("sin(x)^2 + cos(x)^2");
    require_counts(e.unfused(), 5, 6, 5);
    CHECK(e.unfused().passes() == 11);
    require_counts(e.fused(), 1, 1, 1);
    // 20 FLOP each for sin and cos, 1 for each square, 1 for the sum.
    CHECK(e.fused().flop == 43.0);
    CHECK(e.unfused().flop == 43.0);
}

TEST_CASE("a bias is a broadcast vector and not a pass", "[expression]") {
    // x + bias: 1R 1W and the vector; gelu: 1R 1W.
    const Expression e = parse_expression("gelu(x + bias)");
    require_counts(e.unfused(), 2, 2, 2);
    require_counts(e.fused(), 1, 1, 1);
    CHECK(e.unfused().vector_reads == 1);
    CHECK(e.fused().vector_reads == 1);

    const Expression full = parse_expression("gelu(x + bias)", {.tensors = {"bias"}});
    require_counts(full.unfused(), 2, 3, 2);
    require_counts(full.fused(), 1, 2, 1);
}

TEST_CASE("tanh-GeLU in primitive operations is 8 kernels and 18 passes", "[expression]") {
    // x^3 1R, 0.044715* 1R, x+ 2R, sqrt(2/pi)* 1R, tanh 1R, 1+ 1R, 0.5*x 1R, * 2R: 10R + 8W.
    const Expression e =
        parse_expression("0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))");
    require_counts(e.unfused(), 8, 10, 8);
    CHECK(e.unfused().passes() == 18);
    CHECK(e.fused().passes() == 2);
}

TEST_CASE("counts of single kernels", "[expression]") {
    require_counts(parse_expression("x + c").unfused(), 1, 1, 1);
    require_counts(parse_expression("x * y").unfused(), 1, 2, 1);
    require_counts(parse_expression("x * x").unfused(), 1, 1, 1);
    require_counts(parse_expression("pow(x, 3)").unfused(), 1, 1, 1);
    require_counts(parse_expression("gelu_erf(x)").unfused(), 1, 1, 1);
    require_counts(parse_expression("relu(x)").unfused(), 1, 1, 1);
    require_counts(parse_expression("x / c").unfused(), 1, 1, 1);
    require_counts(parse_expression("x").unfused(), 1, 1, 1);
    require_counts(parse_expression("x").fused(), 1, 1, 1);
    CHECK(parse_expression("relu(x)").fused().flop == 1.0);  // 1/8 FLOP/B in fp32
    CHECK(parse_expression("x / c").fused().flop == 1.0);
    CHECK(parse_expression("x / y").fused().flop == 10.0);
    CHECK(parse_expression("x^3").fused().flop == 2.0);
    CHECK(parse_expression("x^2.5").fused().flop == cost_of(Function::power).flop);
}

TEST_CASE("equal subexpressions are computed once, in either order of operands", "[expression]") {
    const Expression e = parse_expression("exp(x + y) * exp(y + x)");
    // The sum 2R 1W, exp 1R 1W, and the product of one tensor with itself 1R 1W.
    require_counts(e.unfused(), 3, 4, 3);
    require_counts(parse_expression("(x - y) * (y - x)").unfused(), 3, 6, 3);
}

TEST_CASE("arithmetic of scalars and constants needs no kernel", "[expression]") {
    require_counts(parse_expression("x * (alpha + 2 * beta)").unfused(), 1, 1, 1);
    require_counts(parse_expression("x + 2 * 3 - 6").unfused(), 2, 2, 2);
    const Expression vectors = parse_expression("x * (gamma + bias)");
    // The sum of two vectors is a separate kernel, but not a full pass.
    require_counts(vectors.unfused(), 2, 1, 1);
    CHECK(vectors.unfused().vector_reads == 3);
    CHECK(vectors.unfused().vector_writes == 1);
    CHECK(vectors.fused().vector_reads == 2);
    CHECK(vectors.unfused().flop == 1.0);
}

TEST_CASE("precedence and associativity", "[expression]") {
    const auto canonical = [](const char* text) { return to_string(parse_expression(text)); };
    CHECK(canonical("-x^2") == "-x^2");
    CHECK(canonical("(-x)^2") == "(-x)^2");
    CHECK(canonical("x^y^z") == "x^y^z");
    CHECK(canonical("(x^y)^z") == "(x^y)^z");
    CHECK(canonical("x-(y-z)") == "x - (y - z)");
    CHECK(canonical("x-y-z") == "x - y - z");
    CHECK(canonical("x/(y*z)") == "x / (y * z)");
    CHECK(canonical("2^-1*x") == "0.5 * x");
    CHECK(canonical("x^-1") == "reciprocal(x)");
    CHECK(canonical("swish(x)+neg(y)") == "silu(x) + -y");
    CHECK(canonical("max(x,relu(-3))") == "max(x, 0)");
    CHECK(canonical("pow(0-2, x)") == "(-2)^x");
}

TEST_CASE("the canonical text has the same counts", "[expression][property]") {
    const std::vector<std::string> texts{"x",
                                         "sin(x)^2 + cos(x)^2",
                                         "gelu(x + bias)",
                                         "x^-2 / -(y * -3)",
                                         "((x))^((y))",
                                         "1e-5 + x * (gamma + 1/3)",
                                         "square(square(x)) - pow(x, pow(y, 0.5))",
                                         "min(x, max(y, -1)) * rsqrt(eps + x*x)",
                                         "silu(a) * b",
                                         "-(-x)",
                                         "x*2^0.5",
                                         "(x^2)^(y^2)",
                                         "exp2(x) / (1 + exp2(x)) - log(abs(x))",
                                         "where(x > y, -softplus(x), clamp(y, -1, 1)**3)",
                                         "(x <= 1) * (y + 1 != x) - (x == 2)"};
    for (const std::string& text : texts) {
        INFO(text);
        const Expression e = parse_expression(text);
        const std::string canonical = to_string(e);
        const Expression again = parse_expression(canonical);
        require_same(again.unfused(), e.unfused());
        require_same(again.fused(), e.fused());
        CHECK(to_string(again) == canonical);
    }
}

TEST_CASE("fusing never adds a kernel, a pass or a FLOP", "[expression][property]") {
    for (const char* text : {"x", "x + y", "sigmoid(x) * x + y", "gelu(x + bias) * scale + bias"}) {
        INFO(text);
        const Expression e = parse_expression(text);
        CHECK(e.fused().kernels <= e.unfused().kernels);
        CHECK(e.fused().passes() <= e.unfused().passes());
        CHECK(e.fused().flop == e.unfused().flop);
        CHECK(backward_counts(e, Fusion::fused).kernels <=
              backward_counts(e, Fusion::unfused).kernels);
        CHECK(backward_counts(e, Fusion::fused).passes() <=
              backward_counts(e, Fusion::unfused).passes());
    }
}

TEST_CASE("comparisons, where, clamp and softplus count like other functions", "[expression]") {
    // x > 0 reads x; where reads the mask, x and y: 4R 2W. Fused, x and y: 2R 1W.
    const Expression choice = parse_expression("where(x > 0, x, y)");
    require_counts(choice.unfused(), 2, 4, 2);
    require_counts(choice.fused(), 1, 2, 1);
    CHECK(choice.fused().operations == 2.0);
    CHECK(to_string(choice) == "where(0 < x, x, y)");
    CHECK(to_string(parse_expression("x >= y")) == "y <= x");
    CHECK(to_string(parse_expression("(x < y) * (x != y) + (x == y)")) ==
          "(x < y) * (x != y) + (x == y)");
    CHECK(to_string(parse_expression("x + y < z")) == "x + y < z");
    CHECK(to_string(parse_expression("(x < y) + z")) == "(x < y) + z");
    // Each of the three tensors is read once.
    require_counts(parse_expression("where(m, x, y)").unfused(), 1, 3, 1);
    require_counts(parse_expression("clamp(x, -1, 1)").unfused(), 1, 1, 1);
    CHECK(parse_expression("clamp(x, -1, 1)").fused().operations == 2.0);
    CHECK(parse_expression("softplus(x)").fused().operations == 3.0);
    CHECK(parse_expression("softplus(x)").fused().flop == 36.0);
    CHECK(to_string(parse_expression("x**2 + y**-1")) == "x^2 + reciprocal(y)");
    CHECK(to_string(parse_expression("2**x**y")) == "2^x^y");
    CHECK(to_string(parse_expression("clip(x, 0, 6)")) == "clamp(x, 0, 6)");
    // Functions of constants.
    CHECK(to_string(parse_expression("x + where(2 < 1, 5, clamp(9, 0, 3))")) == "x + 3");
    CHECK(to_string(parse_expression("x + (1 >= 1)")) == "x + 1");
}

TEST_CASE("comparisons and conditions have no gradient", "[expression]") {
    CHECK_FALSE(has_gradient(parse_expression("x > y")));
    CHECK(has_gradient(parse_expression("(x > 0) * x")));
    // d where(m, x, y): two kernels, each reading the gradient and the mask; none for the mask.
    require_counts(backward_counts(parse_expression("where(m, x, y)"), Fusion::unfused), 2, 4, 2);
    require_counts(backward_counts(parse_expression("where(m, x, y)"), Fusion::fused), 1, 2, 2);
    // d clamp and d softplus read the gradient and the argument.
    require_counts(backward_counts(parse_expression("clamp(x, 0, 1)"), Fusion::unfused), 1, 2, 1);
    require_counts(backward_counts(parse_expression("softplus(x)"), Fusion::fused), 1, 2, 1);
    // d ((x > 0) * y): the gradient of y reads the comparison, whose argument has no gradient.
    require_counts(backward_counts(parse_expression("(x > 0) * y"), Fusion::unfused), 1, 2, 1);
    require_counts(backward_counts(parse_expression("(x > 0) * y"), Fusion::fused), 1, 2, 1);
}

TEST_CASE("functions have the values of their definitions", "[expression]") {
    CHECK(value_of(Function::softplus, 0.0, 0.0, 0.0) == Approx(0.6931471805599453));
    CHECK(value_of(Function::softplus, -800.0, 0.0, 0.0) == 0.0);
    CHECK(value_of(Function::softplus, 800.0, 0.0, 0.0) == 800.0);
    CHECK(value_of(Function::where, 0.0, 2.0, 3.0) == 3.0);
    CHECK(value_of(Function::where, -1.0, 2.0, 3.0) == 2.0);
    CHECK(value_of(Function::clamp, 7.0, 1.0, 3.0) == 3.0);
    CHECK(value_of(Function::less, 1.0, 1.0, 0.0) == 0.0);
    CHECK(value_of(Function::less_equal, 1.0, 1.0, 0.0) == 1.0);
    CHECK(value_of(Function::not_equal, 1.0, 1.0, 0.0) == 0.0);
    for (const FunctionInfo& function : function_table()) {
        CAPTURE(function.name);
        CHECK(&info_of(function.function) == &function);
        CHECK((function.arguments == 0 || !function.help.empty()));
    }
}

TEST_CASE("a chain stores or recomputes its activations", "[expression]") {
    // Forward 1R + 3W, backward 3R + 1W; recomputed, 1R + 1W and 2R + 1W.
    const ChainAccesses three = chain_accesses(parse_expression("sigmoid(sigmoid(sigmoid(x)))"));
    CHECK(three.functions == 3);
    CHECK(three.stored == 8);
    CHECK(three.recomputed == 5);
    CHECK(chain_accesses(parse_expression("relu(2 * exp(x) + c)")).functions == 4);
    CHECK_THROWS_AS(chain_accesses(parse_expression("x + y")), InputError);
    CHECK_THROWS_AS(chain_accesses(parse_expression("x + exp(x)")), InputError);
    CHECK_THROWS_AS(chain_accesses(parse_expression("x + bias")), InputError);
    CHECK_THROWS_AS(chain_accesses(parse_expression("x")), InputError);
}

TEST_CASE("gradients of small expressions", "[expression]") {
    // d sigmoid reads the upstream gradient and the result and writes one tensor. Fused, it reads
    // the input instead of the result.
    require_counts(backward_counts(parse_expression("sigmoid(x)"), Fusion::unfused), 1, 2, 1);
    require_counts(backward_counts(parse_expression("sigmoid(x)"), Fusion::fused), 1, 2, 1);
    // d(x * y): two kernels, each of which reads the gradient and the other factor.
    require_counts(backward_counts(parse_expression("x * y"), Fusion::unfused), 2, 4, 2);
    require_counts(backward_counts(parse_expression("x * y"), Fusion::fused), 1, 3, 2);
    // d(x + bias): the gradient of x is the upstream one; that of bias is its sum over rows.
    const ExpressionCounts bias = backward_counts(parse_expression("x + bias"), Fusion::unfused);
    require_counts(bias, 1, 1, 0);
    CHECK(bias.vector_writes == 1);
    require_counts(backward_counts(parse_expression("x + bias"), Fusion::fused), 1, 1, 0);
    require_counts(backward_counts(parse_expression("x + y"), Fusion::unfused), 1, 1, 1);
    // sin^2 + cos^2: four functions read gradient and argument (8R 4W), and the two gradients of x
    // are added (2R 1W). The sum passes its gradient on unchanged.
    require_counts(backward_counts(parse_expression("sin(x)^2 + cos(x)^2"), Fusion::unfused), 5, 10,
                   5);
}

TEST_CASE("the derivative of a linear expression is a constant and reads nothing more",
          "[expression]") {
    const auto fused = [](const char* text) {
        return backward_counts(parse_expression(text), Fusion::fused);
    };
    for (const char* text : {"alpha * x + beta", "x / 2", "x - 3 * y"}) {
        INFO(text);
        require_counts(fused(text), 1, 1, 1);
    }
    CHECK(fused("x / 2").flop == 1.0);
    CHECK(fused("alpha * x + beta").flop == 1.0);
    // The argument of gelu is recomputed; gelu itself is not.
    const ExpressionCounts gelu = fused("gelu_tanh(x + y)");
    require_counts(gelu, 1, 3, 2);
    CHECK(gelu.flop == backward_counts(parse_expression("gelu_tanh(x)"), Fusion::fused).flop + 1.0);
}

TEST_CASE("functions have a conventional count beside the FLOP they execute", "[expression]") {
    const ExpressionCounts gelu = parse_expression("gelu_tanh(x + bias)").fused();
    CHECK(gelu.operations == 10.0);
    CHECK(gelu.flop == 24.0);
    CHECK(parse_expression("exp(x)").fused().operations == 1.0);
}

TEST_CASE("errors are located and explained", "[expression][error]") {
    const auto column = [](const char* text) { return error_of(text).location().column; };
    CHECK(column("x + ") == 5);
    CHECK(column("x + * y") == 5);
    CHECK(column("(x + y") == 7);
    CHECK(column("x y") == 3);
    CHECK(column("x + gelo(y)") == 5);
    CHECK(column("pow(x)") == 1);
    CHECK(column("x + exp") == 5);
    CHECK(column("x + 1e999") == 5);
    CHECK(column("x + .") == 5);
    CHECK(column("x + 1/0") == 6);
    CHECK(column("x + log(0-1)") == 5);
    CHECK(column("x < y < z") == 7);
    CHECK(column("x = y") == 3);
    CHECK(column("where(x, y)") == 1);
    CHECK(column("x ** ") == 6);
    CHECK(column("x,y") == 2);
    CHECK(column("x + \x01") == 5);
    CHECK(error_of("x + gelo(y)").hint() == "did you mean 'gelu'?");
    CHECK(std::string(error_of("x + gelo(y)").what()).find("expression:1:5: ") == 0);
    CHECK_THROWS_AS(parse_expression(""), InputError);
    CHECK_THROWS_AS(parse_expression("  "), InputError);
    CHECK_THROWS_AS(parse_expression("1 + 2"), InputError);
    CHECK_THROWS_AS(parse_expression("alpha * bias"), InputError);
    CHECK_THROWS_AS(parse_expression("x", {.vectors = {"y"}}), InputError);
    CHECK_THROWS_AS(parse_expression("x", {.vectors = {"x"}, .tensors = {"x"}}), InputError);
}

TEST_CASE("hostile texts end in an error and not in a crash", "[expression][error]") {
    CHECK_THROWS_AS(parse_expression(std::string(2000, '(')), InputError);
    CHECK_THROWS_AS(parse_expression(std::string(2000, '-') + "x"), InputError);
    CHECK_THROWS_AS(parse_expression(std::string(longest_expression + 1, ' ')), InputError);
    std::string powers = "x";
    for (int i = 0; i < 300; ++i) powers += "^x";
    CHECK_THROWS_AS(parse_expression(powers), InputError);

    std::string sum = "x";
    while (sum.size() + 2 <= longest_expression) sum += "+y";
    const Expression e = parse_expression(sum);
    CHECK(to_string(e).size() > sum.size());
    std::string nested(deepest_expression - 1, '(');
    nested += "x" + std::string(deepest_expression - 1, ')');
    CHECK(to_string(parse_expression(nested)) == "x");
}

}  // namespace
}  // namespace ridge::model
