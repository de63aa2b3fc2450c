// Reads the fields of a description out of a document, by a schema.
//
//   read_fields(context, text, section, description);   // [dram] with all that it holds
//
// A field is { value, source } with a value of its kind, dimension and range, sources that are declared,
// and perhaps a note and what other sources print. What is wrong is reported, and the field left out.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hardware/description.h"
#include "hardware/node_reader.h"
#include "hardware/schema.h"

namespace ridge::hardware {

struct FieldContext {
    NodeReader& nodes;
    const Schema& schema;
    std::span<const std::string_view> header_keys;  ///< may be meant by a path without a section
    std::span<const std::string> only{};  ///< fields and sections to read; empty: all of them
};

/// Whether a field or section is `path`, or lies in the section `path`.
[[nodiscard]] bool lies_in(std::string_view field, std::string_view path);

/// Reports a path that the schema does not have, with the nearest that it has.
void report_unknown(const FieldContext& context, const Node& node, const std::string& path);

/// Adds the fields of a section, at the top of the document, to `into`, whose sources are read already.
/// `text` is the one in which the nodes' strings stand; the description shares it.
void read_fields(const FieldContext& context, const SharedText& text, const Node& section,
                 Description& into);

}  // namespace ridge::hardware
