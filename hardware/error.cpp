#include "hardware/error.h"

namespace ridge {
namespace {

std::string complete_message(const std::string& message, const Location& location,
                             const std::string& hint) {
    std::string text = to_string(location);
    if (!text.empty()) text += ": ";
    text += message;
    if (!hint.empty()) text += " (" + hint + ")";
    return text;
}

}  // namespace

std::string to_string(const Location& location) {
    std::string text = location.file;
    if (location.line > 0) text += (text.empty() ? "line " : ":") + std::to_string(location.line);
    if (location.line > 0 && location.column > 0) text += ":" + std::to_string(location.column);
    return text;
}

InputError::InputError(const std::string& message, Location location, std::string hint)
    : std::runtime_error(complete_message(message, location, hint)),
      message_(message),
      location_(std::move(location)),
      hint_(std::move(hint)) {}

DeviceError::DeviceError(const std::string& call, std::int64_t code, const std::string& text)
    : std::runtime_error(call + " failed with " + std::to_string(code) + ": " + text) {}

void contract_violated(const char* condition, const char* file, int line) {
    throw ContractViolation(std::string(file) + ":" + std::to_string(line) +
                            ": contract broken: " + condition);
}

}  // namespace ridge
