#include "cli/options/energy_options.h"

#include <fmt/format.h>

#include "cli/options/command_line.h"
#include "hardware/error.h"
#include "hardware/number_text.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

constexpr double joules_per_kwh = 3.6e6;

double kwh_of(Energy energy) {
    return energy.base() / joules_per_kwh;
}

bool is_bare(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

/// Reads a quantity whose bare numbers have a usual unit.
template <class Quantity>
Quantity quantity_of(const std::string& text, std::string_view option, std::string_view unit) {
    try {
        const auto value =
            parse_quantity<Quantity>(is_bare(text) ? text + " " + std::string(unit) : text);
        if (value > Quantity{}) return value;
    } catch (const InputError&) {
        throw InputError(fmt::format("{}: '{}' is not understood", option, text), {},
                         fmt::format("a number of {}, such as 400 {}", unit, unit));
    }
    throw InputError(std::string(option) + ": must be positive");
}

}  // namespace

EnergyConditionOptions::EnergyConditionOptions(CommandLine& line) {
    line.option("--data", data,
                "power and energy for these data: normal, uniform, zeros or constant")
        .one_of({"normal", "uniform", "zeros", "constant"})
        .group("Power and energy");
    line.option("--power", power, "power limit, \"400 W\" (default: the GPU's own)")
        .value("POWER")
        .group("Power and energy");
    line.option("--clock", clock, "highest clock, \"1500 MHz\" (default: the GPU's own)")
        .value("CLOCK")
        .group("Power and energy");
    line.option("--temperature", temperature, "of the GPU in degrees Celsius, for its leakage")
        .value("DEGREES")
        .in_range(0.0, 110.0)
        .group("Power and energy");
}

bool EnergyConditionOptions::given() const {
    return data != "normal" || !power.empty() || !clock.empty() || temperature;
}

model::EnergyConditions EnergyConditionOptions::conditions() const {
    model::EnergyConditions conditions{.data = model::parse_data_pattern(data)};
    if (!power.empty()) conditions.limit = power_of(power);
    if (!clock.empty()) conditions.clock = clock_of(clock);
    conditions.celsius = temperature;
    return conditions;
}

Power power_of(const std::string& text) {
    return quantity_of<Power>(text, "power", "W");
}

Frequency clock_of(const std::string& text) {
    return quantity_of<Frequency>(text, "clock", "MHz");
}

EnergyPriceOptions::EnergyPriceOptions(CommandLine& line) {
    line.option("--price-kwh", price_kwh, "price of a kWh, for the cost of the GPU's energy")
        .not_negative()
        .group("Power and energy");
    line.option("--grid-intensity", grid_intensity, "grams of CO2 per kWh of the grid")
        .not_negative()
        .group("Power and energy");
}

std::string EnergyPriceOptions::text(Energy energy) const {
    if (!given()) return {};
    const double kwh = kwh_of(energy);
    std::string text = format_number(kwh, 3) + " kWh";
    if (price_kwh > 0.0) text += fmt::format(", {} for energy", format_number(kwh * price_kwh, 3));
    if (grid_intensity > 0.0) {
        text += fmt::format(", {} g of CO2", format_number(kwh * grid_intensity, 3));
    }
    return text;
}

void EnergyPriceOptions::add(Json& json, Energy energy) const {
    const double kwh = kwh_of(energy);
    if (given()) json["kwh"] = kwh;
    if (price_kwh > 0.0) json["energy_cost"] = kwh * price_kwh;
    if (grid_intensity > 0.0) json["co2_g"] = kwh * grid_intensity;
}

}  // namespace ridge::cli
