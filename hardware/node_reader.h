// Reads strings out of a document's nodes and collects what is wrong with it, with its place.
//
//   NodeReader nodes;
//   std::string_view text = nodes.string_of(node, "title");   // "" after reporting "title is empty"
//
// What the parts of a description's reader (`loader.cpp`, `field_reader.h`) share. Nothing throws: all
// problems of a file are reported at once.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/document.h"

namespace ridge::hardware {

struct NodeReader {
    std::vector<Problem> problems;

    void report(const Location& location, const std::string& message) {
        problems.push_back({location, message});
    }

    /// The text of a string node. "" after reporting a problem, in which `part` and `what` name the node.
    std::string_view string_of(const Node& node, std::string_view what, std::string_view part = {});

    /// The strings of an array, or the only one of a string; empty ones are reported and left out.
    std::vector<std::string> strings_of(const Node& node, std::string_view what);

    /// Reports the keys of a table that are not among `known`, with the nearest that is.
    void reject_other_keys(const Node& table, std::initializer_list<std::string_view> known,
                           std::string_view what);
};

}  // namespace ridge::hardware
