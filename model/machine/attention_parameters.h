// Parameters of the attention time model beside a GPU's datasheet: fitted times and fractions.
//
//   const AttentionParameters& fitted = *machine.attention;
//   fitted.flash3->tile.in(units::us)   // 2.0 on an H200
//
// They are the fields `model.attention.*` of a description. GPUs without measurements take them
// from their architecture. The `.cpp` declares each field once (`parameter.h`); eq. T1 to T12 of
// docs/model.md use them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"
#include "model/machine/scaling.h"

namespace ridge::model {

/// One family of fused kernels (flash2: sm_80 code; flash3: sm_90; flashinfer: sm_100). A step that
/// a kernel does not have costs zero.
struct FlashParameters {
    Time start;                     ///< fixed time of the call: the time of an attention over one
                                    ///< key
    Time cache_write_start;         ///< the same for the kernel that writes new K and V
    double tensor_fraction = 1.0;   ///< share of the dense peak within a block
    double softmax_fraction = 1.0;  ///< share of the time of one exp2 per score that is not hidden
    Time page_block;                ///< address arithmetic of a block behind a page table
    double lone_block_factor =
        1.0;                  ///< time of a block whose thread block has its SM alone, over shared
    Time tile;                ///< prologue, pipeline fill, epilogue of a tile
    Time decode_tile;         ///< the same for the kernel for few query rows; zero: as `tile`
    Time tile_rows;           ///< per 64 rows: gather Q, store O
    Time bulk_rows;           ///< the same when bulk copies move packed rows
    Time tile_columns;        ///< per 64 of head_dim: first K and V
    Time decode_columns;      ///< the same for the kernel for few rows
    Time decode_rows;         ///< the same kernel, per 64 of head_dim and 64 rows of its tile
    Time decode_block;        ///< one block of keys in that kernel: matmul, softmax, matmul in turn
    Time split_tile;          ///< additional epilogue in a kernel that may split keys
    Bandwidth bulk_tile;      ///< rate of one SM at Q and O of a tile by bulk copies, contiguous
                              ///< calls
    double tail = 1.0;        ///< share of the longest causal tile that adds to the average
    BytesPerCycle load;       ///< K and V into one SM
    BytesPerCycle wide_load;  ///< the same for heads above 128; zero: as `load`
    double dram_fraction = 1.0;  ///< share of the DRAM bandwidth
    Time dram_start;             ///< exposed start of a cold stream
    double droop = 0.0;          ///< relative slow-down of a long run at the power limit
    Time droop_time{};           ///< run time at which half of it is reached
    Time cache_write;            ///< one wave of the kernel that writes new K and V
    Time scan;                   ///< time in which the scheduler reads the lengths of 31
                                 ///< sequences
    Time fold;                   ///< time to reorder the queries of grouped decoding
    Time copy;                   ///< one kernel that reorders them
    double copy_fraction = 1.0;  ///< share of the DRAM bandwidth in that strided copy
    Time combine;                ///< combine kernel
    Time combine_split;          ///< the same, per split
    Time combine_block;          ///< per thread block and SM when there is nothing to combine
    double backward_tensor_fraction = 1.0;  ///< share of the dense peak within a block of the
                                            ///< backward pass
    Evidence evidence = Evidence::foreign;
    bool borrowed = false;  ///< from another implementation: this one was never measured (eq. L10)
    Frequency clock;        ///< clock to which the fields in clocks refer
};

/// A bundled kernel with one tile of queries per thread block (`mma`, `wgmma`).
struct TiledAttentionParameters {
    Time start;  ///< of the kernel
    /// Prologue and epilogue of a tile, per resident thread block on each SM. The same again per 64
    /// of head_dim (mma), and when the call's data come from DRAM (wgmma; two thread blocks of mma
    /// hide that).
    Time tile_load;
    double softmax_fraction = 1.0;  ///< time of the softmax alone, over that of one exp2 per score
    double overlap = 1.0;           ///< exponent of the norm of both when warps alternate; 1: they
                                    ///< add
    Evidence evidence = Evidence::foreign;
    Frequency clock{};  ///< clock to which the fields in clocks refer
};

/// The bundled decode kernel and the kernel that combines its splits.
struct DecodeAttentionParameters {
    Time start;                  ///< of the call
    Time block_row;              ///< time of a thread block per row of its tile and 128 of head_dim
    BytesPerCycle block_load;    ///< rate of K and V into a thread block that has its SM alone
    BytesPerCycle sm_load;       ///< rate into one SM that two thread blocks share
    double dram_fraction = 1.0;  ///< share of the DRAM bandwidth; also used by the tiled kernels
    Time dram_start;             ///< exposed start of a cold stream; also used by the tiled kernels
    Time combine;                ///< combine kernel
    Time combine_split;          ///< the same, per split
    Evidence evidence = Evidence::foreign;
    Frequency clock{};  ///< clock to which the fields in clocks refer
};

/// Unfused attention in an eager framework, with one kernel per matmul and softmax. Forward
/// attention with impl=standard has its own three kernels instead (eq. T16).
struct StandardParameters {
    double forward_dram_fraction = 1.0;
    double backward_dram_fraction = 1.0;
    double tensor_fraction = 1.0;
    Time kernel;  ///< fixed time of each kernel
    Evidence evidence = Evidence::foreign;
    // The softmax of impl=standard.
    Evidence softmax_evidence = Evidence::foreign;
    Time softmax_row;               ///< latency of the block of one row
    double softmax_elements = 1.0;  ///< per clock and SM, in rows that are not whole vectors
    Frequency clock{};              ///< clock to which the fields in clocks refer
};

struct AttentionParameters {
    std::optional<FlashParameters> flash1;
    std::optional<FlashParameters> flash2;
    std::optional<FlashParameters> flash3;
    std::optional<FlashParameters> flashinfer;
    std::optional<FlashParameters> flash3_kv8;  ///< over a cache of 8 bits
    std::optional<FlashParameters> flashinfer_kv8;
    std::optional<TiledAttentionParameters> mma;
    std::optional<TiledAttentionParameters> wgmma;
    std::optional<DecodeAttentionParameters> decode;
    StandardParameters standard;
};

/// flash1, flash2, flash3, flashinfer, flash3_kv8 and flashinfer_kv8. flash1 takes from flash2 what
/// its own section does not state.
[[nodiscard]] std::span<const Section<FlashParameters>> flash_sections();
/// mma and wgmma.
[[nodiscard]] std::span<const Section<TiledAttentionParameters>> tiled_attention_sections();
[[nodiscard]] std::span<const Section<DecodeAttentionParameters>> decode_attention_sections();
[[nodiscard]] std::span<const Section<StandardParameters>> standard_attention_sections();

/// The parameters of a description; empty if it has none.
[[nodiscard]] std::optional<AttentionParameters> attention_parameters_of(
    const hardware::Description& gpu, const Consists& consists, std::int32_t compute_capability);

}  // namespace ridge::model
