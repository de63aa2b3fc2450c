#include "model/machine/energy_parameters.h"

#include <algorithm>

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::factor;
using ranges::share;
using ranges::span_of_time;

using enum Origin;
using enum Need;

constexpr hardware::Range watts{0.1, 1e5};
constexpr hardware::Range picojoules{1e-3, 1e5};
constexpr hardware::Range flop_rates{1e9, 1e19};
constexpr hardware::Range celsius{1.0, 120.0};

// clang-format off
using P = EnergyParameters;
constexpr std::array energy_table{
    parameter<&P::idle>("idle", watts, "power between kernels, clocks up, at `temperature`; `power.idle` of the GPU replaces it", {measured}, required),
    parameter<&P::running>("running", watts, "what the GPU draws more while any kernel runs", {records}, required),
    parameter<&P::leakage>("leakage", share, "share of the idle power that each kelvin adds", {measured}),
    parameter<&P::temperature>("temperature", celsius, "temperature of the GPU at which the coefficients were measured, in degrees Celsius", {measured}),
    parameter<&P::dram>("dram", picojoules, "energy of a byte from or to DRAM, in pJ", {records}, required),
    parameter<&P::l2>("l2", picojoules, "energy of a byte between L2 and multiprocessors, in pJ", {records}, required),
    parameter<&P::operands>("l2_operands", picojoules, "the same of operands of tensor cores, of which a line often serves several multiprocessors", {records}, required),
    parameter<&P::link>("link", picojoules, "energy of a byte over the links between GPUs, in pJ", {assumed}),
    parameter<&P::fma>("fma", picojoules, "energy of a FLOP of the vector pipe with 32 bits, in pJ", {records}, required),
    parameter<&P::special>("special", picojoules, "energy of a special function, in pJ", {records}),
    parameter<&P::wide, &TensorEnergy::flop>("tensor_32", picojoules, "energy of a FLOP of the tensor cores with operands of 32 bits and more, in pJ", {records}, required),
    parameter<&P::half, &TensorEnergy::flop>("tensor_16", picojoules, "the same with operands of 16 bits", {records}, required),
    parameter<&P::byte, &TensorEnergy::flop>("tensor_8", picojoules, "the same with fp8", {records}, required),
    parameter<&P::whole, &TensorEnergy::flop>("tensor_int8", picojoules, "the same with int8", {records}, required),
    parameter<&P::four, &TensorEnergy::flop>("tensor_4", picojoules, "the same with 4 bits", {assumed}),
    parameter<&P::wide, &TensorEnergy::ceiling>("ceiling_32", share, "share of the boost clock that busy tensor cores lose below the power limit, operands of 32 bits and more", {measured}),
    parameter<&P::half, &TensorEnergy::ceiling>("ceiling_16", share, "the same with operands of 16 bits", {measured}),
    parameter<&P::byte, &TensorEnergy::ceiling>("ceiling_8", share, "the same with 8 bits and fewer", {measured}),
    parameter<&P::wide, &TensorEnergy::burst>("burst_32", share, "share of the boost clock that busy tensor cores lack in the predicted time, operands of 32 bits and more", {records}),
    parameter<&P::half, &TensorEnergy::burst>("burst_16", share, "the same with operands of 16 bits", {records}),
    parameter<&P::byte, &TensorEnergy::burst>("burst_8", share, "the same with 8 bits and fewer", {records}),
    parameter<&P::tensor_active>("tensor_active", watts, "power of multiprocessors while they feed tensor cores, besides the FLOP", {records}),
    parameter<&P::fma_active>("fma_active", watts, "power of multiprocessors while they feed the vector pipe of a product, besides the FLOP", {records}),
    parameter<&P::issue_active>("issue_active", watts, "power of multiprocessors that issue vector instructions in every cycle, besides FLOP and bytes", {records}),
    parameter<&P::waiting>("waiting", watts, "power of multiprocessors whose warps wait for each other and for data", {records}),
    parameter<&P::exponent>("exponent", {0.1, 3.0}, "exponent of the clock in the energy of what runs on the chip", {assumed}, required),
    parameter<&P::zeros, &DataEnergy::tensor>("zeros_tensor", share, "share of a tensor FLOP's energy that zeros take", {measured}),
    parameter<&P::zeros, &DataEnergy::active>("zeros_active", share, "share of the power of feeding that zeros take", {measured}),
    parameter<&P::zeros, &DataEnergy::vector>("zeros_vector", share, "share of a vector FLOP's energy that zeros take", {measured}),
    parameter<&P::zeros, &DataEnergy::bytes>("zeros_bytes", share, "share of a byte's energy that zeros take", {measured}),
    parameter<&P::constant, &DataEnergy::tensor>("constant_tensor", share, "share of a tensor FLOP's energy that equal numbers take", {measured}),
    parameter<&P::constant, &DataEnergy::active>("constant_active", share, "share of the power of feeding that equal numbers take", {measured}),
    parameter<&P::constant, &DataEnergy::vector>("constant_vector", share, "share of a vector FLOP's energy that equal numbers take", {measured}),
    parameter<&P::constant, &DataEnergy::bytes>("constant_bytes", share, "share of a byte's energy that equal numbers take", {measured}),
    parameter<&P::gap>("gap", span_of_time, "time between two runs of a replayed graph of the operation", {records}),
    parameter<&P::regulated>("regulated", share, "share of the power limit at which the power settles", {measured}),
    parameter<&P::slowest>("slowest", share, "lowest clock over the boost clock", {measured}),
    parameter<&P::band>("band", factor, "half-width of the 80 % band of the power on this GPU", {records}),
    parameter<&P::band_related>("band_related", factor, "the same on a GPU of the same architecture", {assumed}),
    parameter<&P::band_foreign>("band_foreign", factor, "the same on other GPUs, and away from the GPU's own limit and clock", {assumed}),
    parameter<&P::of_limit>("of_limit", watts, "power limit of the GPU that was measured", {measured}),
    parameter<&P::of_peak>("of_peak", flop_rates, "16-bit tensor peak of the GPU that was measured", {measured}),
};
// clang-format on

constexpr auto of_machine = [](auto& machine) {
    return machine.energy ? &*machine.energy : nullptr;
};
constexpr std::array energy_places{
    section<P, of_machine>("energy", "energy per operation and byte", energy_table)};

/// A GPU of the same architecture takes the same energies; of another one, those that its maker had
/// to spend: the watts per FLOP of the tensor peak. Powers of multiprocessors follow energies and
/// rates, idle power the limit. DRAM and links keep their energies. (eq. EN8)
void carry_over(EnergyParameters& p, Power limit, FlopRate peak) {
    if (p.of_limit <= Power{}) return;
    const double by_limit = limit / p.of_limit;
    const bool comparable = peak > FlopRate{} && p.of_peak > FlopRate{};
    const double rate = comparable ? peak / p.of_peak : by_limit;
    const double energy = p.evidence == Evidence::family ? 1.0 : by_limit / rate;
    for (Power* const each : {&p.idle, &p.running}) *each = *each * by_limit;
    for (Power* const each : {&p.tensor_active, &p.fma_active, &p.issue_active, &p.waiting}) {
        *each = *each * (energy * rate);
    }
    for (double* const each : {&p.fma, &p.special, &p.wide.flop, &p.half.flop, &p.byte.flop,
                               &p.whole.flop, &p.four.flop}) {
        *each *= energy;
    }
}

}  // namespace

std::span<const Section<EnergyParameters>> energy_sections() {
    return energy_places;
}

std::optional<EnergyParameters> read_energy_parameters(const hardware::Description& gpu,
                                                       FlopRate peak) {
    auto limit = gpu.quantity<Power>("power.limit");
    if (const auto design = gpu.quantity<Power>("power.design")) limit = design;
    EnergyParameters parameters;
    if (!limit || !read_section(gpu, energy_places[0], parameters)) return std::nullopt;
    parameters.evidence = evidence_of(gpu, energy_places[0], "dram");
    if (parameters.evidence != Evidence::own) carry_over(parameters, *limit, peak);
    if (const auto idle = gpu.quantity<Power>("power.idle")) parameters.idle = *idle;
    return parameters;
}

}  // namespace ridge::model
