#include "kernel/causes/kernel_name.h"

#include <algorithm>
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

/// The place of the parenthesis or brace that closes the one at `start`.
std::size_t end_of_group(std::string_view name, std::size_t start) {
    int open = 0;
    for (std::size_t i = start; i < name.size(); ++i) {
        if (name[i] == '(' || name[i] == '{') ++open;
        if ((name[i] == ')' || name[i] == '}') && --open == 0) return i;
    }
    return name.size() - 1;
}

/// The place of the comma or bracket that ends the template argument around `start`.
std::size_t end_of_argument(std::string_view name, std::size_t start) {
    int open = 0;
    for (std::size_t i = start; i < name.size(); ++i) {
        const char letter = name[i];
        if (open == 0 && (letter == ',' || letter == '>')) return i;
        if (letter == '(' || letter == '{' || letter == '<') ++open;
        if (letter == ')' || letter == '}' || letter == '>') --open;
    }
    return name.size();
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
    // Nsight Compute cuts the last of these down to its end.
    const std::string whole =
        without(without(without(name, "(anonymous namespace)::"), "<unnamed>::"), "unnamed>::");
    const std::string_view named = without_type(without_parameters(whole));
    std::string text;
    int depth = 0;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const char letter = named[i];
        if (letter == '<' && ++depth == 2) text += "<...>";
        if (depth == 1 && (letter == '(' || letter == '{')) {
            // The type of a cast goes; so does all that follows a function's name.
            const bool cast = text.ends_with('<') || text.ends_with(", ");
            i = cast ? end_of_group(named, i) : end_of_argument(named, i) - 1;
            continue;
        }
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
