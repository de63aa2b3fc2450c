#include "model/core/join.h"

#include <algorithm>

namespace ridge::model {

Cat joined(const Joined& parts) {
    const std::int64_t elements = std::max<std::int64_t>(1, parts.elements);
    const std::int64_t largest = std::clamp<std::int64_t>(parts.largest, 1, elements);
    const std::int64_t inputs = (elements + largest / 2) / largest;
    const std::int64_t input = elements / inputs;
    // Pieces are whole runs if an input consists of a whole number of runs.
    const std::int64_t run = std::clamp<std::int64_t>(parts.run, 1, input);
    std::int64_t cols = std::clamp<std::int64_t>(parts.piece, 1, input);
    const bool views = parts.run > 0;
    if (views && (cols % run != 0 || input % cols != 0)) cols = run;
    return {.inputs = inputs,
            .rows = input / cols,
            .cols = cols,
            .type = parts.type,
            .inner = parts.run > 0 ? run : 0};
}

}  // namespace ridge::model
