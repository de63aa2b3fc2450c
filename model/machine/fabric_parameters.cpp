#include "model/machine/fabric_parameters.h"

#include <string>

namespace ridge::model {
namespace {

using hardware::Description;

/// A ring through PCIe switches, not measured: the tuner's PCIe hops, LL at half the usual copy
/// rate, no LL128.
FabricParameters pcie_fabric(Bandwidth pcie) {
    return {.link = pcie,
            .ll = {7.5 * units::us, 1.4 * units::us, 0.4},
            .ll128 = {Time{}, Time{}, 0.0},
            .simple = {15.0 * units::us, 7.0 * units::us, 0.8},
            .tuner_ll = 0.4 * pcie,
            .engage = 3.7 * units::us,
            .engage_bytes = 4.4 * units::kB,
            .local_share = 0.5,
            .peer_ll_start = 10.5 * units::us,
            .peer_ll_peer = 0.9 * units::us,
            .peer_ll_bandwidth = 4.1 * units::GB / units::s,
            .peer_start = 13.0 * units::us,
            .peer_peer = 0.2 * units::us,
            .peer_rate = 0.75,
            .peer_fill = 22.0 * units::us,
            .peer_fill_bytes = 1.0 * units::MB};
}

/// The fields of one protocol; empty when one is missing.
std::optional<ProtocolCost> resolve_protocol(const Description& gpu, const std::string& name) {
    const auto start = gpu.quantity<Time>("model.collective." + name + ".start");
    const auto hop = gpu.quantity<Time>("model.collective." + name + ".hop");
    const auto rate = gpu.number("model.collective." + name + ".rate");
    if (!start || !hop || !rate) return std::nullopt;
    return ProtocolCost{.start = *start, .hop = *hop, .rate = *rate};
}

void resolve_nvls(FabricParameters& fabric, const Description& gpu) {
    const auto gpus = gpu.count("model.collective.nvls.gpus");
    const auto start = gpu.quantity<Time>("model.collective.nvls.start");
    const auto rate = gpu.number("model.collective.nvls.rate");
    if (!gpus || !start || !rate) return;
    fabric.nvls_gpus = *gpus;
    fabric.nvls_start = *start;
    fabric.nvls_rate = *rate;
}

/// All fields but those of NVLS, or nothing.
std::optional<FabricParameters> resolve_links(const Description& gpu, Bandwidth link) {
    const auto ll = resolve_protocol(gpu, "ll");
    const auto ll128 = resolve_protocol(gpu, "ll128");
    const auto simple = resolve_protocol(gpu, "simple");
    const auto number = [&](const std::string& field) {
        return gpu.number("model.collective." + field);
    };
    const auto time = [&](const std::string& field) {
        return gpu.quantity<Time>("model.collective." + field);
    };
    const auto bytes = [&](const std::string& field) {
        return gpu.quantity<Bytes>("model.collective." + field);
    };
    const auto tuner_ll = gpu.quantity<Bandwidth>("model.collective.tuner_ll");
    const auto engage = time("engage.time");
    const auto engage_bytes = bytes("engage.bytes");
    const auto local = number("local_share");
    const auto ll_start = time("peer_ll.start");
    const auto ll_peer = time("peer_ll.peer");
    const auto ll_bandwidth = gpu.quantity<Bandwidth>("model.collective.peer_ll.bandwidth");
    const auto start = time("peer.start");
    const auto peer = time("peer.peer");
    const auto rate = number("peer.rate");
    const auto fill = time("peer.fill");
    const auto fill_bytes = bytes("peer.fill_bytes");
    if (!ll || !ll128 || !simple || !tuner_ll || !engage || !engage_bytes || !local || !ll_start ||
        !ll_peer || !ll_bandwidth || !start || !peer || !rate || !fill || !fill_bytes) {
        return std::nullopt;
    }
    return FabricParameters{.link = link,
                            .ll = *ll,
                            .ll128 = *ll128,
                            .simple = *simple,
                            .tuner_ll = *tuner_ll,
                            .engage = *engage,
                            .engage_bytes = *engage_bytes,
                            .local_share = *local,
                            .peer_ll_start = *ll_start,
                            .peer_ll_peer = *ll_peer,
                            .peer_ll_bandwidth = *ll_bandwidth,
                            .peer_start = *start,
                            .peer_peer = *peer,
                            .peer_rate = *rate,
                            .peer_fill = *fill,
                            .peer_fill_bytes = *fill_bytes};
}

}  // namespace

std::optional<FabricParameters> resolve_fabric(const Description& gpu) {
    const auto link = gpu.quantity<Bandwidth>("link.per_direction");
    if (link) {
        std::optional<FabricParameters> fabric = resolve_links(gpu, *link);
        if (!fabric) return std::nullopt;
        resolve_nvls(*fabric, gpu);
        if (gpu.has_own("model.collective.ll.start")) fabric->confidence = Confidence::calibrated;
        return fabric;
    }
    const auto pcie = gpu.quantity<Bandwidth>("pcie.per_direction");
    if (!pcie || gpu.find("model.memory.read_efficiency") == nullptr) return std::nullopt;
    return pcie_fabric(*pcie);
}

}  // namespace ridge::model
