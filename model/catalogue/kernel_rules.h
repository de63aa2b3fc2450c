// The rules of [[kernel]] in software files (`software.h`), for one choice of software.
#pragma once

#include <span>
#include <vector>

#include "hardware/document.h"
#include "model/catalogue/software.h"
#include "model/machine/machine_software.h"

namespace ridge::model {

/// The rules of a file, and what is wrong with them.
[[nodiscard]] std::vector<KernelRule> rules_in(const Software& software,
                                               std::vector<hardware::Problem>& problems);

/// The rules of the software, then those of what it uses, in order. InputError when one is broken.
[[nodiscard]] std::vector<KernelRule> rules_of(std::span<const Software> all,
                                               const Software& software);

/// For no choice: the rules that name a mode or pick an implementation by shape, of every part of the stack.
[[nodiscard]] std::vector<KernelRule> usual_rules(std::span<const StackPart> stack);

}  // namespace ridge::model
