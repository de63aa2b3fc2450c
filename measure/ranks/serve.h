// The work of a rank's process: answers the requests of the process that started it.
//
//   ridge measure-rank RANK RANKS DEVICE     // started by rank_group.h, not by users
//
// It ends when the channel closes. What a rank refuses or fails at is an answer; the process goes on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "measure/ranks/rank.h"

namespace ridge::measure {

inline constexpr std::string_view rank_command = "measure-rank";

using OpenRank = std::function<Maybe<std::unique_ptr<Rank>>(const RankPlace&)>;

/// `words` are RANK RANKS DEVICE. Returns the process's exit code.
[[nodiscard]] int serve_rank(std::span<const std::string> words, const OpenRank& open);

}  // namespace ridge::measure
