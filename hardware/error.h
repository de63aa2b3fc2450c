// The two exceptions and the contract check of ridge.
//
// Broken input throws `InputError`. It says where (file:line:column if it came from a file), names
// the field and may carry a hint. A failing device throws `DeviceError`. A reasonable question
// without an answer is not an error but a value (`model::NotModelled`, `measure::Unavailable`). A
// bug trips `RIDGE_CONTRACT`, which is always on. `main` catches these once and maps them to exit
// codes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ridge {

/// A place in an input: a file, "<command line>" or "<stdin>". Line and column start at 1; zero
/// means unknown and is not printed.
struct Location {
    std::string file;
    std::int64_t line = 0;
    std::int64_t column = 0;
};

/// "file:line:column", without unknown parts.
[[nodiscard]] std::string to_string(const Location& location);

/// Broken input data. `what()` is the complete message: location, text and hint.
class InputError : public std::runtime_error {
  public:
    explicit InputError(const std::string& message, Location location = {}, std::string hint = {});

    [[nodiscard]] const Location& location() const { return location_; }
    [[nodiscard]] const std::string& message() const { return message_; }
    [[nodiscard]] const std::string& hint() const { return hint_; }

  private:
    std::string message_;
    Location location_;
    std::string hint_;
};

/// A device or driver call that failed: the call, its code and the driver's own text.
class DeviceError : public std::runtime_error {
  public:
    DeviceError(const std::string& call, std::int64_t code, const std::string& text);
    explicit DeviceError(const std::string& text) : std::runtime_error(text) {}
};

/// A contract that the program itself broke: a bug.
class ContractViolation : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

[[noreturn]] void contract_violated(const char* condition, const char* file, int line);

}  // namespace ridge

#define RIDGE_CONTRACT(condition)       \
    ((condition) ? static_cast<void>(0) \
                 : ::ridge::contract_violated(#condition, __FILE__, __LINE__))
