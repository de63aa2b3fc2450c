// Norms over channels and groups, and pooling, of images, with the times of PyTorch's and cuDNN's
// kernels. (eq. S6)
#include <algorithm>
#include <array>
#include <utility>

#include "hardware/checked.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

using model::Axis;
using model::RowKind;
using model::RowWise;

/// Images [n, channels, ...] and their layout in memory.
struct Images {
    double elements = 0.0;
    double channels = 0.0;
    double plane = 0.0;  ///< pixels of one image
    double size = 0.0;   ///< bytes per element
    bool channels_last = false;

    [[nodiscard]] double bytes() const { return elements * size; }
};

Images images_of(const Tensor& x, ElementType type) {
    const auto elements = static_cast<double>(x.elements());
    const auto channels = static_cast<double>(x.dims[1]);
    return {.elements = elements,
            .channels = channels,
            .plane = elements / (channels * static_cast<double>(x.dims[0])),
            .size = static_cast<double>(size_of(type)),
            .channels_last = x.dims.size() > 2 && x.strides.size() == x.dims.size() &&
                             x.strides[1] == 1 && x.dims[1] > 1};
}

/// Channels last: neighbouring threads take neighbouring channels, and with few channels threads
/// are idle.
KernelWork over_pixels(const Images& x, double tensors, double own, double by_channels) {
    const double channels = std::max(x.channels, 32.0);
    return {.moved = tensors * x.bytes(),
            .clocks = x.elements * (own + by_channels / (channels * channels))};
}

/// Channels first: one block per channel goes through all images.
KernelWork by_channel(const Images& x, double tensors, double chain, double busy, double block) {
    const double each = x.elements / x.channels;
    return {.moved = tensors * x.bytes(),
            .chains = static_cast<std::int64_t>(x.channels),
            .chain_clocks = chain * each,
            .block_clocks = busy * each + block};
}

/// Channels first: each plane occupies a block, however small the plane is.
KernelWork over_planes(const Images& x, double tensors) {
    const double clocks =
        cost("images.plane_start") +
        x.plane * (cost("images.plane_pixel") + cost("images.plane_byte") * x.size);
    return {.moved = tensors * x.bytes(),
            .clocks = x.elements / x.plane * std::max(cost("images.plane_least"), clocks)};
}

std::vector<KernelWork> forward_kernels(const Images& x, bool training) {
    std::vector<KernelWork> kernels;
    if (training) {
        kernels.push_back(
            x.channels_last
                ? over_pixels(x, 1.0, cost("images.moments"), cost("images.moments_channels"))
                : by_channel(x, 1.0, cost("images.moments_chain"), cost("images.moments_busy"),
                             cost("images.moments_block")));
        kernels.push_back({.moved = 8.0 * x.channels});  // running statistics
    }
    kernels.push_back(x.channels_last ? over_pixels(x, 2.0, cost("images.normalise"),
                                                    cost("images.normalise_channels"))
                                      : over_planes(x, 2.0));
    return kernels;
}

/// A gradient whose layout differs from that of its images is first reordered.
std::vector<KernelWork> backward_kernels(const Images& x, bool reordered) {
    std::vector<KernelWork> kernels;
    if (reordered) kernels.push_back(over_pixels(x, 2.0, cost("images.reorder"), 0.0));
    if (x.channels_last) {
        kernels.push_back(over_pixels(x, 2.0, cost("images.sums"), cost("images.sums_channels")));
        kernels.push_back(
            over_pixels(x, 3.0, cost("images.gradient"), cost("images.gradient_channels")));
    } else {
        kernels.push_back(by_channel(x, 5.0, cost("images.gradient_chain"),
                                     cost("images.gradient_busy"), cost("images.gradient_block")));
    }
    return kernels;
}

/// Statistics over all dimensions except channels (one sum over columns each), and one pass over
/// `tensors` of x's size.
std::optional<Understood> batch_norm_at(const Subject& subject, std::size_t place, bool training,
                                        int tensors) {
    const Tensor* const x = subject.call.tensor(place);
    if (x == nullptr || x->dims.size() < 2 || x->elements() < 1 || x->dims[1] < 1) return {};
    const auto element = type_of(*x, subject);
    const auto type = data_type(element);
    Understood found{.family = OperatorFamily::normalisation,
                     .result_bytes = x->bytes(),
                     .result_elements = x->elements()};
    for (int i = 0; training && i < tensors; ++i) {
        found.steps.push_back(torch_step(RowWise{.kind = RowKind::sum,
                                                 .rows = x->elements() / x->dims[1],
                                                 .cols = x->dims[1],
                                                 .type = type,
                                                 .axis = Axis::columns}));
    }
    found.steps.push_back(torch_step(
        model::Elementwise{.expression = model::parse_expression(tensors > 1 ? "x + y" : "x"),
                           .elements = x->elements(),
                           .type = type}));
    if (x->dims.size() > 2) {
        const Images images = images_of(*x, element);
        const Tensor* const gradient = subject.call.tensor(0);
        const bool reordered =
            gradient != nullptr && gradient->dims == x->dims && gradient->strides != x->strides;
        found.kernels =
            tensors > 1 ? backward_kernels(images, reordered) : forward_kernels(images, training);
    }
    return found;
}
std::optional<Understood> batch_norm(const Subject& subject) {
    return batch_norm_at(subject, 0, subject.call.flag(5), 1);
}
std::optional<Understood> updating_batch_norm(const Subject& subject) {
    return batch_norm_at(subject, 0, true, 1);
}
std::optional<Understood> batch_norm_backward(const Subject& subject) {
    return batch_norm_at(subject, 1, true, 2);
}
std::optional<Understood> cudnn_batch_norm_backward(const Subject& subject) {
    return batch_norm_at(subject, 0, true, 2);
}

/// A norm over groups of channels, with one row per group of an image; empty if the call is not
/// one.
struct GroupNorm {
    Images images;
    std::int64_t rows = 0;
    Understood found;
};

std::optional<GroupNorm> group_norm_at(const Subject& subject, std::size_t place,
                                       std::size_t groups_place, model::Direction direction) {
    const Tensor* const x = subject.call.tensor(place);
    const std::int64_t groups = subject.call.whole(groups_place).value_or(0);
    if (x == nullptr || x->dims.size() < 2 || x->elements() < 1 || groups < 1) return {};
    const auto element = type_of(*x, subject);
    const std::int64_t rows = x->dims[0] * groups;
    if (x->elements() % rows != 0) return {};
    return GroupNorm{.images = images_of(*x, element),
                     .rows = rows,
                     .found = {.steps = {torch_step(RowWise{.kind = RowKind::layernorm,
                                                            .rows = rows,
                                                            .cols = x->elements() / rows,
                                                            .type = data_type(element),
                                                            .direction = direction})},
                               .family = OperatorFamily::normalisation,
                               .result_bytes = x->bytes(),
                               .result_elements = x->elements()}};
}

/// One block per group of an image for its moments, a kernel that computes a factor and an addend
/// for each channel, then one kernel over all elements.
std::optional<Understood> group_norm(const Subject& subject) {
    auto norm = group_norm_at(subject, 0, 6, model::Direction::forward);
    if (!norm) return {};
    const Images& images = norm->images;
    norm->found.kernels = {
        {.moved = images.bytes(),
         .chains = norm->rows,
         .chain_clocks =
             cost("images.group_start") +
             cost("images.group_chain") * (images.elements / static_cast<double>(norm->rows)),
         .block_clocks =
             cost("images.group_busy") * (images.elements / static_cast<double>(norm->rows))},
        {.moved = 8.0 * images.channels},
        {.moved = 2.0 * images.bytes(), .clocks = cost("images.group_element") * images.elements}};
    return std::move(norm->found);
}

/// (gradient, x, ...): sums over each plane, three kernels over channels, one kernel over all
/// elements.
std::optional<Understood> group_norm_backward(const Subject& subject) {
    auto norm = group_norm_at(subject, 1, 8, model::Direction::backward);
    if (!norm) return {};
    const Images& images = norm->images;
    norm->found.kernels = {
        {.moved = 2.0 * images.bytes(),
         .clocks = cost("images.group_element") * images.elements +
                   cost("images.group_plane") * images.elements / images.plane},
        {.moved = 3.0 * images.bytes(), .clocks = cost("images.group_gradient") * images.elements}};
    for (int small = 0; small < 3; ++small)
        norm->found.kernels.push_back({.moved = 8.0 * images.channels});
    return std::move(norm->found);
}

/// (x, window, stride, ...): each result reads the elements of its window; their positions are
/// int64.
struct Pooling {
    double taps = 1.0;     ///< inputs per result
    double windows = 1.0;  ///< results to which an input contributes, at most
    double shrink = 1.0;   ///< inputs divided by results
};

Pooling pooling_at(const Subject& subject, std::size_t window_place) {
    const auto window = subject.call.wholes(window_place);
    auto stride = subject.call.wholes(window_place + 1);
    if (stride.empty()) stride = window;
    Pooling found;
    for (std::size_t i = 0; i < window.size(); ++i) {
        const std::int64_t step = std::max<std::int64_t>(1, stride[std::min(i, stride.size() - 1)]);
        found.taps *= static_cast<double>(window[i]);
        found.windows *= static_cast<double>(ceil_divide(window[i], step));
        found.shrink *= static_cast<double>(step);
    }
    return found;
}

/// Clocks of an SM for all of max pooling. With channels last: forward, an index and each input of
/// the window per result; backward, each window of an input, where few channels hide less latency.
/// (eq. S6)
double clocks_of_pooling(const Images& x, const Pooling& pooling, bool backward) {
    const double results = x.elements / pooling.shrink;
    if (!x.channels_last) {
        return backward ? cost("images.max_pool_first_back") * x.elements * pooling.windows
                        : cost("images.max_pool_first") * results * pooling.taps;
    }
    if (!backward)
        return results * (cost("images.max_pool") + cost("images.max_pool_tap") * pooling.taps);
    return x.elements *
           (cost("images.max_pool_back") +
            cost("images.max_pool_back_tap") * pooling.taps / pooling.shrink) *
           (1.0 + cost("images.max_pool_back_channels") / x.channels);
}

std::optional<Understood> pooled(const Subject& subject, std::size_t place,
                                 std::size_t window_place, bool backward) {
    const Tensor* const x = subject.call.tensor(place);
    if (x == nullptr || x->dims.size() < 3 || x->elements() < 1) return {};
    const auto element = type_of(*x, subject);
    const Pooling pooling = pooling_at(subject, window_place);
    if (size_of(element) == 0 || pooling.shrink < 1.0) return {};
    constexpr double place_bytes = 8.0;
    const auto inputs = static_cast<double>(x->elements());
    const double results = inputs / pooling.shrink;
    const auto size = static_cast<double>(size_of(element));
    Understood found{
        .steps = {torch_step(model::Copy{.elements = x->elements(), .type = data_type(element)})},
        .family = OperatorFamily::reduction,
        .result_bytes = static_cast<std::int64_t>(results * size),
        .result_elements = static_cast<std::int64_t>(results)};
    found.kernels = {{.moved = inputs * size + results * (size + place_bytes),
                      .clocks = clocks_of_pooling(images_of(*x, element), pooling, backward)}};
    return found;
}
std::optional<Understood> max_pool(const Subject& subject) {
    return pooled(subject, 0, 1, false);
}
std::optional<Understood> max_pool_backward(const Subject& subject) {
    return pooled(subject, 1, 2, true);
}

/// An average over windows: one index per result or input, then each input of a window.
std::optional<Understood> averaged(const Subject& subject, std::size_t place, bool backward) {
    const Tensor* const x = subject.call.tensor(place);
    if (x == nullptr || x->dims.size() < 3 || x->elements() < 1) return {};
    const auto element = type_of(*x, subject);
    const Pooling pooling = pooling_at(subject, place + 1);
    if (size_of(element) == 0 || pooling.shrink < 1.0) return {};
    const auto inputs = static_cast<double>(x->elements());
    const double results = inputs / pooling.shrink;
    Understood found{
        .steps = {torch_step(model::Copy{.elements = x->elements(), .type = data_type(element)})},
        .family = OperatorFamily::reduction,
        .result_bytes =
            backward ? x->bytes() : x->bytes() / static_cast<std::int64_t>(pooling.shrink),
        .result_elements = static_cast<std::int64_t>(backward ? inputs : results)};
    // With channels last, the kernel divides to find the channel of a result.
    const bool divides = backward || images_of(*x, element).channels_last;
    const double own = cost(divides ? "images.average_divided" : "images.average");
    const double each = cost(divides ? "images.average_divided_tap" : "images.average_tap");
    found.kernels = {{.moved = (inputs + results) * static_cast<double>(size_of(element)),
                      .clocks = backward ? inputs * (own + each * pooling.windows)
                                         : results * (own + each * pooling.taps),
                      .floors = 1.0}};
    return found;
}
std::optional<Understood> average_pool(const Subject& subject) {
    return averaged(subject, 0, false);
}
std::optional<Understood> average_pool_backward(const Subject& subject) {
    return averaged(subject, 1, true);
}

/// Each result comes from one input, the gradient of an input from its results. The sizes of the
/// results follow x; backward, the sizes of the inputs follow those.
std::optional<Understood> enlarged(const Subject& subject, bool backward) {
    const Tensor* const x = subject.call.tensor(0);
    const auto sizes = subject.call.wholes(1);
    if (x == nullptr || x->dims.size() < 3 || x->elements() < 1 || sizes.empty()) return {};
    const auto element = type_of(*x, subject);
    auto results = static_cast<double>(x->dims[0] * x->dims[1]);
    for (const std::int64_t size : sizes) results *= static_cast<double>(size);
    auto inputs = static_cast<double>(x->elements());
    if (backward) {  // x is the gradient of the results
        inputs = 1.0;
        for (const std::int64_t size : subject.call.wholes(2)) inputs *= static_cast<double>(size);
    }
    if (results < 1.0 || inputs < 1.0) return {};
    Understood found{
        .steps = {torch_step(model::Copy{.elements = x->elements(), .type = data_type(element)})},
        .family = OperatorFamily::copy,
        .result_bytes = static_cast<std::int64_t>(backward ? inputs : results) * size_of(element),
        .result_elements = static_cast<std::int64_t>(backward ? inputs : results)};
    found.kernels = {{.moved = (inputs + results) * static_cast<double>(size_of(element)),
                      .clocks = backward ? cost("images.enlarged_back") * inputs
                                         : cost("images.enlarged") * results,
                      .floors = 1.0}};
    return found;
}
std::optional<Understood> upsample(const Subject& subject) {
    return enlarged(subject, false);
}
std::optional<Understood> upsample_backward(const Subject& subject) {
    return enlarged(subject, true);
}

constexpr std::array image_table{Rule{"native_batch_norm", batch_norm},
                                 Rule{"cudnn_batch_norm", batch_norm},
                                 Rule{"_batch_norm_with_update", updating_batch_norm},
                                 Rule{"native_batch_norm_backward", batch_norm_backward},
                                 Rule{"cudnn_batch_norm_backward", cudnn_batch_norm_backward},
                                 Rule{"native_group_norm", group_norm},
                                 Rule{"native_group_norm_backward", group_norm_backward},
                                 Rule{"avg_pool2d", average_pool},
                                 Rule{"avg_pool2d_backward", average_pool_backward},
                                 Rule{"upsample_nearest2d", upsample},
                                 Rule{"upsample_nearest2d_backward", upsample_backward},
                                 Rule{"max_pool2d_with_indices", max_pool},
                                 Rule{"max_pool2d_with_indices_backward", max_pool_backward}};

}  // namespace

std::span<const Rule> image_rules() {
    return image_table;
}

}  // namespace ridge::programs
