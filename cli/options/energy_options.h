// Options of power and energy: what the data are, a lower limit or clock, and what a kWh costs.
//
//   EnergyConditionOptions conditions(line);     // --data, --power, --clock
//   EnergyPriceOptions price(line);              // --price-kwh, --grid-intensity
//   price.text(energy)                           // "0.28 kWh, 0.084 to pay, 101 g CO2"
#pragma once

#include <optional>
#include <string>

#include "hardware/json.h"
#include "hardware/quantity.h"
#include "model/energy/energy.h"

namespace ridge::cli {

class CommandLine;

struct EnergyConditionOptions {
    explicit EnergyConditionOptions(CommandLine& line);

    [[nodiscard]] bool given() const;
    /// InputError for what is no power or no clock; a bare number is W or MHz.
    [[nodiscard]] model::EnergyConditions conditions() const;

    std::string data = "normal";
    std::string power;
    std::string clock;
    std::optional<double> temperature;
};

/// A power such as "400" or "400 W"; InputError names the option.
[[nodiscard]] Power power_of(const std::string& text);
/// A clock such as "1500" or "1.5 GHz".
[[nodiscard]] Frequency clock_of(const std::string& text);

struct EnergyPriceOptions {
    explicit EnergyPriceOptions(CommandLine& line);

    [[nodiscard]] bool given() const { return price_kwh > 0.0 || grid_intensity > 0.0; }
    /// Cost and CO2 of so much energy; empty if neither was asked for.
    [[nodiscard]] std::string text(Energy energy) const;
    /// Adds `cost` and `co2_g`.
    void add(Json& json, Energy energy) const;

    double price_kwh = 0.0;
    double grid_intensity = 0.0;  ///< g of CO2 per kWh
};

}  // namespace ridge::cli
