// Features of bundled kernels, and of library products that only records contain. (docs/model.md
// K1)
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "model/bundled/access.h"
#include "model/core/product_rows.h"
#include "model/core/real.h"
#include "model/residual/shares.h"

namespace ridge::model {
namespace {

/// log2 of the largest power of two up to 16 bytes that divides a row.
double alignment_of(std::int64_t elements, DataType type) {
    constexpr int byte = 3;  // log2 of its bits
    constexpr int vector = 4;
    return grain_of(elements * bits_of(type), vector + byte) - byte;
}

/// Whether the type is the second of the two types in a class of library products: their kernels
/// differ.
bool is_second_type(DataType type) {
    return type == DataType::fp16 || type == DataType::tf32;
}

double log_bytes(double elements, DataType type) {
    return std::log2(elements * real(bits_of(type)) / 8.0);
}

/// Bundled kernels in order of improvement, with the enumerators in between.
double number_of(Implementation implementation) {
    return real(static_cast<std::int64_t>(implementation));
}

/// log2 of a shape in whole vectors: a part of a vector takes as long as the vector.
double log_of_whole(std::int64_t elements) {
    constexpr std::int64_t vector = 16;
    return std::log2(real((elements + vector - 1) / vector * vector));
}

/// Blocks of the kernel that reads in patterns which one multiprocessor holds.
constexpr double resident_readers = 2048.0 / bundled::read_threads;

struct KernelFinder {
    double l2;  ///< state of the cache
    const Prediction& prediction;
    double slots;
    const Residuals* wanted;

    using Found = std::optional<ResidualFeatures>;

    template <class Op>
    Found operator()(const Op&) const {
        return std::nullopt;
    }

    /// log2 of the analytic time in us without the launch; it includes bytes, slots and dependent
    /// loads.
    [[nodiscard]] double time() const {
        constexpr Time least = 0.1 * units::us;
        Time left = prediction.time;
        for (const Term& term : prediction.terms) {
            if (term.resource == Resource::launch) left -= term.time;
        }
        return std::log2(std::max(left, least).in(units::us));
    }

    [[nodiscard]] bool is(std::initializer_list<Implementation> kernels) const {
        return std::find(kernels.begin(), kernels.end(), prediction.implementation) !=
               kernels.end();
    }

    Found operator()(const Matmul& op) const {
        if (!is({Implementation::library})) return std::nullopt;
        const bool plain = op.a_layout == Layout::row_major && op.b_layout == Layout::row_major;
        const std::optional<ResidualClass> kind = library_class_of(op);
        if (!plain || !kind || !is_wanted(wanted, *kind)) return std::nullopt;
        const double m = real(op.m);
        const double n = real(op.n);
        const double k = real(op.k);
        const double batch = real(op.batch);
        const double rows = batch * parts(m, 128.0);
        const double bytes = real(bits_of(op.type)) / 8.0 * batch * (k * (m + n) + m * n);
        const Waves square = waves_of(rows * parts(n, 128.0), slots);
        const double narrow = fullness(batch * parts(m, 64.0) * parts(n, 128.0), slots);
        const double last = m / (128.0 * parts(m, 128.0));
        // Another rate if no tensor core multiplies, so that the shares mean the same.
        const double rate = bits_of(op.type) == 32 ? 0.125 : 1.0;
        const Nominal nominal = nominal_of(2.0 * batch * m * n * k / rate, bytes);
        return ResidualFeatures{
            *kind,
            {std::log2(m), std::log2(n), std::log2(k), std::log2(batch), square.blocks,
             square.fullness, narrow, last, alignment_of(op.n, op.type),
             alignment_of(op.k, op.type), is_second_type(op.type) ? 1.0 : 0.0, nominal.compute,
             nominal.memory, std::log2(bytes), l2}};
    }

    static std::optional<ResidualClass> library_class_of(const Matmul& op) {
        switch (op.type) {
            case DataType::bf16:
            case DataType::fp16: {
                // Single products with rows at 16 bytes have their own class (features.cpp).
                const bool whole = has_whole_vectors(op) && op.batch == 1;
                if (whole) return std::nullopt;
                return ResidualClass::product_odd;
            }
            case DataType::fp32:
            case DataType::tf32:
                return ResidualClass::product_wide;
            default:
                return std::nullopt;
        }
    }

    /// The mask does not count, so a call with a mask is never slower because of its correction.
    Found operator()(const Attention& op) const {
        const bool bundled =
            is({Implementation::standard, Implementation::mma, Implementation::wgmma});
        if (!bundled || op.direction != Direction::forward || is_windowed(op) || op.paged ||
            bits_of(op.type) != 16 || !is_wanted(wanted, ResidualClass::bundled_attention)) {
            return std::nullopt;
        }
        const double heads = real(op.batch * op.heads);
        const double queries = real(op.seq_q);
        const double tokens = real(op.seq_kv);
        const double depth = real(op.head_dim);
        const Nominal nominal =
            nominal_of(4.0 * heads * queries * tokens * depth,
                       4.0 * depth * (heads * queries + real(op.batch * op.kv_heads) * tokens));
        const Waves waves = waves_of(heads * parts(queries, 128.0), slots);
        return ResidualFeatures{
            ResidualClass::bundled_attention,
            {number_of(prediction.implementation), log_of(op.batch), log_of(op.heads),
             std::log2(real(op.heads) / real(op.kv_heads)), std::log2(queries), std::log2(tokens),
             std::log2(depth), op.type == DataType::bf16 ? 1.0 : 0.0, waves.blocks, waves.fullness,
             nominal.compute, nominal.memory, std::log2(nominal.us),
             alignment_of(op.seq_kv, op.type), l2}};
    }

    Found operator()(const RowWise& op) const {
        if (!is({Implementation::fused, Implementation::manual}) || op.axis != Axis::rows ||
            op.direction != Direction::forward || !is_wanted(wanted, ResidualClass::bundled_rows)) {
            return std::nullopt;
        }
        const double kernel = 2.0 * real(static_cast<std::int64_t>(op.kind)) +
                              (prediction.implementation == Implementation::manual ? 1.0 : 0.0);
        const double whole = real(op.rows) * real(op.cols);
        return ResidualFeatures{ResidualClass::bundled_rows,
                                {kernel, log_of(op.rows), log_of(op.cols), log_bytes(1.0, op.type),
                                 alignment_of(op.cols, op.type), log_bytes(whole, op.type),
                                 fullness(real(op.rows), 8.0 * slots), time(), l2}};
    }

    Found operator()(const Elementwise& op) const {
        if (!is({Implementation::fused, Implementation::unfused}) || op.output ||
            op.direction != Direction::forward ||
            !is_wanted(wanted, ResidualClass::bundled_pointwise)) {
            return std::nullopt;
        }
        const double each = 1.0 / real(op.elements);
        const Work& work = prediction.work;
        return ResidualFeatures{ResidualClass::bundled_pointwise,
                                {number_of(prediction.implementation), log_of_whole(op.elements),
                                 log_bytes(1.0, op.type), work.compulsory_read.base() * each,
                                 work.special * each, work.fma.base() * each,
                                 log_of_whole(op.elements) + log_bytes(1.0, op.type), time(), l2}};
    }

    [[nodiscard]] Found movement(double kernel, double rows, double cols, double extent,
                                 DataType type, double align, double align_other,
                                 double elements) const {
        if (!is_wanted(wanted, ResidualClass::bundled_movement)) return std::nullopt;
        return ResidualFeatures{
            ResidualClass::bundled_movement,
            {kernel, std::log2(rows), std::log2(cols), std::log2(extent), log_bytes(1.0, type),
             align, align_other, log_bytes(elements, type), time(), l2}};
    }

    /// Threads read in the same order in every pattern. Once each element of a strided read has its
    /// own sector, a longer stride moves no more bytes. Misaligned reads cost one more sector,
    /// whatever the offset.
    Found operator()(const Access& op) const {
        const bool strided = op.pattern == AccessPattern::strided;
        if ((!strided && op.pattern != AccessPattern::misaligned) ||
            !is({Implementation::bundled}) || !is_wanted(wanted, ResidualClass::bundled_access)) {
            return std::nullopt;
        }
        constexpr double sector = 32.0;
        const double elements = real(op.elements);
        const double degree = strided ? real(op.degree) : 1.0;
        const double most = sector / real(size_of(op.type));
        return ResidualFeatures{
            ResidualClass::bundled_access,
            {strided ? 1.0 : 0.0, std::log2(elements), std::log2(degree), log_bytes(1.0, op.type),
             log_bytes(elements * std::min(degree, most), op.type),
             fullness(elements / bundled::read_tile, slots * resident_readers), time(), l2}};
    }

    Found operator()(const Copy& op) const {
        if (!is({Implementation::bundled})) return std::nullopt;
        const double elements = std::exp2(log_of_whole(op.elements));
        return movement(0.0, elements, 1.0, real(op.stride), op.type, 4.0, 4.0, elements);
    }

    Found operator()(const Transpose& op) const {
        if (!is({Implementation::naive, Implementation::tiled}) || op.inner != 1) {
            return std::nullopt;
        }
        const double kernel = prediction.implementation == Implementation::naive ? 1.0 : 2.0;
        return movement(kernel, real(op.rows), real(op.cols), real(op.batch), op.type,
                        alignment_of(op.cols, op.type), alignment_of(op.rows, op.type),
                        real(op.batch) * real(op.rows) * real(op.cols));
    }

    Found operator()(const Gather& op) const {
        if (!is({Implementation::bundled})) return std::nullopt;
        return movement(3.0, real(op.rows), real(op.cols), real(op.table_rows), op.type,
                        alignment_of(op.cols, op.type), 4.0, real(op.rows) * real(op.cols));
    }
};

}  // namespace

std::optional<ResidualFeatures> kernel_features_of(const Operation& operation, L2State l2,
                                                   const Prediction& prediction, double slots,
                                                   const Residuals* wanted) {
    const double state = real(static_cast<std::int64_t>(l2));
    return std::visit(KernelFinder{state, prediction, slots, wanted}, operation);
}

}  // namespace ridge::model
