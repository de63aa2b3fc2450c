// Kernels of serving engines (recorder.h).
#include <algorithm>
#include <string_view>

#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

void Recorder::serving_kernel(const ServingOperation& operation, DataType type, bool training,
                              std::string_view name) {
    if (training) {
        launch({.kind = KernelKind::unmodelled, .in = type, .out = type, .a = 1, .name = name});
        return;
    }
    const auto found = std::find(serving_operations_.begin(), serving_operations_.end(), operation);
    const auto index = static_cast<std::int32_t>(found - serving_operations_.begin());
    if (found == serving_operations_.end()) serving_operations_.push_back(operation);
    launch(
        {.kind = KernelKind::serving, .in = type, .out = type, .attention = index, .name = name});
}

}  // namespace ridge::programs
