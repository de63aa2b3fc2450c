// A TOML document as a plain tree of values with places, safe to build from any bytes.
//
//   const Document document = parse_document(text, "my-gpu.toml");
//   if (document.problem) ...                       // syntax error, with line and column
//   const Node* name = document.root.child("name");
//
// Method: `plain_toml.h` reads what nearly every file is written in; the TOML library reads the rest, and says
// what is wrong with it.
//
// Limits: at most 1 MiB of text and 32 levels; dates are kept as a kind without a value. The first
// syntax error ends the reading, as TOML has no way to go on behind one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"

namespace ridge::hardware {

/// Something wrong in a file, at a place.
struct Problem {
    Location location;
    std::string message;
};

/// "file:line:column: message".
[[nodiscard]] std::string to_string(const Problem& problem);

enum class NodeKind { table, array, text, integer, real, boolean, date };

[[nodiscard]] std::string_view to_string(NodeKind kind);

struct Node {
    NodeKind kind = NodeKind::table;
    std::string key;             ///< of a child of a table
    std::vector<Node> children;  ///< of tables and arrays
    std::string text;
    std::int64_t integer = 0;
    double real = 0.0;
    bool boolean = false;
    Location location;      ///< of the value
    Location key_location;  ///< of the key, for a child of a table

    [[nodiscard]] const Node* child(std::string_view name) const;
};

struct Document {
    Node root;
    std::optional<Problem> problem;
};

[[nodiscard]] Document parse_document(std::string_view text, const std::string& file);

/// The same by the TOML library alone, to compare with.
[[nodiscard]] Document parse_by_library(std::string_view text, const std::string& file);

/// The whole file. InputError when it cannot be read or is larger than a description can be.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace ridge::hardware
