#include "model/attention/torch_backends.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/attention/blocks.h"
#include "model/attention/time.h"
#include "model/core/real.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// Elements of one block on either side.
struct Edges {
    std::int64_t queries;
    std::int64_t keys;
};

/// Times in microseconds of an H200 at 1980 MHz; they follow the clock. A visit of 64 x 64 scores
/// occupies the pipes for `pipe` and `pipe_dim` per 64 of the head's dimension; it takes `visit` and
/// `visit_pipe` of those, of which nothing hides the first.
struct Code {
    double pipe;
    double pipe_dim;
    double visit;
    double visit_pipe;
    double prologue;
    double start;
    double overlap;
    double block;    ///< pipes of a block, beside its visits
    double further;  ///< a further kernel
    double tail;     ///< of the last blocks, in blocks
    double cold;
    double single;  ///< factor of fp32
    double wide;    ///< factor of head dimensions over 128
    double middle;  ///< factor of those over 64
};
constexpr Code flash_forward{0.158, 0.319, 0.0,  2.0,   1.1, 0.0, 4.2,
                             1.63,  0.484, 0.57, 0.985, 3.0, 1.0, 1.0};
constexpr Code flash_backward{0.382, 0.702, 0.09,  0.062, 0.149, 0.453, 0.722,
                              2.191, 3.676, 0.382, 1.725, 3.0,   1.0,   1.0};
constexpr Code cudnn_forward{0.219, 0.083, 0.15,  0.401, 0.239, 0.883, 1.463,
                             1.569, 0.671, 0.738, 0.292, 3.0,   1.0,   1.0};
constexpr Code cudnn_backward{0.472, 0.295, 0.21,  0.224, 0.168, 0.221, 1.083,
                              1.55,  2.145, 0.308, 0.468, 3.0,   1.0,   1.0};
constexpr Code efficient_forward{1.014, 0.113, 1.542, 0.844, 0.594, 0.664, 3.013,
                                 0.404, 1.0,   1.62,  0.482, 3.76,  2.319, 1.201};

/// Kernels that split the keys of few queries, and one that joins the parts.
struct SplitCode {
    double prologue;
    double visit;  ///< of 64 x 64 scores and 64 of the head's dimension
    double pipe;
    double start;
    double join;
    double cold;
    double dram;  ///< share of the bandwidth
    double overlap;
};
constexpr SplitCode flash_split{0.0, 0.0, 0.448, 3.56, 4.85, 0.448, 0.956, 5.9};
constexpr SplitCode cudnn_split{2.167, 0.016, 0.215, 0.262, 2.308, 0.05, 2.286, 0.81};

/// The backward kernels of the efficient backend: visits of a block come one after the other.
struct SerialCode {
    double prologue;
    double visit;
    double resident;  ///< blocks of a multiprocessor
};
constexpr SerialCode narrow_serial{3.0, 6.5, 3.0};
constexpr SerialCode half_serial{3.0, 7.6, 3.0};
constexpr SerialCode middle_serial{0.0, 20.5, 1.0};
constexpr SerialCode wide_serial{35.0, 48.0, 1.0};
constexpr double serial_single = 2.6;  // factor of fp32
/// Of a visit that holds the lock of its queries' gradients; blocks of one head wait for it in turn.
/// From the one training shape with many more keys than queries (256 and 5306, an H100).
constexpr double locked_share = 0.37;

constexpr double reference_clock = 1.98e9;  // per second
constexpr double dram_share = 0.85;

Edges edges_of(const Attention& op, Implementation backend) {
    const bool forward = op.direction == Direction::forward;
    const std::int64_t dim = op.head_dim;
    if (backend == Implementation::torch_cudnn) return forward ? Edges{128, 128} : Edges{64, 128};
    if (backend == Implementation::torch_flash) {
        if (!forward)
            return dim <= 64 ? Edges{128, 128} : dim <= 128 ? Edges{64, 128} : Edges{64, 64};
        return dim <= 64 ? Edges{128, 128} : dim <= 192 ? Edges{128, 64} : Edges{64, 64};
    }
    if (forward) return dim <= 64 ? Edges{64, 64} : dim <= 128 ? Edges{64, 128} : Edges{32, 128};
    if (dim <= 64) return {64, 64};
    return dim <= 128 && size_of(op.type) == 2 ? Edges{128, 128} : Edges{128, 64};
}

/// Blocks, the visits of all and of the longest.
struct Visits {
    double blocks;
    double all;
    double longest;
};

Visits visits_of(const Attention& op, const Edges& edges) {
    const double heads = real(op.batch) * real(op.heads);
    const std::int64_t query_blocks = ceil_divide(op.seq_q, edges.queries);
    const std::int64_t key_blocks = ceil_divide(op.seq_kv, edges.keys);
    double all = real(query_blocks) * real(key_blocks);
    if (op.causal) {
        all = 0.0;
        const std::int64_t before = op.seq_kv - op.seq_q;  // keys that every query sees
        for (std::int64_t block = 1; block <= query_blocks; ++block) {
            const std::int64_t seen = std::min(op.seq_kv, before + block * edges.queries);
            all += real(ceil_divide(seen, edges.keys));
        }
    }
    if (op.direction == Direction::forward) {
        return {heads * real(query_blocks), heads * all, real(key_blocks)};
    }
    return {heads * real(key_blocks), heads * all, real(query_blocks)};
}

Time micro(double value, const Machine& machine) {
    return value * 1e-6 * reference_clock / machine.boost_clock.base() * units::s;
}

/// Bytes that must come from DRAM, with what fp32 gradients of the queries add.
Bytes dram_bytes(const Attention& op, const Work& work, const Execution& execution) {
    if (op.direction == Direction::forward) {
        const bool cold = execution.l2 != L2State::warm;
        return (cold ? work.compulsory_read : Bytes{}) + 0.5 * work.compulsory_write;
    }
    constexpr double passes = 3.0;
    const double gradients =
        4.0 * real(op.batch) * real(op.heads) * real(op.seq_q) * real(op.head_dim);
    return work.compulsory() + passes * gradients * units::B;
}

/// Further kernels: gradients of heads that share keys, products before and conversion after.
std::int32_t further_kernels(const Attention& op, Implementation backend) {
    const bool grouped = op.kv_heads < op.heads;
    if (op.direction == Direction::forward) return backend == Implementation::torch_cudnn ? 1 : 0;
    if (backend == Implementation::torch_flash) return grouped ? 4 : 3;
    if (backend == Implementation::torch_cudnn) return grouped ? 4 : 3;
    return 1;
}

BackendTime tiled_time(const Attention& op, Implementation backend, const Code& code,
                       const Work& work, const Execution& execution, const Machine& machine) {
    const Edges edges = edges_of(op, backend);
    const Visits visits = visits_of(op, edges);
    const double unit = real(edges.queries * edges.keys) / 4096.0;
    const double dim = std::ceil(real(op.head_dim) / 32.0) * 0.5;
    double pipe = unit * (code.pipe + code.pipe_dim * dim);
    if (size_of(op.type) == 4) pipe *= code.single;
    if (op.head_dim > 128) pipe *= code.wide;
    if (op.head_dim > 64 && op.head_dim <= 128) pipe *= code.middle;
    const double visit = code.visit + code.visit_pipe * pipe;
    const double per_sm = visits.blocks / real(machine.sm_count);
    const double uneven = per_sm < 4.0 ? std::ceil(per_sm) / per_sm : 1.0 + code.tail / per_sm;
    const double each = visits.all / real(machine.sm_count);

    BackendTime time;
    time.kernels = 1 + further_kernels(op, backend);
    time.blocks = micro(code.prologue + visits.longest * visit, machine);
    time.pipes = micro(uneven * each * pipe + std::ceil(per_sm) * code.block, machine);
    time.dram = dram_bytes(op, work, execution) / (machine.dram_bandwidth * dram_share);
    const bool cold = execution.l2 != L2State::warm;
    time.launch =
        machine.kernel_floor +
        micro(code.start + (cold ? code.cold : 0.0) + code.further * (time.kernels - 1.0), machine);
    time.total =
        time.launch + combined({time.blocks, time.pipes, time.dram}, Overlap{code.overlap});
    return time;
}

/// How the keys of few queries are shared out.
struct Splits {
    double tiles = 0.0;
    std::int64_t count = 1;
    std::int64_t blocks = 1;  ///< of keys
    std::int64_t keys = 128;  ///< of a block
};

Splits splits_of(const Attention& op, Implementation backend, const Machine& machine) {
    const bool decode = op.seq_q == 1;
    const double heads = real(op.batch) * real(decode ? op.kv_heads : op.heads);
    Splits splits;
    if (backend == Implementation::torch_cudnn) {
        if (!decode) return splits;
        splits.tiles = heads;
        splits.blocks = ceil_divide(op.seq_kv, splits.keys);
        if (op.seq_kv > 512) {
            while (real(splits.count) * heads < real(machine.sm_count)) splits.count *= 2;
        }
        splits.count = std::min(splits.count, splits.blocks);
        return splits;
    }
    const AttentionGrid grid =
        attention_grid(op, Implementation::flash2, attention_context(machine));
    constexpr std::int64_t rows_of_tile = 64;
    const std::int64_t rows = op.seq_q * grid.pack;
    splits.count = grid.splits;
    splits.keys = op.head_dim <= 64 ? 256 : op.head_dim <= 128 ? 128 : 64;
    splits.blocks = ceil_divide(op.seq_kv, splits.keys);
    splits.tiles =
        real(op.batch) * real(op.heads / grid.pack) * real(ceil_divide(rows, rows_of_tile));
    return splits;
}

BackendTime split_time(const Attention& op, const SplitCode& code, const Splits& splits,
                       const Work& work, const Execution& execution, const Machine& machine) {
    const double visits = std::ceil(real(splits.blocks) / real(splits.count));
    const double unit =
        real(splits.keys) * 64.0 / 4096.0 * std::ceil(real(op.head_dim) / 32.0) * 0.5;
    const bool cold = execution.l2 != L2State::warm;
    const double missing = cold ? 1.0 : 1.0 - machine.l2.found(work.compulsory_read);
    BackendTime time;
    time.splits = real(splits.count);
    time.kernels = splits.count > 1 ? 2 : 1;
    time.blocks = micro(code.prologue + visits * unit * code.visit, machine);
    time.pipes = micro(std::ceil(splits.tiles * real(splits.count) / real(machine.sm_count)) *
                           visits * unit * code.pipe,
                       machine);
    time.dram = missing * work.compulsory_read / (machine.dram_bandwidth * code.dram);
    time.launch = machine.kernel_floor + micro(code.start + (cold ? code.cold : 0.0) +
                                                   (splits.count > 1 ? code.join : 0.0),
                                               machine);
    time.total =
        time.launch + combined({time.blocks, time.pipes, time.dram}, Overlap{code.overlap});
    return time;
}

const SerialCode& serial_code(const Attention& op) {
    if (op.head_dim <= 32) return narrow_serial;
    if (op.head_dim <= 64) return half_serial;
    return op.head_dim <= 128 ? middle_serial : wide_serial;
}

/// Blocks of keys walk through all queries; wide heads share out the blocks of a head among as many
/// blocks as the GPU has room for.
BackendTime serial_time(const Attention& op, const Work& work, const Execution& execution,
                        const Machine& machine) {
    constexpr double most_blocks = 200.0;
    const SerialCode& code = serial_code(op);
    const Edges edges = edges_of(op, Implementation::torch_efficient);
    Visits visits = visits_of(op, edges);
    const double heads = real(op.batch) * real(op.heads);
    double blocks_of_head = visits.blocks / heads;
    if (op.head_dim > 128) {
        const double shared = std::max(1.0, std::floor(most_blocks / heads));
        const double kept = std::min(blocks_of_head, shared);
        visits.longest *= std::ceil(blocks_of_head / kept);
        visits.blocks = heads * kept;
        blocks_of_head = kept;
    }
    const double room = code.resident * real(machine.sm_count);
    const double rounds = std::ceil(visits.blocks / room);
    // Blocks of one head take turns at the gradients of its queries.
    const double query_blocks = std::ceil(real(op.seq_q) / real(edges.queries));
    const double resident = std::min(visits.blocks, room);
    const double together = resident / (query_blocks * (resident / blocks_of_head + 1.0));
    const double turns = op.head_dim > 128 ? 1.0 : std::max(1.0, locked_share * together);
    const double in_turn = op.causal ? std::max(visits.longest, rounds * visits.all / visits.blocks)
                                     : rounds * visits.longest;
    const double factor = size_of(op.type) == 4 ? serial_single : 1.0;

    BackendTime time;
    time.kernels = 1 + further_kernels(op, Implementation::torch_efficient);
    time.blocks = micro(rounds * code.prologue + in_turn * turns * factor * code.visit, machine);
    time.pipes = time.blocks;
    time.dram = dram_bytes(op, work, execution) / (machine.dram_bandwidth * dram_share);
    time.launch = machine.kernel_floor * time.kernels + micro(1.0, machine);
    time.total = time.launch + combined({time.blocks, time.dram}, Overlap{2.0});
    return time;
}

}  // namespace

BackendTime torch_attention_time(const Attention& op, Implementation backend, const Work& work,
                                 const Execution& execution, const Machine& machine) {
    const bool forward = op.direction == Direction::forward;
    if (backend == Implementation::torch_efficient) {
        if (!forward) return serial_time(op, work, execution, machine);
        return tiled_time(op, backend, efficient_forward, work, execution, machine);
    }
    const bool flash = backend == Implementation::torch_flash;
    if (!forward) {
        return tiled_time(op, backend, flash ? flash_backward : cudnn_backward, work, execution,
                          machine);
    }
    const Splits splits = splits_of(op, backend, machine);
    // An unsplit query runs flash's ordinary tiles, in which the heads that share keys stand as queries.
    if (flash && op.seq_q == 1 && splits.count == 1) {
        Attention folded = op;
        folded.seq_q = op.heads / op.kv_heads;
        folded.heads = op.kv_heads;
        folded.causal = false;
        return tiled_time(folded, backend, flash_forward, work, execution, machine);
    }
    if (op.seq_q == 1 || splits.count > 1) {
        return split_time(op, flash ? flash_split : cudnn_split, splits, work, execution, machine);
    }
    return tiled_time(op, backend, flash ? flash_forward : cudnn_forward, work, execution, machine);
}

}  // namespace ridge::model
