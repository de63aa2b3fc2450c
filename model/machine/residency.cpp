#include "model/machine/residency.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "model/core/power.h"
#include "model/machine/machine.h"

namespace ridge::model {
namespace {

/// A row for a member of the machine's L2. The machine's memory parameters hold a copy of the L2.
template <auto member>
constexpr Parameter<Machine> l2_parameter(std::string_view name, hardware::Range range,
                                          std::string_view meaning, Origin origin) {
    auto row = parameter<&Machine::l2, member>(name, range, meaning, {origin});
    row.write = [](Machine& machine, double value) {
        machine.l2.*member = value;
        if (machine.memory) machine.memory->l2 = machine.l2;
    };
    return row;
}

// clang-format off
constexpr std::array l2_table{
    l2_parameter<&Residency::steepness>("steepness", {0.1, 100.0}, "exponent with which data is lost as the bytes between two uses pass what fits", Origin::either),
    l2_parameter<&Residency::dirty>("dirty", ranges::share, "share that a flush by writing leaves to be written back", Origin::records),
    l2_parameter<&Residency::absorbed>("absorbed", ranges::share, "share of a clean L2 that takes up writes", Origin::records),
};
// clang-format on

constexpr auto place = [](auto& machine) { return &machine; };
constexpr std::array l2_places{section<Machine, place>("l2", "what the L2 holds", l2_table)};

}  // namespace

std::span<const Section<Machine>> residency_sections() {
    return l2_places;
}

Bytes Residency::capacity(Readers readers) const {
    const double copies = readers == Readers::all ? partitions : 2.0 - 1.0 / partitions;
    return size / copies;
}

double Residency::found(Bytes distance, Readers readers) const {
    return retained(distance, capacity(readers), steepness);
}

Bytes Residency::written_back(Bytes write, Bytes distance, L2State state) const {
    if (write <= Bytes{}) return Bytes{};
    if (state == L2State::warm) return write * (1.0 - found(distance));
    return write * (write / (write + size * absorbed)) + displaced(distance, state);
}

Bytes Residency::displaced(Bytes filled, L2State state) const {
    return state == L2State::dirty ? dirty * std::min(filled, size) : Bytes{};
}

double retained(Bytes footprint, Bytes capacity, double steepness) {
    if (capacity <= Bytes{}) return 0.0;
    const double share = footprint / capacity;
    // A power below 2^-53 is lost beside 1. The exponent shows that without computing the power.
    constexpr double rounding = -53.0;
    constexpr int fraction_bits = 52;
    constexpr int bias = 1023;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &share, sizeof bits);
    const int exponent = static_cast<int>(bits >> fraction_bits) - bias;
    if (share > 0.0 && steepness * (exponent + 1) < rounding) return 1.0;
    return 1.0 / (1.0 + power(share, steepness));
}

Residency resolve_residency(const hardware::Description& gpu) {
    Residency l2;
    l2.size = gpu.quantity<Bytes>("l2.size").value_or(Bytes{});
    l2.partitions = static_cast<double>(gpu.count("l2.partitions").value_or(1));
    return l2;
}

}  // namespace ridge::model
