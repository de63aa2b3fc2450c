#include "measure/record/record.h"

namespace ridge::measure {

RecordDevice describe(const DeviceInfo& info) {
    return {.name = info.name,
            .compute_capability = info.compute_capability,
            .sm_count = info.sm_count,
            .driver = info.driver,
            .cuda = info.cuda_runtime,
            .cupti = info.cupti,
            .mig = info.mig};
}

std::string key_of(const Record& record) {
    return key_of(record.question, record.device.name);
}

}  // namespace ridge::measure
