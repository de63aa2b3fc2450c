#include "model/machine/evidence.h"

namespace ridge::model {

Evidence evidence_in(const hardware::Description& gpu, const std::string& path) {
    if (gpu.find(path) == nullptr) return Evidence::foreign;
    switch (gpu.provenance(path)) {
        case hardware::Provenance::estimate:
            return Evidence::foreign;
        case hardware::Provenance::derived:
            return Evidence::family;
        default:
            return gpu.has_own(path) ? Evidence::own : Evidence::family;
    }
}

}  // namespace ridge::model
