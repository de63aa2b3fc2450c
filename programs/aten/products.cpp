// mm, addmm, bmm, linear, scaled and integer products, matrix-vector products, convolutions.
#include <algorithm>
#include <array>

#include "model/core/fields.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"

namespace ridge::programs {
namespace {

using model::Layout;
using model::Matmul;

/// The layout of the last two dimensions: row-major unless the one before the last is contiguous.
Layout layout_of(const Tensor& tensor) {
    const std::size_t rank = tensor.dims.size();
    if (tensor.strides.empty() || rank < 2) return Layout::row_major;
    const bool column = tensor.strides[rank - 2] == 1 && tensor.strides[rank - 1] != 1;
    return column ? Layout::column_major : Layout::row_major;
}

Understood product(Matmul op) {
    op.accumulate = model::default_accumulator(op.type);
    op.output = model::default_output(op.type);
    const std::int64_t elements = op.batch * op.m * op.n;
    return {.steps = {step_of(op, model::Implementation::torch, model::L2State::cold)},
            .family = OperatorFamily::product,
            .result_bytes = elements * size_of(op.output),
            .result_elements = elements};
}

/// A[..., m, k] B[..., k, n] with the tensors at two places.
std::optional<Understood> product_at(const Subject& subject, std::size_t a_place,
                                     std::size_t b_place) {
    const Tensor* const a = subject.call.tensor(a_place);
    const Tensor* const b = subject.call.tensor(b_place);
    if (a == nullptr || b == nullptr || a->dims.size() < 2 || b->dims.size() < 2) return {};
    const std::size_t rank = a->dims.size();
    Matmul op{.batch = 1,
              .m = a->dims[rank - 2],
              .n = b->dims.back(),
              .k = a->dims[rank - 1],
              .type = data_type(type_of(*a, subject))};
    for (std::size_t i = 0; i + 2 < rank; ++i) op.batch *= a->dims[i];
    op.a_layout = layout_of(*a);
    op.b_layout = layout_of(*b);
    return product(op);
}

std::optional<Understood> plain(const Subject& subject) {
    return product_at(subject, 0, 1);
}

/// C + A B: a vector is a bias in the epilogue, a matrix is read and added.
std::optional<Understood> added(const Subject& subject) {
    std::optional<Understood> found = product_at(subject, 1, 2);
    const Tensor* const c = subject.call.tensor(0);
    if (!found || c == nullptr) return found;
    auto& op = std::get<Matmul>(found->steps.front().operation);
    const bool vector = c->stored_elements() <= std::max(op.n, op.m);
    op.epilogue = vector ? model::Epilogue::bias : model::Epilogue::accumulate;
    return found;
}

/// x[..., k] W[n, k]^T.
std::optional<Understood> linear(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    const Tensor* const w = subject.call.tensor(1);
    if (x == nullptr || w == nullptr || x->dims.empty() || w->dims.size() != 2) return {};
    Matmul op{.m = x->elements() / std::max<std::int64_t>(1, x->dims.back()),
              .n = w->dims[0],
              .k = w->dims[1],
              .type = data_type(type_of(*x, subject)),
              .b_layout = Layout::column_major};
    if (subject.call.tensor(2) != nullptr) op.epilogue = model::Epilogue::bias;
    return product(op);
}

/// A[m, k] x[k], and the dot product of two vectors.
std::optional<Understood> vector_at(const Subject& subject, std::size_t a_place) {
    const Tensor* const a = subject.call.tensor(a_place);
    if (a == nullptr || a->dims.empty()) return {};
    const std::int64_t m = a->dims.size() > 1 ? a->dims[0] : 1;
    return product({.m = m,
                    .n = 1,
                    .k = a->dims.back(),
                    .type = data_type(type_of(*a, subject)),
                    .a_layout = layout_of(*a)});
}
std::optional<Understood> matrix_vector(const Subject& subject) {
    return vector_at(subject, 0);
}
std::optional<Understood> added_matrix_vector(const Subject& subject) {
    return vector_at(subject, 1);
}

/// A convolution as the product of im2col (eq. S3): rows are pixels of the result, k the weights of one.
struct Convolution {
    Matmul product;
    /// Images whose channels come first are turned around it, unless each pixel stands for itself.
    std::vector<model::Transpose> turned{};
    /// Elements of the images in and out; each channel for itself is no product but a stream.
    std::int64_t moved = 0;
    bool by_channel = false;
};

std::int64_t at_or(const std::vector<std::int64_t>& values, std::size_t place,
                   std::int64_t otherwise) {
    if (values.empty()) return otherwise;
    return values[std::min(place, values.size() - 1)];
}

struct ConvolutionPlaces {
    std::size_t input, weight, stride, padding, dilation, groups;
    std::optional<std::size_t> allow_tf32{};  ///< PyTorch allows it where nobody says
};

/// fp32 is multiplied as tf32 where that is allowed.
model::DataType multiplied(const Tensor& input, const Subject& subject,
                           const ConvolutionPlaces& places) {
    const model::DataType type = data_type(type_of(input, subject));
    const bool allowed = !places.allow_tf32 || subject.call.flag(*places.allow_tf32);
    return type == model::DataType::fp32 && allowed ? model::DataType::tf32 : type;
}

/// Channels, then pixels, as one image after the other.
model::Transpose turn(const Tensor& input, std::int64_t channels, std::int64_t pixels,
                      model::DataType type) {
    const std::int64_t images = std::max<std::int64_t>(1, input.dims[0]);
    return {.rows = channels,
            .cols = std::max<std::int64_t>(1, pixels / images),
            .type = type,
            .batch = images};
}

std::optional<Convolution> convolution_at(const Subject& subject, const ConvolutionPlaces& places) {
    const Tensor* const input = subject.call.tensor(places.input);
    const Tensor* const weight = subject.call.tensor(places.weight);
    if (input == nullptr || weight == nullptr || input->dims.size() < 3 ||
        weight->dims.size() != input->dims.size()) {
        return {};
    }
    const auto stride = subject.call.wholes(places.stride);
    const auto padding = subject.call.wholes(places.padding);
    const auto dilation = subject.call.wholes(places.dilation);
    const std::int64_t groups =
        std::max<std::int64_t>(1, subject.call.whole(places.groups).value_or(1));
    std::int64_t pixels = input->dims[0];
    std::int64_t taps = weight->dims[1];
    std::int64_t read = input->dims[0];
    bool each_alone = groups == 1;
    for (std::size_t i = 2; i < input->dims.size(); ++i) {
        const std::int64_t reach = at_or(dilation, i - 2, 1) * (weight->dims[i] - 1) + 1;
        const std::int64_t steps = std::max<std::int64_t>(1, at_or(stride, i - 2, 1));
        const std::int64_t size =
            (input->dims[i] + 2 * at_or(padding, i - 2, 0) - reach) / steps + 1;
        if (size < 1) return {};
        pixels *= size;
        taps *= weight->dims[i];
        read *= input->dims[i];
        each_alone = each_alone && weight->dims[i] == 1 && steps == 1;
    }
    Convolution found{.product = {.batch = groups,
                                  .m = pixels,
                                  .n = std::max<std::int64_t>(1, weight->dims[0] / groups),
                                  .k = taps,
                                  .type = multiplied(*input, subject, places)}};
    found.moved = read * input->dims[1] + pixels * weight->dims[0];
    found.by_channel = groups > 1 && weight->dims[1] == 1;
    if (!each_alone && !found.by_channel && !input->strides.empty() && input->contiguous()) {
        const model::DataType type = data_type(type_of(*input, subject));
        found.turned = {turn(*input, input->dims[1], read, type),
                        turn(*input, weight->dims[0], pixels, type)};
    }
    return found;
}

/// Kernels that move the images in and out once.
Understood streamed(const Convolution& found, const Subject& subject, int kernels) {
    Understood one{.family = OperatorFamily::product, .basis = Basis::bytes};
    const model::Elementwise stream{
        .expression = model::parse_expression("x"),
        .elements = std::max<std::int64_t>(1, found.moved / 2),
        .type = data_type(type_of(*subject.call.tensors().front(), subject))};
    for (int i = 0; i < kernels; ++i) one.steps.push_back(torch_step(stream));
    return one;
}

std::optional<Understood> convolved(const std::optional<Convolution>& found,
                                    const Subject& subject) {
    if (!found) return {};
    if (found->by_channel) return streamed(*found, subject, 1);
    Understood one = product(found->product);
    for (const model::Transpose& turned : found->turned) one.steps.push_back(torch_step(turned));
    return one;
}
std::optional<Understood> convolution(const Subject& subject) {
    return convolved(convolution_at(subject, {0, 1, 3, 4, 5, 8}), subject);
}
std::optional<Understood> convolution_with_flags(const Subject& subject) {
    return convolved(convolution_at(subject, {0, 1, 3, 4, 5, 8, 12}), subject);
}
std::optional<Understood> cudnn_convolution(const Subject& subject) {
    return convolved(convolution_at(subject, {0, 1, 3, 2, 4, 5, 8}), subject);
}
/// (x, weight, kernel, bias, stride, padding, dilation): as many groups as channels.
std::optional<Understood> depthwise(const Subject& subject) {
    auto found = convolution_at(subject, {0, 1, 4, 5, 6, 7});
    if (found) found->by_channel = true;
    return convolved(found, subject);
}
/// Two products of the forward's size: for the input and for the weights.
std::optional<Understood> convolution_backward(const Subject& subject) {
    const std::optional<Convolution> forward = convolution_at(subject, {1, 2, 4, 5, 6, 9});
    if (!forward) return {};
    if (forward->by_channel) return streamed(*forward, subject, 2);
    Matmul input = forward->product;
    std::swap(input.n, input.k);
    Matmul weight = forward->product;
    std::swap(weight.m, weight.k);
    Understood found = product(input);
    found.steps.push_back(product(weight).steps.front());
    // Each product takes the gradient of the result and one of the images.
    for (int products = 0; products < 2; ++products) {
        for (const model::Transpose& turned : forward->turned) {
            found.steps.push_back(torch_step(turned));
        }
    }
    return found;
}

constexpr std::array rules{Rule{"mm", plain},
                           Rule{"bmm", plain},
                           Rule{"addmm", added},
                           Rule{"baddbmm", added},
                           Rule{"linear", linear},
                           Rule{"_int_mm", plain},
                           Rule{"_scaled_mm", plain},
                           Rule{"mv", matrix_vector},
                           Rule{"addmv", added_matrix_vector},
                           Rule{"dot", matrix_vector},
                           Rule{"vdot", matrix_vector},
                           Rule{"convolution", convolution},
                           Rule{"_convolution", convolution_with_flags},
                           Rule{"cudnn_convolution", cudnn_convolution},
                           Rule{"_conv_depthwise2d", depthwise},
                           Rule{"convolution_backward", convolution_backward}};

}  // namespace

std::span<const Rule> product_rules() {
    return rules;
}

}  // namespace ridge::programs
