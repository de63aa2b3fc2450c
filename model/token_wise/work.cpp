#include "model/token_wise/work.h"

#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr double fp32 = 4.0;      ///< bytes
constexpr double position = 4.0;  ///< bytes of an index

/// Operations per element of the result, and results of special functions. (Y5)
struct Arithmetic {
    double fma;
    double special;
};
Arithmetic arithmetic_of(const TokenWise& op) {
    switch (op.kind) {
        case TokenKind::topk:
            return {.fma = 1.0, .special = 0.0};
        case TokenKind::rope:
            return {.fma = 3.0, .special = 0.0};
        case TokenKind::swiglu:
            return {.fma = 4.0, .special = 2.0};
        case TokenKind::quantize:
            return {.fma = 3.0, .special = 0.0};
        case TokenKind::conv1d:
            return {.fma = 2.0 * real(op.width), .special = 2.0};
    }
    return {.fma = 0.0, .special = 0.0};
}

}  // namespace

TokenWiseBytes token_wise_bytes(const TokenWise& op) {
    const double element = real(size_of(op.type));
    const double rows = real(op.batch) * real(op.rows);
    const double tensor = rows * real(op.cols) * element;
    switch (op.kind) {
        case TokenKind::topk:
            return {.read = tensor, .written = rows * real(op.width) * (element + position)};
        case TokenKind::rope:
            return {.read = tensor + rows * 128.0 * fp32, .written = tensor};
        case TokenKind::swiglu:
            return {.read = 2.0 * tensor, .written = tensor};
        case TokenKind::quantize:
            return {.read = tensor, .written = operand_bytes(op.output, rows, real(op.cols))};
        case TokenKind::conv1d: {
            const double window = real(op.batch) * real(op.width - 1) * real(op.cols) * element;
            return {.read = tensor + window, .written = tensor + window};
        }
    }
    return {};
}

Work token_wise_work(const TokenWise& op) {
    const TokenWiseBytes bytes = token_wise_bytes(op);
    const double elements = real(op.batch) * real(op.rows) * real(op.cols);
    const Arithmetic arithmetic = arithmetic_of(op);
    Work work;
    work.fma = Flop::from_base(arithmetic.fma * elements);
    work.special = arithmetic.special * elements;
    work.compulsory_read = Bytes::from_base(bytes.read);
    work.compulsory_write = Bytes::from_base(bytes.written);
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    work.l2 = work.compulsory();
    return work;
}

}  // namespace ridge::model
