// Work and traffic of attention: what each implementation computes, reads and writes, without
// times.
//
// Notation: T is one tensor of queries (batch x heads x seq_q x head_dim elements), U one of keys
// (batch x kv_heads x seq_kv x head_dim), S one score matrix (batch x heads x seq_q x seq_kv). With
// equal lengths and heads T = U, and the counts are those of the literature:
//
//   standard   forward 4S + 4T, backward 7S + 8T                                 (eq. A4)
//   flash1     forward (2 + 3Tc)T, backward (4 + 5Tc)T, Tc = ceil(N / Bc)        (eq. A8)
//   flash2, 3, mma, wgmma  DRAM: every tensor once; L2: K and V once per block of queries (A10,
//   A11)
//
//   const AttentionWork work = count_attention(op, Implementation::flash2, {});
//   work.work.dram(), work.dram_intensity(), work.executed_tensor
//
// Limits: unfused attention is charged for every score whatever the mask. It reads K and V once per
// matmul, although eager frameworks may first expand them over the group, and reuses nothing in L2
// between kernels. flash1 is charged at DRAM for every pass, as in the paper.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hardware/quantity.h"
#include "model/attention/blocks.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// Whether each product and the softmax is a separate kernel, with the scores in memory: three good
/// kernels, or those of an eager framework.
[[nodiscard]] constexpr bool is_unfused(Implementation implementation) {
    return implementation == Implementation::standard || implementation == Implementation::torch;
}

struct AttentionWork {
    Work work;  ///< FLOP and special functions of the exact scores; bytes as carried out
    ScoreCounts scores;
    AttentionGrid grid;
    Flop executed_tensor;  ///< in whole blocks, including masked scores and padding
    Flop executed_fma;
    double executed_special = 0.0;
    Bytes statistics;              ///< softmax statistics within work.dram()
    Bytes scratch;                 ///< beside inputs and outputs
    Bytes cache_read;              ///< K and V of the new tokens, from the projections
    Bytes cache_write;             ///< the same, written into the cache in its type
    Bytes side_dram;               ///< traffic of a flash backward's kernels before and after the
                                   ///< main one
    double kv_dram_passes = 1.0;   ///< times that K and V are read from DRAM (flash2, flash3)
    std::string_view dram_growth;  ///< "Theta(N d + N^2)": DRAM traffic of one head
    std::string_view chip_growth;  ///< traffic into the SMs, M their memory in elements

    [[nodiscard]] Intensity dram_intensity() const { return work.flop() / work.dram(); }
    [[nodiscard]] Intensity l2_intensity() const { return work.flop() / work.l2; }
    /// Computed over needed scores: 1 if nothing is wasted.
    [[nodiscard]] double executed_ratio() const { return scores.executed / scores.exact; }
};

/// DRAM traffic of one kernel of unfused attention, in whole tensors (eq. A4): score matrices S,
/// tensors of queries T and of keys U, and its number of matmuls (2 d FLOP per score).
struct StandardKernel {
    double score_reads = 0.0;
    double score_writes = 0.0;
    double query_reads = 0.0;
    double query_writes = 0.0;
    double key_reads = 0.0;
    double key_writes = 0.0;
    double matmuls = 0.0;
};
[[nodiscard]] std::span<const StandardKernel> standard_kernels(Direction direction);

/// Counts `implementation` for a valid operation. Attention must have the implementation; any other
/// breaks the contract. Direction::backward is the backward pass alone.
[[nodiscard]] AttentionWork count_attention(const Attention& attention,
                                            Implementation implementation,
                                            const AttentionContext& context);

}  // namespace ridge::model
