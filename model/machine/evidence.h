// Where fitted parameters come from.
//
//   evidence_in(gpu, "model.moe.start")    // Evidence::own: fitted to this GPU
//
// The provenance of a parameter's source decides (docs/gpu-files.md): measured values of the GPU's
// own files are its own, derived or inherited ones are its family's, and estimates come from
// elsewhere. Limits: a set of parameters is judged by one of them, its main one.
#pragma once

#include <cstdint>
#include <string>

#include "hardware/description.h"
#include "model/core/grounds.h"

namespace ridge::model {

/// The GPU that parameters were fitted to: one of another family (or they are guesses), one of this
/// family, or this GPU.
enum class Evidence : std::uint8_t { foreign, family, own };

/// Evidence of the field at a path, such as "model.moe.start"; `foreign` if the description lacks
/// it.
[[nodiscard]] Evidence evidence_in(const hardware::Description& gpu, const std::string& path);

/// What parameters of such an origin say about a time.
[[nodiscard]] constexpr ChipEvidence chip_evidence(Evidence evidence) {
    switch (evidence) {
        case Evidence::own:
            return ChipEvidence::own;
        case Evidence::family:
            return ChipEvidence::relative;
        case Evidence::foreign:
            break;
    }
    return ChipEvidence::foreign;
}

}  // namespace ridge::model
