#include "measure/record/overlay_text.h"

namespace ridge::measure {

std::string quoted_toml(std::string_view text) {
    std::string result = "\"";
    for (const char character : text) {
        if (character == '"' || character == '\\') result += '\\';
        const bool control = static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
        result += control ? ' ' : character;
    }
    return result + '"';
}

std::string overlay_text(const OverlayHeader& header, std::string_view sections) {
    std::string text = "# " + header.comment + "\nschema = 1\nkind = \"overlay\"\n";
    text += "name = " + quoted_toml(header.name) + "\noverlay = " + quoted_toml(header.over) +
            "\ntitle = " + quoted_toml(header.title) + "\nvendor = " + quoted_toml(header.vendor) +
            "\n\n[sources]\n";
    for (const auto& [name, source] : header.sources) {
        text += name + " = { kind = \"measured\", text = " + quoted_toml(source) + " }\n";
    }
    return text + std::string(sections);
}

}  // namespace ridge::measure
