// A fast reader for plain TOML, in which nearly every description, program and configuration is
// written.
//
//   std::optional<Document> document = read_plain_toml(text, "my-gpu.toml");
//   if (!document) ...                   // not plain, or wrong: use the TOML library
//
// Method. One pass reads each byte once; the TOML library takes about 100 ns per byte. Plain TOML
// is ASCII text, comments, [tables] and [[arrays of tables]], bare keys, strings in double quotes
// on one line, decimal numbers, true and false, arrays and inline tables. The reader gives no
// answer for anything else, or for text that breaks a rule of TOML, so that only the library has
// rules and messages for broken text; `document.h` tries one after the other. The tests and the
// fuzzer compare the two.
//
// Limits: a table with more than 1000 keys is not plain, because its keys are compared with each
// other. Nesting of more than 32 levels is not plain either.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/document.h"

namespace ridge::hardware {

inline constexpr int deepest_nesting = 32;  ///< levels of nested tables and arrays

[[nodiscard]] std::optional<Document> read_plain_toml(std::string_view text,
                                                      const std::string& file);

}  // namespace ridge::hardware
