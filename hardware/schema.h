// The fields that a description may have: paths, kinds of value, ranges and meanings.
//
//   const Field* field = device_schema().find("dram.bandwidth");  // quantity, byte/second
//   device_schema().nearest("dram.bandwith")                      // "dram.bandwidth"
//   const Schema all = device_schema().with(more);                // and what a model adds
//
// A schema is a value; loader, catalogue, listing, JSON and documentation follow from it. The facts
// about devices stand here, one row each. The section `model` belongs to whoever predicts: its
// fields are added by `with` (`model/machine/catalogue.h`), and a schema without them leaves the
// section unread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::hardware {

enum class ValueKind { quantity, count, number, text };

enum class Presence { optional, required_for_gpu };

/// Values that a number may have, both ends included, in base units.
struct Range {
    double least = 0.0;
    double most = 1e24;

    [[nodiscard]] bool contains(double value) const { return value >= least && value <= most; }
};

struct Field {
    std::string path{};
    ValueKind kind = ValueKind::quantity;
    Dimension dimension{};
    Presence presence = Presence::optional;
    std::string_view
        title{};  ///< of the part that the meaning is about; literals, as is the meaning
    std::string_view meaning{};  ///< see also `meaning_of`
    Range range{};
};

/// With its title: "launches: gap between kernels of a stream".
[[nodiscard]] std::string meaning_of(const Field& field);

/// Copies share the fields.
class Schema {
  public:
    /// No path stands twice.
    explicit Schema(std::vector<Field> fields);

    /// These fields and `more` behind them.
    [[nodiscard]] Schema with(std::vector<Field> more) const;

    /// All fields, in the order in which they are shown.
    [[nodiscard]] std::span<const Field> fields() const { return content_->fields; }

    /// The field of this path, or nullptr.
    [[nodiscard]] const Field* find(std::string_view path) const;

    /// Whether `path` is a section: "dram" and "rate.fma" are, "dram.bandwidth" is not.
    [[nodiscard]] bool is_section(std::string_view path) const;

    /// The known field whose path is nearest, or "".
    [[nodiscard]] std::string nearest(std::string_view path) const;

  private:
    /// A path that a field or a section has.
    struct Known {
        std::string_view path{};
        const Field* field = nullptr;
        bool section = false;
    };
    /// Fields, and a table of paths by their hash.
    struct Content {
        std::vector<Field> fields;
        std::vector<Known> slots;

        explicit Content(std::vector<Field> all);
        [[nodiscard]] std::size_t slot_of(std::string_view path) const;
        [[nodiscard]] Known& enter(std::string_view path);
    };

    std::shared_ptr<const Content> content_;
};

/// The facts about devices.
[[nodiscard]] const Schema& device_schema();

/// The section that a schema may lack and then leaves unread.
inline constexpr std::string_view model_section = "model";

/// Of that section, what corrects predictions by the residuals of measured shapes.
inline constexpr std::string_view correction_section = "model.residual";

/// The base unit of a field as it is written behind names in JSON: "bytes_per_s", "" for counts.
[[nodiscard]] std::string_view unit_suffix(const Field& field);

/// "1 ps to 1 s".
[[nodiscard]] std::string range_text(const Field& field);

}  // namespace ridge::hardware
