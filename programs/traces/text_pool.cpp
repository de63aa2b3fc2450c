#include "programs/traces/text_pool.h"

#include <limits>

#include "hardware/error.h"

namespace ridge::programs {

TextId TextPool::add(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    RIDGE_CONTRACT(texts_.size() < std::numeric_limits<std::uint32_t>::max());
    const auto id = static_cast<TextId>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), id);
    return id;
}

}  // namespace ridge::programs
