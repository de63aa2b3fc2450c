#include "model/machine/collective_kernels.h"
#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using hardware::Description;

using ranges::data_rate;
using ranges::factor;
using ranges::share_of_peak;
using ranges::span_of_time;

using enum Origin;
using enum Need;
constexpr hardware::Range kernel_bytes{1.0, 1e12};
constexpr hardware::Range channel_count{1.0, 64.0};

// clang-format off
using L = LowLatencyRing;
constexpr std::array low_latency_table{
    parameter<&L::start>("start", span_of_time, "kernel and first synchronisation", {records}, required),
    parameter<&L::hop>("hop", span_of_time, "one step of the ring", {records}, required),
    parameter<&L::doubling>("doubling", span_of_time, "added start time for each doubling of the channels", {records}, required),
    parameter<&L::first>("first", span_of_time, "a first full pass of 4 KiB of one channel through one primitive", {records}, required),
    parameter<&L::pass>("pass", span_of_time, "each further pass", {records}, required),
    parameter<&L::chain>("chain", factor, "passes of a broadcast, over those of one primitive", {records}, required),
    parameter<&L::channels>("channels", channel_count, "most channels", {assumed}, required),
};

using B = BulkRing;
constexpr std::array bulk_table{
    parameter<&B::start>("start", span_of_time, "kernel and first synchronisation", {records, records, records}, required),
    parameter<&B::hop>("hop", span_of_time, "one step of the ring", {records, records, records}, required),
    parameter<&B::rate>("rate", share_of_peak, "wire bandwidth over the link rate", {records, records, records}, required),
    parameter<&B::chain_rate>("chain_rate", share_of_peak, "the same for a broadcast", {records, records, records}, required),
    parameter<&B::local_share>("local_share", factor, "share of its own part that a GPU copies or adds beside the wire", {records, records, records}, required),
    parameter<&B::fill>("fill", span_of_time, "longest additional time of large messages; absent if there is none", {records, records, records}),
    parameter<&B::fill_bytes>("fill_bytes", kernel_bytes, "bytes at which 63 % of that time is reached", {records, records, records}),
    parameter<&B::chunk>("chunk", kernel_bytes, "bytes that a broadcast passes on at a time, on all channels together", {none, none, assumed}),
};

using P = PeerExchange;
constexpr std::array exchange_table{
    parameter<&P::ll_start>("ll_start", span_of_time, "start with protocol LL", {records, records}, required),
    parameter<&P::ll_peer>("ll_peer", span_of_time, "each further peer with protocol LL", {records, none}),
    parameter<&P::ll_pass>("ll_pass", span_of_time, "4 KiB on one channel with protocol LL", {records, records}, required),
    parameter<&P::start>("start", span_of_time, "start with protocol Simple", {records, records}, required),
    parameter<&P::rate>("rate", share_of_peak, "wire bandwidth over the link rate", {records, records}, required),
    parameter<&P::channel_rate>("channel_rate", data_rate, "most bandwidth of one channel", {assumed, records}, required),
    parameter<&P::fill>("fill", span_of_time, "longest fill of the pipeline", {records, records}, required),
    parameter<&P::fill_bytes>("fill_bytes", kernel_bytes, "bytes at which 63 % of that fill is reached", {records, records}, required),
};

using N = PeerChannels;
constexpr std::array channel_table{
    parameter<&N::all>("all", channel_count, "channels of a GPU, shared by all ranks", {assumed}, required),
    parameter<&N::most>("most", channel_count, "most channels to one peer", {assumed}, required),
    parameter<&N::low>("low", kernel_bytes, "protocol LL up to this size on a channel", {assumed}, required),
    parameter<&N::high>("high", kernel_bytes, "beyond this size on a channel, a peer gets more of them", {assumed}, required),
};

using C = CollectiveCalls;
constexpr std::array call_table{
    parameter<&C::gap>("gap", span_of_time, "between collectives in a graph", {measured}, required),
    parameter<&C::drain>("drain", span_of_time, "broadcast and send: time after the sender is done, which the next in a row hides", {measured}, required),
    parameter<&C::bulk_drain>("bulk_drain", span_of_time, "the same with protocol Simple, beyond that with LL", {measured}, required),
    parameter<&C::drain_bytes>("drain_bytes", kernel_bytes, "bytes at which 63 % of that is reached", {measured}, required),
    parameter<&C::launch>("launch", span_of_time, "the host's time for a small kernel", {measured}, required),
    parameter<&C::library>("library", factor, "the host's time for a call of the library, in launches", {measured}, required),
    parameter<&C::framework>("framework", factor, "the host's time for a call of PyTorch, in launches", {measured}, required),
    parameter<&C::spread>("spread", factor, "factor by which the host's time differs between hosts and moments", {measured}, required),
};

using D = CollectiveBeside;
constexpr std::array beside_table{
    parameter<&D::products>("products", factor, "time beside kernels that compute, over that alone", {measured}, required),
    parameter<&D::streams>("streams", factor, "time beside kernels bound by DRAM, over that alone", {measured}, required),
};

using R = CustomReduce;
constexpr std::array custom_table{
    parameter<&R::start>("start", span_of_time, "one-shot: start", {tables}, required),
    parameter<&R::peer>("peer", span_of_time, "one-shot: each further peer", {tables}, required),
    parameter<&R::rate>("rate", data_rate, "one-shot: rate at which a GPU reads the messages of its peers", {tables}, required),
    parameter<&R::split_start>("split_start", span_of_time, "two-shot: start", {tables}, required),
    parameter<&R::split_rate>("split_rate", data_rate, "two-shot: bus bandwidth", {tables}, required),
    parameter<&R::most>("most", kernel_bytes, "larger messages go to the library", {assumed}, required),
    parameter<&R::call>("call", span_of_time, "the host's time for a call of the engine", {tables}, required),
};
// clang-format on

template <auto member>
constexpr auto in_kernels = in_held<&Machine::collective_kernels, member>;
using K = CollectiveKernels;
constexpr std::array low_latency_places{section<L, in_kernels<&K::ll>>(
    "collective.kernel.ll", "ring with protocol LL", low_latency_table)};
constexpr std::array bulk_places{
    section<B, in_kernels<&K::ll128>>("collective.kernel.ll128", "ring with protocol LL128",
                                      bulk_table),
    section<B, in_kernels<&K::simple>>("collective.kernel.simple",
                                       "ring of two GPUs with protocol Simple", bulk_table, 1),
    section<B, in_kernels<&K::longer>>("collective.kernel.longer",
                                       "ring of more GPUs with protocol Simple", bulk_table, 2)};
constexpr std::array exchange_places{
    section<P, in_kernels<&K::all_to_all>>("collective.kernel.all_to_all", "all-to-all",
                                           exchange_table),
    section<P, in_kernels<&K::send>>("collective.kernel.send", "send to one other GPU",
                                     exchange_table, 1)};
constexpr std::array channel_places{section<N, in_kernels<&K::peers>>(
    "collective.kernel.peers", "channels to other GPUs", channel_table)};
constexpr std::array beside_places{section<D, in_kernels<&K::beside>>(
    "collective.kernel.beside", "collectives beside other kernels", beside_table)};
constexpr std::array call_places{section<C, in_kernels<&K::calls>>(
    "collective.kernel.calls", "what surrounds the kernel of a collective", call_table)};

constexpr auto custom_place = [](auto& machine) {
    return machine.custom_reduce ? &*machine.custom_reduce : nullptr;
};
constexpr std::array custom_places{
    section<R, custom_place>("custom_reduce", "an engine's own all-reduce", custom_table)};

}  // namespace

std::span<const Section<CustomReduce>> custom_reduce_sections() {
    return custom_places;
}

const CollectiveKernelSections& collective_kernel_sections() {
    static const CollectiveKernelSections all{low_latency_places, bulk_places, exchange_places,
                                              channel_places,     call_places, beside_places};
    return all;
}

void resolve_collective_kernels(const Description& gpu, Machine& machine) {
    CustomReduce custom;
    if (read_section(gpu, custom_places[0], custom)) machine.custom_reduce = custom;
    resolve_sections(gpu, collective_kernel_sections(), machine, &Machine::collective_kernels);
    if (!machine.collective_kernels) return;
    machine.collective_kernels->evidence =
        chip_evidence(evidence_of(gpu, low_latency_places[0], "start"));
}

}  // namespace ridge::model
