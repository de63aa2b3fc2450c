#include "model/core/grounds.h"

#include <array>

namespace ridge::model {

std::string_view name_of(Grade grade) {
    constexpr std::array<std::string_view, 4> names{"datasheet", "distant", "related", "measured"};
    return names[static_cast<std::size_t>(grade)];
}

std::string_view name_of(ChipEvidence chip) {
    constexpr std::array<std::string_view, 4> names{"datasheet", "foreign", "relative", "own"};
    return names[static_cast<std::size_t>(chip)];
}

std::string_view name_of(ShapeEvidence shape) {
    return shape == ShapeEvidence::inside ? "inside" : "outside";
}

std::string_view name_of(KernelEvidence kernel) {
    return kernel == KernelEvidence::same ? "same" : "other";
}

std::string_view describe(const Grounds& grounds) {
    const bool inside = grounds.shape == ShapeEvidence::inside;
    const bool same = grounds.kernel == KernelEvidence::same;
    switch (grounds.chip) {
        case ChipEvidence::own:
            if (!same) return "this GPU, but the costs of another kernel";
            return inside ? "this kernel on this GPU" : "this GPU, outside the validated range";
        case ChipEvidence::relative:
            if (!same) return "a GPU of its architecture, and another kernel";
            return inside ? "a GPU of its architecture"
                          : "a GPU of its architecture, outside the validated range";
        case ChipEvidence::foreign:
            if (!same) return "a GPU of another architecture, and another kernel";
            return "a GPU of another architecture";
        case ChipEvidence::datasheet:
            break;
    }
    return "the data sheet alone; nothing was measured";
}

}  // namespace ridge::model
