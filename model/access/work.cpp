#include "model/access/work.h"

#include <algorithm>

#include "hardware/checked.h"
#include "model/bundled/access.h"
#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr std::int64_t warp = bundled::warp_threads;
constexpr double l2_line = 128.0;  ///< bytes that share a tag

/// Sectors that the 32 words of a warp touch if the first word starts a sector. (eq. P1)
std::int64_t strided_sectors(const Access& op, std::int64_t sector) {
    const std::int64_t element = size_of(op.type);
    const std::int64_t step = op.degree * element;
    if (step >= sector) return warp * ceil_divide(element, sector);
    return ceil_divide((warp - 1) * step + element, sector);
}

/// Sectors that 32 consecutive words touch from the offset on. (eq. P2)
std::int64_t misaligned_sectors(const Access& op, std::int64_t sector) {
    const std::int64_t element = size_of(op.type);
    return ceil_divide(op.degree * element % sector + warp * element, sector);
}

AccessWork reads(const Access& op, const Pieces& pieces) {
    const bool strided = op.pattern == AccessPattern::strided;
    const std::int64_t element = size_of(op.type);
    const Bytes asked = real(op.elements) * real(element) * units::B;
    AccessWork access;
    access.sectors =
        real(strided ? strided_sectors(op, pieces.sector) : misaligned_sectors(op, pieces.sector));
    const Bytes moved =
        real(op.elements) / real(warp) * access.sectors * real(pieces.sector) * units::B;
    access.useful = asked / moved;
    access.work.compulsory_read = asked;
    // Neighbouring warps share the sectors that a misaligned row straddles; DRAM reads them once.
    access.work.dram_read = asked;
    access.lines = asked;
    if (strided) {
        const double step = real(op.degree * element);
        const double delivered = std::min(step, real(pieces.access));
        access.lines = real(op.elements) * std::min(step, l2_line) * units::B;
        access.work.dram_read = std::max(moved, real(op.elements) * delivered * units::B);
        access.skipped =
            real(op.elements) * std::min((step - delivered) * units::B, pieces.most_skipped);
    }
    access.work.l2 = moved;
    return access;
}

}  // namespace

AccessWork access_work(const Access& op, const Pieces& pieces) {
    const double elements = real(op.elements);
    const Bytes words = elements * real(size_of(op.type)) * units::B;
    AccessWork access;
    switch (op.pattern) {
        case AccessPattern::strided:
        case AccessPattern::misaligned:
            return reads(op, pieces);
        case AccessPattern::divergent:
            access.work.fma = 2.0 * real(bundled::divergent_steps) * elements * units::FLOP;
            access.work.compulsory_write = words;
            access.work.dram_write = words;
            access.work.l2 = words;
            break;
        case AccessPattern::bank_conflict:
            access.work.shared = words;
            break;
        case AccessPattern::chase: {
            const double loads =
                real(bundled::chase_loads(static_cast<std::int64_t>(words.base())));
            const double lines = std::min(loads, words.base() / real(bundled::chase_line));
            access.work.compulsory_read = lines * real(pieces.sector) * units::B;
            access.work.dram_read = lines * real(pieces.access) * units::B;
            access.work.l2 = access.work.compulsory_read;
            break;
        }
        case AccessPattern::reread:
            access.work.compulsory_read = std::min(words, real(bundled::reread_bytes) * units::B);
            access.work.dram_read = access.work.compulsory_read;
            access.work.l2 = access.work.compulsory_read;
            access.work.shared = real(bundled::reread_bytes) * units::B;  // L1 and shared memory
                                                                          // are one
            break;
    }
    access.passes = real(op.degree);  // eq. P3, P4
    return access;
}

}  // namespace ridge::model
