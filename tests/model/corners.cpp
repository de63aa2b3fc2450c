#include "tests/model/corners.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::test {

std::int64_t corner(Random& random, std::int64_t largest) {
    constexpr int highest_power = 62;
    const std::int64_t power = std::int64_t{1} << random.whole(0, highest_power);
    const std::int64_t beside = std::min(power, largest) + random.whole(-1, 1);
    switch (random.whole(0, 4)) {
        case 0:
            return std::min(largest, random.whole(1, 3));
        case 1:
            return std::clamp<std::int64_t>(random.size(largest) | 1, 1, largest);
        case 2:
            return largest;
        default:
            return std::clamp<std::int64_t>(beside, 1, largest);
    }
}

model::Operation cornered(const model::Operation& operation, Random& random) {
    constexpr std::int64_t most_rows = 1 << 18;
    constexpr std::int64_t most = 1 << 14;
    model::Parameters parameters = model::parameters_of(operation);
    for (const model::FieldInfo& info : model::field_table()) {
        if (info.kind != model::FieldKind::count || !parameters.has(info.field)) continue;
        if (random.whole(0, 2) > 0) continue;
        const std::int64_t now = parameters.count(info.field);
        parameters.set_count(info.field, corner(random, now > most ? most_rows : most));
    }
    try {
        const model::Operation found = make_operation(model::kind_of(operation), parameters);
        validate(found);
        return found;
    } catch (const InputError&) {
        return operation;
    }
}

}  // namespace ridge::test
