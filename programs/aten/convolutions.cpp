// Convolutions and their gradients: im2col products, and the times of cuDNN's and PyTorch's
// kernels. (eq. S3, S6)
#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/fields.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

using model::Matmul;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// The sizes that all kernels of a convolution need.
struct Convolution {
    std::int64_t images = 1;
    std::int64_t in_pixels = 0;  ///< of all images
    std::int64_t out_pixels = 0;
    std::int64_t channels = 0;  ///< of one group
    std::int64_t filters = 0;   ///< of one group
    std::int64_t groups = 1;
    std::int64_t taps = 1;
    std::int64_t longest = 1;                      ///< largest number of taps along one dimension
    std::int64_t steps = 1;                        ///< input pixels per pixel of the result
    model::DataType type = model::DataType::bf16;  ///< type of the multiplication
    model::DataType stored = model::DataType::bf16;
    std::int64_t size = 2;        ///< bytes per element
    bool channels_first = false;  ///< in memory

    [[nodiscard]] std::int64_t inputs() const { return in_pixels * channels * groups; }
    [[nodiscard]] std::int64_t results() const { return out_pixels * filters * groups; }
    /// Each pixel is computed from one pixel only.
    [[nodiscard]] bool is_plain() const { return taps == 1 && steps == 1 && groups == 1; }
    /// A plain product, which cuBLAS computes on the images in place: planes begin at multiples of
    /// 16 bytes.
    [[nodiscard]] bool by_cublas() const {
        return is_plain() && (!channels_first || plane() * size % 16 == 0);
    }
    /// The same, with kernels that load two elements at a time; not used for the gradient of the
    /// weights.
    [[nodiscard]] bool in_place() const { return is_plain() && plane() % 2 == 0; }
    [[nodiscard]] std::int64_t plane() const { return in_pixels / images; }
    [[nodiscard]] double out_plane() const {
        return static_cast<double>(out_pixels) / static_cast<double>(images);
    }
    [[nodiscard]] bool by_channel() const { return groups > 1 && channels == 1; }
    /// With channels that do not fill 16 bytes, or with groups, the wgmma kernels are not used.
    [[nodiscard]] bool is_narrow() const { return channels * size % 16 != 0 || groups > 1; }
    /// Elements of the input that are read: a stride larger than the filter skips pixels.
    [[nodiscard]] double read() const {
        return static_cast<double>(std::min(in_pixels, out_pixels * taps) * channels * groups);
    }
};

struct ConvolutionPlaces {
    std::size_t input, weight, stride, padding, dilation, groups;
    std::optional<std::size_t> allow_tf32{};  ///< PyTorch allows it by default
};

std::int64_t at_or(const std::vector<std::int64_t>& values, std::size_t place,
                   std::int64_t otherwise) {
    if (values.empty()) return otherwise;
    return values[std::min(place, values.size() - 1)];
}

/// fp32 is multiplied as tf32 if that is allowed.
model::DataType multiplied(const Tensor& input, const Subject& subject,
                           const ConvolutionPlaces& places) {
    const model::DataType type = data_type(type_of(input, subject));
    const bool allowed = !places.allow_tf32 || subject.call.flag(*places.allow_tf32);
    return type == model::DataType::fp32 && allowed ? model::DataType::tf32 : type;
}

std::optional<Convolution> convolution_at(const Subject& subject, const ConvolutionPlaces& places) {
    const Tensor* const input = subject.call.tensor(places.input);
    const Tensor* const weight = subject.call.tensor(places.weight);
    if (input == nullptr || weight == nullptr || input->dims.size() < 3 ||
        weight->dims.size() != input->dims.size() || input->elements() < 1 ||
        weight->elements() < 1) {
        return {};
    }
    const auto stride = subject.call.wholes(places.stride);
    const auto padding = subject.call.wholes(places.padding);
    const auto dilation = subject.call.wholes(places.dilation);
    Convolution found{
        .images = std::max<std::int64_t>(1, input->dims[0]),
        .in_pixels = input->dims[0],
        .out_pixels = input->dims[0],
        .channels = weight->dims[1],
        .groups = std::max<std::int64_t>(1, subject.call.whole(places.groups).value_or(1)),
        .type = multiplied(*input, subject, places),
        .stored = data_type(type_of(*input, subject)),
        .size = std::max<std::int64_t>(1, size_of(type_of(*input, subject)))};
    found.filters = std::max<std::int64_t>(1, weight->dims[0] / found.groups);
    // A damaged trace can give any sizes: no product below may leave its type.
    constexpr std::int64_t widest = std::int64_t{1} << 31;
    constexpr std::int64_t most = std::int64_t{1} << 53;
    double products = static_cast<double>(input->dims[0]) * static_cast<double>(found.channels) *
                      static_cast<double>(found.filters) * static_cast<double>(found.groups);
    for (std::size_t i = 2; i < input->dims.size(); ++i) {
        for (const std::int64_t each :
             {at_or(dilation, i - 2, 1), at_or(stride, i - 2, 1), at_or(padding, i - 2, 0),
              weight->dims[i], input->dims[i]}) {
            if (each > widest || each < -widest) return {};
        }
        const std::int64_t reach = at_or(dilation, i - 2, 1) * (weight->dims[i] - 1) + 1;
        const std::int64_t step = std::max<std::int64_t>(1, at_or(stride, i - 2, 1));
        const std::int64_t size =
            (input->dims[i] + 2 * at_or(padding, i - 2, 0) - reach) / step + 1;
        if (size < 1) return {};
        products *= static_cast<double>(std::max(size, input->dims[i])) *
                    static_cast<double>(weight->dims[i]);
        if (products > static_cast<double>(most)) return {};
        found.in_pixels *= input->dims[i];
        found.out_pixels *= size;
        found.taps *= weight->dims[i];
        found.longest = std::max(found.longest, weight->dims[i]);
        found.steps *= step;
    }
    found.channels_first = input->dims[1] > 1 && found.in_pixels > input->dims[0] &&
                           !input->strides.empty() && input->contiguous();
    return found;
}

/// Whole tiles of an implicit product: cuDNN's tiles of 128 x 128, or half or a quarter as wide if that
/// suffices.
struct Tiling {
    std::int64_t m, n;
    double k;
    double efficiency_narrow, efficiency;  ///< for tiles of 64 and of 128
    double ends;                           ///< clocks per element of a tile, for its start and end
    bool split;                            ///< k is split until all SMs are busy
};

KernelWork implicit_product(const Convolution& conv, const Tiling& tiling, double moved_elements) {
    const std::int64_t tile_m = tiling.split && tiling.m <= 64 ? 64 : 128;
    const std::int64_t tile_n = tiling.n <= 32 ? 32 : tiling.n <= 64 ? 64 : 128;
    const std::int64_t tiles =
        (tiling.m + tile_m - 1) / tile_m * ((tiling.n + tile_n - 1) / tile_n) * conv.groups;
    const auto area = static_cast<double>(tiles * tile_m * tile_n);
    return {
        .moved = moved_elements * static_cast<double>(conv.size),
        .clocks = area * tiling.ends,
        .tensor_flop = 2.0 * area * tiling.k,
        .useful_flop = 2.0 * static_cast<double>(conv.results() * conv.channels * conv.taps),
        .efficiency = std::min(tile_m, tile_n) <= 64 ? tiling.efficiency_narrow : tiling.efficiency,
        .type = conv.type,
        .tiles = tiling.split ? 0 : tiles};
}

/// Channels per step along k: each tap is padded to a multiple of this number.
std::int64_t channel_unit(const Convolution& conv) {
    const std::int64_t bytes = conv.is_narrow() ? 64 : 128;
    return bytes / conv.size;
}

double ends_of(const Convolution& conv) {
    return cost("convolution.ends") * static_cast<double>(conv.size);
}

KernelWork forward_product(const Convolution& conv) {
    const std::int64_t k = conv.taps * rounded_up(conv.channels, channel_unit(conv));
    const bool narrow = conv.is_narrow();
    return implicit_product(
        conv,
        {.m = conv.out_pixels,
         .n = conv.filters,
         .k = static_cast<double>(k),
         .efficiency_narrow =
             cost(narrow ? "convolution.forward_few" : "convolution.forward_narrow"),
         .efficiency = cost(narrow ? "convolution.forward_few" : "convolution.forward"),
         .ends = ends_of(conv),
         .split = false},
        conv.read() + static_cast<double>(conv.results()));
}

KernelWork input_product(const Convolution& conv) {
    const std::int64_t k = conv.taps * rounded_up(conv.filters, channel_unit(conv));
    const bool strided = conv.steps > 1;
    return implicit_product(
        conv,
        {.m = conv.in_pixels,
         .n = conv.channels,
         .k = static_cast<double>(k) / static_cast<double>(conv.steps),
         .efficiency_narrow =
             cost(strided ? "convolution.input_strided" : "convolution.input_narrow"),
         .efficiency = cost(strided ? "convolution.input_strided" : "convolution.input"),
         .ends = ends_of(conv),
         .split = false},
        static_cast<double>(conv.inputs() + conv.results()));
}

KernelWork weight_product(const Convolution& conv) {
    const bool wide = conv.size > 2;
    const bool narrow = conv.is_narrow();
    return implicit_product(conv,
                            {.m = conv.filters,
                             .n = conv.taps * rounded_up(conv.channels, 8),
                             .k = static_cast<double>(conv.out_pixels),
                             .efficiency_narrow = cost(narrow ? "convolution.weight_few"
                                                       : wide ? "convolution.weight_wide_narrow"
                                                              : "convolution.weight_narrow"),
                             .efficiency = cost(narrow ? "convolution.weight_few"
                                                : wide ? "convolution.weight_wide"
                                                       : "convolution.weight"),
                             .ends = 0.0,
                             .split = true},
                            conv.read() + static_cast<double>(conv.results()));
}

/// One image after another, in its own layout, with mma.sync kernels that load two elements at a
/// time.
KernelWork unaligned_product(const Convolution& conv, std::int64_t n, std::int64_t k) {
    constexpr std::int64_t tile = 128;
    const std::int64_t rows = conv.images * rounded_up(conv.plane(), tile);
    const std::int64_t columns = rounded_up(n, tile);
    return {.moved = static_cast<double>((conv.inputs() + conv.results()) * conv.size),
            .tensor_flop = 2.0 * static_cast<double>(rows * columns) * static_cast<double>(k),
            .useful_flop = 2.0 * static_cast<double>(conv.in_pixels * n * k),
            .efficiency = cost("convolution.unaligned"),
            .type = conv.type,
            .tiles = rows / tile * (columns / tile)};
}

/// cuDNN's kernels need images with channels last, and channels that fill 16 bytes.
void add_turn(std::vector<KernelWork>& kernels, const Convolution& conv, std::int64_t pixels,
              std::int64_t channels) {
    const std::int64_t whole = rounded_up(channels, 16 / std::min<std::int64_t>(16, conv.size));
    if (!conv.channels_first && whole == channels) return;
    const auto count = static_cast<double>(pixels);
    kernels.push_back(
        {.moved = count * static_cast<double>((channels + whole) * conv.size),
         .clocks = count * (conv.channels_first
                                ? std::max(cost("convolution.turn") * static_cast<double>(channels),
                                           cost("convolution.turn_pixel"))
                                : cost("convolution.turn_padded") * static_cast<double>(whole))});
    if (whole != channels) {  // the padding is cleared first
        kernels.push_back({.moved = count * static_cast<double>(whole * conv.size)});
    }
}

/// Filters also have their channels first, in planes of a few taps.
void add_turned_filters(std::vector<KernelWork>& kernels, const Convolution& conv) {
    if (!conv.channels_first || conv.taps == 1) return;
    const auto count = static_cast<double>(conv.groups * conv.filters * conv.channels * conv.taps);
    kernels.push_back({.moved = 2.0 * count * static_cast<double>(conv.size),
                       .clocks = cost("convolution.turn_filter") * count});
}

/// One channel per group: clocks of one SM for each element.
KernelWork by_element(const Convolution& conv, std::int64_t elements, double clocks) {
    return {.moved = static_cast<double>((conv.inputs() + conv.results()) * conv.size),
            .clocks = static_cast<double>(elements) * clocks};
}

/// PyTorch has specialised kernels for channels first with 3 x 3 and 5 x 5 filters.
bool is_written_out(double taps) {
    return taps <= 25.0;
}

KernelWork forward_by_channel(const Convolution& conv) {
    const auto taps = static_cast<double>(conv.taps);
    const auto steps = static_cast<double>(conv.steps);
    if (!conv.channels_first) {
        // Tiles of pixels also load the border around them.
        const double border =
            cost("convolution.border") * (std::sqrt(taps) - 1.0) / std::sqrt(conv.out_plane());
        return by_element(
            conv, conv.results(),
            (cost("convolution.channel_step") * steps + cost("convolution.channel_tap") * taps) *
                (1.0 + border));
    }
    return by_element(conv, conv.results(),
                      is_written_out(taps) ? cost("convolution.written_out") +
                                                 cost("convolution.written_out_tap") * taps
                                           : cost("convolution.any_tap") * taps);
}

KernelWork input_by_channel(const Convolution& conv) {
    const auto taps = static_cast<double>(conv.taps);
    if (!conv.channels_first)
        return by_element(
            conv, conv.inputs(),
            cost("convolution.input_channel") + cost("convolution.input_channel_tap") * taps);
    return by_element(conv, conv.inputs(),
                      is_written_out(taps) ? cost("convolution.input_written_out") +
                                                 cost("convolution.input_written_out_tap") * taps
                                           : cost("convolution.input_any_tap") * taps);
}

KernelWork weights_by_channel(const Convolution& conv) {
    const auto taps = static_cast<double>(conv.taps);
    const auto steps = static_cast<double>(conv.steps);
    if (!conv.channels_first) {
        return by_element(conv, conv.results(),
                          cost("convolution.weight_channel_step") * steps +
                              cost("convolution.weight_channel_tap") * taps);
    }
    // A small plane does not fill the warps that process it.
    return by_element(conv, conv.results(),
                      cost("convolution.weight_any_tap") * taps *
                          (1.0 + cost("convolution.weight_plane") / conv.out_plane()));
}

/// Groups with long filters: one group after another, without tensor cores, in tiles of 64 pixels
/// by 128 filters whose blocks go through all of k. The last two images each have their own kernel.
bool is_long(const Convolution& conv) {
    constexpr std::int64_t longest = 32;        // longest filter for cuDNN's tensor-core kernels
    constexpr std::int64_t most_groups = 1024;  // a damaged trace can give any number
    return conv.groups > 1 && conv.groups <= most_groups && conv.longest > longest &&
           conv.channels_first;
}
std::vector<KernelWork> long_kernels(const Convolution& conv) {
    constexpr std::int64_t tile_m = 64;
    constexpr std::int64_t tile_n = 128;
    const bool tensor = conv.type == model::DataType::tf32;  // runs on the tensor cores
    const double clocks_of_step =
        cost(tensor ? "convolution.long_step_tf32" : "convolution.long_step");
    const double clocks_of_tile =
        cost(tensor ? "convolution.long_tile_tf32" : "convolution.long_tile");
    const auto k = static_cast<double>(conv.channels * conv.taps);
    const std::int64_t plane = conv.out_pixels / conv.images;
    const std::int64_t alone = std::min<std::int64_t>(2, conv.images - 1);
    std::vector<KernelWork> kernels;
    for (std::int64_t part = 0; part <= alone; ++part) {
        const std::int64_t images = part == 0 ? conv.images - alone : 1;
        const std::int64_t blocks =
            ceil_divide(images * plane, tile_m) * ceil_divide(conv.filters, tile_n);
        const auto bytes =
            static_cast<double>(conv.size * images * (conv.inputs() + conv.results())) /
            static_cast<double>(conv.images * conv.groups);
        const KernelWork one{.moved = bytes,
                             .chains = blocks,
                             .chain_clocks = (clocks_of_step - clocks_of_tile) * k,
                             .block_clocks = clocks_of_tile * k};
        kernels.insert(kernels.end(), static_cast<std::size_t>(conv.groups), one);
    }
    return kernels;
}

std::vector<KernelWork> forward_kernels(const Convolution& conv) {
    if (conv.by_cublas()) return {};
    if (conv.in_place()) return {unaligned_product(conv, conv.filters, conv.channels)};
    if (conv.by_channel()) return {forward_by_channel(conv)};
    if (is_long(conv)) return long_kernels(conv);
    std::vector<KernelWork> kernels;
    add_turn(kernels, conv, conv.in_pixels, conv.channels * conv.groups);
    add_turned_filters(kernels, conv);
    kernels.push_back(forward_product(conv));
    if (conv.channels_first) add_turn(kernels, conv, conv.out_pixels, conv.filters * conv.groups);
    return kernels;
}

std::vector<KernelWork> backward_kernels(const Convolution& conv, bool for_input,
                                         bool for_weights) {
    if (conv.by_cublas()) return {};
    std::vector<KernelWork> kernels;
    if (conv.by_channel()) {
        if (for_input) kernels.push_back(input_by_channel(conv));
        if (for_weights) kernels.push_back(weights_by_channel(conv));
        return kernels;
    }
    const std::int64_t in = conv.channels * conv.groups;
    const std::int64_t out = conv.filters * conv.groups;
    if (for_input && conv.in_place()) {
        kernels.push_back(unaligned_product(conv, conv.channels, conv.filters));
    } else if (for_input) {
        add_turn(kernels, conv, conv.out_pixels, out);
        add_turned_filters(kernels, conv);
        kernels.push_back(input_product(conv));
        if (conv.channels_first) add_turn(kernels, conv, conv.in_pixels, in);
    }
    if (for_weights) {
        add_turn(kernels, conv, conv.out_pixels, out);
        add_turn(kernels, conv, conv.in_pixels, in);
        kernels.push_back(weight_product(conv));
        add_turned_filters(kernels, conv);
    }
    return kernels;
}

Understood im2col(const Convolution& conv) {
    Matmul op{.batch = conv.groups,
              .m = conv.out_pixels,
              .n = conv.filters,
              .k = conv.channels * conv.taps,
              .type = conv.type};
    op.accumulate = model::default_accumulator(op.type);
    op.output = model::default_output(op.type);
    return {.steps = {step_of(op, model::Implementation::torch, model::L2State::cold)},
            .family = OperatorFamily::product,
            .result_bytes = conv.results() * conv.size,
            .result_elements = conv.results()};
}

/// Kernels that move the images in and out once; not a product, because channels are independent.
Understood streamed(const Convolution& conv, int kernels) {
    Understood one{.family = OperatorFamily::product,
                   .result_bytes = conv.results() * conv.size,
                   .result_elements = conv.results()};
    const model::Elementwise stream{
        .expression = model::parse_expression("x"),
        .elements = std::max<std::int64_t>(1, (conv.inputs() + conv.results()) / 2),
        .type = conv.stored};
    for (int i = 0; i < kernels; ++i) one.steps.push_back(torch_step(stream));
    return one;
}

std::optional<Understood> forward_convolution(const std::optional<Convolution>& conv) {
    if (!conv) return {};
    Understood found = conv->by_channel() ? streamed(*conv, 1) : im2col(*conv);
    found.kernels = forward_kernels(*conv);
    return found;
}
std::optional<Understood> convolution(const Subject& subject) {
    return forward_convolution(convolution_at(subject, {0, 1, 3, 4, 5, 8}));
}
std::optional<Understood> convolution_with_flags(const Subject& subject) {
    return forward_convolution(convolution_at(subject, {0, 1, 3, 4, 5, 8, 12}));
}
std::optional<Understood> cudnn_convolution(const Subject& subject) {
    return forward_convolution(convolution_at(subject, {0, 1, 3, 2, 4, 5, 8}));
}
/// (x, weight, kernel, bias, stride, padding, dilation): one group per channel.
std::optional<Understood> depthwise(const Subject& subject) {
    auto conv = convolution_at(subject, {0, 1, 4, 5, 6, 7});
    if (!conv) return {};
    conv->groups = subject.call.tensor(0)->dims[1];
    conv->filters = std::max<std::int64_t>(1, subject.call.tensor(1)->dims[0] / conv->groups);
    return forward_convolution(conv);
}

/// Two products of the size of the forward pass, for the input and for the weights, as the mask
/// requests.
std::optional<Understood> convolution_backward(const Subject& subject) {
    const std::optional<Convolution> conv = convolution_at(subject, {1, 2, 4, 5, 6, 9});
    if (!conv) return {};
    constexpr std::size_t mask_place = 10;
    const std::string_view mask = subject.call.value(mask_place);
    const bool masked = mask.starts_with('[') && mask.find(',') != mask.npos;
    const bool for_input = !masked || mask.substr(1).starts_with("True");
    const std::string_view rest = masked ? mask.substr(mask.find(',') + 1) : std::string_view();
    const bool for_weights = !masked || rest.substr(0, rest.find(',')).find("True") != rest.npos;
    if (!for_input && !for_weights) return {};
    Understood found = streamed(*conv, 2);
    if (!conv->by_channel()) {
        found = im2col(*conv);
        const model::Step whole = found.steps.front();
        found.steps.clear();
        if (for_input) {
            found.steps.push_back(whole);
            auto& op = std::get<Matmul>(found.steps.back().operation);
            std::swap(op.n, op.k);
        }
        if (for_weights) {
            found.steps.push_back(whole);
            auto& op = std::get<Matmul>(found.steps.back().operation);
            std::swap(op.m, op.k);
        }
    }
    found.kernels = backward_kernels(*conv, for_input, for_weights);
    return found;
}

constexpr std::array convolution_table{
    Rule{"convolution", convolution}, Rule{"_convolution", convolution_with_flags},
    Rule{"cudnn_convolution", cudnn_convolution}, Rule{"_conv_depthwise2d", depthwise},
    Rule{"convolution_backward", convolution_backward}};

}  // namespace

std::span<const Rule> convolution_rules() {
    return convolution_table;
}

}  // namespace ridge::programs
