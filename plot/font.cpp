#include "plot/font.h"

namespace ridge::plot {

double font_size(FontRole role) {
    switch (role) {
        case FontRole::title:
            return 18.0;
        case FontRole::subtitle:
        case FontRole::axis:
            return 14.0;
        case FontRole::tick:
        case FontRole::detail:
            return 12.5;
        case FontRole::number:
            return 11.0;
        case FontRole::label:
        case FontRole::emphasis:
            break;
    }
    return 13.0;
}

Weight font_weight(FontRole role) {
    return role == FontRole::title || role == FontRole::emphasis ? Weight::bold : Weight::regular;
}

}  // namespace ridge::plot
