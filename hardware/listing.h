// A description as rows and as JSON: every number with its unit, source and disputed values.
//
//   for (const ListedField& field : list_fields(gpu, schema)) ...   // "dram.bandwidth", "4.8 TB/s"
//   const std::string json = to_json(gpu, schema);             // keys "dram.bandwidth_bytes_per_s"
//
// Nothing here prints; the caller renders the rows.
#pragma once

#include <string>
#include <vector>

#include "hardware/description.h"
#include "hardware/schema.h"

namespace ridge::hardware {

struct ListedField {
    std::string path;
    std::string meaning;
    std::string value;       ///< as the file writes it: "4.8 TB/s"
    std::string provenance;  ///< "vendor", "measured", "derived" or "estimate"
    std::vector<std::string> source_keys;
    std::vector<std::string> source_texts;
    std::vector<Dispute> disputes;
    std::string note;
    std::string place;  ///< file:line:column of the value
};

/// The schema's fields that the description has, in the schema's order. Fields of any name stand where
/// their patterns do, those of one section together, sections by name.
[[nodiscard]] std::vector<const Field*> fields_of(const Description& description,
                                                  const Schema& schema);

/// The fields that the description has, in the order of the schema.
[[nodiscard]] std::vector<ListedField> list_fields(const Description& description,
                                                   const Schema& schema);

/// The whole description; `fields` holds one object per field whose key carries the unit
/// ("dram.bandwidth_bytes_per_s") with value, text, provenance, sources, also and note.
[[nodiscard]] std::string to_json(const Description& description, const Schema& schema);

}  // namespace ridge::hardware
