#include "hardware/error_field.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace ridge {
namespace {

bool is_field(std::string_view word) {
    const auto fits = [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
               letter == '-' || letter == '.';
    };
    return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) == 0 &&
           std::all_of(word.begin(), word.end(), fits);
}

}  // namespace

std::string field_of(const InputError& error) {
    const std::string_view message = error.message();
    for (const std::string_view after :
         {std::string_view(": "), std::string_view(" is missing"), std::string_view(" must ")}) {
        const std::size_t end = message.find(after);
        if (end == std::string_view::npos) continue;
        const std::string_view word = message.substr(0, end);
        if (is_field(word)) return std::string(word);
    }
    return message.starts_with("unknown GPU") ? "gpu" : "";
}

}  // namespace ridge
