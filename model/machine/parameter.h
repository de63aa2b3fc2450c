// A parameter of the model, declared once: its name, unit, range, meaning and origin.
//
// A parameter set is a plain struct (`FlashParameters`). One constexpr table has a row for each of
// its parameters, and there is a `Section` for each part of a description that holds such a set:
//
//   parameter<&FlashParameters::tile>("tile", ranges::span_of_time, "prologue ... epilogue",
//                                     {none, tables, tables})    // flash1, flash2, flash3
//
// The unit follows from the member's type. Schema, reader, writer, `ridge fit` and the list in
// docs/gpu-files.md follow from these tables (`parameters.h`), so a new parameter needs only a row.
// `per_clock` rows convert a rate of the whole GPU whose field is per clock of one multiprocessor.
//
// Limits: parameters are positive; at most fourteen sections share a table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

#include "hardware/quantity.h"
#include "hardware/schema.h"

namespace ridge::model {

struct Machine;

/// What determines a parameter. A value that does not come from this GPU comes from its family.
enum class Origin : std::uint8_t {
    none,      ///< the section does not have the parameter
    tables,    ///< `ridge fit` to public tables
    records,   ///< `ridge fit --records`
    either,    ///< either of the two
    measured,  ///< read off a microbenchmark or counters
    assumed,   ///< taken from documents, sources or figures; no fit changes it
    shared     ///< this and above: `as`
};

/// Sections of a table may share a value: one of them has the field, and for the others the table says in
/// whose column it is:
///
///   parameter<&Code::lines>("lines", factor, "...", {records, as(0), as(0), records})
[[nodiscard]] constexpr Origin as(std::size_t column) {
    return static_cast<Origin>(static_cast<std::size_t>(Origin::shared) + column);
}

/// Whether a section with this origin has the field itself.
[[nodiscard]] constexpr bool is_own(Origin origin) {
    return origin != Origin::none && origin < Origin::shared;
}

[[nodiscard]] std::string_view to_string(Origin origin);

inline constexpr std::size_t most_sections = 14;
using Origins = std::array<Origin, most_sections>;  ///< one per section of a table

/// The same origin for all sections.
[[nodiscard]] constexpr Origins everywhere(Origin origin) {
    Origins origins{};
    origins.fill(origin);
    return origins;
}

/// Whether a set needs the parameter. An optional one keeps its default or is inherited.
enum class Need : std::uint8_t { optional, required };

/// One row of the table of `Set`.
template <class Set>
struct Parameter {
    std::string_view name;
    hardware::Range range;
    std::string_view meaning;
    Origins origins;
    Need need = Need::optional;
    hardware::ValueKind kind = hardware::ValueKind::number;
    Dimension dimension{};
    double (*read)(const Set&) = nullptr;         ///< in base units
    void (*write)(Set&, double value) = nullptr;  ///< in base units
};

/// A part of a description that holds one set: `model.attention.flash2`.
template <class Set>
struct Section {
    std::string_view path;  ///< without "model."
    std::string_view title;
    std::span<const Parameter<Set>> table;
    std::size_t column = 0;  ///< of `Parameter::origins`
    const Set* (*find)(const Machine&) = nullptr;
    Set* (*edit)(Machine&) = nullptr;
};

namespace detail {

template <class>
struct MemberOf;
template <class Owner, class Value>
struct MemberOf<Value Owner::*> {
    using Set = Owner;
};

/// The object at the end of a chain of members, or of callables for what is not a member.
template <class Set, class First, class... Rest>
constexpr auto& follow(Set& set, First first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) {
        return std::invoke(first, set);
    } else {
        return follow(std::invoke(first, set), rest...);
    }
}

template <class Value>
constexpr double base_of(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
        return static_cast<double>(value);
    } else {
        return value.base();
    }
}

template <class Value>
constexpr void set_base(Value& value, double base) {
    if constexpr (std::is_arithmetic_v<Value>) {
        value = static_cast<Value>(base);
    } else {
        value = Value::from_base(base);
    }
}

}  // namespace detail

/// A row for the member of `Set` at the end of `path`.
template <class Set, auto... path>
constexpr Parameter<Set> parameter_of(std::string_view name, hardware::Range range,
                                      std::string_view meaning, Origins origins,
                                      Need need = Need::optional) {
    using Value = std::remove_cvref_t<decltype(detail::follow(std::declval<Set&>(), path...))>;
    Parameter<Set> row{
        .name = name,
        .range = range,
        .meaning = meaning,
        .origins = origins,
        .need = need,
        .read = [](const Set& set) { return detail::base_of(detail::follow(set, path...)); },
        .write = [](Set& set,
                    double value) { detail::set_base(detail::follow(set, path...), value); }};
    if constexpr (std::is_integral_v<Value>) {
        row.kind = hardware::ValueKind::count;
    } else if constexpr (!std::is_arithmetic_v<Value>) {
        row.kind = hardware::ValueKind::quantity;
        row.dimension = Value::dimension;
    }
    return row;
}

template <auto first, auto... rest>
constexpr auto parameter(std::string_view name, hardware::Range range, std::string_view meaning,
                         Origins origins, Need need = Need::optional) {
    using Set = typename detail::MemberOf<decltype(first)>::Set;
    return parameter_of<Set, first, rest...>(name, range, meaning, origins, need);
}

/// A bandwidth of the whole GPU whose field is per clock of one multiprocessor. `Set` needs
/// `sm_clocks()`, the cycles of all multiprocessors per second.
template <auto first, auto... rest>
constexpr auto per_clock(std::string_view name, hardware::Range range, std::string_view meaning,
                         Origins origins, Need need = Need::optional) {
    using Set = typename detail::MemberOf<decltype(first)>::Set;
    auto row = parameter_of<Set, first, rest...>(name, range, meaning, origins, need);
    row.dimension = BytesPerCycle::dimension;
    row.read = [](const Set& set) {
        return (detail::follow(set, first, rest...) / set.sm_clocks()).base();
    };
    row.write = [](Set& set, double value) {
        detail::follow(set, first, rest...) = BytesPerCycle::from_base(value) * set.sm_clocks();
    };
    return row;
}

/// A time of work on a multiprocessor whose field is in the multiprocessor's clocks, which carry
/// over to another GPU (docs/model.md L1). `Set` needs `clock`.
template <auto first, auto... rest>
constexpr auto in_clocks(std::string_view name, hardware::Range range, std::string_view meaning,
                         Origins origins, Need need = Need::optional) {
    using Set = typename detail::MemberOf<decltype(first)>::Set;
    auto row = parameter_of<Set, first, rest...>(name, range, meaning, origins, need);
    row.dimension = Cycles::dimension;
    row.read = [](const Set& set) {
        return (detail::follow(set, first, rest...) * set.clock).base();
    };
    row.write = [](Set& set, double value) {
        detail::follow(set, first, rest...) = Cycles::from_base(value) / set.clock;
    };
    return row;
}

/// A number of clocks of a multiprocessor that the set keeps as a plain number.
template <auto first, auto... rest>
constexpr auto count_of_clocks(std::string_view name, hardware::Range range,
                               std::string_view meaning, Origins origins,
                               Need need = Need::optional) {
    auto row = parameter<first, rest...>(name, range, meaning, origins, need);
    row.kind = hardware::ValueKind::quantity;
    row.dimension = Cycles::dimension;
    return row;
}

/// A bandwidth whose field is its share of the DRAM bandwidth. `Set` needs `dram`.
template <auto first, auto... rest>
constexpr auto share_of_dram(std::string_view name, hardware::Range range, std::string_view meaning,
                             Origins origins, Need need = Need::optional) {
    using Set = typename detail::MemberOf<decltype(first)>::Set;
    auto row = parameter_of<Set, first, rest...>(name, range, meaning, origins, need);
    row.kind = hardware::ValueKind::number;
    row.dimension = {};
    row.read = [](const Set& set) -> double {
        return detail::follow(set, first, rest...) / set.dram;
    };
    row.write = [](Set& set, double value) {
        detail::follow(set, first, rest...) = value * set.dram;
    };
    return row;
}

/// A place (see `section`): a member of the object that `held`, an optional member of a machine,
/// holds.
template <auto held, auto member>
constexpr auto in_held =
    [](auto& machine) { return machine.*held ? &((*(machine.*held)).*member) : nullptr; };

/// A section whose set is where `place` points in a machine; nullptr if the machine has none.
template <class Set, auto place>
constexpr Section<Set> section(std::string_view path, std::string_view title,
                               std::span<const Parameter<Set>> table, std::size_t column = 0) {
    return {.path = path,
            .title = title,
            .table = table,
            .column = column,
            .find = [](const Machine& machine) -> const Set* { return place(machine); },
            .edit = [](Machine& machine) -> Set* { return place(machine); }};
}

/// Ranges that many parameters share.
namespace ranges {

inline constexpr hardware::Range share{1e-4, 1.0};
/// Share of a quoted peak, which a clock above the quoted one may exceed.
inline constexpr hardware::Range share_of_peak{1e-4, 2.0};
inline constexpr hardware::Range factor{1e-3, 100.0};
/// Exponent of the norm by which resources overlap: 1 adds them, a large one takes the longest.
inline constexpr hardware::Range exponent_of_norm{0.5, 20.0};
inline constexpr hardware::Range span_of_time{1e-12, 1.0};
inline constexpr hardware::Range rate_per_clock{1e-2, 1e5};
inline constexpr hardware::Range clocks{1e-3, 1e9};
inline constexpr hardware::Range data_rate{1e6, 1e16};

}  // namespace ranges

}  // namespace ridge::model
