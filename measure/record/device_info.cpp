#include "measure/record/device_info.h"

namespace ridge::measure {

const Feature* DeviceInfo::feature(std::string_view wanted) const {
    for (const Feature& candidate : features) {
        if (candidate.name == wanted) return &candidate;
    }
    return nullptr;
}

}  // namespace ridge::measure
