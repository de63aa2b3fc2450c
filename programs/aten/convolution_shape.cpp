#include "programs/aten/convolution_shape.h"

#include <algorithm>

namespace ridge::programs {
std::optional<ConvolutionArguments> convolution_arguments(const Call& call, std::string_view name) {
    if (name == "convolution" || name == "_convolution") return {{0, 1, 3, 4, 5, call.flag(6)}};
    if (name == "cudnn_convolution") return {{0, 1, 3, 2, 4}};
    if (name == "cudnn_convolution_transpose") return {{0, 1, 4, 2, 5, true}};
    if (name == "_conv_depthwise2d" || name == "conv_depthwise3d") return {{0, 1, 4, 5, 6}};
    if (name == "convolution_backward") return {{1, 2, 4, 5, 6, call.flag(7), true}};
    return {};
}

std::optional<ConvolutionShape> convolution_shape(const Call& call,
                                                  const ConvolutionArguments& places) {
    const Tensor* const x = call.tensor(places.input);
    const Tensor* const w = call.tensor(places.weight);
    if (x == nullptr || w == nullptr || x->dims.size() < 3 || w->dims.size() != x->dims.size() ||
        x->elements() < 1 || w->elements() < 1) {
        return {};
    }
    ConvolutionShape shape{.input = x, .weights = real(w->elements())};
    const auto at = [&call](std::size_t place, std::size_t i, std::int64_t otherwise) {
        const auto values = call.wholes(place);
        return values.empty() ? otherwise : values[std::min(i, values.size() - 1)];
    };
    double pixels = real(x->dims[0]);
    for (std::size_t i = 2; i < x->dims.size(); ++i) {
        const std::int64_t stride = std::max<std::int64_t>(1, at(places.stride, i - 2, 1));
        const std::int64_t reach = at(places.dilation, i - 2, 1) * (w->dims[i] - 1) + 1;
        const std::int64_t room = x->dims[i] + 2 * at(places.padding, i - 2, 0) - reach;
        const std::int64_t size =
            places.transposed ? x->dims[i] * stride : std::max<std::int64_t>(0, room) / stride + 1;
        pixels *= real(std::max<std::int64_t>(1, size));
        shape.taps *= real(w->dims[i]);
        shape.strided = shape.strided || stride > 1;
        shape.steps *= real(stride);
    }
    const std::int64_t own = places.transposed ? w->dims[0] : w->dims[1];
    shape.by_channel = !places.transposed && w->dims[1] == 1 && x->dims[1] > 1;
    shape.multiplied = shape.by_channel && w->dims[0] > x->dims[1];
    shape.grouped = !places.transposed && own != x->dims[1];
    if (shape.grouped) shape.groups = real(x->dims[1]) / real(own);
    constexpr std::int64_t few = 16;  // a tile of cuDNN's narrowest kernels
    shape.narrow = std::min(w->dims[0], w->dims[1]) <= few && !shape.strided;
    const double own_pixels = real(x->elements()) / real(std::max<std::int64_t>(1, x->dims[1]));
    shape.image_pixels = places.transposed ? pixels : own_pixels;
    shape.pixels = places.transposed ? own_pixels : pixels;
    shape.filters = real(w->dims[0]) / shape.groups;
    shape.channels = real(w->dims[1]);
    if (places.transposed) {
        shape.products = real(x->elements()) * shape.weights / real(w->dims[0]);
        shape.results = pixels * real(w->dims[1]);
    } else {
        shape.results = pixels * real(w->dims[0]);
        shape.products = shape.results * shape.weights / real(w->dims[0]);
    }
    return shape;
}

bool channels_last(const Tensor& x) {
    return x.dims.size() > 2 && x.strides.size() == x.dims.size() && x.strides[1] == 1 &&
           x.dims[1] > 1;
}

}  // namespace ridge::programs
