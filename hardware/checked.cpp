#include "hardware/checked.h"

#include <string>

#include "hardware/error.h"

namespace ridge {

std::int64_t checked_product(std::initializer_list<NamedCount> factors) {
    constexpr std::int64_t limit = std::int64_t{1} << 62;
    std::int64_t product = 1;
    for (const NamedCount& factor : factors) {
        if (factor.value < 1) {
            throw InputError(std::string(factor.name) + " must be at least 1, got " +
                             std::to_string(factor.value));
        }
        if (factor.value > limit / product) {
            std::string names;
            for (const NamedCount& each : factors) {
                names += (names.empty() ? "" : " x ") + std::string(each.name);
            }
            throw InputError(names + " is too large: the product exceeds 2^62");
        }
        product *= factor.value;
    }
    return product;
}

}  // namespace ridge
