#include "model/streams/row_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/core/real.h"

namespace ridge::model {
namespace {

/// Passes of one operation over the matrix and over vectors, in elements; statistics are in bytes.
struct Passes {
    double matrix_reads;
    double matrix_writes;
    double column_reads;  ///< vectors of one element per column (gamma, beta)
    double column_writes;
    double row_reads;  ///< vectors of one element per row
    double row_writes;
    double statistics_read;  ///< bytes per row, fp32
    double statistics_written;
    double flop;         ///< per element
    double special;      ///< per element
    double row_special;  ///< per row
    std::int32_t kernels;
};

constexpr Passes softmax_forward{1, 1, 0, 0, 0, 0, 0, 0, 4.0, 1.0, 1.0, 1};
constexpr Passes softmax_manual{5, 3, 0, 0, 1, 2, 0, 0, 4.0, 1.0, 1.0, 5};
constexpr Passes softmax_backward{2, 1, 0, 0, 0, 0, 0, 0, 4.0, 0.0, 0.0, 1};
constexpr Passes layernorm_forward{1, 1, 2, 0, 0, 0, 0, 8, 8.0, 0.0, 1.0, 1};
constexpr Passes layernorm_backward{2, 1, 1, 2, 0, 0, 8, 0, 13.0, 0.0, 0.0, 2};
constexpr Passes rmsnorm_forward{1, 1, 1, 0, 0, 0, 0, 4, 4.0, 0.0, 1.0, 1};
constexpr Passes rmsnorm_backward{2, 1, 1, 1, 0, 0, 4, 0, 9.0, 0.0, 0.0, 2};
constexpr Passes sum_forward{1, 0, 0, 0, 0, 1, 0, 0, 1.0, 0.0, 0.0, 1};
constexpr Passes sum_backward{0, 1, 0, 0, 1, 0, 0, 0, 0.0, 0.0, 0.0, 1};
// One kernel over the logits. The eager framework writes the log-softmax and then looks up its
// values.
constexpr Passes loss_forward{1, 0, 0, 0, 0, 0, 8, 0, 4.0, 1.0, 1.0, 1};
constexpr Passes loss_forward_torch{1, 1, 0, 0, 1, 0, 8, 0, 4.0, 1.0, 1.0, 2};
constexpr Passes loss_backward{1, 1, 0, 0, 0, 0, 8, 0, 3.0, 1.0, 0.0, 1};
constexpr Passes loss_backward_torch{2, 2, 0, 0, 0, 1, 8, 0, 3.0, 1.0, 0.0, 3};
constexpr Passes scan_forward{1, 1, 0, 0, 0, 0, 0, 0, 1.0, 0.0, 0.0, 1};

const Passes& passes_of(const RowWise& op, Implementation implementation) {
    const bool forward = op.direction == Direction::forward;
    switch (op.kind) {
        case RowKind::softmax:
            if (!forward) return softmax_backward;
            return implementation == Implementation::manual ? softmax_manual : softmax_forward;
        case RowKind::layernorm:
            return forward ? layernorm_forward : layernorm_backward;
        case RowKind::rmsnorm:
            return forward ? rmsnorm_forward : rmsnorm_backward;
        case RowKind::cross_entropy:
            if (implementation == Implementation::torch) {
                return forward ? loss_forward_torch : loss_backward_torch;
            }
            return forward ? loss_forward : loss_backward;
        case RowKind::scan:
            return scan_forward;
        case RowKind::sum:
        case RowKind::mean:
        case RowKind::max:
        case RowKind::argmax:
            break;
    }
    return forward ? sum_forward : sum_backward;
}

struct ReadWrite {
    Bytes read;
    Bytes write;
};

ReadWrite traffic_of(const Passes& passes, const RowWise& op) {
    const double matrix = real(op.rows) * real(op.cols);
    const double rows = real(op.rows);
    const double cols = real(op.cols);
    const double element = real(size_of(op.type));
    constexpr double position = 8.0;
    const double result = real(results_of(op)) * (op.kind == RowKind::argmax ? position : element);
    const double read = element * (passes.matrix_reads * matrix + passes.column_reads * cols) +
                        passes.row_reads * result + passes.statistics_read * rows;
    const double write = element * (passes.matrix_writes * matrix + passes.column_writes * cols) +
                         passes.row_writes * result + passes.statistics_written * rows;
    return {.read = read * units::B, .write = write * units::B};
}

Work streaming(Bytes read, Bytes write) {
    Work work;
    work.compulsory_read = read;
    work.compulsory_write = write;
    work.dram_read = read;
    work.dram_write = write;
    work.l2 = read + write;
    return work;
}

}  // namespace

Work row_work(const RowWise& op, Implementation implementation) {
    const Passes& passes = passes_of(op, implementation);
    const ReadWrite compulsory = traffic_of(passes_of(op, Implementation::fused), op);
    const ReadWrite moved = traffic_of(passes, op);
    const double matrix = real(op.rows) * real(op.cols);

    Work work = streaming(moved.read, moved.write);
    work.compulsory_read = compulsory.read;
    work.compulsory_write = compulsory.write;
    work.fma = passes.flop * matrix * units::FLOP;
    work.vector = (passes.flop + passes.special) * matrix * units::FLOP;
    work.special = passes.special * matrix + passes.row_special * real(op.rows);
    work.kernels = passes.kernels;
    return work;
}

Work transpose_work(const Transpose& op, Implementation implementation, std::int64_t sector_bytes) {
    const double matrix = real(op.batch) * real(op.rows) * real(op.cols) * real(op.inner);
    const Bytes once = matrix * real(size_of(op.type)) * units::B;
    Work work = streaming(once, once);
    if (implementation == Implementation::naive) {
        work.l2 = once + matrix * real(sector_bytes) * units::B;
    }
    return work;
}

Work copy_work(const Copy& op, std::int64_t sector_bytes) {
    const std::int64_t element = size_of(op.type);
    const Bytes once = real(op.elements) * real(element) * units::B;
    const std::int64_t apart = std::min(op.stride * element, std::max(element, sector_bytes));
    const Bytes read = real(op.elements) * real(apart) * units::B;
    Work work = streaming(read, once);
    work.compulsory_read = once;
    return work;
}

Work cat_work(const Cat& op) {
    const Bytes all =
        real(op.inputs) * real(op.rows) * real(op.cols) * real(size_of(op.type)) * units::B;
    return streaming(all, all);
}

Work adamw_work(const AdamW& op, Implementation implementation) {
    const Bytes tensor = real(op.elements) * real(size_of(op.type)) * units::B;
    constexpr double flop = 12.0;  // of the update formula, per parameter
    constexpr double special = 2.0;
    const bool each = implementation == Implementation::torch;
    Work work =
        each ? streaming(12.0 * tensor, 8.0 * tensor) : streaming(4.0 * tensor, 3.0 * tensor);
    work.compulsory_read = 4.0 * tensor;
    work.compulsory_write = 3.0 * tensor;
    work.fma = flop * real(op.elements) * units::FLOP;
    work.vector = (flop + special) * real(op.elements) * units::FLOP;
    work.special = special * real(op.elements);
    work.kernels = each ? 8 : 1;
    return work;
}

double gather_distinct_rows(const Gather& op) {
    const double table = real(op.table_rows);
    return -table * std::expm1(-real(op.rows) / table);
}

double gather_sector_efficiency(const Gather& op, std::int64_t sector_bytes) {
    const std::int64_t row = op.cols * size_of(op.type);
    const double more = real(row - std::gcd(row, sector_bytes)) / real(sector_bytes);
    return real(row) / ((1.0 + more) * real(sector_bytes));
}

GatherBytes gather_bytes(const Gather& op, std::int64_t sector_bytes) {
    constexpr double index_bytes = 8.0;
    const Bytes row = real(op.cols) * real(size_of(op.type)) * units::B;
    const Bytes moved = row / gather_sector_efficiency(op, sector_bytes);
    return {.indices = index_bytes * real(op.rows) * units::B,
            .distinct = std::min(gather_distinct_rows(op) * moved, real(op.table_rows) * row),
            .rows = real(op.rows) * moved,
            .output = real(op.rows) * row};
}

double gather_hits(const Gather& op, const GatherBytes& bytes, Bytes capacity) {
    constexpr int rounds = 30;
    const double table = real(op.table_rows);
    const double rows = real(op.rows);
    double hits = 0.5;
    for (int i = 0; i < rounds; ++i) {
        const Bytes between =
            table / rows * (bytes.output + bytes.indices + (1.0 - hits) * bytes.rows);
        hits = -std::expm1(-(capacity / between));
    }
    return hits;
}

Work gather_work(const Gather& op, std::int64_t sector_bytes) {
    const GatherBytes bytes = gather_bytes(op, sector_bytes);
    const Bytes row = real(op.cols) * real(size_of(op.type)) * units::B;
    Work work = streaming(bytes.indices + gather_distinct_rows(op) * row, bytes.output);
    work.dram_read = bytes.indices + bytes.distinct;
    work.l2 = bytes.indices + bytes.rows + bytes.output;
    return work;
}

}  // namespace ridge::model
