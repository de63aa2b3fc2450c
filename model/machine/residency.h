// What the L2 of one GPU holds: the one rule for every operation that comes back to its data.
//
//   machine.l2.found(40.0 * units::MB)                  // 0.5 on an H200: share found again
//   machine.l2.found(30.0 * units::MB, Readers::all)    // of data that every multiprocessor reads
//   machine.l2.written_back(write, distance, L2State::cold)
//
// Method (equations H1 to H3 of docs/model.md). An L2 is built of partitions, each next to its part
// of the multiprocessors. Every line has its home in one of them, and a multiprocessor of another
// partition reads it through a copy in its own. Data that one multiprocessor reads thus takes up
// 2 - 1/p times its size on average, data that all of them read p times. Data is lost as the bytes
// touched between two uses pass the capacity that is left, more or less sharply.
//
// Limits: bytes touched in between are all alike; the order in which they come and policies that
// protect some of them are not seen.
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
    Bytes size{};             ///< 0 where there is no L2, or none is known
    double partitions = 1.0;  ///< that keep copies of each other's lines
    double steepness =
        10.0;  ///< exponent with which data is lost as the capacity is passed, of the L1 too
    double absorbed = 0.1145;  ///< share of a clean L2 that takes up writes
    double dirty = 0.3;        ///< share that a flush by writing leaves to be written back

    /// Bytes of data that fit. (eq. H1)
    [[nodiscard]] Bytes capacity(Readers readers = Readers::one) const;

    /// Share found of data last used `distance` bytes of traffic ago, its own included. (eq. H2)
    [[nodiscard]] double found(Bytes distance, Readers readers = Readers::one) const;

    /// Whether nearly all of it is found when a call over `footprint` bytes is repeated.
    [[nodiscard]] bool holds(Bytes footprint) const {
        return footprint <= capacity() && found(footprint) >= 0.9;
    }

    /// Bytes of a write that reach DRAM: warm, what the next run finds evicted; cold, all but what
    /// a clean L2 takes up; dirty, with the lines of others that the `distance` bytes displace.
    /// (eq. H3)
    [[nodiscard]] Bytes written_back(Bytes write, Bytes distance, L2State state) const;

    /// Dirty lines of others that `filled` bytes displace, which DRAM takes back. (eq. H3)
    [[nodiscard]] Bytes displaced(Bytes filled, L2State state) const;
};

/// Share of a footprint that a capacity still holds: near 1 well below it, 1/2 at it. (eq. H2)
[[nodiscard]] double retained(Bytes footprint, Bytes capacity, double steepness);

struct Machine;

/// `model.l2`.
[[nodiscard]] std::span<const Section<Machine>> residency_sections();

/// `l2.size` and `l2.partitions`, the latter 1 where the description does not say.
[[nodiscard]] Residency resolve_residency(const hardware::Description& gpu);

}  // namespace ridge::model
