#include "model/core/software_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr std::size_t most_names = 4096;
constexpr std::size_t longest_name = 128;

constexpr std::array<std::pair<std::string_view, RunMode>, 2> words{
    {{"compiled", RunMode::compiled}, {"serving", RunMode::graph}}};
constexpr std::array<std::string_view, 4> run_mode_names{"auto", "eager", "compiled", "graph"};

/// The names seen by this process, by number.
struct Names {
    std::mutex mutex;
    std::map<std::string, std::uint16_t, std::less<>> numbers;
    std::vector<std::unique_ptr<const std::string>> texts;
};

Names& software_seen() {
    static Names names;
    return names;
}

Names& kernels_seen() {
    static Names names;
    return names;
}

/// The number of a name, from 1; a new name gets the next one.
std::uint16_t number_in(Names& names, std::string_view name, const char* field) {
    const std::lock_guard lock(names.mutex);
    if (const auto found = names.numbers.find(name); found != names.numbers.end()) {
        return found->second;
    }
    if (names.texts.size() == most_names) {
        throw InputError(std::string(field) + ": too many different names");
    }
    names.texts.push_back(std::make_unique<const std::string>(name));
    const auto number = static_cast<std::uint16_t>(names.texts.size());
    names.numbers.emplace(name, number);
    return number;
}

std::uint16_t checked_in(Names& names, std::int64_t number) {
    const std::lock_guard lock(names.mutex);
    RIDGE_CONTRACT(number >= 0 && number <= static_cast<std::int64_t>(names.texts.size()));
    return static_cast<std::uint16_t>(number);
}

std::string_view text_in(Names& names, std::uint16_t number) {
    if (number == 0) return {};
    const std::lock_guard lock(names.mutex);
    return *names.texts[number - 1U];
}

bool is_plain(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
           letter == '_' || letter == '.' || letter == '+';
}

bool is_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// Engines name kernels after classes and functions.
bool is_of_kernel(char letter) {
    return is_plain(letter) || is_letter(letter) || letter == ':';
}

}  // namespace

SoftwareChoice SoftwareChoice::named(std::string_view name) {
    if (name.empty() || name.size() > longest_name || name.front() < 'a' || name.front() > 'z' ||
        !std::all_of(name.begin(), name.end(), is_plain)) {
        throw InputError(
            "software: '" + std::string(name.substr(0, longest_name)) + "' is not a name", {},
            "give NAME or NAME-VERSION, such as pytorch-2.11");
    }
    SoftwareChoice choice;
    choice.number_ = number_in(software_seen(), name, "software");
    return choice;
}

SoftwareChoice SoftwareChoice::of_number(std::int64_t number) {
    SoftwareChoice choice;
    choice.number_ = checked_in(software_seen(), number);
    return choice;
}

std::string_view SoftwareChoice::name() const {
    return text_in(software_seen(), number_);
}

KernelChoice KernelChoice::named(std::string_view name) {
    if (name.empty() || name.size() > longest_name || !is_letter(name.front()) ||
        !std::all_of(name.begin(), name.end(), is_of_kernel)) {
        throw InputError("kernel: '" + std::string(name.substr(0, longest_name)) +
                         "' is not the name of a kernel");
    }
    KernelChoice choice;
    choice.number_ = number_in(kernels_seen(), name, "kernel");
    return choice;
}

KernelChoice KernelChoice::of_number(std::int64_t number) {
    KernelChoice choice;
    choice.number_ = checked_in(kernels_seen(), number);
    return choice;
}

std::string_view KernelChoice::name() const {
    return text_in(kernels_seen(), number_);
}

std::string_view name_of(RunMode mode) {
    return run_mode_names[static_cast<std::size_t>(mode)];
}

RunMode parse_run_mode(std::string_view text) {
    const auto found = std::find(run_mode_names.begin(), run_mode_names.end(), text);
    if (found == run_mode_names.end()) {
        throw InputError("mode: '" + std::string(text.substr(0, longest_name)) +
                         "' is not auto, eager, compiled or graph");
    }
    return static_cast<RunMode>(found - run_mode_names.begin());
}

std::optional<RunMode> mode_of_word(std::string_view text) {
    for (const auto& [word, mode] : words) {
        if (word == text) return mode;
    }
    return std::nullopt;
}

}  // namespace ridge::model
