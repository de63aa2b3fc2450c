// How parameters carry over to a GPU on which nothing was measured: laws in terms of their physical
// causes.
//
//   const Consists l40s{.sms = 142, .tensor_clock = 2.52 * GHz, .watts = 350 * W, ...};
//   sustained_share(l40s)    // 0.76 of the tensor peak under the power limit
//   store_rate(l40s)         // 2.2 bytes per clock and multiprocessor
//
// Method (docs/model.md L1 to L13): times of work on a multiprocessor are stated in its clocks, and
// rates per clock or as shares of the DRAM bandwidth (`parameter.h` converts them), so they carry
// over unchanged. Parameters that depend on several quantities at once have laws here. Fixed times
// of a launch follow no clock; they are measured, or taken from the family.
//
// Limits: the laws are based on four GPUs (A100, H100, H200 and B200 SXM), and the energy per FLOP
// of the vector pipe on published rates of power-limited cards.
#pragma once

#include <span>

#include "hardware/quantity.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Bytes per clock between the L2 and one multiprocessor.
inline constexpr BytesPerCycle port_width = 64.0 * units::B / units::cycle;

/// What the laws were fitted with, `model.laws`. Without it a law changes nothing: full rates, no
/// further time.
struct Laws {
    double sustained = 1.0;        ///< share of the tensor peak at one watt per TFLOP/s (L2)
    double sustained_slope = 0.0;  ///< what e times the watts per TFLOP/s add to it (L2)
    double least_sustained = 1.0;  ///< however few watts there are (L2)
    double store = 1.0;            ///< stores of a multiprocessor, over its part of DRAM (L3)
    double l2 = 1.0;               ///< streams from the L2, over its read width (L9)
    double feed = 1.0;             ///< feeding mma.sync, over what four warps load (L13)
    Time graph_gap{};              ///< launches without figures of their own (B8)
    Time stream{};
    Time events{};
    double usable = 1.0;       ///< memory that a program gets, over the capacity
    double own_reads = 1.0;    ///< reads of a user's kernel, over its DRAM traffic (KP2)
    Bytes own_flight{};        ///< what a warp of it keeps in flight; 0: enough (KP3)
    double own_overlap = 0.0;  ///< how its pipes, DRAM and L2 overlap: exponent of their norm (KP3)
    Time half_droop{};  ///< length of a kernel after which half of the clock's droop has come (G11)
};

struct Machine;

/// `model.laws`.
[[nodiscard]] std::span<const Section<Laws>> law_sections();

/// The quantities of which a GPU's parameters consist; zero if its description does not state one.
struct Consists {
    double sms = 0.0;
    Frequency clock{};         ///< boost
    Frequency tensor_clock{};  ///< that of the tensor peak
    Bandwidth dram{};
    Time dram_latency{};
    Power watts{};            ///< power limit
    FlopRate tensor_peak{};   ///< 16 bits, dense
    FlopRate vector_peak{};   ///< fp32
    bool wide_tiles = false;  ///< tensor cores read operands from shared memory themselves
    Laws laws{};
};

/// Share of the tensor peak that long products sustain under the power limit. (eq. L2)
[[nodiscard]] double sustained_share(const Consists& gpu);

/// Cost to a product of feeding its tensor cores through registers, `feed_elements`. (eq. L13)
[[nodiscard]] double feed_through_registers(const Consists& gpu);

/// Rate at which one multiprocessor stores the results of a product. (eq. L3)
[[nodiscard]] BytesPerCycle store_rate(const Consists& gpu);

/// Rate at which all multiprocessors stream from an L2 of this read width. (eq. L9)
[[nodiscard]] BytesPerCycle l2_stream_rate(BytesPerCycle width, const Laws& laws);

/// Share of `peak`, at most 1, at which a pipe that takes `picojoules` per FLOP stays within the
/// power limit; 1 if a figure is unknown. (eq. L5)
[[nodiscard]] double powered_share(const Consists& gpu, FlopRate peak, double picojoules);

}  // namespace ridge::model
