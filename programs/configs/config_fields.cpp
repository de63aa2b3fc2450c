#include "programs/configs/config_fields.h"

#include "hardware/error.h"

namespace ridge::programs {

const Json* ConfigFields::find(std::string_view name) const {
    const Json* value = json_->find(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

bool ConfigFields::has(std::string_view name) const {
    return find(name) != nullptr;
}

void ConfigFields::fail(std::string_view name, const std::string& what) const {
    throw InputError(std::string(name) + what, {.file = file_});
}

std::int64_t ConfigFields::count(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) fail(name, " is missing");
    const auto whole = value->if_whole();
    if (!whole) fail(name, " must be a whole number");
    if (*whole < 0 || *whole > largest_count) fail(name, " must be 0 to 10^12");
    return *whole;
}

std::int64_t ConfigFields::count_or(std::string_view name, std::int64_t otherwise) const {
    return has(name) ? count(name) : otherwise;
}

double ConfigFields::number_or(std::string_view name, double otherwise) const {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    const auto number = value->if_number();
    if (!number) fail(name, " must be a number");
    return *number;
}

bool ConfigFields::flag_or(std::string_view name, bool otherwise) const {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    const bool* flag = value->if_flag();
    if (flag == nullptr) fail(name, " must be true or false");
    return *flag;
}

std::string ConfigFields::text_or(std::string_view name, std::string_view otherwise) const {
    const Json* value = find(name);
    if (value == nullptr) return std::string(otherwise);
    const std::string* text = value->if_text();
    if (text == nullptr) fail(name, " must be a string");
    return *text;
}

const Json* ConfigFields::list(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_array()) fail(name, " must be a list");
    return value;
}

}  // namespace ridge::programs
