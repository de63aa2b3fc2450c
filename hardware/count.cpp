#include "hardware/count.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "hardware/error.h"
#include "hardware/text.h"

namespace ridge {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr int largest_exponent = 40;

/// The parts of a text before they are multiplied: digits x 10^decimal x 2^binary.
struct Parts {
    std::int64_t digits = 0;
    int decimal = 0;
    int binary = 0;
    bool prefixed = false;  ///< has a prefix for a power of 1000
    bool bytes = false;
};

enum class Fault : std::uint8_t { none, malformed, too_large };

/// Reads one part after another from the start of a text.
class CountReader {
  public:
    explicit CountReader(std::string_view text) : rest_(text) {}

    Fault read(Parts& parts) {
        if (!number(parts)) return fault_;
        if (!exponent(parts)) return Fault::malformed;
        while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
        prefix(parts);
        if (rest_.size() == 1 && lower(rest_.front()) == 'b') {
            parts.bytes = true;
            rest_ = {};
        }
        return rest_.empty() ? Fault::none : Fault::malformed;
    }

  private:
    /// Digits with single '_' between them and at most one point.
    bool number(Parts& parts) {
        bool fraction = false;
        bool digit = false;  // the last character was a digit
        int zeros = 0;       // at the end of the fraction, not yet counted
        for (; !rest_.empty(); rest_.remove_prefix(1)) {
            const char letter = rest_.front();
            if (letter == '.' && digit && !fraction) {
                fraction = true;
                digit = false;
            } else if (letter == '_' && digit && rest_.size() > 1 && is_digit(rest_[1])) {
                digit = false;
            } else if (is_digit(letter)) {
                digit = true;
                if (fraction && letter == '0') {
                    ++zeros;
                    continue;
                }
                for (; zeros > 0; --zeros) {
                    if (!append(parts, 0, fraction)) return false;
                }
                if (!append(parts, letter - '0', fraction)) return false;
            } else {
                break;
            }
        }
        return digit;
    }

    bool append(Parts& parts, int digit, bool fraction) {
        if (parts.digits > (largest - digit) / 10) {
            fault_ = Fault::too_large;
            return false;
        }
        parts.digits = 10 * parts.digits + digit;
        if (fraction) --parts.decimal;
        return true;
    }

    bool exponent(Parts& parts) {
        if (rest_.empty() || lower(rest_.front()) != 'e') return true;
        rest_.remove_prefix(1);
        if (rest_.size() > 1 && rest_.front() == '+' && is_digit(rest_[1])) rest_.remove_prefix(1);
        int value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{} || value < -largest_exponent || value > largest_exponent) {
            return false;
        }
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        parts.decimal += value;
        return true;
    }

    void prefix(Parts& parts) {
        constexpr std::string_view letters = "kmgt";
        if (rest_.empty()) return;
        const std::size_t power = letters.find(lower(rest_.front()));
        if (power == std::string_view::npos) return;
        rest_.remove_prefix(1);
        const int thousands = static_cast<int>(power) + 1;
        if (!rest_.empty() && lower(rest_.front()) == 'i') {
            rest_.remove_prefix(1);
            parts.binary = 10 * thousands;
        } else {
            parts.decimal += 3 * thousands;
            parts.prefixed = true;
        }
    }

    std::string_view rest_;
    Fault fault_ = Fault::malformed;
};

Fault multiply(std::int64_t& value, std::int64_t factor) {
    if (value > largest / factor) return Fault::too_large;
    value *= factor;
    return Fault::none;
}

/// Multiplies the parts, exactly.
Fault value_of(const Parts& parts, std::int64_t& value) {
    value = parts.digits;
    if (value == 0) return Fault::none;
    if (multiply(value, std::int64_t{1} << parts.binary) != Fault::none) return Fault::too_large;
    for (int i = 0; i < parts.decimal; ++i) {
        if (multiply(value, 10) != Fault::none) return Fault::too_large;
    }
    for (int i = 0; i > parts.decimal; --i) {
        if (value % 10 != 0) return Fault::malformed;
        value /= 10;
    }
    return Fault::none;
}

Fault read(std::string_view text, WrittenCount& count, bool& bytes) {
    Parts parts;
    const Fault fault = CountReader(trimmed(text)).read(parts);
    bytes = parts.bytes;
    if (fault != Fault::none) return fault;
    count.decimal = parts.prefixed && !parts.bytes;
    return value_of(parts, count.value);
}

}  // namespace

std::optional<WrittenCount> read_count(std::string_view text, CountUnit unit) {
    WrittenCount count;
    bool bytes = false;
    if (read(text, count, bytes) != Fault::none) return std::nullopt;
    if (bytes && unit != CountUnit::bytes) return std::nullopt;
    return count;
}

std::int64_t parse_count(std::string_view text, std::string_view field, CountUnit unit) {
    std::int64_t plain = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), plain);
    if (error == std::errc{} && end == text.data() + text.size() && plain >= 0) return plain;

    const std::string where = field.empty() ? "" : std::string(field) + ": ";
    WrittenCount count;
    bool bytes = false;
    const Fault fault = read(text, count, bytes);
    if (fault == Fault::too_large) {
        throw InputError(where + quoted(text) + " is too large for a count");
    }
    if (fault == Fault::malformed) {
        const std::string what = unit == CountUnit::bytes ? " is not a size of 0 bytes or more"
                                                          : " is not a whole number of 0 or more";
        throw InputError(where + quoted(text) + what, {},
                         unit == CountUnit::bytes ? "write 1048576, 1MiB, 80G or 8MB"
                                                  : "write 4096, 4_096, 4Ki, 16M or 1e5");
    }
    if (bytes && unit != CountUnit::bytes) {
        throw InputError(where + quoted(text) + " is a number of bytes, but a count is expected");
    }
    return count.value;
}

}  // namespace ridge
