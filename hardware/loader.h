// Reads descriptions from TOML, strictly, and combines them with inherited and overlaid ones.
//
//   schema = 1
//   name = "h200-sxm"
//   title = "NVIDIA H200 SXM 141 GB"
//   vendor = "NVIDIA"
//   aliases = ["h200"]
//   inherits = "sm_90"
//
//   [sources]
//   H200DS = { kind = "vendor", text = "NVIDIA, H200 datasheet" }
//
//   [dram]
//   bandwidth = { value = "4.8 TB/s", source = "H200DS",
//                 also = [{ value = "4.811 TB/s", source = "RUN" }] }
//
// Every number names its source. Unknown keys, missing or undeclared sources, units of the wrong
// kind, wrong types, negative and zero values, and values outside a field's range are problems. All
// problems are reported at once with file, line and column. `docs/gpu-files.md` describes the
// format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "hardware/document.h"
#include "hardware/schema.h"

namespace ridge::hardware {

/// The contents of a file and everything that is wrong with it. If there are problems, the
/// description holds what could be read.
struct Loaded {
    Description description;
    std::vector<Problem> problems;
};

/// Reads only the file's own content by a schema, without inheritance and cross-checks. Any bytes
/// are safe. The description shares the text.
[[nodiscard]] Loaded load_text(const SharedText& toml, const std::string& file,
                               const Schema& schema);

/// The same for a text that need not outlive the call.
[[nodiscard]] Loaded load_text(std::string_view toml, const std::string& file,
                               const Schema& schema);

/// Like the first, but only the fields and sections that `only` names; all of them if it is empty.
[[nodiscard]] Loaded load_fields(const SharedText& toml, const std::string& file,
                                 const Schema& schema, std::span<const std::string> only);

/// Reads only name, title, vendor and aliases, from the lines before the first section.
[[nodiscard]] Loaded load_header(std::string_view toml, const std::string& file);

/// `device` plus the fields of `parent` that it does not have itself.
[[nodiscard]] Description inherit(Description device, Description parent);

/// `device` with the fields of `from` that it does not have itself. Their only source says that they
/// were carried over: derived from a GPU of one of the device's `architectures`, estimates if `from`
/// is another architecture or one of its GPUs.
[[nodiscard]] Description carry_over(Description device, Description from,
                                     std::span<const std::string> architectures);

/// `device` with the fields of `overlay` added or replaced.
[[nodiscard]] Description apply_overlay(Description device, Description overlay);

/// Fields that this kind of description must have but lacks.
[[nodiscard]] std::vector<Problem> missing_fields(const Description& description);

/// Throws InputError listing all problems; does nothing if there are none.
void throw_problems(const std::vector<Problem>& problems);

}  // namespace ridge::hardware
