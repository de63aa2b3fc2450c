#include "model/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/attention/predict.h"
#include "model/roof/band.h"

namespace ridge::model {
namespace {

std::string percent(double part) {
    return format_number(100.0 * part, 3) + " %";
}

std::string bytes_of(double base) {
    return format_traffic(Bytes::from_base(base));
}

std::string_view words_of(Resource resource) {
    switch (resource) {
        case Resource::tensor:
            return "tensor cores";
        case Resource::fma:
            return "vector (FMA) pipe";
        case Resource::special:
            return "special-function units";
        case Resource::dram:
            return "DRAM bandwidth";
        case Resource::l2:
            return "L2 bandwidth";
        case Resource::shared:
            return "shared-memory bandwidth";
        case Resource::link:
            return "interconnect";
        case Resource::latency:
            return "latency";
        case Resource::launch:
            return "kernel launch";
        case Resource::store:
            return "storing the results";
        case Resource::quantise:
            return "quantising the input";
        case Resource::issue:
            return "the issue slots of the vector pipes";
        case Resource::load_store:
            return "the load and store pipe";
        case Resource::parallelism:
            return "too few thread blocks for the multiprocessors";
    }
    return "?";
}

std::string intensity_sentence(const Prediction& p) {
    if (p.algorithmic <= Intensity{} || p.ridge <= Intensity{}) return {};
    const bool below = p.algorithmic < p.ridge;
    return fmt::format(
        "The algorithmic intensity of {} lies {} the ridge point of {}, so the roofline calls it "
        "{} and allows {} of the {} peak.",
        format(p.algorithmic), below ? "below" : "above", format(p.ridge),
        below ? "memory-bound" : "compute-bound", format(p.attainable), format(p.peak));
}

std::string tiling_sentence(const Prediction& p, const Machine& machine) {
    const Tiling& t = p.tiling;
    if (t.tiles == 0) return {};
    if (t.tile.m == 0) {
        return fmt::format("{} blocks on {} SMs: {} wave{}, {} of the slots are used.", t.tiles,
                           machine.sm_count, t.waves, t.waves == 1 ? "" : "s",
                           percent(t.wave_efficiency));
    }
    std::string text = fmt::format("{} tiles of {}x{}", t.tiles, t.tile.m, t.tile.n);
    if (t.split > 1) text += fmt::format(", split {} ways,", t.split);
    text += fmt::format(" on {} SMs: {} wave{}, {} of the slots and {} of the tiled area are used.",
                        machine.sm_count, t.waves, t.waves == 1 ? "" : "s",
                        percent(t.wave_efficiency), percent(t.tile_efficiency));
    return text;
}

/// How attention's DRAM traffic grows with the sequence length, which depends on the
/// implementation.
std::string growth_sentence(const Operation& operation, const Prediction& prediction,
                            const Machine& machine) {
    const auto* attention = std::get_if<Attention>(&operation);
    if (attention == nullptr || prediction.implementation == Implementation::engine) return {};
    const AttentionWork work = attention_counts(*attention, prediction.implementation, machine);
    return fmt::format(
        "DRAM traffic of one head grows as {} and traffic into the SMs as {} (N tokens, d elements "
        "per head, M elements on chip): {} FLOP per DRAM byte, {} per L2 byte.",
        work.dram_growth, work.chip_growth, format_number(work.dram_intensity().base(), 4),
        format_number(work.l2_intensity().base(), 4));
}

/// What recomputing the activations of a chain of functions saves over the forward and backward
/// passes.
std::string chain_sentence(const Operation& operation) {
    const auto* elementwise = std::get_if<Elementwise>(&operation);
    if (elementwise == nullptr) return {};
    try {
        const ChainAccesses chain = chain_accesses(elementwise->expression);
        if (chain.functions < 2) return {};
        return fmt::format(
            "The forward and backward passes of this chain of {} functions access {} tensors if "
            "the activations are stored, and {} if the backward kernel recomputes them.",
            chain.functions, chain.stored, chain.recomputed);
    } catch (const InputError&) {
        return {};  // not a chain of unary functions
    }
}

/// Why the L2 term has fewer bytes than the L2 traffic. (R8)
std::string multicast_sentence(const Prediction& p) {
    const auto l2 = std::find_if(p.terms.begin(), p.terms.end(),
                                 [](const Term& term) { return term.resource == Resource::l2; });
    if (l2 == p.terms.end() || l2->amount >= 0.99 * p.work.l2.base()) return {};
    return fmt::format(
        "Of the {} that pass between L2 and multiprocessors, the l2 term counts {}: it counts a "
        "multicast line once, and never more than the L2 delivers in the predicted time.",
        format_traffic(p.work.l2), bytes_of(l2->amount));
}

/// What the lower bound assumes. (R7)
std::string_view bound_words(const Operation& operation) {
    if (std::holds_alternative<Collective>(operation)) {
        return "the bytes that must cross the busiest link, at its datasheet rate";
    }
    return "the algorithmic FLOP at peak or of the compulsory bytes at the bandwidth of the level "
           "that must serve them, at datasheet rates (a warm L2 serves what fits in it)";
}

std::string correction_sentence(const Prediction& p) {
    if (p.correction == 1.0) return {};
    // A GPU without its own parameters does not have its own corrections either. (K5)
    const bool of_relative = p.evidence.chip != ChipEvidence::own;
    return fmt::format(
        "The errors of the analytic model at similar measured shapes{} correct its {} by {}{} "
        "(--analytic leaves out this correction).",
        of_relative ? " on a relative of this GPU" : "", format(p.time * (1.0 / p.correction)),
        p.correction > 1.0 ? "+" : "", percent(p.correction - 1.0));
}

std::string band_sentence(const Prediction& p) {
    switch (p.evidence.chip) {
        case ChipEvidence::own:
            if (p.evidence.kernel == KernelEvidence::other) {
                return "The band is widened: the costs are those of another kernel.";
            }
            if (p.evidence.shape == ShapeEvidence::outside) {
                return "The band is widened: this question lies outside the range in which the "
                       "model was validated.";
            }
            return "80 % of the measured times of this class of operation lie within the band.";
        case ChipEvidence::relative:
            return "The band is widened: the efficiencies come from the architecture family.";
        case ChipEvidence::foreign:
            return "The band is widened: the efficiencies come from another architecture.";
        case ChipEvidence::datasheet:
            break;
    }
    return fmt::format(
        "The band reaches from the roofline's lower bound to {} times the estimate plus {}; it is "
        "not validated.",
        roofline_band_factor, format(roofline_band_call));
}

std::string words(const note::RooflineOnly& /*unused*/) {
    return "the time is the roofline plus launch latency; no calibrated model was used";
}

std::string words(const note::Uncalibrated& /*unused*/) {
    return "the efficiencies come from its architecture family, not from measurements of this GPU";
}

std::string words(const note::Extrapolated& /*unused*/) {
    return "this lies outside the range in which the model was validated";
}

std::string words(const note::L2Resident& resident) {
    return fmt::format("the {} of data stay in the {} L2 cache if it is warm",
                       format_traffic(resident.data), format_capacity(resident.capacity));
}

std::string words(const note::AlignmentCliff& cliff) {
    return fmt::format(
        "a leading dimension is a multiple of only {} {}; fast kernels need 16 bytes{}",
        cliff.bytes, cliff.bytes == 1 ? "byte" : "bytes",
        cliff.issue_share > 0.0 && cliff.issue_share < 1.0
            ? ", and the slower ones are assumed to issue " + percent(cliff.issue_share) +
                  " of that rate (estimate)"
            : std::string());
}

std::string words(const note::VectorPipe& /*unused*/) {
    return "no tensor core takes this type; it runs on the vector pipe";
}

std::string words(const note::CausalBlocks& blocks) {
    return fmt::format(
        "the kernel computes whole blocks on the diagonal: {} more scores than the exact mask",
        percent(blocks.executed - 1.0));
}

std::string words(const note::Atomics& /*unused*/) {
    return "the traffic includes atomic accumulation of dQ in L2";
}

std::string words(const note::SplitKeys& split) {
    return fmt::format("the keys are split into {} parts", split.parts);
}

std::string words(const note::SparseGather& gather) {
    return fmt::format("rows are not whole sectors: {} of the bytes read are useful",
                       percent(gather.useful));
}

std::string words(const note::HostLink& /*unused*/) {
    return "PCIe limits the time, from and to pinned host memory";
}

std::string words(const note::NoLinks& /*unused*/) {
    return "no links connect all the GPUs, so they exchange data over PCIe";
}

std::string words(const note::SplitK& split) {
    return fmt::format("k is split into {} parts; a second kernel adds them", split.parts);
}

std::string words(const note::PowerLimited& power) {
    return fmt::format("the power limit holds the clock to {} of the peak rate",
                       percent(power.share));
}

std::string words(const note::QuantisedInput& input) {
    return fmt::format("a separate kernel first quantises the 16-bit input to 8 bits, {}",
                       format(input.time));
}

std::string words(const note::RotatedWeights& rotation) {
    return fmt::format("graph replay: A and C are reused, and B is one of {} weights used in turn",
                       rotation.weights);
}

std::string words(const note::WholeSectors& whole) {
    return fmt::format(
        "a warp request touches {} sectors: the kernel asked for {} of the bytes between L2 and "
        "multiprocessors",
        whole.sectors, percent(whole.useful));
}

std::string words(const note::WholeBursts& whole) {
    return fmt::format("DRAM moves more than the sectors: the kernel asked for {} of its bytes",
                       percent(whole.useful));
}

std::string words(const note::Serialised& serialised) {
    return fmt::format("a warp instruction takes {} passes", serialised.passes);
}

std::string words(const note::DoesNotFit& memory) {
    return fmt::format("needs {} but the device holds {}", format_capacity(memory.needed),
                       format_capacity(memory.capacity));
}

std::string words(const note::UnsplitKeys& unsplit) {
    return fmt::format(
        "flash2 does not fold grouped queries under a window or split keys behind a page table, so "
        "{} thread blocks run on {} multiprocessors",
        unsplit.blocks, unsplit.sm_count);
}

std::string words(const note::EstimatedKernel& /*unused*/) {
    return "the efficiency of this kernel is an estimate, not a measurement";
}

std::string words(const note::ProductAlone& product) {
    return fmt::format("the library's product takes {} of the time", format(product.time));
}

std::string words(const note::PointwiseAfter& pointwise) {
    return fmt::format("a Triton kernel over the result follows the product, {}",
                       format(pointwise.time));
}

std::string words(const note::PaddedOperands& padding) {
    return fmt::format("the operands are first copied to rows that are multiples of 16 bytes, {}",
                       format(padding.time));
}

std::string words(const note::OtherSoftware& software) {
    return fmt::format(
        "{} has no kernels of its own for this operation: those of {}, which it uses",
        software.asked.name(), software.used.name());
}

std::string words(const note::ResidentWarps& resident) {
    return fmt::format("a multiprocessor holds {} of {} warps{}", format_number(resident.warps, 3),
                       format_number(resident.most, 3),
                       resident.warps < resident.most
                           ? ", limited by " + std::string(resident.limiter) + " or the grid"
                           : std::string());
}

std::string words(const note::OtherVersion& version) {
    return fmt::format("no fit to {} for this GPU: its parameters are those of {}",
                       version.asked.name(), version.fitted.name());
}

std::string words(const note::EngineKernel& engine) {
    return fmt::format("the time is that of the engine's kernel {}", engine.kernel.name());
}

std::string words(const note::PickedImplementation& picked) {
    return fmt::format("impl {}: what {} picks for this shape", name_of(picked.implementation),
                       picked.software.name());
}

std::string words(const note::HostBound& host) {
    return fmt::format(
        "the call waits for the host; replayed in a graph, its kernels would take {}",
        format(host.kernels));
}

std::string words(const note::BiasSpread& bias) {
    return fmt::format(
        "the rows of the result are padded, so a kernel first spreads the bias over it, {}",
        format(bias.time));
}

}  // namespace

bool uses_dram(const Work& work) {
    return work.dram() > 1e-3 * work.compulsory();
}

bool served_from_l2(const Work& work) {
    return work.l2 > Bytes{} && work.dram() * 2.0 < work.compulsory();
}

std::optional<Intensity> dram_intensity(const Prediction& prediction) {
    if (!uses_dram(prediction.work)) return std::nullopt;
    return prediction.intensity;
}

std::string describe(const Note& note) {
    return std::visit([](const auto& each) { return words(each); }, note);
}

std::string describe(const Term& term) {
    std::string text = format(term.time) + " " + std::string(words_of(term.resource));
    if (term.rate() <= 0.0) return text;
    switch (term.resource) {
        case Resource::tensor:
        case Resource::fma:
            return text + fmt::format(": {} at {}", format(Flop::from_base(term.amount)),
                                      format(FlopRate::from_base(term.rate())));
        case Resource::special:
            return text + fmt::format(": {} G at {} G/s", format_number(term.amount * 1e-9, 3),
                                      format_number(term.rate() * 1e-9, 3));
        default:
            return text + fmt::format(": {} at {}", bytes_of(term.amount),
                                      format(Bandwidth::from_base(term.rate())));
    }
}

std::vector<std::string> explain(const Operation& operation, const Prediction& prediction,
                                 const Machine& machine) {
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("{} is limited by {}.", name_of(operation), words_of(prediction.limiter)));
    for (std::string line :
         {intensity_sentence(prediction), growth_sentence(operation, prediction, machine),
          chain_sentence(operation), tiling_sentence(prediction, machine),
          multicast_sentence(prediction)}) {
        if (!line.empty()) lines.push_back(std::move(line));
    }
    lines.push_back(fmt::format("No run can be faster than {}, the time of {}.",
                                format(prediction.lower_bound), bound_words(operation)));
    if (std::string line = correction_sentence(prediction); !line.empty()) {
        lines.push_back(std::move(line));
    }
    lines.push_back(band_sentence(prediction));
    for (const Note& note : prediction.notes) lines.push_back("Note: " + describe(note) + ".");
    return lines;
}

}  // namespace ridge::model
