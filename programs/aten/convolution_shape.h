// A convolution as its laws see it: which call is one, and the product that it is.
//
//   if (const auto places = convolution_arguments(call, bare_operator(call.name)))
//       const auto shape = convolution_shape(call, *places);   // shape->products multiply-adds
//
// A transposed convolution is one from its result to its input; the sides keep these names there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "programs/aten/call.h"

namespace ridge::programs {

/// A number of elements to multiply with.
[[nodiscard]] inline double real(std::int64_t count) {
    return static_cast<double>(count);
}

/// Where a convolution has its arguments.
struct ConvolutionArguments {
    std::size_t input, weight, stride, padding, dilation;
    bool transposed = false;
    bool backward = false;
};
[[nodiscard]] std::optional<ConvolutionArguments> convolution_arguments(const Call& call,
                                                                        std::string_view name);

struct ConvolutionShape {
    const Tensor* input = nullptr;
    double results = 0.0;
    double products = 0.0;
    double weights = 0.0;
    double taps = 1.0;
    double groups = 1.0;        ///< each of which cuDNN may take by itself
    double steps = 1.0;         ///< pixels between results
    double image_pixels = 0.0;  ///< of all images, on the side of the channels
    double pixels = 0.0;        ///< on the side of the filters
    double filters = 0.0;       ///< of a group
    double channels = 0.0;      ///< of a group
    bool by_channel = false;
    bool multiplied = false;  ///< several filters for each channel
    bool narrow = false;      ///< few channels or filters, each pixel a result
    bool grouped = false;
    bool strided = false;
};
/// Of an image with channels: whether they lie together.
[[nodiscard]] bool channels_last(const Tensor& x);

[[nodiscard]] std::optional<ConvolutionShape> convolution_shape(const Call& call,
                                                                const ConvolutionArguments& places);

}  // namespace ridge::programs
