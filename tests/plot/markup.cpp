#include "tests/plot/markup.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <stdexcept>

namespace ridge::plot::markup {

namespace {

class Reader {
  public:
    explicit Reader(std::string_view xml) : xml_(xml) {}

    std::vector<Element> read() {
        if (xml_.substr(0, 5) == "<?xml") at_ = xml_.find("?>") + 2;
        skip_space();
        element();
        skip_space();
        if (at_ != xml_.size()) fail("text after the root element");
        return std::move(out_);
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(what + " at offset " + std::to_string(at_));
    }
    [[nodiscard]] char peek() const {
        if (at_ >= xml_.size()) fail("unexpected end");
        return xml_[at_];
    }
    void expect(char c) {
        if (peek() != c) fail(std::string("expected ") + c);
        ++at_;
    }
    void skip_space() {
        while (at_ < xml_.size() && std::isspace(static_cast<unsigned char>(xml_[at_])) != 0) ++at_;
    }
    std::string name() {
        const std::size_t begin = at_;
        while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-' ||
               peek() == ':')
            ++at_;
        if (at_ == begin) fail("expected a name");
        return std::string(xml_.substr(begin, at_ - begin));
    }
    std::string entity() {
        const std::size_t end = xml_.find(';', at_);
        if (end == std::string_view::npos) fail("unfinished entity");
        const std::string_view body = xml_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        if (body == "amp") return "&";
        if (body == "lt") return "<";
        if (body == "gt") return ">";
        if (body == "quot") return "\"";
        if (body == "#39") return "'";
        fail("unknown entity");
    }
    std::string character() {
        const auto c = static_cast<unsigned char>(peek());
        if (c == '&') return entity();
        if (c < 0x20 && c != '\n' && c != '\t') fail("control character");
        ++at_;
        return {static_cast<char>(c)};
    }
    void attributes(std::map<std::string, std::string>& into) {
        for (skip_space(); peek() != '>' && peek() != '/'; skip_space()) {
            const std::string key = name();
            expect('=');
            expect('"');
            std::string value;
            while (peek() != '"') {
                if (peek() == '<') fail("'<' in an attribute");
                value += character();
            }
            expect('"');
            if (!into.emplace(key, value).second) fail("attribute twice");
        }
    }
    void element() {
        expect('<');
        const std::size_t index = out_.size();
        out_.push_back({.name = name(), .attributes = {}, .text = {}});
        attributes(out_[index].attributes);
        if (peek() == '/') {
            ++at_;
            expect('>');
            return;
        }
        expect('>');
        while (xml_.substr(at_, 2) != "</") {
            if (peek() == '<') {
                element();
            } else {
                out_[index].text += character();
            }
        }
        at_ += 2;
        if (name() != out_[index].name) fail("closing tag of another element");
        skip_space();
        expect('>');
    }

    std::string_view xml_;
    std::size_t at_ = 0;
    std::vector<Element> out_;
};

}  // namespace

std::vector<Element> elements_of(std::string_view xml) {
    return Reader(xml).read();
}

bool has_class(const Element& element, std::string_view name) {
    const auto found = element.attributes.find("class");
    if (found == element.attributes.end()) return false;
    return (" " + found->second + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

int count_class(const std::vector<Element>& elements, std::string_view name) {
    return static_cast<int>(
        std::count_if(elements.begin(), elements.end(),
                      [&](const Element& element) { return has_class(element, name); }));
}

bool has_text(const std::vector<Element>& elements, std::string_view text) {
    return std::any_of(elements.begin(), elements.end(),
                       [&](const Element& element) { return element.text == text; });
}

}  // namespace ridge::plot::markup
