// The fields that a description may have: paths, kinds of value, ranges and meanings.
//
//   const Field* field = device_schema().find("dram.bandwidth");  // quantity, byte/second
//   device_schema().nearest("dram.bandwith")                      // "dram.bandwidth"
//   const Schema all = device_schema().with(more);                // plus the fields of a model
//
// A path may have parts `*`: "model.engine.tiled_product.*.*.start" stands for the fields of any kernel,
// whose names only data files know. Such a field gets its own path when it is first looked up.
//
// A schema is a value that loader, catalogue, listing, JSON and documentation all use. The facts
// about devices are defined in schema.cpp, one row each. Code that adds knowledge of its own to a
// device adds its fields to the schema (`with`).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::hardware {

enum class ValueKind { quantity, count, number, text };

enum class Presence { optional, required_for_gpu };

/// Values that a number may have, in base units, including both ends.
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
    std::string_view title{};    ///< what the meaning is about; a literal, like the meaning
    std::string_view meaning{};  ///< see also `meaning_of`
    Range range{};
};

/// The meaning after its title: "launches: gap between kernels of a stream".
[[nodiscard]] std::string meaning_of(const Field& field);

/// The set of fields. Copies share it.
class Schema {
  public:
    /// No path may appear twice.
    explicit Schema(std::vector<Field> fields);

    /// These fields followed by `more`.
    [[nodiscard]] Schema with(std::vector<Field> more) const;

    /// All fields, in display order; those of any name with their parts `*`.
    [[nodiscard]] std::span<const Field> fields() const { return content_->fields; }

    /// The field of this path, or nullptr.
    [[nodiscard]] const Field* find(std::string_view path) const;

    /// Whether `path` is a section: "dram" and "rate.fma" are, "dram.bandwidth" is not.
    [[nodiscard]] bool is_section(std::string_view path) const;

    /// The known field with the nearest path, or "".
    [[nodiscard]] std::string nearest(std::string_view path) const;

  private:
    /// The path of a field or a section.
    struct Known {
        std::string_view path{};
        const Field* field = nullptr;
        bool section = false;
    };
    /// The fields, a hash table of the paths, and the fields made from paths with parts `*`.
    struct Content {
        std::vector<Field> fields;
        std::vector<Known> slots;
        std::vector<const Field*> patterns;
        mutable std::mutex making;
        mutable std::deque<Field> made;
        mutable std::map<std::string, const Field*, std::less<>> made_by_path;

        explicit Content(std::vector<Field> all);
        [[nodiscard]] std::size_t slot_of(std::string_view path) const;
        [[nodiscard]] Known& enter(std::string_view path);
        /// The field of a path that some pattern matches, or nullptr.
        [[nodiscard]] const Field* make(std::string_view path) const;
    };

    std::shared_ptr<const Content> content_;
};

/// Whether a path has parts `*`.
[[nodiscard]] bool is_pattern(std::string_view path);

/// The facts about devices.
[[nodiscard]] const Schema& device_schema();

/// Suffix for the base unit of a field in JSON names: "bytes_per_s"; "" for counts.
[[nodiscard]] std::string_view unit_suffix(const Field& field);

/// "1 ps to 1 s".
[[nodiscard]] std::string range_text(const Field& field);

}  // namespace ridge::hardware
