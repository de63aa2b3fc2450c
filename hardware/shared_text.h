// An immutable text that copies share, or that is part of the program.
//
//   const SharedText file = SharedText::copy_of(read_text_file(path));
//   const SharedText word = file.part(file.view().substr(7, 3));   // keeps the file
//   const SharedText name = SharedText::in_program("h100-sxm");    // a literal or an embedded file
//
// A description takes thousands of texts from a few files; sharing the files avoids copying each
// text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ridge {

class SharedText {
  public:
    SharedText() = default;

    /// For a text that lasts as long as the program.
    [[nodiscard]] static SharedText in_program(std::string_view text) { return {text, nullptr}; }

    [[nodiscard]] static SharedText copy_of(std::string_view text) {
        auto kept = std::make_shared<const std::string>(text);
        const std::string_view view = *kept;
        return {view, std::move(kept)};
    }

    [[nodiscard]] std::string_view view() const { return view_; }
    [[nodiscard]] bool empty() const { return view_.empty(); }
    [[nodiscard]] std::string str() const { return std::string(view_); }

    /// A part of this text; a copy if `text` lies elsewhere.
    [[nodiscard]] SharedText part(std::string_view text) const {
        const std::less_equal<> not_behind;
        const bool inside = not_behind(view_.data(), text.data()) &&
                            not_behind(text.data() + text.size(), view_.data() + view_.size());
        return inside ? SharedText(text, owner_) : copy_of(text);
    }

    friend bool operator==(const SharedText& a, std::string_view b) { return a.view_ == b; }

  private:
    SharedText(std::string_view view, std::shared_ptr<const std::string> owner)
        : view_(view), owner_(std::move(owner)) {}

    std::string_view view_;
    std::shared_ptr<const std::string> owner_;
};

}  // namespace ridge
