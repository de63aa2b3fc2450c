#include "hardware/node_reader.h"

#include <algorithm>

#include "hardware/nearest.h"

namespace ridge::hardware {

std::string_view NodeReader::string_of(const Node& node, std::string_view what,
                                       std::string_view part) {
    const bool is_text = node.kind == NodeKind::text;
    if (is_text && !node.text.empty()) return node.text;
    const std::string name = std::string(part) + std::string(what);
    report(node.location(),
           is_text ? name + " is empty"
                   : name + " must be a string, not " + std::string(to_string(node.kind)));
    return {};
}

std::vector<std::string> NodeReader::strings_of(const Node& node, std::string_view what) {
    std::vector<std::string> result;
    if (node.kind == NodeKind::array) {
        result.reserve(node.children.size());
        for (const Node& child : node.children) {
            result.emplace_back(string_of(child, what, "every entry of "));
        }
        if (result.empty()) report(node.location(), std::string(what) + " is empty");
    } else {
        result.emplace_back(string_of(node, what));
    }
    std::erase_if(result, [](const std::string& text) { return text.empty(); });
    return result;
}

void NodeReader::reject_other_keys(const Node& table, std::initializer_list<std::string_view> known,
                                   std::string_view what) {
    for (const Node& child : table.children) {
        if (std::find(known.begin(), known.end(), child.key) != known.end()) continue;
        const std::vector<std::string> names(known.begin(), known.end());
        const std::string near_key = nearest(child.key, names);
        report(child.key_location(),
               "unknown key \"" + std::string(child.key) + "\" in " + std::string(what) +
                   (near_key.empty() ? "" : ", did you mean \"" + near_key + "\"?"));
    }
}

}  // namespace ridge::hardware
