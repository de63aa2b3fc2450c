#include "model/access_work.h"

#include <algorithm>

#include "hardware/checked.h"

namespace ridge::model {
namespace {

constexpr std::int64_t warp = 32;

double real(std::int64_t value) {
    return static_cast<double>(value);
}

/// Sectors of the 32 words of a warp, whose first starts a sector. (eq. P1)
std::int64_t strided_sectors(const Access& op, std::int64_t sector) {
    const std::int64_t element = size_of(op.type);
    const std::int64_t step = op.degree * element;
    if (step >= sector) return warp * ceil_divide(element, sector);
    return ceil_divide((warp - 1) * step + element, sector);
}

/// Sectors of 32 words in a row from the offset on. (eq. P2)
std::int64_t misaligned_sectors(const Access& op, std::int64_t sector) {
    const std::int64_t element = size_of(op.type);
    return ceil_divide(op.degree * element % sector + warp * element, sector);
}

AccessWork reads(const Access& op, std::int64_t sector_bytes) {
    const bool strided = op.pattern == AccessPattern::strided;
    const Bytes asked = real(op.elements) * real(size_of(op.type)) * units::B;
    AccessWork access;
    access.sectors =
        real(strided ? strided_sectors(op, sector_bytes) : misaligned_sectors(op, sector_bytes));
    const Bytes moved =
        real(op.elements) / real(warp) * access.sectors * real(sector_bytes) * units::B;
    access.useful = asked / moved;
    access.work.compulsory_read = asked;
    // Neighbouring warps share the sectors that a misaligned row straddles: DRAM reads them once.
    access.work.dram_read = strided ? moved : asked;
    access.work.l2 = moved;
    return access;
}

}  // namespace

AccessWork access_work(const Access& op, std::int64_t sector_bytes) {
    const double elements = real(op.elements);
    const Bytes words = elements * real(size_of(op.type)) * units::B;
    AccessWork access;
    switch (op.pattern) {
        case AccessPattern::strided:
        case AccessPattern::misaligned:
            return reads(op, sector_bytes);
        case AccessPattern::divergent:
            access.work.fma = 2.0 * real(divergent_steps) * elements * units::FLOP;
            access.work.compulsory_write = words;
            access.work.dram_write = words;
            access.work.l2 = words;
            break;
        case AccessPattern::bank_conflict:
            access.work.shared = words;
            break;
    }
    access.passes = real(op.degree);  // eq. P3, P4
    return access;
}

}  // namespace ridge::model
