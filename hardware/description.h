// The description of one GPU: numbers with units, each with its source.
//
// A description is flat: a set of fields named by path ("dram.bandwidth", "rate.tensor.bf16"),
// whose kinds and dimensions stand in one table (`schema.h`). A field that a device does not have
// is absent, never zero. Every value carries sources; values that sources dispute are kept beside
// the chosen one. Descriptions come from TOML (`loader.h`) and are found by name (`catalogue.h`).
//
//   const Description& gpu = catalogue.at("h100-sxm");
//   std::optional<Bandwidth> bandwidth = gpu.quantity<Bandwidth>("dram.bandwidth");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hardware/error.h"
#include "hardware/quantity.h"

namespace ridge::hardware {

/// Where a number comes from.
enum class Provenance { vendor, measured, derived, estimate };

struct Source {
    std::string key;
    Provenance provenance = Provenance::vendor;
    std::string text;
};

/// A value that another source prints for the same field.
struct Dispute {
    std::string value;
    std::vector<std::string> sources;
};

/// One field of a description. Quantities are in base units of the schema's dimension.
struct Datum {
    std::variant<double, std::int64_t, bool, std::string, std::vector<std::string>> value;
    std::string text;  ///< as written in the file
    std::vector<std::string> sources;
    std::vector<Dispute> disputes;
    std::string note;
    Location location;
};

class Description {
  public:
    std::string name;
    std::string title;
    std::string vendor;
    std::vector<std::string> aliases;
    std::string inherits;  ///< name of the architecture file, empty when none
    std::map<std::string, Source, std::less<>> sources;
    std::map<std::string, Datum, std::less<>> data;

    [[nodiscard]] const Datum* find(std::string_view path) const;

    /// The field as a quantity; empty when the description does not have it. Asking for a path
    /// with another dimension than the schema's breaks the contract.
    template <class Q>
    [[nodiscard]] std::optional<Q> quantity(std::string_view path) const {
        const std::optional<double> base = base_value(path, Q::dimension);
        if (!base) return std::nullopt;
        return Q::from_base(*base);
    }

    /// A count or a pure number.
    [[nodiscard]] std::optional<std::int64_t> count(std::string_view path) const;
    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;

  private:
    [[nodiscard]] std::optional<double> base_value(std::string_view path,
                                                   const Dimension& dimension) const;
};

}  // namespace ridge::hardware
