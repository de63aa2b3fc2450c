// What the L2 of one GPU holds. This is the one rule for every operation that reuses its data.
//
//   machine.l2.found(40.0 * units::MB)                  // 0.5 on an H200: share found again
//   machine.l2.found(30.0 * units::MB, Readers::all)    // for data that every multiprocessor reads
//   machine.l2.written_back(write, distance, L2State::cold)
//
// Method (equations H1 to H3 of docs/model.md). An L2 consists of partitions, each next to its part
// of the multiprocessors. Every line has its home in one partition, and a multiprocessor of another
// partition reads it through a copy in its own. Data that one multiprocessor reads therefore take
// up 2 - 1/p times their size on average, and data that all of them read p times. Data are lost as
// the bytes touched between two uses exceed the remaining capacity; `steepness` says how sharply.
//
// Limits: all bytes touched in between are treated alike. The order in which they come, and
// policies that protect some of them, are not modelled.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Which multiprocessors read a piece of data before it is used again.
enum class Readers : std::uint8_t { one, all };

struct Residency {
    Bytes size{};             ///< 0 if there is no L2 or its size is unknown
    double partitions = 1.0;  ///< partitions that keep copies of each other's lines
    double steepness = 1.0;   ///< exponent with which data are lost as the capacity is exceeded,
                              ///< also in the L1
    double absorbed = 0.0;    ///< share of a clean L2 that absorbs writes
    double dirty = 0.0;       ///< share that a flush by writing leaves to be written back

    /// Bytes of data that fit. (eq. H1)
    [[nodiscard]] Bytes capacity(Readers readers = Readers::one) const;

    /// Share found of data last used `distance` bytes of traffic ago, including their own. (eq. H2)
    [[nodiscard]] double found(Bytes distance, Readers readers = Readers::one) const;

    /// Whether nearly all of the data are found when a call over `footprint` bytes is repeated.
    [[nodiscard]] bool holds(Bytes footprint) const {
        return footprint <= capacity() && found(footprint) >= 0.9;
    }

    /// Bytes of a write that reach DRAM. Warm: what the next run finds evicted. Cold: all except
    /// what a clean L2 absorbs. Dirty: as cold, plus the lines of other data that the `distance`
    /// bytes displace. (eq. H3)
    [[nodiscard]] Bytes written_back(Bytes write, Bytes distance, L2State state) const;

    /// Dirty lines of other data that `filled` bytes displace and that are written back to DRAM.
    /// (eq. H3)
    [[nodiscard]] Bytes displaced(Bytes filled, L2State state) const;
};

/// Share of a footprint that a capacity still holds: near 1 well below the capacity, 1/2 at it.
/// (eq. H2)
[[nodiscard]] double retained(Bytes footprint, Bytes capacity, double steepness);

struct Machine;

/// The section `model.l2`.
[[nodiscard]] std::span<const Section<Machine>> residency_sections();

/// Reads `l2.size` and `l2.partitions`; the latter is 1 if the description does not state it.
[[nodiscard]] Residency resolve_residency(const hardware::Description& gpu);

}  // namespace ridge::model
