#include "measure/record/record_lines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

constexpr std::int64_t difference_schema = 2;

bool is_taken_over(std::string_view member) {
    constexpr std::array<std::string_view, 3> own{"schema", "timing", "failure"};
    return std::find(own.begin(), own.end(), member) == own.end();
}

bool is_header(const Json& json) {
    const Json* const schema = json.find("schema");
    return schema != nullptr && schema->if_whole() == difference_schema &&
           json.find("records") != nullptr && json.find("op") == nullptr;
}

/// Bytes of memory that a value takes, about.
std::size_t size_of(const Json& json) {
    const std::string* const text = json.if_text();
    std::size_t size = sizeof(Json) + (text == nullptr ? 0 : text->size());
    for (const Json& item : json.items()) size += size_of(item);
    for (const JsonMember& member : json.members()) {
        size += member.name.size() + size_of(member.value);
    }
    return size;
}

/// The record that a line stands for, after the record `before`.
Json full_record(const Json& before, const Json& line) {
    Json full = Json::object();
    full["schema"] = record_schema;
    for (const JsonMember& member : before.members()) {
        if (line.find(member.name) == nullptr) full[member.name] = member.value;
    }
    for (const JsonMember& member : line.members()) {
        if (!member.value.is_null()) full[member.name] = member.value;
    }
    return full;
}

Json carried_by(const Json& full) {
    Json carried = Json::object();
    for (const JsonMember& member : full.members()) {
        if (is_taken_over(member.name)) carried[member.name] = member.value;
    }
    return carried;
}

}  // namespace

void RecordLines::end_with(std::string message) {
    ++number_;
    add_damage(std::move(message));
}

void RecordLines::add_damage(std::string message) {
    result_.damaged.push_back({.location = place(), .message = std::move(message)});
}

void RecordLines::add_record(const Json& json) {
    try {
        result_.records.push_back(record_of(json));
        result_.records.back().location = place();
    } catch (const InputError& error) {
        add_damage(error.message());
    }
}

bool RecordLines::add(std::string_view line) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    const std::optional<Json> json = Json::parse(line);
    if (number_ == 1 && json && is_header(*json)) {
        differences_ = true;
        return true;
    }
    if (differences_) return add_difference(json);
    if (json) {
        add_record(*json);
    } else {
        add_damage("not a line of JSON, or cut short");
    }
    return true;
}

bool RecordLines::add_difference(const std::optional<Json>& line) {
    if (!line || !line->is_object()) {
        add_damage(
            "not a line of JSON, or cut short; the records after it build on it and are not read");
        return false;
    }
    const Json full = full_record(carried_, *line);
    unpacked_ += size_of(full) + bytes_per_record;
    if (unpacked_ > most_unpacked_bytes) {
        add_damage(too_large_unpacked());
        return false;
    }
    add_record(full);
    carried_ = carried_by(full);
    return true;
}

std::string too_large_unpacked() {
    return "the file holds more than " + std::to_string(most_unpacked_bytes >> 20U) +
           " MiB when unpacked; the rest is not read";
}

}  // namespace ridge::measure
