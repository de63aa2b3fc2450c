// Stores each distinct text once and gives it a small number: a trace of a million events has only
// a few thousand distinct texts.
//
//   TextPool pool;
//   const TextId id = pool.add("aten::mm");   // the same text always gets the same id
//   pool[id] == "aten::mm"
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ridge::programs {

enum class TextId : std::uint32_t { empty = 0 };

class TextPool {
  public:
    TextPool() { add(""); }
    // Can be moved but not copied: the keys of a copy would point into the original.
    TextPool(const TextPool&) = delete;
    TextPool& operator=(const TextPool&) = delete;
    TextPool(TextPool&&) = default;
    TextPool& operator=(TextPool&&) = default;
    ~TextPool() = default;

    TextId add(std::string_view text);
    [[nodiscard]] const std::string& operator[](TextId id) const {
        return texts_[static_cast<std::size_t>(id)];
    }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

  private:
    std::deque<std::string> texts_;  // stable addresses: the map's keys point into it
    std::unordered_map<std::string_view, TextId> ids_;
};

}  // namespace ridge::programs
