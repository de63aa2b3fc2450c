// A strict reader of XML for the tests: what it accepts is well-formed.
//
// It knows elements, attributes, text, the five named and the numeric entities, the XML declaration
// and nothing else; anything else throws std::runtime_error with the offset.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::plot::markup {

struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;  ///< of the element itself, without its children's
};

/// All elements in document order.
[[nodiscard]] std::vector<Element> elements_of(std::string_view xml);

[[nodiscard]] bool has_class(const Element& element, std::string_view name);
[[nodiscard]] int count_class(const std::vector<Element>& elements, std::string_view name);

/// Whether some element's text is exactly this.
[[nodiscard]] bool has_text(const std::vector<Element>& elements, std::string_view text);

}  // namespace ridge::plot::markup
