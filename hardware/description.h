// The description of one GPU: numbers with units, each with its source.
//
// A description is a flat set of fields named by path ("dram.bandwidth", "rate.tensor.bf16"). One
// table (`schema.h`) defines their kinds and dimensions. A field that a device does not have is
// absent, never zero. Every value has sources; values that other sources give are kept beside the
// chosen one. Descriptions come from TOML (`loader.h`) and are found by name (`catalogue.h`).
//
//   const Description& gpu = catalogue.at("h100-sxm");
//   std::optional<Bandwidth> bandwidth = gpu.quantity<Bandwidth>("dram.bandwidth");
//
// Limits: a look-up compares a path; code that needs a field a million times should copy it first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hardware/error.h"
#include "hardware/quantity.h"
#include "hardware/schema.h"
#include "hardware/shared_text.h"

namespace ridge::hardware {

/// Where a number comes from.
enum class Provenance { vendor, measured, derived, estimate };

[[nodiscard]] std::string_view to_string(Provenance provenance);

struct Source {
    std::string key;
    Provenance provenance = Provenance::vendor;
    std::string text;
    /// What made the number, where a program did: the command, what it read, the digest of that, and
    /// the day.
    SharedText command{};
    SharedText records{};
    SharedText digest{};
    SharedText date{};
};

/// A value that another source gives for the same field.
struct Dispute {
    std::string value;
    std::vector<std::string> sources;
};

/// The value of a text field; the text itself is `Datum::text`.
struct InWords {
    friend bool operator==(const InWords&, const InWords&) = default;
};

/// One field of a description. Quantities are in base units of the schema's dimension.
struct Datum {
    std::variant<double, std::int64_t, InWords> value;
    SharedText text;                   ///< for texts and quantities, as written in the file
    std::vector<std::string> sources;  ///< keys of `Description::sources`, at least one
    std::vector<Dispute> disputes;
    SharedText note;
    Location location;
    bool inherited = false;  ///< from the architecture's file, not from the device's
};

/// The value as a file writes it: "132", "4.8 TB/s".
[[nodiscard]] std::string written(const Datum& datum);

/// A redundant figure that is known to differ by more than the usual tolerance, and why.
struct Tolerance {
    std::string check;  ///< path of the checked field
    double percent = 0.0;
    std::string reason;
};

/// A table of texts that a form allows beside the fields (`loader.h`): [[NAME]] or [NAME].
struct Row {
    std::string table;
    std::map<std::string, std::vector<std::string>, std::less<>> texts;
    Location location;

    /// The only text of a key; "" if there is none.
    [[nodiscard]] std::string text(std::string_view key) const;
};

/// What is described. A GPU has multiprocessors with limits; other accelerators need not. An
/// architecture holds what all its GPUs share. An overlay adds fields to one device. Data is a file of
/// another form (`loader.h`).
enum class DescriptionKind { gpu, accelerator, architecture, overlay, data };

[[nodiscard]] std::string_view to_string(DescriptionKind kind);

/// Fields by path, unordered.
struct PathHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const {
        return std::hash<std::string_view>{}(path);
    }
};
using Data = std::unordered_map<std::string, Datum, PathHash, std::equal_to<>>;

class Description {
  public:
    DescriptionKind kind = DescriptionKind::gpu;
    std::string name;
    std::string title;
    std::string vendor;
    std::vector<std::string> aliases;
    std::string inherits;  ///< name of the architecture file, empty when none
    std::string overlay;   ///< name of the device that an overlay adds to
    std::string origin;    ///< "built in", or the user's files that define or change it
    std::map<std::string, Source, std::less<>> sources;
    Data data;
    std::vector<Tolerance> tolerances;
    Row words;              ///< further keys of the header that the form of the file allows
    std::vector<Row> rows;  ///< further tables
    Location location;      ///< where its file gives the name

    [[nodiscard]] const Datum* find(std::string_view path) const;

    /// The field as a quantity; empty if the description does not have it. Asking for a path with
    /// a dimension other than the schema's breaks the contract.
    template <class Q>
    [[nodiscard]] std::optional<Q> quantity(std::string_view path) const {
        const std::optional<double> base = base_value(path, Q::dimension);
        if (!base) return std::nullopt;
        return Q::from_base(*base);
    }

    /// The same, for callers that cannot continue without it: InputError names device and field.
    template <class Q>
    [[nodiscard]] Q require(std::string_view path) const {
        const std::optional<Q> found = quantity<Q>(path);
        if (!found) throw_missing(path);
        return *found;
    }

    /// A count, a number or a text. Asking for a field of another kind breaks the contract.
    [[nodiscard]] std::optional<std::int64_t> count(std::string_view path) const;
    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;
    /// The field in base units, whether it is a quantity, a count or a number.
    [[nodiscard]] std::optional<double> value(std::string_view path) const;

    /// Whether the device's own files give the field (false: absent, or inherited).
    [[nodiscard]] bool has_own(std::string_view path) const;

    /// The strongest provenance among the sources of a field; the field must be there.
    [[nodiscard]] Provenance provenance(std::string_view path) const;

  private:
    [[nodiscard]] const Datum* find_kind(std::string_view path, ValueKind wanted,
                                         const Dimension& dimension) const;
    [[nodiscard]] std::optional<double> base_value(std::string_view path,
                                                   const Dimension& dimension) const;
    [[noreturn]] void throw_missing(std::string_view path) const;
};

}  // namespace ridge::hardware
