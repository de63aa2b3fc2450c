// The message of the error that an action throws.
//
//   CHECK(message_of([] { parse_tile("8x"); }) == "tile: ...");
#pragma once

#include <string>
#include <utility>

#include "hardware/error.h"

namespace ridge::test {

/// The message with its place, or an empty string if there is no `InputError`.
template <class Action>
std::string message_of(Action&& action) {
    try {
        static_cast<void>(std::forward<Action>(action)());
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace ridge::test
