#include "programs/recording/recording_options.h"

#include <algorithm>
#include <charconv>

namespace ridge::programs {
namespace {

template <class Number>
void read_number(std::string_view text, Number& value) {
    std::from_chars(text.data(), text.data() + text.size(), value);
}

void read_flag(std::string_view text, bool& value) {
    value = text == "1";
}

void read_line(std::string_view key, std::string_view value, RecordingOptions& options) {
    if (key == "prefix") options.prefix = value;
    if (key == "run") read_number(value, options.run);
    if (key == "wait_for_start") read_flag(value, options.wait_for_start);
    if (key == "whole_graphs") read_flag(value, options.whole_graphs);
    if (key == "delay_ms") read_number(value, options.delay_ms);
    if (key == "duration_ms") read_number(value, options.duration_ms);
    if (key == "counted") read_number(value, options.counted);
    if (key == "sample_ns") read_number(value, options.sample_ns);
    if (key == "once") read_flag(value, options.once);
    if (key == "repeats") read_flag(value, options.repeats);
    if (key == "continued") read_flag(value, options.continued);
    if (key == "stalls") read_flag(value, options.stalls);
}

}  // namespace

std::string earlier_file(const std::string& prefix) {
    return prefix + ".missing";
}

std::string to_text(const RecordingOptions& options) {
    const auto line = [](const char* key, auto value) {
        return std::string(key) + '=' + std::to_string(value) + '\n';
    };
    // The prefix comes last: it is the only value that may contain a line break.
    return line("run", options.run) + line("wait_for_start", options.wait_for_start ? 1 : 0) +
           line("whole_graphs", options.whole_graphs ? 1 : 0) + line("delay_ms", options.delay_ms) +
           line("duration_ms", options.duration_ms) + line("counted", options.counted) +
           line("sample_ns", options.sample_ns) + line("once", options.once ? 1 : 0) +
           line("repeats", options.repeats ? 1 : 0) + line("continued", options.continued ? 1 : 0) +
           line("stalls", options.stalls ? 1 : 0) + "prefix=" + options.prefix;
}

std::optional<RecordingOptions> recording_options_of(std::string_view text) {
    RecordingOptions options;
    while (!text.empty()) {
        const std::size_t equals = text.find('=');
        if (equals == text.npos) break;
        const std::string_view key = text.substr(0, equals);
        text.remove_prefix(equals + 1);
        const std::size_t end = key == "prefix" ? text.size() : text.find('\n');
        read_line(key, text.substr(0, end), options);
        text.remove_prefix(end == text.npos ? text.size() : std::min(end + 1, text.size()));
    }
    if (options.prefix.empty()) return std::nullopt;
    return options;
}

}  // namespace ridge::programs
