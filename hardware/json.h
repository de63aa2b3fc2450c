// A JSON value that can be built, read and written as text.
//
//   Json json{{"op", "matmul"}, {"time_us", 12.5}};
//   json["terms"] = Json::array({1, 2});
//   out << json.text(2);                        // {"op": ..., indented by two
//   const std::optional<Json> read = Json::parse(line);
//
// Members keep the order in which they were added, so a document reads as it was written. Numbers
// are written with the fewest digits that read back exactly. A number that is not finite becomes
// null, and bytes that are not UTF-8 become U+FFFD. Grammar and digits are those of nlohmann-json.
// Only json.cpp includes it, because its templates take seconds to compile in every file that uses
// them.
//
// Limits: a look-up walks all members (they are few). Values nest at most 200 levels deep when
// read.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ridge {

struct JsonMember;

class Json {
  public:
    Json();  ///< null
    Json(bool value);
    Json(double value);
    Json(const char* text);
    Json(std::string_view text);
    Json(std::string text);
    Json(const std::vector<std::string>& texts);
    template <std::signed_integral T>
    Json(T value) : Json(Whole{value}) {}
    template <std::unsigned_integral T>
    Json(T value) : Json(Natural{value}) {}
    /// An object.
    Json(std::initializer_list<JsonMember> members);
    Json(const Json& other);
    Json(Json&& other) noexcept;
    Json& operator=(const Json& other);
    Json& operator=(Json&& other) noexcept;
    ~Json();

    [[nodiscard]] static Json array(std::initializer_list<Json> items = {});
    [[nodiscard]] static Json object();

    /// The member of this name, added if it is missing; null becomes an object first.
    Json& operator[](std::string_view name);
    /// Adds to an array; null becomes an array first.
    void push_back(Json item);

    /// The value as text, on one line if `indent` is negative.
    [[nodiscard]] std::string text(int indent = -1) const;
    void append_to(std::string& out, int indent = -1, int depth = 0) const;

    /// Empty if the text is not one JSON value.
    [[nodiscard]] static std::optional<Json> parse(std::string_view text);

    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_array() const;

    /// The value if it has this type, otherwise nullptr.
    [[nodiscard]] const std::string* if_text() const;
    [[nodiscard]] const bool* if_flag() const;
    /// Any number.
    [[nodiscard]] std::optional<double> if_number() const;
    /// A whole number that is written as one.
    [[nodiscard]] std::optional<std::int64_t> if_whole() const;
    /// The member of this name if the value is an object that has one, otherwise nullptr.
    [[nodiscard]] const Json* find(std::string_view name) const;

    /// The items of an array; none for other values.
    [[nodiscard]] const std::vector<Json>& items() const;
    /// The members of an object; none for other values.
    [[nodiscard]] const std::vector<JsonMember>& members() const;

  private:
    using Items = std::vector<Json>;
    using Members = std::vector<JsonMember>;
    struct Whole {
        std::int64_t value;
    };
    struct Natural {
        std::uint64_t value;
    };

    explicit Json(Whole whole);
    explicit Json(Natural natural);

    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Items,
                 Members>
        value_;
};

struct JsonMember {
    std::string name;
    Json value;
};

}  // namespace ridge
