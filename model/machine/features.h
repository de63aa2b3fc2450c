// Features of a GPU's multiprocessors that kernels are written for, by compute capability.
//
//   if (features_of(machine.compute_capability).wgmma) ...   // Hopper's kernels run
//
// This is the one place that knows which generation introduced which feature. Which generations
// were measured is `Evidence` of their parameters, not a feature. Limits: NVIDIA GPUs; others (capability 0) have none of these
// features.
#pragma once

#include <cstdint>

namespace ridge::model {

struct Features {
    bool warps = false;          ///< of 32 threads, as CUDA runs them
    bool early_mma = false;      ///< 16-bit mma.sync with 16 x 8 results (from 7.5)
    bool mma_sync = false;       ///< the same, fed by asynchronous copies (from 8.0)
    bool fp8 = false;            ///< 8-bit floating point on tensor cores (from 8.9)
    bool wgmma = false;          ///< warpgroup products (only 9.0: later generations dropped these
                                 ///< instructions)
    bool copy_engine = false;    ///< bulk copies of boxes of a tensor (from 9.0)
    bool wide_tiles = false;     ///< products of a warpgroup or more at once: 9.0 to 11.0
    bool tensor_memory = false;  ///< products of one or two multiprocessors from tensor memory:
                                 ///< 10.0 to 11.0
    bool little_shared = false;  ///< 100 KiB of shared memory (8.6, 8.9)
    bool one_large_block = false;   ///< 164 KiB of shared memory: room for one large block (8.0)
    bool trtllm_attention = false;  ///< TensorRT-LLM builds its attention for it (10.0, 10.3)
    bool large_workspace = false;   ///< cuBLAS takes a workspace of 32 MiB (from 9.0)
};

/// `compute_capability` is 90 for 9.0, and 0 for GPUs of other vendors.
[[nodiscard]] constexpr Features features_of(std::int32_t compute_capability) {
    const std::int32_t cc = compute_capability;
    return {.warps = cc > 0,
            .early_mma = cc >= 75,
            .mma_sync = cc >= 80,
            .fp8 = cc >= 89,
            .wgmma = cc == 90,
            .copy_engine = cc >= 90,
            .wide_tiles = cc >= 90 && cc <= 110,
            .tensor_memory = cc >= 100 && cc <= 110,
            .little_shared = cc == 86 || cc == 89,
            .one_large_block = cc == 80,
            .trtllm_attention = cc == 100 || cc == 103,
            .large_workspace = cc >= 90};
}

}  // namespace ridge::model
