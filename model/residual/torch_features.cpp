#include "model/residual/torch_features.h"

#include <algorithm>
#include <cmath>

#include "model/core/product_rows.h"
#include "model/core/real.h"
#include "model/residual/shares.h"

namespace ridge::model {
namespace {

using Found = std::optional<ResidualFeatures>;

double width_of(DataType type) {
    return std::log2(real(bits_of(type)));
}

/// log2 of the largest power of two, up to 16, that divides the count.
double alignment_of(std::int64_t count) {
    return grain_of(count, 4);
}

/// Kinds of streams as numbers, ordered so that similar kinds are close.
enum class Stream : std::uint8_t { elementwise, copy, transpose, cat, gather, adamw, fused_adamw };

struct Shape {
    Stream kind = Stream::elementwise;
    std::int64_t cols = 1;
    std::int64_t stride = 1;
    std::int64_t pieces = 1;
};

struct TorchFinder {
    const Prediction& prediction;
    double slots;
    double l2;  ///< state of the cache

    template <class Op>
    Found operator()(const Op&) const {
        return std::nullopt;
    }

    Found operator()(const Matmul& op) const {
        const std::optional<ResidualClass> kind = class_of(op);
        if (!kind) return std::nullopt;
        const std::int64_t bits = bits_of(op.type);
        const double m = real(op.m);
        const double n = real(op.n);
        const double k = real(op.k);
        const double batch = real(op.batch);
        const bool biased = has_bias(op.epilogue);
        const double columns = op.b_layout == Layout::column_major ? 1.0 : 0.0;
        const bool by_tile = op.type == DataType::fp32 || op.type == DataType::tf32 ||
                             kind == ResidualClass::torch_product_odd_thin;
        const double type = op.type == DataType::fp16 || op.type == DataType::int8 ? 2.0 : 0.0;
        const Tile tile = prediction.tiling.tile;
        const double kernel =
            by_tile ? std::log2(std::max(1.0, real(tile.m) * real(tile.n))) : type + columns;
        const double rows = batch * parts(m, 128.0);
        const Waves square = waves_of(rows * parts(n, 128.0), slots);
        const Waves narrow = waves_of(batch * parts(m, 64.0) * parts(n, 64.0), slots);
        const double bytes = batch * (real(bits) / 8.0 * k * (m + n) + 2.0 * m * n);
        return ResidualFeatures{
            *kind,
            {std::log2(m), std::log2(n), std::log2(k), std::log2(batch), kernel, biased ? 1.0 : 0.0,
             alignment_of(bytes_of(op.type, op.n)), alignment_of(bytes_of(op.type, op.k)),
             square.blocks, square.fullness, narrow.blocks, narrow.fullness,
             m / (64.0 * parts(m, 64.0)), std::log2(batch * m * n * k), std::log2(bytes), l2}};
    }

    static std::optional<ResidualClass> class_of(const Matmul& op) {
        const bool thin = op.m <= most_few_rows;
        const bool by_rows = op.b_layout == Layout::row_major;
        switch (op.type) {
            case DataType::bf16:
            case DataType::fp16:
                if (has_whole_vectors(op)) return ResidualClass::torch_product_16;
                return thin ? ResidualClass::torch_product_odd_thin
                            : ResidualClass::torch_product_odd;
            case DataType::fp32:
                if (thin) {
                    return by_rows ? ResidualClass::torch_product_fp32_thin_rows
                                   : ResidualClass::torch_product_fp32_thin;
                }
                return by_rows ? ResidualClass::torch_product_fp32_rows
                               : ResidualClass::torch_product_fp32;
            case DataType::tf32:
                return by_rows ? ResidualClass::torch_product_tf32_rows
                               : ResidualClass::torch_product_tf32;
            case DataType::fp8:
            case DataType::int8:
                return ResidualClass::torch_product_8;
            default:
                return std::nullopt;
        }
    }

    Found operator()(const Attention& asked) const {
        const Attention op = without_idle_masks(asked);
        const bool forward = op.direction == Direction::forward;
        const double heads = real(op.batch * op.heads);
        const double blocks = heads * parts(real(forward ? op.seq_q : op.seq_kv), 128.0);
        const Waves waves = waves_of(blocks, slots);
        const double backend = real(static_cast<std::int64_t>(prediction.implementation) -
                                    static_cast<std::int64_t>(Implementation::torch_flash));
        const double scores = real(op.seq_q) * real(op.seq_kv) * real(op.head_dim);
        return ResidualFeatures{
            forward ? ResidualClass::torch_forward : ResidualClass::torch_backward,
            {backend, std::log2(real(op.seq_q)), std::log2(real(op.seq_kv)), std::log2(heads),
             std::log2(real(op.heads) / real(op.kv_heads)), std::log2(real(op.head_dim)),
             op.causal ? 1.0 : 0.0, width_of(op.type), waves.blocks, waves.fullness,
             std::log2(heads * scores), l2}};
    }

    Found operator()(const RowWise& op) const {
        return ResidualFeatures{
            ResidualClass::torch_rows,
            {static_cast<double>(op.kind), static_cast<double>(op.axis),
             op.direction == Direction::forward ? 0.0 : 1.0, std::log2(real(op.rows)),
             std::log2(real(op.cols)), std::log2(real(op.rows) * real(op.cols)), width_of(op.type),
             alignment_of(op.cols), fullness(real(op.rows), slots), l2}};
    }

    [[nodiscard]] Found stream(const Shape& shape, double elements, DataType type,
                               DataType output) const {
        const Work& work = prediction.work;
        const double read = work.compulsory_read.base() / (elements * real(bits_of(type)) / 8.0);
        const double slots_of = (0.5 * work.fma.base() + 4.0 * work.special) / elements;
        return ResidualFeatures{
            ResidualClass::torch_streams,
            {static_cast<double>(shape.kind), std::log2(elements),
             std::log2(work.compulsory().base()), width_of(type), width_of(output),
             std::min(read, 8.0), std::log2(1.0 + slots_of), std::log2(real(shape.cols)),
             std::log2(real(shape.stride)), std::log2(real(shape.pieces)),
             alignment_of(static_cast<std::int64_t>(elements)), l2}};
    }

    Found operator()(const Elementwise& op) const {
        return stream({}, real(op.elements), op.type, op.result());
    }
    Found operator()(const Copy& op) const {
        return stream({.kind = Stream::copy, .stride = op.stride}, real(op.elements), op.type,
                      op.type);
    }
    Found operator()(const Transpose& op) const {
        return stream(
            {.kind = Stream::transpose, .cols = op.cols, .stride = op.inner, .pieces = op.batch},
            real(op.batch) * real(op.rows) * real(op.cols) * real(op.inner), op.type, op.type);
    }
    Found operator()(const Cat& op) const {
        return stream({.kind = Stream::cat,
                       .cols = op.cols,
                       .stride = op.axis == Axis::rows ? 1 : 2,
                       .pieces = op.inputs},
                      real(op.inputs) * real(op.rows) * real(op.cols), op.type, op.type);
    }
    Found operator()(const Gather& op) const {
        return stream({.kind = Stream::gather, .cols = op.cols, .pieces = op.table_rows},
                      real(op.rows) * real(op.cols), op.type, op.type);
    }
    Found operator()(const AdamW& op) const {
        const bool fused = prediction.implementation == Implementation::fused;
        return stream({.kind = fused ? Stream::fused_adamw : Stream::adamw, .pieces = op.tensors},
                      real(op.elements), op.type, op.type);
    }
};

}  // namespace

std::optional<ResidualFeatures> torch_features_of(const Operation& operation, L2State l2,
                                                  const Prediction& prediction,
                                                  double multiprocessors) {
    const Implementation implementation = prediction.implementation;
    const bool is_torch = is_framework(implementation) || needs_framework(operation);
    if (!is_torch || implementation == Implementation::compiled) return std::nullopt;
    return std::visit(TorchFinder{prediction, multiprocessors, real(static_cast<std::int64_t>(l2))},
                      operation);
}

}  // namespace ridge::model
