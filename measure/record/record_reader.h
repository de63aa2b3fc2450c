// Reads the members of a record's JSON, with complaints that name them.
//
//   const RecordReader reader(json, "");
//   const std::string tool = reader.text("tool");      // InputError "tool is missing"
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/quantity.h"

namespace ridge::measure {

/// An object of a record. Every error message names the path of the member.
class RecordReader {
  public:
    RecordReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
        if (!json_.is_object()) fail("", "must be an object");
    }

    [[nodiscard]] bool has(const char* name) const { return json_.find(name) != nullptr; }
    [[nodiscard]] RecordReader object(const char* name) const { return {at(name), join(name)}; }

    [[nodiscard]] std::string text(const char* name) const {
        const std::string* const value = at(name).if_text();
        if (value == nullptr) fail(name, "must be a string");
        return *value;
    }
    [[nodiscard]] std::int64_t count(const char* name) const { return whole(at(name), name); }
    [[nodiscard]] bool flag(const char* name) const {
        const bool* const value = at(name).if_flag();
        if (value == nullptr) fail(name, "must be true or false");
        return *value;
    }
    [[nodiscard]] double real(const char* name) const { return real(at(name), name); }
    [[nodiscard]] std::optional<double> real_if(const char* name) const {
        if (!has(name)) return std::nullopt;
        return real(name);
    }
    template <class Q>
    [[nodiscard]] std::optional<Q> quantity_if(const char* name) const {
        const std::optional<double> value = real_if(name);
        if (!value) return std::nullopt;
        return Q::from_base(*value);
    }
    [[nodiscard]] const std::vector<Json>& array(const char* name) const {
        const Json& value = at(name);
        if (!value.is_array()) fail(name, "must be an array");
        return value.items();
    }
    [[nodiscard]] double real(const Json& value, const char* name) const {
        if (const std::optional<double> number = value.if_number()) return *number;
        const std::string* const word = value.if_text();
        if (word != nullptr && *word == "nan") return std::numeric_limits<double>::quiet_NaN();
        if (word != nullptr && *word == "inf") return std::numeric_limits<double>::infinity();
        if (word != nullptr && *word == "-inf") return -std::numeric_limits<double>::infinity();
        fail(name, "must be a number");
    }
    [[nodiscard]] std::int64_t whole(const Json& value, const char* name) const {
        const std::optional<std::int64_t> whole = value.if_whole();
        if (!whole || *whole > std::int64_t{1} << 62) fail(name, "must be a whole number");
        return *whole;
    }
    [[noreturn]] void fail(const char* name, const std::string& complaint) const {
        throw InputError(join(name) + " " + complaint);
    }
    [[nodiscard]] const Json& json() const { return json_; }

  private:
    [[nodiscard]] const Json& at(const char* name) const {
        const Json* const found = json_.find(name);
        if (found == nullptr) fail(name, "is missing");
        return *found;
    }
    [[nodiscard]] std::string join(const char* name) const {
        if (path_.empty()) return *name == '\0' ? "the record" : name;
        return *name == '\0' ? path_ : path_ + "." + name;
    }

    const Json& json_;
    std::string path_;
};

}  // namespace ridge::measure
