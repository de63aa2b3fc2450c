// What the attention time model needs of a GPU beside its datasheet: fitted times and fractions.
//
//   const AttentionParameters& fitted = *machine.attention;
//   fitted.flash3->tile.in(units::us)   // 2.0 on an H200
//
// They are fields `model.attention.*` of a description, those of GPUs without measurements come
// from their architecture. The `.cpp` declares each once (`parameter.h`); eq. T1 to T12 of
// docs/model.md use them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/parameter.h"
#include "model/machine/scaling.h"

namespace ridge::model {

/// One family of fused kernels (flash2: sm_80 code; flash3: sm_90; flashinfer: sm_100). What a
/// kernel does not do costs zero.
struct FlashParameters {
    Time start;                     ///< of the call: what remains of an attention of one key
    Time cache_write_start;         ///< the same of the kernel that writes new K and V
    double tensor_fraction = 1.0;   ///< of the dense peak, within a block
    double softmax_fraction = 1.0;  ///< of the time of one exp2 per score, not hidden
    Time page_block;                ///< address work of a block behind a page table
    double lone_block_factor =
        1.0;                  ///< time of a block whose thread block has its SM alone, over shared
    Time tile;                ///< prologue, pipeline fill, epilogue of a tile
    Time decode_tile;         ///< the same of the kernel for few query rows; zero: as `tile`
    Time tile_rows;           ///< per 64 rows: gather Q, store O
    Time bulk_rows;           ///< the same where packed rows come by bulk copies
    Time tile_columns;        ///< per 64 of head_dim: first K and V
    Time decode_columns;      ///< the same, kernel for few rows
    Time decode_rows;         ///< the same kernel, per 64 of head_dim and 64 rows of its tile
    Time decode_block;        ///< one block of keys in it: matmul, softmax, matmul in turn
    Time split_tile;          ///< more epilogue, kernel that may split keys
    Bandwidth bulk_tile;      ///< Q and O of a tile by bulk copies, contiguous calls, one SM
    double tail = 0.7;        ///< of the longest causal tile, stands out after the average
    BytesPerCycle load;       ///< K and V into one SM
    BytesPerCycle wide_load;  ///< the same for heads above 128; zero: as `load`
    double dram_fraction = 0.9;          ///< of the DRAM bandwidth
    Time dram_start;                     ///< exposed start of a cold stream
    double droop = 0.0;                  ///< slow-down of a long run at the power limit
    Time droop_time = 20.0 * units::ms;  ///< run time at which half of it is reached
    Time cache_write;                    ///< one wave of the kernel that writes new K and V
    Time scan;                           ///< scheduler reads the lengths of 31 sequences
    Time fold;                           ///< reordering of grouped decode queries
    Time copy;                           ///< one kernel that reorders them
    double copy_fraction = 1.0;          ///< of the DRAM bandwidth, in its strided copy
    Time combine;                        ///< combine kernel
    Time combine_split;                  ///< the same, per split
    Time combine_block;  ///< per thread block and SM of one that finds nothing to combine
    double backward_tensor_fraction = 0.7;  ///< of the dense peak, within a block of the backward
    Evidence evidence = Evidence::foreign;
    bool borrowed = false;  ///< from another implementation: nobody measured this one (eq. L10)
    Frequency clock;        ///< that the fields in clocks refer to
};

/// A bundled kernel with one tile of queries per thread block (`mma`, `wgmma`).
struct TiledAttentionParameters {
    Time start;  ///< of the kernel
    /// Prologue and epilogue of a tile, per thread block and SM; again per 64 of head_dim (mma), and
    /// where the call's data come from DRAM (wgmma; two thread blocks of mma hide it).
    Time tile_load;
    double softmax_fraction = 1.0;  ///< of the time of one exp2 per score, softmax alone
    double overlap = 1.0;           ///< exponent of their norm where warps alternate; 1: they add
    bool own = false;               ///< fitted to this GPU, not taken from its architecture
    Frequency clock{};              ///< that the fields in clocks refer to
};

/// The bundled decode kernel and the kernel that combines its splits.
struct DecodeAttentionParameters {
    Time start;                  ///< of the call
    Time block_row;              ///< a thread block per row of its tile and 128 of head_dim
    BytesPerCycle block_load;    ///< K and V into a thread block that has its SM alone
    BytesPerCycle sm_load;       ///< into one SM whose thread blocks share it
    double dram_fraction = 0.9;  ///< of the DRAM bandwidth; holds for the tiled kernels as well
    Time dram_start;             ///< exposed start of a cold stream; of the tiled kernels as well
    Time combine;                ///< combine kernel
    Time combine_split;          ///< the same, per split
    bool own = false;
    Frequency clock{};  ///< that the fields in clocks refer to
};

/// Unfused attention, one kernel per matmul and softmax, in an eager framework. Forward with
/// impl=standard has its own three kernels instead (eq. T16).
struct StandardParameters {
    double forward_dram_fraction = 0.68;
    double backward_dram_fraction = 0.58;
    double tensor_fraction = 0.7;
    Time kernel;  ///< fixed time of each
    // The softmax of impl=standard; `own`: fitted to this GPU.
    bool own = false;
    Time softmax_row;               ///< latency of the block of one row
    double softmax_elements = 1.0;  ///< per clock and SM, rows that are not whole vectors
    Frequency clock{};              ///< that the fields in clocks refer to
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

/// flash1, flash2, flash3, flashinfer, flash3_kv8 and flashinfer_kv8; flash1 is flash2 but for what
/// its section holds.
[[nodiscard]] std::span<const Section<FlashParameters>> flash_sections();
/// mma and wgmma.
[[nodiscard]] std::span<const Section<TiledAttentionParameters>> tiled_attention_sections();
[[nodiscard]] std::span<const Section<DecodeAttentionParameters>> decode_attention_sections();
[[nodiscard]] std::span<const Section<StandardParameters>> standard_attention_sections();

/// The parameters of a description; empty when it has none.
[[nodiscard]] std::optional<AttentionParameters> attention_parameters_of(
    const hardware::Description& gpu, const Consists& consists, std::int32_t compute_capability);

}  // namespace ridge::model
