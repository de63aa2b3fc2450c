// A TOML document as a plain tree of values with places, safe to build from any bytes.
//
//   const Document document = parse_document(text, "my-gpu.toml");
//   if (document.problem) ...                       // syntax error, with line and column
//   const Node* name = document.root.child("name");
//
// Method: `plain_toml.h` reads what nearly every file is written in; the TOML library reads the rest, and says
// what is wrong with it. Nodes point into the text, which must outlive the document, and into what the
// document keeps: nothing is copied, as a prediction reads thousands of values before it begins.
//
// Limits: at most 1 MiB of text and 32 levels; dates are kept as a kind without a value. The first
// syntax error ends the reading, as TOML has no way to go on behind one.
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

/// Something wrong in a file, at a place.
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
    Place place{};                      ///< of the value
    Place key_place{};                  ///< of the key, for a child of a table
    const std::string* file = nullptr;  ///< its name, which the document keeps
    std::string_view key{};             ///< of a child of a table
    std::string_view text{};
    std::vector<Node> children{};  ///< of tables and arrays
    std::int64_t integer = 0;
    double real = 0.0;

    [[nodiscard]] const Node* child(std::string_view name) const;
    [[nodiscard]] Location location() const { return at(place); }
    [[nodiscard]] Location key_location() const { return at(key_place); }

  private:
    [[nodiscard]] Location at(const Place& where) const;
};

/// Its nodes are valid as long as it and the text are.
struct Document {
    /// What nodes point to beside the text.
    struct Kept {
        std::string file;
        std::deque<std::string> strings{};  ///< with escapes, or read by the TOML library
    };

    Node root{};
    std::optional<Problem> problem{};
    std::unique_ptr<Kept> kept{};
};

[[nodiscard]] Document parse_document(std::string_view text, const std::string& file);
Document parse_document(std::string&& text, const std::string& file) = delete;  // gone at once

/// The same by the TOML library alone, to compare with.
[[nodiscard]] Document parse_by_library(std::string_view text, const std::string& file);

/// The whole file. InputError when it cannot be read or is larger than a description can be.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace ridge::hardware
