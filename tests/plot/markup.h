// A strict reader of XML for the tests. What it accepts is well-formed.
//
// It knows elements, attributes, text, the XML declaration and the entities &amp; &lt; &gt; &quot;
// and &#39;. Anything else throws std::runtime_error with the offset.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::plot::markup {

struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;  ///< of the element itself, without its children
};

/// All elements, in document order.
[[nodiscard]] std::vector<Element> elements_of(std::string_view xml);

[[nodiscard]] bool has_class(const Element& element, std::string_view name);
[[nodiscard]] int count_class(const std::vector<Element>& elements, std::string_view name);

/// Whether the text of some element is exactly this.
[[nodiscard]] bool has_text(const std::vector<Element>& elements, std::string_view text);

}  // namespace ridge::plot::markup
