// What the model says about one operation on one GPU, as a plain value.
//
// A `Prediction` holds the time with its band, every candidate term with its amount and rate, the
// work and traffic, the tiles, the bound, and notes. It allocates nothing, so a million predictions
// take seconds. `explain.h` turns it into sentences; table, JSON, CSV, Markdown and charts are
// views of the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "hardware/quantity.h"
#include "model/core/band_class.h"
#include "model/core/energy_estimate.h"
#include "model/core/grounds.h"
#include "model/core/implementation.h"
#include "model/core/note.h"
#include "model/core/static_vector.h"

namespace ridge::model {

/// What an operation does on any GPU: counts per pipe and bytes per level.
struct Work {
    Flop tensor;             ///< on tensor cores
    Flop fma;                ///< on the vector pipes, as their instructions count
    Flop vector;             ///< part of that, as the field counts it: one per operator and
                             ///< function
    double special = 0.0;    ///< special-function results (exp2, reciprocal, ...)
    Bytes compulsory_read;   ///< each input once
    Bytes compulsory_write;  ///< each output once
    Bytes dram_read;         ///< of the chosen implementation
    Bytes dram_write;
    Bytes l2;      ///< between L2 and the SMs, both directions
    Bytes shared;  ///< between shared memory and the pipes, 0 where not modelled
    std::int32_t kernels = 1;

    /// Algorithmic FLOP as the field counts them: the matrix products if there are any, else one
    /// for each operator and function applied. `fma` and `special` are what the pipes execute. (R2)
    [[nodiscard]] Flop flop() const {
        if (tensor > Flop{}) return tensor;
        return vector > Flop{} ? vector : fma;
    }
    [[nodiscard]] Bytes compulsory() const { return compulsory_read + compulsory_write; }
    [[nodiscard]] Bytes dram() const { return dram_read + dram_write; }

    Work& operator+=(const Work& other);
};

/// The work of `count` operations of this work.
[[nodiscard]] Work repeated(Work work, std::int64_t count);

enum class Resource : std::uint8_t {
    tensor,
    fma,
    special,
    dram,
    l2,
    shared,
    link,
    latency,
    launch,
    store,        ///< epilogue of a tiled kernel, from the SMs to L2
    quantise,     ///< conversion of the operands by a separate kernel
    issue,        ///< issue slots of the vector pipes, all instructions
    load_store,   ///< loads and stores through L1 and shared memory
    parallelism,  ///< too few thread blocks: most multiprocessors idle or wait for the last ones
};

/// What the roofline says: on which side of the ridge point the algorithmic intensity lies.
enum class Bound : std::uint8_t { memory, compute };

/// One candidate for the time, in base units of the resource (FLOP, op or byte). Latency and launch
/// terms have no amount, only a time.
struct Term {
    Resource resource = Resource::dram;
    Time time;
    double amount = 0.0;

    /// Zero if there is no amount.
    [[nodiscard]] double rate() const { return amount > 0.0 ? amount / time.base() : 0.0; }
};

/// How a tiled kernel covers its output.
struct Tiling {
    Tile tile;
    std::int64_t tiles = 0;
    std::int32_t split = 1;  ///< parts along k (or along the keys)
    std::int32_t blocks_per_sm = 1;
    std::int64_t waves = 0;        ///< ceil(tiles x split / (SMs x blocks per SM))
    double tile_efficiency = 1.0;  ///< useful / launched output elements
    double wave_efficiency = 1.0;  ///< tiles / (waves x slots)
};

/// The evidence in one word, as it was called before: `calibrated` is the grade `measured`, and
/// `roofline` is `datasheet`.
enum class Confidence : std::uint8_t { roofline, family, calibrated };

struct Prediction {
    Implementation implementation = Implementation::automatic;
    Work work;
    Flop executed_tensor;  ///< on tensor cores in whole blocks, including masked scores and padding
    Flop executed_fma;     ///< the same on the vector pipe, if a product runs there
    Time time;
    Time low;  ///< 80 % band
    Time high;
    double correction =
        1.0;           ///< factor from the residuals of measured shapes; the terms do not include
                       ///< it (K3)
    Time lower_bound;  ///< the roofline at datasheet rates: no run is faster (R7)
    Bound bound = Bound::memory;        ///< by the roofline (R3)
    Resource limiter = Resource::dram;  ///< what really limits: the largest term (R8)
    FlopRate peak;                      ///< of the pipe that does the work
    Bandwidth bandwidth;                ///< DRAM roof
    Intensity algorithmic;              ///< FLOP per compulsory byte (R2)
    Intensity intensity;                ///< FLOP per DRAM byte that the implementation moves (R2)
    Intensity l2_intensity;             ///< FLOP per byte between L2 and SMs; 0 where not modelled
    Intensity ridge;                    ///< peak / bandwidth
    FlopRate attainable;                ///< min(peak, algorithmic intensity x bandwidth)
    Bytes footprint;                    ///< device memory of inputs, outputs and scratch
    Grounds evidence{};                 ///< what the time and its band rest on (R9)
    BandClass band_class = BandClass::roofline;
    Tiling tiling;
    std::optional<EnergyEstimate> energy{};  ///< in steady work; empty if the GPU has no parameters
    StaticVector<Term, 10> terms;
    StaticVector<Note, 8> notes;

    [[nodiscard]] Confidence confidence() const {
        const Grade grade = evidence.grade();
        if (grade == Grade::measured) return Confidence::calibrated;
        return grade == Grade::datasheet ? Confidence::roofline : Confidence::family;
    }

    void note(const Note& remark) {
        if (!notes.full()) notes.push_back(remark);
    }
};

/// The remark of that kind; nullptr if there is none.
template <class Remark>
[[nodiscard]] const Remark* noted(const Prediction& prediction) {
    for (const Note& each : prediction.notes) {
        if (const auto* const found = std::get_if<Remark>(&each)) return found;
    }
    return nullptr;
}

/// Adds a term of the time, if it takes any time.
void add_term(Prediction& prediction, Resource resource, Time time, double amount = 0.0);

/// A valid question that has no answer: "fp8 has no tensor-core rate on sm_80".
struct NotModelled {
    std::string reason;
};

using Outcome = std::variant<Prediction, NotModelled>;

[[nodiscard]] std::string_view name_of(Resource resource);
[[nodiscard]] std::string_view name_of(Bound bound);
[[nodiscard]] std::string_view name_of(Confidence confidence);

}  // namespace ridge::model
