// libFuzzer: any text is parsed or gives an InputError. The canonical text of a parsed expression
// parses to itself, with the same counts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/error.h"
#include "model/expression/expression.h"
#include "tests/fuzz/require.h"

using ridge::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::model;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const Expression expression = parse_expression(text);
        // A folded constant may print longer than its source, so a long text may exceed the limit.
        if (size > longest_expression / 8) return 0;
        const std::string canonical = to_string(expression);
        const Expression again = parse_expression(canonical);
        require(to_string(again) == canonical);
        require(again.unfused().kernels == expression.unfused().kernels);
        require(again.unfused().passes() == expression.unfused().passes());
        require(again.fused().passes() == expression.fused().passes());
        require(again.fused().flop == expression.fused().flop);
        require(has_gradient(again) == has_gradient(expression));
        if (!has_gradient(expression)) return 0;
        require(backward_counts(again, Fusion::unfused).passes() ==
                backward_counts(expression, Fusion::unfused).passes());
    } catch (const ridge::InputError&) {
        return 0;
    }
    return 0;
}
