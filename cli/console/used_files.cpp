#include "cli/console/used_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/json.h"

namespace ridge::cli {

void UsedFiles::add(std::string_view gpu, std::string_view origin) {
    // "built in, with FILE and FILE"
    const std::size_t begin = folder_.empty() ? std::string_view::npos : origin.find(folder_);
    if (begin == std::string_view::npos) return;
    files_.insert_or_assign(std::string(gpu), std::string(origin.substr(begin)));
}

std::string UsedFiles::line() const {
    std::string text;
    for (const auto& [gpu, origin] : files_) {
        text +=
            fmt::format("With {} for {} (`ridge gpus forget {}` removes it):\n", origin, gpu, gpu);
    }
    return text;
}

std::string UsedFiles::member() const {
    Json list = Json::array();
    for (const auto& [gpu, origin] : files_) list.push_back({{"gpu", gpu}, {"files", origin}});
    return "\"gpu_files\": " + list.text(-1);
}

NoteForm note_form(std::span<const std::string> arguments) {
    const auto given = [&](std::string_view word) {
        return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
    };
    // The list of GPUs has a column for it, and a sweep may be CSV without being asked.
    if (!arguments.empty() && (arguments.front() == "gpus" || arguments.front() == "sweep")) {
        return NoteForm::none;
    }
    if (given("--json") || given("--format=json")) return NoteForm::member;
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
        if (arguments[i] != "--format") continue;
        if (arguments[i + 1] == "json") return NoteForm::member;
        return arguments[i + 1] == "table" ? NoteForm::line : NoteForm::none;
    }
    const bool other = std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
        return word.starts_with("--format=");
    });
    return other ? NoteForm::none : NoteForm::line;
}

NotedOutput::int_type NotedOutput::overflow(int_type letter) {
    if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
    const char text = traits_type::to_char_type(letter);
    return begin({&text, 1}) == 1 ? letter : traits_type::eof();
}

std::streamsize NotedOutput::xsputn(const char* text, std::streamsize count) {
    return begin({text, static_cast<std::size_t>(count)});
}

std::streamsize NotedOutput::pass_on(std::string_view text) {
    return to_.sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

std::streamsize NotedOutput::begin(std::string_view text) {
    if (begun_ || text.empty()) return pass_on(text);
    begun_ = true;
    if (used_.empty() || form_ == NoteForm::none) return pass_on(text);
    if (form_ == NoteForm::line) {
        pass_on(used_.line());
        return pass_on(text);
    }
    if (text.front() != '{') return pass_on(text);
    pass_on("{\n  " + used_.member() + ",");
    return 1 + pass_on(text.substr(1));
}

}  // namespace ridge::cli
