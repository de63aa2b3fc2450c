// Words of other tools for ridge's options and commands, so that an error says what a first guess
// meant.
//
//   meant_by("--qps", {"--rate", "--gpu"});     // "--rate"
//   meant_by("--decode", {"--phase"});          // "--phase decode"
//   command_meant_by("finetune");               // "ridge plan MODEL --finetune lora"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

/// What the command that knows these options calls an option; empty if nothing is known of it. A
/// short name may stand for a long one: "-m" for "--m".
[[nodiscard]] std::string meant_by(std::string_view option, const std::vector<std::string>& known);

/// The command for a word; empty if nothing is known of it.
[[nodiscard]] std::string command_meant_by(std::string_view word);

}  // namespace ridge::cli
