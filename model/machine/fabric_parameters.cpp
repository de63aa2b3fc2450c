#include "model/machine/fabric_parameters.h"

#include <algorithm>

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
constexpr hardware::Range message_bytes{1.0, 1e12};

// clang-format off
using F = FabricParameters;
using P = ProtocolCost;
constexpr std::array ring_table{
    parameter<&F::ll_start>("ll.start", span_of_time, "ring with protocol LL (a flag with every 4 bytes): kernel and first synchronisation", {tables}, required),
    parameter<&F::ll_hop>("ll.hop", span_of_time, "ring with protocol LL: time of one step", {tables}, required),
    parameter<&F::ll128_rate>("ll128.rate", share_of_peak, "ring with protocol LL128 (a flag with every 120 bytes): wire bandwidth over the link rate", {tables}, required),
    parameter<&F::simple, &P::start>("simple.start", span_of_time, "rings with protocols Simple (fences) and LL128: kernel and first synchronisation", {tables}, required),
    parameter<&F::simple, &P::hop>("simple.hop", span_of_time, "ring with protocol Simple: one step", {tables}, required),
    parameter<&F::simple, &P::rate>("simple.rate", share_of_peak, "ring with protocol Simple: wire bandwidth over the link rate; LL reaches half of it, because half of what LL sends is flags", {tables}, required),
    parameter<&F::engage>("engage.time", span_of_time, "ring with protocol LL: added start time when all channels run", {tables}, required),
    parameter<&F::tuner_ll>("tuner_ll", data_rate, "ring bandwidth with protocol LL that the library's tuner assumes", {assumed}, required),
    parameter<&F::local_share>("local_share", factor, "share of its own part that a GPU copies or adds in a ring, beside the wire", {tables}, required),
    parameter<&F::peer_ll_start>("peer_ll.start", span_of_time, "all-to-all and send with protocol LL: start", {tables}, required),
    parameter<&F::peer_ll_peer>("peer_ll.peer", span_of_time, "all-to-all and send with protocol LL: each further peer", {tables}, required),
    parameter<&F::peer_ll_bandwidth>("peer_ll.bandwidth", data_rate, "all-to-all and send with protocol LL: bandwidth of the one channel of a peer", {tables}, required),
    parameter<&F::peer_start>("peer.start", span_of_time, "all-to-all and send with protocol Simple: start", {tables}, required),
    parameter<&F::peer_rate>("peer.rate", share_of_peak, "all-to-all and send with protocol Simple: wire bandwidth over the link rate", {tables}, required),
    parameter<&F::peer_fill>("peer.fill", span_of_time, "all-to-all and send with protocol Simple: longest fill of the pipeline; absent if measurements cannot tell it from the rate", {tables}),
    parameter<&F::peer_fill_bytes>("peer.fill_bytes", message_bytes, "all-to-all and send with protocol Simple: bytes at which 63 % of that fill is reached", {tables}),
};
constexpr std::array nvls_table{
    parameter<&F::nvls_gpus>("gpus", {2.0, 1e6}, "least number of GPUs for which the switch adds (NVLS)", {assumed}, required),
    parameter<&F::nvls_start>("start", span_of_time, "start", {tables}, required),
    parameter<&F::nvls_rate>("rate", share_of_peak, "bus bandwidth over the link rate", {tables}, required),
};

constexpr std::array pcie_table{
    parameter<&F::ll_start>("ll_start", span_of_time, "ring with protocol LL: kernel and first synchronisation", {assumed}, required),
    parameter<&F::ll_hop>("ll_hop", span_of_time, "ring with protocol LL: time of one step", {assumed}, required),
    parameter<&F::simple, &P::start>("start", span_of_time, "ring with protocol Simple: kernel and first synchronisation", {assumed}, required),
    parameter<&F::simple, &P::hop>("hop", span_of_time, "ring with protocol Simple: one step", {assumed}, required),
    parameter<&F::simple, &P::rate>("rate", share_of_peak, "ring with protocol Simple: wire bandwidth over the PCIe rate", {assumed}, required),
    parameter<&F::engage>("engage", span_of_time, "ring with protocol LL: added start time when all channels run", {assumed}, required),
    parameter<&F::local_share>("local_share", factor, "share of its own part that a GPU copies or adds in a ring, beside the wire", {assumed}, required),
    parameter<&F::peer_ll_start>("peer_ll_start", span_of_time, "all-to-all and send with protocol LL: start", {assumed}, required),
    parameter<&F::peer_ll_peer>("peer_ll_peer", span_of_time, "all-to-all and send with protocol LL: each further peer", {assumed}, required),
    parameter<&F::peer_ll_bandwidth>("peer_ll_rate", data_rate, "all-to-all and send with protocol LL: bandwidth of the one channel of a peer", {assumed}, required),
    parameter<&F::peer_start>("peer_start", span_of_time, "all-to-all and send with protocol Simple: start", {assumed}, required),
    parameter<&F::peer_rate>("peer_rate", share_of_peak, "all-to-all and send with protocol Simple: wire bandwidth over the PCIe rate", {assumed}, required),
    parameter<&F::peer_fill>("peer_fill", span_of_time, "all-to-all and send with protocol Simple: longest fill of the pipeline", {assumed}, required),
    parameter<&F::peer_fill_bytes>("peer_fill_bytes", message_bytes, "all-to-all and send with protocol Simple: bytes at which 63 % of that fill is reached", {assumed}, required),
};

using S = SendCosts;
constexpr std::array send_table{
    parameter<&S::ll_start>("ll_start", span_of_time, "start with protocol LL", {measured}, required),
    parameter<&S::ll_rate>("ll_rate", data_rate, "bandwidth with protocol LL", {measured}, required),
    parameter<&S::start>("start", span_of_time, "start with protocol Simple", {measured}, required),
    parameter<&S::rate>("rate", share_of_peak, "wire bandwidth over the link rate", {measured}, required),
    parameter<&S::fill>("fill", span_of_time, "longest fill of the pipeline", {measured}, required),
    parameter<&S::fill_bytes>("fill_bytes", message_bytes, "bytes at which 63 % of that fill is reached", {measured}, required),
};

using T = TunerTable;
constexpr std::array tuner_table{
    parameter<&T::ll_base>("ll_base", span_of_time, "protocol LL: base latency", {assumed}, required),
    parameter<&T::ll_hop>("ll_hop", span_of_time, "protocol LL: latency of a step", {assumed}, required),
    parameter<&T::ll128_base>("ll128_base", span_of_time, "protocol LL128: base latency", {assumed}, required),
    parameter<&T::ll128_hop>("ll128_hop", span_of_time, "protocol LL128: latency of a step", {assumed}, required),
    parameter<&T::ll128_rate>("ll128_rate", share_of_peak, "protocol LL128: bandwidth over the link rate", {assumed}, required),
    parameter<&T::simple_base>("simple_base", span_of_time, "protocol Simple: base latency", {assumed}, required),
    parameter<&T::simple_hop>("simple_hop", span_of_time, "protocol Simple: latency of a step", {assumed}, required),
    parameter<&T::simple_rate>("simple_rate", share_of_peak, "protocol Simple: bandwidth over the link rate", {assumed}, required),
};

using E = EngineCosts;
constexpr std::array engine_table{
    parameter<&E::start>("start", span_of_time, "start", {measured}, required),
    parameter<&E::rate>("rate", share_of_peak, "bandwidth over the link rate", {measured}, required),
};

using H = HostCosts;
constexpr std::array host_table{
    parameter<&H::rate>("rate", share_of_peak, "bandwidth of the copy engine over the PCIe rate", {measured}, required),
    parameter<&H::staged_start>("staged_start", span_of_time, "call with pageable memory: start", {measured}, required),
    parameter<&H::cached>("cached", message_bytes, "pageable memory to the device: bytes that, when sent repeatedly, stay in the host's cache", {measured}, required),
    parameter<&H::cached_rate>("cached_rate", data_rate, "pageable memory to the device: rate at which the host moves cached bytes", {measured}, required),
    parameter<&H::inlined>("inlined", message_bytes, "pinned memory to the device: bytes that travel within the command", {measured}, required),
    parameter<&H::inlined_start>("inlined_start", span_of_time, "start of a copy whose bytes travel within the command", {measured}, required),
    parameter<&H::inlined_rate>("inlined_rate", data_rate, "rate of a copy whose bytes travel within the command", {measured}, required),
};

using W = HostPath;
constexpr std::array path_table{
    parameter<&W::start>("start", span_of_time, "start of the copy engine", {measured, measured}, required),
    parameter<&W::around>("around", span_of_time, "call in a stream with pinned memory: time around the copy", {measured, measured}, required),
    parameter<&W::call>("call", span_of_time, "call in a stream with pinned memory: time of the call itself", {measured, measured}, required),
    parameter<&W::staging>("staging", data_rate, "pageable memory: rate at which the host moves bytes", {measured, measured}, required),
};
// clang-format on

constexpr auto place = [](auto& machine) { return machine.fabric ? &*machine.fabric : nullptr; };
constexpr auto switch_place = [](auto& machine) {
    return machine.fabric && machine.fabric->nvls_gpus > 0 ? &*machine.fabric : nullptr;
};
constexpr auto pcie_place = [](auto& machine) {  // which has no LL128
    return machine.fabric && machine.fabric->ll128_rate == 0.0 ? &*machine.fabric : nullptr;
};
constexpr std::array places{
    section<F, place>("collective", "collectives", ring_table),
    section<F, switch_place>("collective.nvls", "all-reduce in the switch", nvls_table),
    section<F, pcie_place>("collective.pcie", "collectives through PCIe switches", pcie_table)};

constexpr auto send_place = [](auto& machine) {
    return machine.fabric ? &machine.fabric->send : nullptr;
};
constexpr std::array send_places{
    section<S, send_place>("collective.send", "send to one other GPU", send_table)};

constexpr auto tuner_place = [](auto& machine) {
    return machine.fabric ? &machine.fabric->tuner : nullptr;
};
constexpr std::array tuner_places{section<T, tuner_place>(
    "collective.tuner", "cost table of the library's tuner, for rings", tuner_table)};

/// Costs of copies, for machines that have them.
template <auto member>
constexpr auto in_copies = in_held<&Machine::copies, member>;
using All = CopyParameters;
constexpr std::array engine_places{section<E, in_copies<&All::engine>>(
    "copy.engine", "copy between GPUs by their engines", engine_table)};
constexpr std::array host_places{
    section<H, in_copies<&All::host>>("copy.host", "copy between host and device", host_table)};
constexpr std::array path_places{
    section<W, in_copies<&All::to_device>>("copy.to_device", "copy to the device", path_table),
    section<W, in_copies<&All::to_host>>("copy.to_host", "copy to the host", path_table, 1)};

/// If a description has no send costs of its own, a send costs as much as an all-to-all with one
/// peer.
void read_send(const Description& gpu, FabricParameters& fabric) {
    fabric.send = {.ll_start = fabric.peer_ll_start,
                   .ll_rate = fabric.peer_ll_bandwidth,
                   .start = fabric.peer_start,
                   .rate = fabric.peer_rate,
                   .fill = fabric.peer_fill,
                   .fill_bytes = std::max(fabric.peer_fill_bytes, 1.0 * units::B)};
    static_cast<void>(read_section(gpu, send_places[0], fabric.send));
}

}  // namespace

std::span<const Section<FabricParameters>> fabric_sections() {
    return places;
}

std::span<const Section<SendCosts>> send_sections() {
    return send_places;
}

std::span<const Section<TunerTable>> tuner_sections() {
    return tuner_places;
}

std::optional<FabricParameters> resolve_fabric(const Description& gpu) {
    const auto link = gpu.quantity<Bandwidth>("link.per_direction");
    if (link) {
        FabricParameters fabric{.link = *link};
        if (!read_section(gpu, places[0], fabric)) return std::nullopt;
        if (!read_section(gpu, tuner_places[0], fabric.tuner)) return std::nullopt;
        read_send(gpu, fabric);
        if (!read_section(gpu, places[1], fabric)) fabric.nvls_gpus = 0;
        fabric.evidence = chip_evidence(evidence_of(gpu, places[0], "ll.start"));
        return fabric;
    }
    return resolve_host_fabric(gpu);
}

std::optional<FabricParameters> resolve_host_fabric(const Description& gpu) {
    const auto pcie = gpu.quantity<Bandwidth>("pcie.per_direction");
    if (!pcie || !has(gpu, memory_sections()[0], "read_efficiency")) return std::nullopt;
    FabricParameters fabric{.link = *pcie};
    if (!read_section(gpu, places[2], fabric)) return std::nullopt;
    if (!read_section(gpu, tuner_places[0], fabric.tuner)) return std::nullopt;
    fabric.tuner_ll = fabric.simple.rate / 2.0 * *pcie;  // half of what LL sends is flags
    read_send(gpu, fabric);
    return fabric;
}

const CopySections& copy_sections() {
    static const CopySections all{engine_places, host_places, path_places};
    return all;
}

void resolve_copies(const Description& gpu, Machine& machine) {
    resolve_sections(gpu, copy_sections(), machine, &Machine::copies);
}

}  // namespace ridge::model
