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
    double shared =
        0.0;  ///< gradients that heads with common keys add up, in passes over four times their bytes
};
constexpr Code flash_forward{0.158, 0.319, 0.0,  2.0,   1.1, 0.0, 4.2,
                             1.63,  0.484, 0.57, 0.985, 3.0, 1.0, 1.0};
constexpr Code flash_backward{0.418, 0.678, 0.069, 0.011, 0.0,   0.0,   0.726, 1.031,
                              3.338, 0.924, 2.434, 3.0,   1.453, 1.046, 2.73};
constexpr Code cudnn_forward{0.219, 0.083, 0.15,  0.401, 0.239, 0.883, 1.463,
                             1.569, 0.671, 0.738, 0.292, 3.0,   1.0,   1.0};
constexpr Code cudnn_backward{0.477, 0.29,  0.279, 0.232, 0.0, 0.0,   1.016, 1.412,
                              2.137, 0.077, 0.0,   3.0,   1.0, 1.014, 0.7};
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
    double visit;     ///< alone on its multiprocessor
    double lock;      ///< of its queries' gradients; blocks of one head wait for it in turn
    double single;    ///< factor of fp32
    double resident;  ///< blocks of a multiprocessor; one less in fp32, at least one
};
constexpr SerialCode narrow_serial{0.0, 6.34, 1.78, 2.14, 3.0};
constexpr SerialCode half_serial{0.0, 7.37, 1.18, 2.17, 3.0};
constexpr SerialCode middle_serial{3.37, 19.5, 3.46, 1.6, 1.0};
constexpr SerialCode wide_serial{34.3, 50.6, 54.7, 0.76, 1.0};
constexpr double serial_beside = 0.152;  // of a visit, for each further block of its multiprocessor
constexpr double serial_tail = 0.475;    // of the longest block, where a mask makes them uneven
constexpr double serial_overlap = 1.53;
constexpr double serial_cold = 0.4;
constexpr double serial_product = 1.7;    // each of three more kernels for the products of fp32
constexpr double serial_few_rows = 0.59;  // of a visit, whatever part of its 128 rows there is

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
    return grouped ? 4 : 3;
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
    if (op.direction == Direction::backward && op.kv_heads < op.heads) {
        const double gradients = real(op.batch) * real(op.heads) * real(op.seq_kv) *
                                 real(op.head_dim) * real(size_of(op.type));
        time.launch +=
            code.shared * 4.0 * Bytes::from_base(gradients) / (machine.dram_bandwidth * dram_share);
    }
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

/// Visits of each head, and of the block of keys with most of them; under a mask those before it hide queries.
struct SerialVisits {
    double head = 0.0;
    double longest = 0.0;
};

SerialVisits serial_visits(const Attention& op, const Edges& edges, std::int64_t kept) {
    const std::int64_t query_blocks = ceil_divide(op.seq_q, edges.queries);
    const std::int64_t key_blocks = ceil_divide(op.seq_kv, edges.keys);
    const double rounds = std::ceil(real(key_blocks) / real(kept));
    if (!op.causal) {
        return {real(query_blocks * key_blocks), rounds * real(query_blocks)};
    }
    SerialVisits visits;
    for (std::int64_t block = 0; block < key_blocks; ++block) {
        const std::int64_t hidden = std::min(query_blocks, block * edges.keys / edges.queries);
        visits.head += real(query_blocks - hidden);
        if (block % kept == 0) visits.longest += real(query_blocks - hidden);
    }
    return visits;
}

/// Blocks of keys walk through all queries; wide heads share out the blocks of a head among as many
/// blocks as the GPU has room for.
BackendTime serial_time(const Attention& op, const Work& work, const Execution& execution,
                        const Machine& machine) {
    constexpr double most_blocks = 200.0;
    const SerialCode& code = serial_code(op);
    const Edges edges = edges_of(op, Implementation::torch_efficient);
    const bool single = size_of(op.type) == 4;
    const double sms = real(machine.sm_count);
    const double heads = real(op.batch) * real(op.heads);
    const std::int64_t key_blocks = ceil_divide(op.seq_kv, edges.keys);
    std::int64_t kept = key_blocks;
    if (op.head_dim > 128) {
        kept = std::min(kept,
                        static_cast<std::int64_t>(std::max(1.0, std::floor(most_blocks / heads))));
    }
    const SerialVisits visits = serial_visits(op, edges, kept);
    const double blocks = heads * real(kept);
    const double resident = std::max(1.0, code.resident - (single ? 1.0 : 0.0));
    const double room = resident * sms;
    const double factor = single ? code.single : 1.0;
    double visit = factor * code.visit;
    if (edges.queries == 128 && op.seq_q < 128) {
        const double part = std::ceil(real(op.seq_q) / 32.0) / 4.0;
        visit *= serial_few_rows + (1.0 - serial_few_rows) * part;
    }
    const auto slowed = [](double beside) { return 1.0 + serial_beside * (beside - 1.0); };
    double walk = visits.longest * visit;
    if (op.causal && blocks > sms) {
        const double beside = std::min(resident, blocks / sms);
        const double even = heads * visits.head / (sms * beside) + serial_tail * visits.longest;
        walk = std::max(even, visits.longest) * visit * slowed(beside);
    } else if (!op.causal) {
        const double full = std::floor(blocks / room);
        const double rest = std::ceil((blocks - full * room) / sms);
        walk *= full * slowed(resident) + (rest > 0.0 ? slowed(rest) : 0.0);
    }
    walk += std::ceil(blocks / room) * factor * code.prologue;
    const double in_turn =
        kept > 1 ? heads / std::max(1.0, room / real(kept)) * real(kept) * factor * code.lock : 0.0;

    BackendTime time;
    time.kernels = (key_blocks > 1 ? 2 : 1) + (single ? 3 : 0);
    time.blocks = micro(walk, machine);
    time.pipes = micro(in_turn, machine);
    time.dram = dram_bytes(op, work, execution) / (machine.dram_bandwidth * dram_share);
    const double cold = execution.l2 == L2State::warm ? 0.0 : serial_cold;
    time.launch = machine.kernel_floor * time.kernels +
                  micro(cold + (single ? 3.0 * serial_product : 0.0), machine);
    time.total =
        time.launch + combined({time.blocks, time.pipes, time.dram}, Overlap{serial_overlap});
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
