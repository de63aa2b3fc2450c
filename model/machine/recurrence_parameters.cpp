#include "model/machine/recurrence_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using Conv = ChannelConv;
using Scan = ChunkedScan;
using Step = StateStep;

template <class Set, auto member>
constexpr Parameter<Set> of_recurrence(std::string_view name, hardware::Range range,
                                       std::string_view meaning) {
    return parameter_of<Set, member>(name, range, meaning, everywhere(Origin::tables));
}

// clang-format off
constexpr std::array conv_table{
    of_recurrence<Conv, &Conv::start>("start", ranges::span_of_time, "fixed time of the kernel"),
    of_recurrence<Conv, &Conv::sequence>("sequence", ranges::span_of_time, "time of each sequence"),
    of_recurrence<Conv, &Conv::token>("token", ranges::clocks, "time of each of the first 64 tokens, one after the other"),
    of_recurrence<Conv, &Conv::row>("row", ranges::clocks, "fixed time of one channel of one sequence, on one multiprocessor"),
    of_recurrence<Conv, &Conv::odd>("odd", ranges::factor, "additional part of that where the tokens are no multiple of 8"),
    of_recurrence<Conv, &Conv::rate>("rate", ranges::rate_per_clock, "rate per multiprocessor of bytes in and out"),
    of_recurrence<Conv, &Conv::dram>("dram", ranges::factor, "rate of those that leave the L2 over the DRAM bandwidth"),
    of_recurrence<Conv, &Conv::held>("held", ranges::factor, "bytes that the L2 must hold, over those of the input"),
    of_recurrence<Conv, &Conv::host>("host", ranges::span_of_time, "eager call, which waits for the GPU: time of the host"),
    of_recurrence<Conv, &Conv::host_sequence>("host_sequence", ranges::span_of_time, "additional part of that for each sequence"),
};
constexpr std::array scan_table{
    of_recurrence<Scan, &Scan::start>("start", ranges::span_of_time, "fixed time of all kernels"),
    of_recurrence<Scan, &Scan::sequence>("sequence", ranges::span_of_time, "time of each sequence"),
    of_recurrence<Scan, &Scan::step>("step", ranges::clocks, "one chunk of one head, one after the other"),
    of_recurrence<Scan, &Scan::block>("block", ranges::clocks, "start and end of a head's chunks"),
    of_recurrence<Scan, &Scan::blocks>("blocks", ranges::factor, "heads that a multiprocessor works on at once"),
    of_recurrence<Scan, &Scan::chunk>("chunk", ranges::clocks, "work on one chunk of one head that needs no order"),
    of_recurrence<Scan, &Scan::rate>("rate", ranges::rate_per_clock, "rate per multiprocessor of bytes in and out"),
    of_recurrence<Scan, &Scan::dram>("dram", ranges::factor, "rate of those that leave the L2 over the DRAM bandwidth; kernels that pass chunks on in memory move them again"),
    of_recurrence<Scan, &Scan::state>("state", ranges::factor, "rate of states over the DRAM bandwidth"),
    of_recurrence<Scan, &Scan::held>("held", ranges::factor, "bytes that the L2 must hold, over those in and out"),
};
constexpr std::array step_table{
    of_recurrence<Step, &Step::start>("start", ranges::span_of_time, "fixed time of the kernel"),
    of_recurrence<Step, &Step::sequence>("sequence", ranges::span_of_time, "time of each sequence"),
    of_recurrence<Step, &Step::head>("head", ranges::clocks, "time of one head of one sequence, on one multiprocessor"),
    of_recurrence<Step, &Step::token>("token", ranges::span_of_time, "time of each drafted token, one after the other"),
    of_recurrence<Step, &Step::rate>("rate", ranges::rate_per_clock, "rate per multiprocessor of states and tokens"),
    of_recurrence<Step, &Step::state>("state", ranges::factor, "rate of states that leave the L2 over the DRAM bandwidth"),
    of_recurrence<Step, &Step::held>("held", ranges::factor, "bytes that the L2 must hold, over those of the states"),
};

constexpr std::array<LawAttribute, 1> conv_attributes{{
    {"keys_only", 0, "1: convolves over the channels of the keys only"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<ChannelConv>> channel_conv_table() {
    return conv_table;
}
std::span<const LawAttribute> channel_conv_attributes() {
    return conv_attributes;
}
std::span<const Parameter<ChunkedScan>> chunked_scan_table() {
    return scan_table;
}
std::span<const LawAttribute> chunked_scan_attributes() {
    return {};
}
std::span<const Parameter<StateStep>> state_step_table() {
    return step_table;
}
std::span<const LawAttribute> state_step_attributes() {
    return {};
}

}  // namespace ridge::model
