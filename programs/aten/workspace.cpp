#include "programs/aten/workspace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "programs/aten/convolution_shape.h"
#include "programs/graph/costs.h"

namespace ridge::programs {

std::int64_t workspace_of(const Call& call, ElementType hint) {
    const auto places = convolution_arguments(call, bare_operator(call.name));
    if (!places) return 0;
    const auto shape = convolution_shape(call, *places);
    if (!shape || channels_last(*shape->input) || shape->by_channel) return 0;
    const std::int64_t size =
        size_of(shape->input->type == ElementType::unknown ? hint : shape->input->type);
    if (size < 1) return 0;
    const double channels = shape->channels * shape->groups;
    const double filters = shape->filters * shape->groups;
    const bool plain = shape->taps == 1.0 || channels < cost("convolution.turned_channels");
    if (plain && !places->backward) return 0;
    constexpr std::int64_t vector = 16;  // bytes that channels fill
    const double unit = real(std::max<std::int64_t>(1, vector / size));
    const auto filled = [unit](double count) { return std::ceil(count / unit) * unit; };
    const double elements = shape->image_pixels * filled(channels) +
                            shape->pixels * filled(filters) +
                            shape->taps * filters * filled(shape->channels);
    // A damaged trace can give any sizes.
    constexpr auto most = static_cast<double>(std::numeric_limits<std::int64_t>::max() / 32);
    return elements < most ? static_cast<std::int64_t>(elements) * size : 0;
}

}  // namespace ridge::programs
