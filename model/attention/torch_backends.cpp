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

constexpr double gradient_passes =
    3.0;  ///< over queries' gradients in fp32: zeroed, added to, read

/// Rows of queries and of keys in one block.
struct Edges {
    std::int64_t queries;
    std::int64_t keys;
};

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

/// Number of blocks, visits of all blocks, and visits of the longest block.
struct Visits {
    double blocks;
    double all;
    double longest;
    double masked = 0.0;  ///< visits of each block that compare positions
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
    const bool whole = op.seq_kv % edges.keys == 0 && op.seq_q % edges.queries == 0;
    const std::int64_t diagonal = op.causal ? ceil_divide(edges.queries, edges.keys) : 0;
    const double masked = real(diagonal + (whole ? 0 : 1));
    if (op.direction == Direction::forward) {
        return {heads * real(query_blocks), heads * all, real(key_blocks),
                std::min(masked, real(key_blocks))};
    }
    return {heads * real(key_blocks), heads * all, real(query_blocks),
            std::min(masked, real(query_blocks))};
}

Time time_of(double clocks, const Machine& machine) {
    return clocks * units::cycle / machine.boost_clock;
}

/// Bytes that must come from DRAM, including those of fp32 gradients of the queries.
Bytes dram_bytes(const Attention& op, const Work& work, const Execution& execution,
                 const Machine& machine) {
    if (op.direction == Direction::forward) {
        const bool cold = execution.l2 != L2State::warm;
        const Bytes written =
            machine.l2.written_back(work.compulsory_write, work.compulsory(), execution.l2);
        return (cold ? work.compulsory_read : Bytes{}) + written;
    }
    const double gradients =
        4.0 * real(op.batch) * real(op.heads) * real(op.seq_q) * real(op.head_dim);
    return work.compulsory() + gradient_passes * gradients * units::B;
}

/// Number of further kernels: gradients of heads that share keys, products before and conversion
/// after.
std::int32_t further_kernels(const Attention& op, Implementation backend) {
    const bool grouped = op.kv_heads < op.heads;
    if (op.direction == Direction::forward) return backend == Implementation::torch_cudnn ? 1 : 0;
    return grouped ? 4 : 3;
}

/// The head's dimension divided by 64, rounded up to halves.
double dim_of(const Attention& op) {
    return std::ceil(real(op.head_dim) / 32.0) * 0.5;
}

BackendTime tiled_time(const Attention& op, Implementation backend, const BackendCode& code,
                       const Work& work, const Execution& execution, const Machine& machine) {
    const Edges edges = edges_of(op, backend);
    const Visits visits = visits_of(op, edges);
    const double unit = real(edges.queries * edges.keys) / 4096.0;
    const double dim = dim_of(op);
    double pipe = unit * (code.pipe + code.pipe_dim * dim);
    if (size_of(op.type) == 4) pipe *= code.single;
    if (op.head_dim > 128) pipe *= code.wide;
    if (op.head_dim > 64 && op.head_dim <= 128) pipe *= code.middle;
    const double visit = code.visit + code.visit_pipe * pipe;
    const double per_sm = visits.blocks / real(machine.sm_count);
    const double longest = visits.longest + code.mask * visits.masked;
    const double each =
        (visits.all + code.mask * visits.masked * visits.blocks) / real(machine.sm_count);
    const double busiest = op.causal ? std::max(longest, each + code.uneven * longest)
                                     : std::ceil(per_sm) / per_sm * each;

    BackendTime time;
    time.kernels = 1 + further_kernels(op, backend);
    time.blocks = time_of(code.prologue + longest * visit, machine);
    time.pipes = time_of(busiest * pipe + std::ceil(per_sm) * code.block, machine);
    time.dram = dram_bytes(op, work, execution, machine) / machine.dram_bandwidth;
    const bool cold = execution.l2 != L2State::warm;
    time.launch = machine.kernel_floor +
                  time_of((cold ? code.cold : 0.0) + code.further * (time.kernels - 1.0), machine);
    if (op.direction == Direction::backward && op.kv_heads < op.heads) {
        const double gradients = real(op.batch) * real(op.heads) * real(op.seq_kv) *
                                 real(op.head_dim) * real(size_of(op.type));
        time.launch += code.shared * 4.0 * Bytes::from_base(gradients) / machine.dram_bandwidth;
    }
    time.total =
        time.launch + combined({time.blocks, time.pipes, time.dram}, Overlap{code.overlap});
    return time;
}

/// How the keys of few queries are divided among blocks.
struct Splits {
    double tiles = 0.0;
    std::int64_t count = 1;
    std::int64_t blocks = 1;  ///< of keys
    std::int64_t keys = 128;  ///< of a block
    double dim = 1.0;         ///< head dimension over 64, as the kernel sees it
};

Splits splits_of(const Attention& op, Implementation backend, const Machine& machine) {
    const bool decode = op.seq_q == 1;
    const double heads = real(op.batch) * real(decode ? op.kv_heads : op.heads);
    Splits splits;
    if (backend == Implementation::torch_cudnn) {
        if (!decode) return splits;
        splits.tiles = heads;
        const bool few = op.seq_kv <= 256 && heads < real(machine.sm_count);
        splits.keys = op.seq_kv <= 32 ? 32 : op.seq_kv <= 128 || few ? 64 : 128;
        splits.dim = op.head_dim <= 64 ? 1.0 : 2.0;
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
    splits.dim = dim_of(op);
    splits.keys = op.head_dim <= 64 ? 256 : op.head_dim <= 128 ? 128 : 64;
    splits.blocks = ceil_divide(op.seq_kv, splits.keys);
    splits.tiles =
        real(op.batch) * real(op.heads / grid.pack) * real(ceil_divide(rows, rows_of_tile));
    return splits;
}

BackendTime split_time(const Attention& op, const SplitCode& code, const Splits& splits,
                       const Work& work, const Execution& execution, const Machine& machine) {
    const double visits = std::ceil(real(splits.blocks) / real(splits.count));
    const double unit = real(splits.keys) * 64.0 / 4096.0 * (1.0 + code.dim * (splits.dim - 1.0));
    const double seen = op.causal ? 1.0 - 0.5 * real(op.seq_q - 1) / real(op.seq_kv) : 1.0;
    const bool cold = execution.l2 != L2State::warm;
    const double missing = cold ? 1.0 : 1.0 - machine.l2.found(work.compulsory_read);
    BackendTime time;
    time.splits = real(splits.count);
    time.kernels = splits.count > 1 ? 2 : 1;
    time.blocks = time_of(code.prologue, machine);
    time.pipes = time_of(std::ceil(splits.tiles * real(splits.count) / real(machine.sm_count)) *
                             visits * seen * unit * code.pipe,
                         machine);
    time.dram = missing * work.compulsory_read / (machine.dram_bandwidth * code.dram);
    time.launch = machine.kernel_floor +
                  time_of((cold ? code.cold : 0.0) + (splits.count > 1 ? code.join : 0.0), machine);
    if (splits.count > 1) {
        const double parts = 4.0 * real(splits.count) * real(op.batch) * real(op.heads) *
                             real(op.seq_q) * real(op.head_dim);
        const Bandwidth bandwidth =
            machine.memory ? machine.memory->l2_write : machine.dram_bandwidth;
        time.launch += time_of(code.part * real(splits.count), machine) +
                       code.parts * Bytes::from_base(parts) / bandwidth;
    }
    time.total =
        time.launch + combined({time.blocks, time.pipes, time.dram}, Overlap{code.overlap});
    return time;
}

const SerialCode& serial_code(const TorchAttentionCode& code, const Attention& op) {
    if (op.head_dim <= 32) return code.narrow;
    if (op.head_dim <= 64) return code.half;
    return op.head_dim <= 128 ? code.middle : code.wide;
}

/// Blocks per multiprocessor: one less in fp32, but at least one.
double serial_residents(const Attention& op) {
    if (op.head_dim > 64) return 1.0;
    return size_of(op.type) == 4 ? 2.0 : 3.0;
}

/// How the keys of a head are divided among blocks, and what these blocks visit.
struct SerialVisits {
    std::int64_t kept = 1;  ///< blocks of a head
    double key_blocks = 1.0;
    double keys = 1.0;     ///< blocks of keys that the first block takes, one after the other
    double uneven = 0.0;   ///< share of the blocks that take one block of keys more than others
    double queries = 1.0;  ///< blocks of queries
    double head = 0.0;     ///< visits of a head
    double longest = 0.0;  ///< visits of the block with the most; under a mask, of the first
};

/// Blocks of a head (PyTorch's attention_backward.cu): one for each block of keys; a single one if
/// there are enough heads and few keys; for wide heads in 16 bits, no more than the number for
/// which gradients of keys are kept.
std::int64_t serial_blocks(const Attention& op, std::int64_t key_blocks, std::int64_t edge) {
    constexpr std::int64_t enough_heads = 256;
    constexpr std::int64_t most_kept = 200;
    const std::int64_t heads = op.batch * op.heads;
    if (heads >= enough_heads && op.seq_kv <= 2 * edge) return 1;
    if (op.head_dim <= 128 || size_of(op.type) == 4) return key_blocks;
    return std::clamp(most_kept / heads, std::int64_t{1}, key_blocks);
}

SerialVisits serial_visits(const Attention& op, const Edges& edges) {
    const std::int64_t query_blocks = ceil_divide(op.seq_q, edges.queries);
    const std::int64_t key_blocks = ceil_divide(op.seq_kv, edges.keys);
    SerialVisits visits{.kept = serial_blocks(op, key_blocks, edges.keys)};
    visits.key_blocks = real(key_blocks);
    visits.keys = real(ceil_divide(key_blocks, visits.kept));
    visits.uneven = real(key_blocks % visits.kept) / real(visits.kept);
    visits.queries = real(query_blocks);
    if (!op.causal) {
        visits.head = real(query_blocks * key_blocks);
        visits.longest = visits.keys * visits.queries;
        return visits;
    }
    for (std::int64_t block = 0; block < key_blocks; ++block) {
        const std::int64_t hidden = std::min(query_blocks, block * edges.keys / edges.queries);
        visits.head += real(query_blocks - hidden);
        if (block % visits.kept == 0) visits.longest += real(query_blocks - hidden);
    }
    return visits;
}

/// The time of one visit, and the time of every block beside its visits.
struct SerialPrice {
    double visit;
    double key_block;
    double block;

    [[nodiscard]] double of(double visits, double keys) const {
        return visits * visit + keys * key_block + block;
    }
};

SerialPrice serial_price(const Attention& op, const Edges& edges, const SerialVisits& visits,
                         const TorchAttentionCode& all, double busy) {
    const SerialCode& code = serial_code(all, op);
    const SerialCommonCode& common = all.serial;
    const bool single = size_of(op.type) == 4;
    const double factor = single ? code.single : 1.0;
    SerialPrice price{
        .visit = factor * code.visit, .key_block = factor * code.prologue, .block = 0.0};
    if (op.seq_kv <= edges.keys) price.visit *= common.one;
    if (edges.queries == 128 && op.seq_q < 128) {
        const double part = std::ceil(real(op.seq_q) / 32.0) / 4.0;
        price.visit *= common.few_rows + (1.0 - common.few_rows) * part;
    }
    if (op.head_dim > 128 && !single) {
        price.block = common.sums * visits.queries * (1.0 - common.sums_busy * (1.0 - busy));
    }
    return price;
}

/// Time from the first block of the kernel to the last.
double serial_walk(const Attention& op, const SerialVisits& visits, const SerialPrice& price,
                   const SerialCommonCode& code, double resident, double sms) {
    const double heads = real(op.batch) * real(op.heads);
    const double blocks = heads * real(visits.kept);
    const auto slowed = [&](double beside) { return 1.0 + code.beside * (beside - 1.0); };
    const double longest = price.of(visits.longest, visits.keys);
    if (op.causal && visits.kept > 1) {
        if (blocks <= sms) return longest;
        const double beside = std::min(resident, blocks / sms);
        const double all = heads * (price.of(visits.head, visits.key_blocks) +
                                    price.block * real(visits.kept - 1));
        const double even = all / (sms * beside) + code.tail * longest;
        return std::max(even, longest) * slowed(beside);
    }
    const double room = resident * sms;
    const double full = std::floor(blocks / room);
    const double rest = std::ceil((blocks - full * room) / sms);
    if (visits.uneven > 0.0 && resident < 2.0 && full == 1.0 && !op.causal) {
        // If enough blocks of the first round have one block of keys less, the second round starts
        // earlier.
        const bool early = 1.0 - visits.uneven >= blocks / sms - 1.0;
        return longest +
               (early ? price.of(visits.longest - visits.queries, visits.keys - 1.0) : longest);
    }
    return longest * (full * slowed(resident) + (rest > 0.0 ? slowed(rest) : 0.0));
}

/// Time of the kernels in which blocks of keys walk through all queries.
BackendTime serial_time(const Attention& op, const Work& work, const Execution& execution,
                        const Machine& machine) {
    const TorchAttentionCode& all = *machine.torch_attention;
    const SerialCommonCode& code = all.serial;
    const Edges edges = edges_of(op, Implementation::torch_efficient);
    const bool single = size_of(op.type) == 4;
    const double sms = real(machine.sm_count);
    const double heads = real(op.batch) * real(op.heads);
    const SerialVisits visits = serial_visits(op, edges);
    const double kept = real(visits.kept);
    const double resident = serial_residents(op);
    const double busy = std::min(1.0, heads * kept / sms);
    const SerialPrice price = serial_price(op, edges, visits, all, busy);
    const double beside = std::clamp(resident * sms / kept, 1.0, heads);
    const double masked = op.causal ? code.masked_lock : 1.0;
    const double in_turn =
        visits.kept > 1 ? heads / beside * kept * serial_code(all, op).lock * masked : 0.0;

    BackendTime time;
    time.kernels = (visits.kept > 1 ? 2 : 1) + (single ? 3 : 0);
    time.blocks = time_of(serial_walk(op, visits, price, code, resident, sms), machine);
    time.pipes = time_of(in_turn, machine);
    time.dram = work.compulsory() / machine.dram_bandwidth;
    const double cold = execution.l2 == L2State::warm ? 0.0 : code.cold;
    time.launch = machine.kernel_floor * time.kernels +
                  time_of(code.start + cold + (single ? 3.0 * code.product : 0.0), machine);
    if (single) {
        const double gradients = 4.0 * heads * real(op.seq_q) * real(op.head_dim);
        time.launch += gradient_passes * Bytes::from_base(gradients) / machine.dram_bandwidth;
    }
    time.total = time.launch + time.blocks + time.pipes + time.dram;
    return time;
}

}  // namespace

BackendTime torch_attention_time(const Attention& op, Implementation backend, const Work& work,
                                 const Execution& execution, const Machine& machine) {
    const TorchAttentionCode& code = *machine.torch_attention;
    const bool forward = op.direction == Direction::forward;
    if (backend == Implementation::torch_efficient) {
        if (!forward) return serial_time(op, work, execution, machine);
        return tiled_time(op, backend, code.efficient, work, execution, machine);
    }
    const bool flash = backend == Implementation::torch_flash;
    if (!forward) {
        return tiled_time(op, backend, flash ? code.flash_backward : code.cudnn_backward, work,
                          execution, machine);
    }
    const Splits splits = splits_of(op, backend, machine);
    // An unsplit query runs flash's ordinary tiles, in which the heads that share keys are treated
    // as queries.
    if (flash && op.seq_q == 1 && splits.count == 1) {
        Attention folded = op;
        folded.seq_q = op.heads / op.kv_heads;
        folded.heads = op.kv_heads;
        folded.causal = false;
        return tiled_time(folded, backend, code.flash, work, execution, machine);
    }
    if (op.seq_q == 1 || splits.count > 1) {
        const SplitCode& split = flash               ? code.flash_split
                                 : splits.keys < 128 ? code.cudnn_short
                                                     : code.cudnn_split;
        return split_time(op, split, splits, work, execution, machine);
    }
    return tiled_time(op, backend, flash ? code.flash : code.cudnn, work, execution, machine);
}

}  // namespace ridge::model
