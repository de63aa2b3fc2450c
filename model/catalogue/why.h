// Where a number of a GPU comes from, in three steps: its file, the command that wrote it, and the
// records that the command read.
//
//   const Derivation derivation = why(gpus, "h100-sxm", "model.matmul.fma.k_step");
//   derivation.place                    // "calibration/h200-sxm/cublaslt-13.0.toml:41:10"
//   derivation.sources[0].command       // "ridge fit matmul --records records/h200-sxm"
//   derivation.sources[0].records       // "records/h200-sxm"; with digest and date
//
// A value that carries over from another chip has the sources of that chip's file; `carried` says
// what it counts as here. Limits: facts from documents have no command; their source is a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "model/catalogue/catalogue.h"

namespace ridge::model {

struct Derivation {
    std::string gpu;
    std::string path;
    std::string meaning;
    std::string value;  ///< as the file writes it
    std::string note;
    std::string place;    ///< file:line:column
    std::string carried;  ///< "carried over from NVIDIA H200 (estimate)"; "" for the chip's own
    std::vector<hardware::Source> sources;
};

/// InputError when the GPU or the field is unknown (with the nearest), or when the GPU has no such
/// field.
[[nodiscard]] Derivation why(const Catalogue& gpus, std::string_view gpu, std::string_view path,
                             View view = View::calibrated, std::string_view software = {});

}  // namespace ridge::model
