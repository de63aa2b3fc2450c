// Models by name for commands, and what a misplaced word means: a model given to a command that takes
// operations, an operation given to one that takes models, either of them in place of a command.
#pragma once

#include <string>

#include "programs/configs/architecture.h"

namespace ridge::cli {

/// `programs::find_model`, but InputError says so if the name is that of an operation.
[[nodiscard]] programs::Architecture model_named(const std::string& name);

/// InputError if the name is that of an operation and of no model.
void require_model(const std::string& name);

/// "'llama-3.1-8b' is a model: ridge plan llama-3.1-8b"; empty if the word is neither a model nor an
/// operation.
[[nodiscard]] std::string command_for(const std::string& word);

/// The same for a word that is nearly a model or an operation.
[[nodiscard]] std::string command_near(const std::string& word);

}  // namespace ridge::cli
