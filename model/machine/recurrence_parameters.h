// What the laws of linear attention know of one kernel of an engine (`model/engine/recurrences.h`).
//
//   [model.engine.chunked_scan.vllm.gdn_flashinfer]
//   step = { value = "5600 clk", source = "FIT" }
//
// Times of work on a multiprocessor are in its clocks and rates are per clock or shares of the data
// sheet's, so that values carry over to a chip that nobody measured.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// The short convolution: a stream of channels.
struct ChannelConv {
    Time start{};
    Time sequence{};
    Cycles token{};
    Cycles row{};
    double odd = 0.0;
    BytesPerCycle rate{};
    double dram = 1.0;
    double held = 1.0;
    Time host{};
    Time host_sequence{};
};
[[nodiscard]] std::span<const Parameter<ChannelConv>> channel_conv_table();
[[nodiscard]] std::span<const LawAttribute> channel_conv_attributes();
enum class ConvAttribute : std::uint8_t { keys_only };

/// The recurrence of a prompt, a chunk of tokens at once.
struct ChunkedScan {
    Time start{};
    Time sequence{};
    Cycles step{};
    Cycles block{};
    double blocks = 1.0;
    Cycles chunk{};
    BytesPerCycle rate{};
    double dram = 1.0;
    double state = 1.0;
    double held = 1.0;
};
[[nodiscard]] std::span<const Parameter<ChunkedScan>> chunked_scan_table();
[[nodiscard]] std::span<const LawAttribute> chunked_scan_attributes();

/// The recurrence of one token, or of drafted tokens, per sequence: a stream of states.
struct StateStep {
    Time start{};
    Time sequence{};
    Cycles head{};
    Time token{};
    BytesPerCycle rate{};
    double state = 1.0;
    double held = 1.0;
};
[[nodiscard]] std::span<const Parameter<StateStep>> state_step_table();
[[nodiscard]] std::span<const LawAttribute> state_step_attributes();

}  // namespace ridge::model
