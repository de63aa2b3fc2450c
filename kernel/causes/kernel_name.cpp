#include "kernel/causes/kernel_name.h"

#include <cctype>

namespace ridge::kernel {
namespace {

/// Without each occurrence of `unnamed`.
std::string without(std::string_view name, std::string_view unnamed) {
    std::string text;
    while (!name.empty()) {
        const std::size_t found = std::min(name.find(unnamed), name.size());
        text += name.substr(0, found);
        name.remove_prefix(std::min(name.size(), found + unnamed.size()));
    }
    return text;
}

bool is_word(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
           letter == '$' || letter == '~';
}

/// The name up to the parameters: the first parenthesis outside of templates.
std::string_view without_parameters(std::string_view name) {
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>' && depth > 0) --depth;
        if (name[i] == '(' && depth == 0 && i > 0) return name.substr(0, i);
    }
    return name;
}

/// The place after the last blank outside of templates, where the return type ends.
std::string_view without_type(std::string_view name) {
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>' && depth > 0) --depth;
        if (name[i] == ' ' && depth == 0) start = i + 1;
    }
    return start < name.size() ? name.substr(start) : name;
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
    const std::string whole = without(without(name, "(anonymous namespace)::"), "<unnamed>::");
    const std::string_view named = without_type(without_parameters(whole));
    std::string text;
    int depth = 0;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const char letter = named[i];
        if (letter == '<' && ++depth == 2) text += "<...>";
        if (depth < 2) text += letter;
        if (letter == '>' && depth > 0) --depth;
        const bool qualifies = depth < 2 && text.ends_with("::");
        if (!qualifies) continue;
        std::size_t word = text.size() - 2;
        while (word > 0 && is_word(text[word - 1])) --word;
        text.erase(word);
    }
    return text.empty() ? std::string(name) : text;
}

}  // namespace ridge::kernel
