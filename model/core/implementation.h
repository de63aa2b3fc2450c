// How an operation is carried out, apart from what it computes.
//
// An implementation is a value beside the operation. It says which kernels run, what stays on chip,
// which tile is used, and in which circumstances (L2 state, launch mode) the time is wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/core/operation.h"
#include "model/core/software_choice.h"

namespace ridge::model {

/// `automatic` means the usual choice for the operation and GPU. For operations that stream their
/// data that is a well-made kernel; with the launch mode `stream` it is PyTorch's kernel, since the
/// time of one call in a stream is that of a framework. Operations that only PyTorch runs (cat,
/// reductions other than sums of rows, cross_entropy ...) use its kernels.
enum class Implementation : std::uint8_t {
    automatic,
    library,      ///< the vendor's: cuBLASLt for products, NCCL for collectives, pinned host copies
    copy_engine,  ///< send: a copy by the GPU's copy engines, without a kernel
    pageable,     ///< host copies of memory that is not pinned: the host moves every byte once
    bundled,      ///< the kernel that ridge itself provides: copy, gather, access
    torch,        ///< PyTorch's own kernels, one per operation; "eager" is an alias
    compiled,     ///< the Triton kernels that torch.compile generates
    // attention: three kernels with the scores in memory; then the library kernels
    standard,
    flash1,
    flash2,
    flash3,
    flashinfer,  ///< TensorRT-LLM's kernels, which FlashInfer calls on Blackwell
    // attention: backends of PyTorch's scaled_dot_product_attention
    torch_flash,
    torch_efficient,
    torch_cudnn,
    torch_math,
    cutlass,  ///< experts of moe: grouped products of CUTLASS between kernels that sort and add
    // elementwise and row-wise
    fused,
    unfused,
    manual,  ///< softmax from max, subtract, exp, sum, divide
    // bundled kernels of matmul; mma and wgmma also for attention, naive and tiled also for
    // transpose
    naive,
    coalesced,
    tiled,
    register_tiled,
    mma,
    wgmma,
    custom,  ///< all_reduce: an engine's own, over the memory of its peers; kernel: a user's own
    engine   ///< the kernel of an engine that the fields `software` and `kernel` name
};

/// State of the L2 cache when the operation starts. It holds the inputs (warm), or other data that
/// is unchanged (cold) or still has to be written back (dirty).
enum class L2State : std::uint8_t { warm, cold, dirty };

/// What the time includes: the sum of kernel durations, or also the gaps between launches in a
/// replayed CUDA graph or in a stream. For kernels of a framework, `stream` is what events around
/// one call of the framework measure, including its dispatch on the host.
enum class LaunchMode : std::uint8_t { kernel, graph, stream };

/// The tile of the output that one block computes, and its depth along k.
struct Tile {
    std::int32_t m = 0;
    std::int32_t n = 0;
    std::int32_t k = 0;

    friend constexpr bool operator==(const Tile&, const Tile&) = default;
};

struct Execution {
    Implementation implementation = Implementation::automatic;
    L2State l2 = L2State::warm;
    LaunchMode launch = LaunchMode::kernel;
    std::optional<Tile> tile{};  ///< overrides the tile the model would choose
    SoftwareChoice
        software{};  ///< whose kernels run; the usual one leaves it to the implementation
    RunMode mode = RunMode::usual;
    KernelChoice kernel{};  ///< of that software; the usual one leaves it to the software
};

/// Whether the kernels are PyTorch's, written or generated.
[[nodiscard]] constexpr bool is_framework(Implementation implementation) {
    return implementation == Implementation::torch || implementation == Implementation::compiled ||
           (implementation >= Implementation::torch_flash &&
            implementation <= Implementation::torch_math);
}

/// Whether only a framework's kernels can carry out the operation: there is neither a bundled
/// kernel nor a library's for it.
[[nodiscard]] bool needs_framework(const Operation& operation);

[[nodiscard]] std::string_view name_of(Implementation implementation);
[[nodiscard]] std::string_view name_of(L2State state);
[[nodiscard]] std::string_view name_of(LaunchMode mode);

/// Parsers of the command line's words. An InputError names the field and the known words.
[[nodiscard]] Implementation parse_implementation(std::string_view text);
[[nodiscard]] L2State parse_l2_state(std::string_view text);
[[nodiscard]] LaunchMode parse_launch_mode(std::string_view text);
/// "128x256" or "128x256x64".
[[nodiscard]] Tile parse_tile(std::string_view text);
[[nodiscard]] std::string to_string(const Tile& tile);

}  // namespace ridge::model
