#include "hardware/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "hardware/error.h"

namespace ridge {
namespace {

void append_text(std::string& out, const std::string& text) {
    const auto plain = [](char c) {
        return c >= ' ' && static_cast<unsigned char>(c) < 0x80U && c != '"' && c != '\\';
    };
    for (const char c : text) {
        if (plain(c)) continue;
        out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

void append_number(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out += "null";
        return;
    }
    std::array<char, 64> digits{};
    out.append(digits.data(),
               nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
}

template <class Integer>
void append_whole(std::string& out, Integer value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out.append(digits.data(), end.ptr);
}

void break_line(std::string& out, int indent, int depth) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
}

/// Builds a value from the events of nlohmann's parser.
class Builder {
  public:
    // The parser calls these functions by name.
    bool null() { return add(Json()); }
    bool boolean(bool value) { return add(Json(value)); }
    bool number_integer(std::int64_t value) { return add(Json(value)); }
    bool number_unsigned(std::uint64_t value) { return add(Json(value)); }
    bool number_float(double value, const std::string&) { return add(Json(value)); }
    bool string(std::string& value) { return add(Json(std::move(value))); }
    bool binary(std::vector<std::uint8_t>&) { return false; }
    bool start_object(std::size_t) { return open(Json::object()); }
    bool start_array(std::size_t) { return open(Json::array()); }
    bool key(std::string& name) {
        open_.back().name = std::move(name);
        return true;
    }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    template <class Error>
    bool parse_error(std::size_t, const std::string&, const Error&) {
        return false;
    }

    [[nodiscard]] Json result() && { return std::move(root_); }

  private:
    static constexpr std::size_t deepest = 200;

    /// A container that is still open, and the name of its next member.
    struct Open {
        Json value;
        std::string name;
    };

    bool add(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().value.is_array()) {
            open_.back().value.push_back(std::move(value));
        } else {
            open_.back().value[open_.back().name] = std::move(value);
        }
        return true;
    }
    bool open(Json value) {
        if (open_.size() >= deepest) return false;
        open_.push_back({std::move(value), {}});
        return true;
    }
    bool close() {
        Json value = std::move(open_.back().value);
        open_.pop_back();
        return add(std::move(value));
    }

    Json root_;
    std::vector<Open> open_;
};

}  // namespace

Json::Json() = default;
Json::Json(bool value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(Whole whole) : value_(whole.value) {}
Json::Json(Natural natural) : value_(natural.value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(const std::vector<std::string>& texts) : value_(Items(texts.begin(), texts.end())) {}
Json::Json(std::initializer_list<JsonMember> members) : value_(Members(members)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array(std::initializer_list<Json> items) {
    Json json;
    json.value_ = Items(items);
    return json;
}

Json Json::object() {
    Json json;
    json.value_ = Members();
    return json;
}

Json& Json::operator[](std::string_view name) {
    if (is_null()) value_ = Members();
    RIDGE_CONTRACT(is_object());
    auto& members = std::get<Members>(value_);
    for (JsonMember& member : members) {
        if (member.name == name) return member.value;
    }
    return members.emplace_back(JsonMember{std::string(name), {}}).value;
}

void Json::push_back(Json item) {
    if (is_null()) value_ = Items();
    RIDGE_CONTRACT(is_array());
    std::get<Items>(value_).push_back(std::move(item));
}

std::string Json::text(int indent) const {
    std::string out;
    append_to(out, indent);
    return out;
}

void Json::append_to(std::string& out, int indent, int depth) const {
    if (const auto* members = std::get_if<Members>(&value_)) {
        out += '{';
        const char* separator = "";
        for (const JsonMember& member : *members) {
            out += std::exchange(separator, ",");
            break_line(out, indent, depth + 1);
            append_text(out, member.name);
            out += indent < 0 ? ":" : ": ";
            member.value.append_to(out, indent, depth + 1);
        }
        if (!members->empty()) break_line(out, indent, depth);
        out += '}';
    } else if (const auto* items = std::get_if<Items>(&value_)) {
        out += '[';
        const char* separator = "";
        for (const Json& item : *items) {
            out += std::exchange(separator, ",");
            break_line(out, indent, depth + 1);
            item.append_to(out, indent, depth + 1);
        }
        if (!items->empty()) break_line(out, indent, depth);
        out += ']';
    } else if (const auto* text = std::get_if<std::string>(&value_)) {
        append_text(out, *text);
    } else if (const auto* number = std::get_if<double>(&value_)) {
        append_number(out, *number);
    } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
        append_whole(out, *whole);
    } else if (const auto* natural = std::get_if<std::uint64_t>(&value_)) {
        append_whole(out, *natural);
    } else if (const auto* flag = std::get_if<bool>(&value_)) {
        out += *flag ? "true" : "false";
    } else {
        out += "null";
    }
}

std::optional<Json> Json::parse(std::string_view text) {
    Builder builder;
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
    return std::move(builder).result();
}

bool Json::is_null() const {
    return std::holds_alternative<std::monostate>(value_);
}

bool Json::is_object() const {
    return std::holds_alternative<Members>(value_);
}

bool Json::is_array() const {
    return std::holds_alternative<Items>(value_);
}

const std::string* Json::if_text() const {
    return std::get_if<std::string>(&value_);
}

const bool* Json::if_flag() const {
    return std::get_if<bool>(&value_);
}

std::optional<double> Json::if_number() const {
    if (const auto* number = std::get_if<double>(&value_)) return *number;
    if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
    if (const auto* natural = std::get_if<std::uint64_t>(&value_)) {
        return static_cast<double>(*natural);
    }
    return std::nullopt;
}

std::optional<std::int64_t> Json::if_whole() const {
    if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
    const auto* natural = std::get_if<std::uint64_t>(&value_);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (natural == nullptr || *natural > most) return std::nullopt;
    return static_cast<std::int64_t>(*natural);
}

const Json* Json::find(std::string_view name) const {
    for (const JsonMember& member : members()) {
        if (member.name == name) return &member.value;
    }
    return nullptr;
}

const std::vector<Json>& Json::items() const {
    static const Items none;
    const auto* items = std::get_if<Items>(&value_);
    return items == nullptr ? none : *items;
}

const std::vector<JsonMember>& Json::members() const {
    static const Members none;
    const auto* members = std::get_if<Members>(&value_);
    return members == nullptr ? none : *members;
}

}  // namespace ridge
