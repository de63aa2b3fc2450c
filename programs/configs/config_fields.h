// Fields of a config.json; errors name the field, because other people write configs.
//
//   const ConfigFields fields(json, "config.json");
//   fields.count("hidden_size");                    // InputError if it is missing, with its name
//   fields.count_or("num_key_value_heads", heads);  // the default also replaces null
//
// Limits: counts up to 10^12; the reader of the family interprets the fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/json.h"

namespace ridge::programs {

inline constexpr std::int64_t largest_count = 1000000000000;
inline constexpr std::int64_t most_layers = 10000;

class ConfigFields {
  public:
    ConfigFields(const Json& json, std::string file) : json_(&json), file_(std::move(file)) {}

    /// Whether the field exists and is not null.
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::int64_t count(std::string_view name) const;
    [[nodiscard]] std::int64_t count_or(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] double number_or(std::string_view name, double otherwise) const;
    [[nodiscard]] bool flag_or(std::string_view name, bool otherwise) const;
    [[nodiscard]] std::string text_or(std::string_view name, std::string_view otherwise) const;
    /// The array of that name; nullptr if it is missing.
    [[nodiscard]] const Json* list(std::string_view name) const;
    [[nodiscard]] const Json& json() const { return *json_; }
    [[nodiscard]] const std::string& file() const { return file_; }

    [[noreturn]] void fail(std::string_view name, const std::string& what) const;

  private:
    [[nodiscard]] const Json* find(std::string_view name) const;

    const Json* json_;
    std::string file_;
};

}  // namespace ridge::programs
