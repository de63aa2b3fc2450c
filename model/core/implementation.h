// How an operation is carried out, apart from what it computes.
//
// An implementation is a second value beside the operation: which kernels run, what stays on chip,
// which tile, and under which circumstances (L2 state, launch mode) the time is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/core/operation.h"

namespace ridge::model {

/// `automatic` means the usual choice for the operation and GPU. For operations that stream their
/// data that is a well-made kernel; where the launch mode is `stream`, it is the eager kernel,
/// since a time of one call in a stream is that of a framework.
enum class Implementation : std::uint8_t {
    automatic,
    library,  ///< the vendor's: cuBLASLt for products, NCCL and the driver's copies for collectives
    bundled,  ///< the kernel that ridge brings along: copy, gather, access
    eager,    ///< kernels of an eager framework, one per operation
    // attention: three kernels with the scores in memory; the library kernels
    standard,
    flash1,
    flash2,
    flash3,
    // elementwise and row-wise
    fused,
    unfused,
    manual,  ///< softmax from max, subtract, exp, sum, divide
    // bundled kernels of matmul; mma and wgmma of attention, naive and tiled of transpose as well
    naive,
    coalesced,
    tiled,
    register_tiled,
    mma,
    wgmma
};

/// State of the L2 cache with respect to the inputs when the operation starts.
enum class L2State : std::uint8_t { warm, cold };

/// What the time includes: the sum of kernel durations, or also the gaps between launches in a
/// replayed CUDA graph or a stream. For eager kernels `stream` is what events around one call of
/// the framework show, with its dispatch on the host.
enum class LaunchMode : std::uint8_t { kernel, graph, stream };

/// A tile of the output computed by one block, and its depth along k.
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
};

[[nodiscard]] std::string_view name_of(Implementation implementation);
[[nodiscard]] std::string_view name_of(L2State state);
[[nodiscard]] std::string_view name_of(LaunchMode mode);

/// Parsers of the command line's words; InputError names the field and the known words.
[[nodiscard]] Implementation parse_implementation(std::string_view text);
[[nodiscard]] L2State parse_l2_state(std::string_view text);
[[nodiscard]] LaunchMode parse_launch_mode(std::string_view text);
/// "128x256" or "128x256x64".
[[nodiscard]] Tile parse_tile(std::string_view text);
[[nodiscard]] std::string to_string(const Tile& tile);

}  // namespace ridge::model
