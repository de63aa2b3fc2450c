#include "model/machine/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/machine/machine.h"

namespace ridge::model {
namespace {

using ranges::share;
using ranges::share_of_peak;
using ranges::span_of_time;

// clang-format off
constexpr std::array law_table{
    parameter<&Laws::sustained>("sustained", share, "share of the tensor peak that long products sustain at one watt per TFLOP/s (L2)", {Origin::measured}),
    parameter<&Laws::sustained_slope>("sustained_slope", share, "what e times the watts per TFLOP/s add to that share (L2)", {Origin::measured}),
    parameter<&Laws::least_sustained>("least_sustained", share, "that share, however few watts there are (L2)", {Origin::assumed}),
    parameter<&Laws::store>("store", share_of_peak, "rate at which a multiprocessor stores results, over its part of the DRAM bandwidth (L3)", {Origin::measured}),
    parameter<&Laws::l2>("l2", share_of_peak, "rate of a stream from the L2, over the L2's read width (L9)", {Origin::measured}),
    parameter<&Laws::feed>("feed", share_of_peak, "cost of feeding tensor cores through registers, over what four warps load from shared memory (L13)", {Origin::measured}),
    parameter<&Laws::graph_gap>("graph_gap", span_of_time, "gap between nodes of a replayed graph, unless launch.graph is known (B8)", {Origin::assumed}),
    parameter<&Laws::stream>("stream", span_of_time, "interval between kernels of a stream, unless launch.stream is known (B8)", {Origin::assumed}),
    parameter<&Laws::events>("events", span_of_time, "what two events around a call add, unless launch.call is known (B8)", {Origin::assumed}),
    parameter<&Laws::usable>("usable", share, "memory that a program gets, over the capacity, unless dram.usable is known", {Origin::measured}),
    parameter<&Laws::own_reads>("own_reads", share, "reads of a user's own kernel, over its DRAM traffic (KP2)", {Origin::assumed}),
    parameter<&Laws::own_flight>("own_flight", {1.0, 1e6}, "bytes that a warp of a user's own kernel keeps in flight (KP3)", {Origin::assumed}),
    parameter<&Laws::own_overlap>("own_overlap", {0.1, 100.0}, "how pipes, DRAM and L2 of a user's own kernel overlap: exponent of their norm (KP3)", {Origin::assumed}),
    parameter<&Laws::half_droop>("half_droop", span_of_time, "length of a kernel after which half of the clock's droop has come (G11)", {Origin::assumed}),
};
// clang-format on

constexpr auto of_machine = [](auto& machine) { return &machine.laws; };
constexpr std::array law_places{
    section<Laws, of_machine>("laws", "laws by which parameters carry over", law_table)};

}  // namespace

std::span<const Section<Laws>> law_sections() {
    return law_places;
}

double sustained_share(const Consists& gpu) {
    const double watts = gpu.watts.base() / (gpu.tensor_peak.base() / 1e12);
    const double share = gpu.laws.sustained + gpu.laws.sustained_slope * std::log(watts);
    return std::clamp(share, gpu.laws.least_sustained, 1.0);
}

BytesPerCycle store_rate(const Consists& gpu) {
    return gpu.dram * gpu.laws.store / (gpu.tensor_clock * gpu.sms);
}

double feed_through_registers(const Consists& gpu) {
    constexpr double edge = 2.0;      // a block over a warp
    constexpr double element = 2.0;   // bytes
    constexpr double shared = 128.0;  // bytes per clock
    const double clocks = gpu.sms * gpu.tensor_clock.base();
    if (clocks <= 0.0) return 0.0;
    const double multiply_adds = gpu.tensor_peak.base() / clocks / 2.0;
    return gpu.laws.feed * edge * element * multiply_adds / shared;
}

BytesPerCycle l2_stream_rate(BytesPerCycle width, const Laws& laws) {
    return width * laws.l2;
}

double powered_share(const Consists& gpu, FlopRate peak, double picojoules) {
    if (gpu.watts <= Power{} || peak <= FlopRate{} || picojoules <= 0.0) return 1.0;
    return std::min(1.0, gpu.watts.base() / (peak.base() * picojoules * 1e-12));
}

}  // namespace ridge::model
