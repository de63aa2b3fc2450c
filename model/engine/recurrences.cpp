#include "model/engine/recurrences.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/machine/recurrence_parameters.h"
#include "model/recurrence/work.h"

namespace ridge::model {
namespace {

/// Bytes at the multiprocessors' rate, and those of them that leave the L2.
struct Streamed {
    Time at_rate;
    Time in_dram;
    Bytes missed;
};

/// `share` is the DRAM rate over the data sheet's; `kept` the bytes that the L2 must hold.
Streamed streamed(const LawCall& call, double bytes, BytesPerCycle rate, double share,
                  double kept) {
    const Machine& machine = call.machine;
    const double missed =
        call.execution.l2 == L2State::warm ? 1.0 - machine.l2.found(kept * units::B) : 1.0;
    const Bytes lost = bytes * missed * units::B;
    return {.at_rate = bytes * units::B / (rate * machine.boost_clock * real(machine.sm_count)),
            .in_dram = lost / (machine.dram_bandwidth * share),
            .missed = lost};
}

double per_multiprocessor(const LawCall& call, double count) {
    return count / real(call.machine.sm_count);
}

LawTime law_time(const LawCall& call, Time launch, Time steps, const Streamed& bytes) {
    LawTime t;
    t.kernels = launch + steps + bytes.at_rate + bytes.in_dram;
    const Bytes all = call.work.compulsory();
    const double read = all > Bytes{} ? call.work.compulsory_read / all : 0.0;
    t.dram_read = bytes.missed * read;
    t.dram_write = bytes.missed * (1.0 - read);
    t.l2 = all;
    t.terms.push_back({Resource::launch, launch, 0.0});
    t.terms.push_back({Resource::latency, steps, 0.0});
    t.terms.push_back({Resource::l2, bytes.at_rate, all.base()});
    t.terms.push_back({Resource::dram, bytes.in_dram, bytes.missed.base()});
    return t;
}

}  // namespace

LawTime channel_conv(const LawCall& call) {
    constexpr std::int64_t vector = 8;  // elements of 16 bytes
    constexpr std::int64_t first_tokens = 64;
    const auto& op = std::get<Recurrence>(call.operation);
    const auto p = set_of_values(channel_conv_table(), call.kernel.values);
    const bool keys_only = call.attributes[0] != 0;
    const double channels = real(keys_only ? op.k_heads * op.head_k_dim : channels_of(op));
    const double element = real(size_of(op.type));
    const double tokens = real(op.seq) + real(op.conv - 1);
    const double bytes = 2.0 * real(op.batch) * tokens * channels * element;
    const double odd = op.seq % vector != 0 ? 1.0 + p.odd : 1.0;
    const bool prompt = op.phase == RecurrencePhase::context;
    const Cycles rows = per_multiprocessor(call, real(op.batch) * channels) * odd * p.row;
    const Cycles along = real(std::min(op.seq, first_tokens)) * p.token;
    const Time steps = prompt ? (rows + along) / call.machine.boost_clock : Time{};
    LawTime t = law_time(call, p.start + real(op.batch) * p.sequence, steps,
                         streamed(call, bytes, p.rate, p.dram, 0.5 * bytes * p.held));
    t.share = channels / real(channels_of(op));
    if (call.execution.launch == LaunchMode::stream) {
        // Such calls wait for the GPU: the host adds up.
        const Time host = p.host + real(op.batch) * p.host_sequence;
        t.kernels += host;
        t.terms.push_back({Resource::launch, host, 0.0});
    }
    return t;
}

LawTime chunked_scan(const LawCall& call) {
    const auto& op = std::get<Recurrence>(call.operation);
    const auto p = set_of_values(chunked_scan_table(), call.kernel.values);
    const RecurrenceBytes sizes = recurrence_bytes(op);
    const double bytes = sizes.inputs + sizes.gates + sizes.outputs;
    const double heads = real(op.batch) * real(op.v_heads);
    const double chunks = std::ceil(real(op.seq) / real(op.chunk));
    const double even = per_multiprocessor(call, heads) / p.blocks;
    const double waves = even < 1.0 ? 1.0 : 0.5 * (even + std::ceil(even));
    const Cycles ordered = waves * (chunks * p.step + p.block);
    const Cycles free = per_multiprocessor(call, heads * chunks) * p.chunk;
    const Time states = 2.0 * sizes.state * units::B / (call.machine.dram_bandwidth * p.state);
    LawTime t = law_time(call, p.start + real(op.batch) * p.sequence + states,
                         (ordered + free) / call.machine.boost_clock,
                         streamed(call, bytes, p.rate, p.dram, bytes * p.held));
    t.executed = chunked_flop(op);
    return t;
}

LawTime state_step(const LawCall& call) {
    const auto& op = std::get<Recurrence>(call.operation);
    const auto p = set_of_values(state_step_table(), call.kernel.values);
    const RecurrenceBytes sizes = recurrence_bytes(op);
    const double around = sizes.inputs + sizes.gates + sizes.outputs;
    // Drafted tokens leave a state each, so that the last accepted one can be taken.
    const bool drafted = op.phase == RecurrencePhase::verify;
    const double states = drafted ? 0.5 * sizes.state * (1.0 + real(op.seq)) : sizes.state;
    const double heads = real(op.batch) * real(op.v_heads);
    Time steps = per_multiprocessor(call, heads) * p.head / call.machine.boost_clock;
    if (drafted) steps += real(op.seq) * p.token;
    Streamed bytes = streamed(call, 2.0 * states, p.rate, p.state, states * p.held);
    bytes.at_rate = (2.0 * sizes.state + around) * units::B /
                    (p.rate * call.machine.boost_clock * real(call.machine.sm_count));
    return law_time(call, p.start + real(op.batch) * p.sequence, steps, bytes);
}

}  // namespace ridge::model
