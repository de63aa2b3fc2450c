// A TOML document as a plain tree of values with their places, safe to build from any bytes.
//
//   const Document document = parse_document(text, "my-gpu.toml");
//   if (document.problem) ...                       // syntax error, with line and column
//   const Node* name = document.root.child("name");
//
// Method: `plain_toml.h` reads the plain TOML in which nearly every file is written. The TOML
// library reads the rest and reports what is wrong with it. Nodes point into the text, which must
// outlive the document, or into strings that the document keeps. Nothing else is copied, because a
// prediction reads thousands of values before it starts.
//
// Limits: at most 1 MiB of text and 32 levels. Dates are kept as a kind without a value. Reading
// ends at the first syntax error, because TOML has no way to resume after one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"

namespace ridge::hardware {

/// A problem in a file, and where it is.
struct Problem {
    Location location;
    std::string message;
};

/// "file:line:column: message".
[[nodiscard]] std::string to_string(const Problem& problem);

enum class NodeKind { table, array, text, integer, real, boolean, date };

[[nodiscard]] std::string_view to_string(NodeKind kind);

/// Line and column of a document, from 1; zero means unknown.
struct Place {
    std::int32_t line = 0;
    std::int32_t column = 0;
};

struct Node {
    NodeKind kind = NodeKind::table;
    bool boolean = false;
    Place place{};                      ///< where the value is
    Place key_place{};                  ///< where the key is, for a child of a table
    const std::string* file = nullptr;  ///< name of the file, which the document keeps
    std::string_view key{};             ///< key, for a child of a table
    std::string_view text{};
    std::vector<Node> children{};  ///< for tables and arrays
    std::int64_t integer = 0;
    double real = 0.0;

    [[nodiscard]] const Node* child(std::string_view name) const;
    [[nodiscard]] Location location() const { return at(place); }
    [[nodiscard]] Location key_location() const { return at(key_place); }

  private:
    [[nodiscard]] Location at(const Place& where) const;
};

/// A document. Its nodes are valid as long as it and the text are.
struct Document {
    /// What nodes point to besides the text.
    struct Kept {
        std::string file;
        std::deque<std::string> strings{};  ///< strings with escapes, or read by the TOML library
    };

    Node root{};
    std::optional<Problem> problem{};
    std::unique_ptr<Kept> kept{};
};

[[nodiscard]] Document parse_document(std::string_view text, const std::string& file);
Document parse_document(std::string&& text,
                        const std::string& file) = delete;  // the text would not outlive the call

/// The same by the TOML library only, for comparison.
[[nodiscard]] Document parse_by_library(std::string_view text, const std::string& file);

/// The whole file. InputError when it cannot be read or is larger than a description may be.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace ridge::hardware
