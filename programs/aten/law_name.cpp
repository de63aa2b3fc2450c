// Which law an operator has: by layout, width, form, and where several kernels carry it out. (eq. S11)
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "programs/aten/convolution_shape.h"
#include "programs/aten/counts.h"
#include "programs/aten/rules.h"

namespace ridge::programs {
namespace {

/// Whether such a kernel goes through images with channels last and adds into places with channels first:
/// then neighbouring threads add into places that lie apart.
bool adds_apart(const Call& call) {
    const auto tensors = call.tensors();
    const Tensor& largest = **std::max_element(
        tensors.begin(), tensors.end(),
        [](const Tensor* a, const Tensor* b) { return a->elements() < b->elements(); });
    const Tensor& places = *tensors.back();
    return channels_last(largest) && places.dims.size() == largest.dims.size() &&
           !channels_last(places);
}

/// The layout of a batch norm, whose kernels go through a plane of each channel, or through pixels with
/// all of theirs.
std::string batch_norm_law(const Call& call, std::string_view name) {
    const Tensor* const x = call.tensor(0);
    if (x == nullptr || x->dims.size() < 2) return std::string(name);
    const bool flat = x->dims.size() == 2 ||
                      (x->strides.size() == x->dims.size() && x->strides[1] == 1 && x->dims[1] > 1);
    const Tensor* const other = call.tensor(1);
    if (other != nullptr && other->dims == x->dims && other->strides != x->strides) {
        return std::string(name) + ".mixed";  // one of them is turned first
    }
    constexpr std::size_t training = 5;
    const bool forward = name.find("backward") == std::string_view::npos;
    const bool fixed = forward && call.value(training) == "False";
    return std::string(name) + (fixed ? ".fixed" : flat ? ".last" : ".first");
}

/// Interpolation goes through planes with channels first, and through channels where they are last and
/// fill a vector.
std::string resampling_law(const Call& call, std::string_view name, ElementType hint) {
    const Tensor* const x = call.tensor(0);
    if (x == nullptr || x->dims.size() < 3) return std::string(name);
    constexpr std::int64_t fewest = 16;
    const bool backward = name.find("backward") != name.npos;
    const bool last = channels_last(*x) && (backward || x->dims[1] >= fewest);
    const ElementType type = x->type == ElementType::unknown ? hint : x->type;
    return std::string(name) + (size_of(type) < 4 ? ".16" : ".32") + (last ? ".last" : ".first");
}

/// Concatenation has kernels for parts that lie in order, with runs that fill vectors or not, and for others.
std::string cat_law(const Call& call, ElementType hint) {
    constexpr std::int64_t vector = 16;
    const std::int64_t dim = call.whole(1).value_or(0);
    bool narrow = false;
    for (const Tensor* part : call.tensors()) {
        if (part->elements() < 1) continue;
        if (!part->contiguous()) return "cat.strided";
        const auto rank = static_cast<std::int64_t>(part->dims.size());
        std::int64_t run = size_of(part->type == ElementType::unknown ? hint : part->type);
        for (std::int64_t i = dim < 0 ? std::max<std::int64_t>(0, dim + rank) : dim; i < rank;
             ++i) {
            run *= part->dims[static_cast<std::size_t>(i)];
        }
        narrow = narrow || run % vector != 0;
    }
    return narrow ? "cat.narrow" : "cat";
}

/// Whether PyTorch's scan along the last dimension gives each row a block: of 2^9 threads it lays 2^x along a row,
/// x = (9 + log2 columns - log2 rows) / 2 in numbers without a sign, which wrap where rows are many.
bool one_row_a_block(std::int64_t rows, std::int64_t columns) {
    constexpr int of_block = 9;
    const auto bits = [](std::int64_t size) {
        return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, size)) - 1);
    };
    return bits(rows) > bits(columns) + of_block;
}

/// Scans and softmax have kernels of their own across the rows in memory, and softmax for short rows.
std::optional<std::string_view> row_kind(const Call& call, std::string_view name) {
    constexpr std::array scans{"cumsum", "cumprod", "_logcumsumexp", "_cummax_helper",
                               "_cummin_helper"};
    const bool scan = std::find(scans.begin(), scans.end(), name) != scans.end();
    const bool softmax = name.find("softmax") != name.npos;
    if (!scan && !softmax) return {};
    const Tensor* const first = call.tensor(0);
    const Along* const along = along_of(name);
    if (first == nullptr || along == nullptr || first->elements() < 1 || first->dims.empty()) {
        return {};
    }
    // The input is made contiguous first, so that its strides do not matter.
    const auto rank = static_cast<std::int64_t>(first->dims.size());
    const std::int64_t dim = call.whole(along->place).value_or(-1);
    const auto place =
        static_cast<std::size_t>(std::clamp<std::int64_t>(dim < 0 ? dim + rank : dim, 0, rank - 1));
    std::int64_t inner = 1;
    for (std::size_t i = place + 1; i < first->dims.size(); ++i) inner *= first->dims[i];
    if (inner > 1) return ".across";
    if (scan && one_row_a_block(first->elements() / first->dims[place], first->dims[place])) {
        return ".single";
    }
    constexpr std::int64_t longest = 1024;
    if (softmax && first->dims[place] <= longest) return ".short";
    return {};
}

}  // namespace

std::string law_name(const Call& call, std::string_view bare_name, ElementType hint) {
    if (bare_name.starts_with("triton_")) {
        constexpr std::size_t kind = 10;  // "triton_poi"
        const bool adds = adds_into_places(call);
        return std::string(bare_name.substr(0, kind)) + (adds ? ".adds" : "") +
               (adds && adds_apart(call) ? ".apart" : "");
    }
    if (bare_name.starts_with("_cudnn_rnn")) {
        const auto shape = recurrent_shape({call, hint});
        if (!shape) return std::string(bare_name);
        return std::string(bare_name) +
               (shape->held      ? ".held"
                : shape->aligned ? ".steps"
                                 : ".unaligned") +
               (shape->wide ? ".32" : ".16");
    }
    if (bare_name.starts_with("upsample_") && bare_name.find("nearest") == bare_name.npos) {
        return resampling_law(call, bare_name, hint);
    }
    if (bare_name == "cat") return cat_law(call, hint);
    if (const auto kind = row_kind(call, bare_name))
        return std::string(bare_name) + std::string(*kind);
    if (bare_name.find("batch_norm") != std::string_view::npos) {
        return batch_norm_law(call, bare_name);
    }
    if (bare_name == "where" && call.tensors().size() == 1) return "nonzero";
    if (bare_name == "linalg_solve_triangular" && call.tensor(1) != nullptr &&
        !call.tensor(1)->dims.empty() && call.tensor(1)->dims.back() == 1) {
        return "linalg_solve_triangular.vector";
    }
    const auto places = convolution_arguments(call, bare_name);
    if (!places) return std::string(bare_name);
    const auto shape = convolution_shape(call, *places);
    if (!shape) return std::string(bare_name);
    const ElementType type = shape->input->type == ElementType::unknown ? hint : shape->input->type;
    std::string name = places->backward ? "convolution_backward" : "convolution";
    name += places->transposed                       ? ".transposed"
            : shape->by_channel && shape->multiplied ? ".multiplied"
            : shape->by_channel                      ? ".depthwise"
            : shape->grouped                         ? ".grouped"
            : shape->taps == 1.0 && !shape->strided  ? ".plain"
            : shape->narrow                          ? ".narrow"
                                                     : ".full";
    name += size_of(type) < 4 ? ".16" : ".32";
    return name + (channels_last(*shape->input) ? ".last" : ".first");
}

}  // namespace ridge::programs
