// Reads a set of parameters from a description through its table (`parameter.h`).
//
//   FlashParameters set;
//   const bool complete = read_section(gpu, flash_sections()[1], set);
//
// A field that the description lacks keeps the value that the set has. An InputError names a field
// whose value lies outside its range (files are checked when they are loaded; this also covers
// descriptions made in memory).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "hardware/description.h"
#include "hardware/error.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// "model.attention.flash2.start".
[[nodiscard]] std::string field_path(std::string_view section, std::string_view name);

/// The value of a field in base units; empty if the description does not have it.
[[nodiscard]] std::optional<double> value_in_range(const hardware::Description& gpu,
                                                   const std::string& path,
                                                   const hardware::Range& range);

/// The field of a row of a section.
template <class Set>
[[nodiscard]] std::string field_path(const Section<Set>& section, std::string_view name) {
    for (const Parameter<Set>& row : section.table) {
        if (row.name == name && is_own(row.origins.at(section.column))) {
            return field_path(section.path, name);
        }
    }
    contract_violated("the section has the parameter", __FILE__, __LINE__);
}

template <class Set>
[[nodiscard]] bool has(const hardware::Description& gpu, const Section<Set>& section,
                       std::string_view name) {
    return gpu.find(field_path(section, name)) != nullptr;
}

/// Evidence of one parameter, which stands for its set.
template <class Set>
[[nodiscard]] Evidence evidence_of(const hardware::Description& gpu, const Section<Set>& section,
                                   std::string_view name) {
    return evidence_in(gpu, field_path(section, name));
}

/// Reads the fields that the description has; false if it lacks a required parameter.
template <class Set>
bool read_section(const hardware::Description& gpu, const Section<Set>& section, Set& set) {
    bool complete = true;
    for (const Parameter<Set>& row : section.table) {
        if (!is_own(row.origins.at(section.column))) continue;
        const auto value = value_in_range(gpu, field_path(section.path, row.name), row.range);
        if (value) row.write(set, *value);
        complete = complete && (value || row.need == Need::optional);
    }
    return complete;
}

/// Gives sections their values of others (`as`), which have been read.
template <class Set>
void share_values(std::span<const Section<Set>> table, Machine& machine) {
    for (const Section<Set>& section : table) {
        for (const Parameter<Set>& row : section.table) {
            const Origin origin = row.origins.at(section.column);
            for (const Section<Set>& owner : table) {
                if (origin != as(owner.column)) continue;
                row.write(*section.edit(machine), row.read(*owner.edit(machine)));
            }
        }
    }
}

/// Reads all sections of a tuple of spans into a machine that has their sets; false if the
/// description lacks a required parameter.
template <class... Sets>
bool read_sections(const hardware::Description& gpu,
                   const std::tuple<std::span<const Section<Sets>>...>& sections,
                   Machine& machine) {
    bool complete = true;
    const auto read = [&](const auto& of_a_table) {
        for (const auto& each : of_a_table) {
            complete = read_section(gpu, each, *each.edit(machine)) && complete;
        }
        share_values(of_a_table, machine);
    };
    std::apply([&](const auto&... tables) { (read(tables), ...); }, sections);
    return complete;
}

/// Reads the optional member that `held` points to from its sections; empty if the description
/// lacks a required parameter.
template <class Held, class... Sets>
void resolve_sections(const hardware::Description& gpu,
                      const std::tuple<std::span<const Section<Sets>>...>& sections,
                      Machine& machine, std::optional<Held> Machine::*held) {
    (machine.*held).emplace();
    if (!read_sections(gpu, sections, machine)) (machine.*held).reset();
}

}  // namespace ridge::model
