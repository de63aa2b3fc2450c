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
// Code with files of its own kind reads them by a `Form`, which says what their header may hold:
//
//   constexpr std::array words{"software"sv};
//   load_text(text, file, schema, {.kind = "calibration", .words = words});
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

/// What files may hold beside the fields of a device.
struct Form {
    std::string_view kind{};  ///< what `kind` must say; empty: gpu, accelerator and so on
    std::span<const std::string_view> words{};   ///< header keys, each a text or several
    std::span<const std::string_view> tables{};  ///< tables of texts, [NAME] or [[NAME]]
    std::span<const std::string_view> roots{};   ///< what `inherits` may name beside architectures
};

/// The contents of a file and everything that is wrong with it. If there are problems, the
/// description holds what could be read.
struct Loaded {
    Description description;
    std::vector<Problem> problems;
};

/// Reads only the file's own content by a schema, without inheritance and cross-checks. Any bytes
/// are safe. The description shares the text.
[[nodiscard]] Loaded load_text(const SharedText& toml, const std::string& file,
                               const Schema& schema, const Form& form = {});

/// The same for a text that need not outlive the call.
[[nodiscard]] Loaded load_text(std::string_view toml, const std::string& file, const Schema& schema,
                               const Form& form = {});

/// Like the first, but only the fields and sections that `only` names; all of them if it is empty.
[[nodiscard]] Loaded load_fields(const SharedText& toml, const std::string& file,
                                 const Schema& schema, std::span<const std::string> only,
                                 const Form& form = {});

/// Reads only the header, the lines before the first section: name, title, vendor, aliases and what
/// the form adds.
[[nodiscard]] Loaded load_header(std::string_view toml, const std::string& file,
                                 const Form& form = {});

/// What the header's `kind` says; "" if nothing.
[[nodiscard]] std::string kind_of(std::string_view toml, const std::string& file);

/// `device` plus the fields of `parent` that it does not have itself.
[[nodiscard]] Description inherit(Description device, Description parent);

/// The same for a file about the device itself: its fields count as the device's own.
[[nodiscard]] Description complete(Description device, Description other);

/// `device` with the fields of `overlay` added or replaced.
[[nodiscard]] Description apply_overlay(Description device, Description overlay);

/// Fields that this kind of description must have but lacks.
[[nodiscard]] std::vector<Problem> missing_fields(const Description& description);

/// Throws InputError listing all problems; does nothing if there are none.
void throw_problems(const std::vector<Problem>& problems);

}  // namespace ridge::hardware
