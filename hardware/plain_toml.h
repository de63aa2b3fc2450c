// The plain part of TOML, read fast: what nearly every description, program and configuration is written in.
//
//   std::optional<Document> document = read_plain_toml(text, "my-gpu.toml");
//   if (!document) ...                   // something else, or something wrong: ask the TOML library
//
// Method. One pass over the text with one look at each byte, where the TOML library takes some 100 ns for
// each. Plain are ASCII text, comments, [tables] and [[arrays of tables]], bare keys, strings in double
// quotes on one line, decimal numbers, true and false, arrays and inline tables. Whatever is not plain, or
// breaks a rule of TOML, has no answer here, so that rules and messages about broken text stand once, in
// the library; `document.h` asks one after the other. The tests and the fuzzer compare the two.
//
// Limits: a table of more than 1000 keys is not plain, as its keys are compared with each other, nor is
// what nests more than 32 levels deep.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/document.h"

namespace ridge::hardware {

inline constexpr int deepest_nesting = 32;  ///< of tables and arrays in each other

[[nodiscard]] std::optional<Document> read_plain_toml(std::string_view text,
                                                      const std::string& file);

}  // namespace ridge::hardware
