// How an engine's attention kernel walks over a call, and the times that its two laws share
// (`attention_tiles.h`, `attention_parts.h`).
//
//   rows = 128, keys = 64, pack = heads / kv_heads, split = 4
//
// Method (docs/model.md G10 to G14). Queries of one KV head, `pack` heads of its group folded, are
// cut into tiles of `rows`; each walks over the blocks of `keys` that its mask leaves, in one thread
// block or in several parts. The number of parts follows the rule by which the kernel chooses it.
//
// Limits: all sequences of a call have the same lengths.
#pragma once

#include "hardware/quantity.h"
#include "model/core/operation.h"
#include "model/engine/law_time.h"
#include "model/machine/attention_walk_parameters.h"

namespace ridge::model {

/// The pieces that a dispatch cuts a call into.
struct WalkCut {
    double rows = 0.0;    ///< of a tile
    double keys = 0.0;    ///< of a block
    double width = 0.0;   ///< head_dim that the tensor cores see
    double filled = 0.0;  ///< rows of a tile that hold a query
    double tiles = 0.0;
    double blocks = 0.0;           ///< that all tiles visit
    double skipped = 0.0;          ///< that only the window hides
    double longest = 0.0;          ///< blocks of the longest part of a tile
    double longest_skipped = 0.0;  ///< of the longest tile, that only the window hides
    double cut_by_window = 0.0;    ///< of a tile, at most
    double parts = 1.0;
    double idle = 0.0;     ///< parts that are launched without keys
    double readers = 1.0;  ///< tiles side by side that read the same K and V
    bool triangle =
        false;  ///< a causal mask: tiles of unequal lengths, also if a window skips keys
    bool combines = false;
    int folds = 0;  ///< kernels that reorder queries
};

/// Bytes of the tensors of a call.
struct WalkBytes {
    Bytes query;  ///< and as much for the result
    Bytes cache;  ///< K and V that are read
    Bytes added;  ///< new K and V, read and written
};

/// What both laws ask of one call.
class Walk {
  public:
    Walk(const LawCall& call, const AttentionWalk& fitted);

    [[nodiscard]] const WalkCut& cut() const { return cut_; }
    [[nodiscard]] const WalkBytes& bytes() const { return bytes_; }
    [[nodiscard]] const Attention& op() const { return op_; }
    [[nodiscard]] double sms() const { return real_sms_; }
    [[nodiscard]] const Machine& machine() const { return call_.machine; }
    [[nodiscard]] Time clocks(Cycles cycles) const;
    /// A rate per multiprocessor, over all of them.
    [[nodiscard]] Bandwidth rate(BytesPerCycle per_clock) const;
    /// Share of data that is not found in the L2 again after so many bytes.
    [[nodiscard]] double missing(Bytes distance) const;
    /// Share of the call's own data that the last call left no more.
    [[nodiscard]] double missing() const { return missing_; }

    /// The products of one block. (G10)
    [[nodiscard]] Time products() const;
    /// K and V of one block into its tile. (G10)
    [[nodiscard]] Time loads() const;
    /// Factor of this head_dim on the time of a block.
    [[nodiscard]] double wideness() const;
    /// A tile beside its blocks. (G11)
    [[nodiscard]] Time tile(double full_rows) const;
    /// Thread blocks, parts counted.
    [[nodiscard]] double pieces() const { return cut_.tiles * cut_.parts; }
    /// Fixed times: the call, padding, lengths. (G14)
    [[nodiscard]] Time fixed() const;
    /// Writing new K and V, and copies of the queries. (G14)
    [[nodiscard]] Time writing(Bytes moved) const;
    /// Combining the parts of tiles. (G14)
    [[nodiscard]] Time combining() const;
    /// Bytes through the copies' rate, or DRAM's where they are not found.
    [[nodiscard]] Time copying(Bytes moved) const;

    /// The call's terms, tiling and traffic around the time of its kernels.
    [[nodiscard]] LawTime result(Time span, Time dram, Time others, Bytes dram_read) const;

  private:
    const LawCall& call_;
    const AttentionWalk& fitted_;
    const Attention& op_;
    double real_sms_;
    WalkCut cut_;
    WalkBytes bytes_;
    double missing_;
};

}  // namespace ridge::model
