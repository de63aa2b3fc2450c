// Replaces measure/cuda/ in a build without CUDA.
#include "hardware/error.h"
#include "measure/run/binary_launch.h"
#include "measure/run/device.h"

namespace ridge::measure {

Maybe<std::unique_ptr<Device>> open_device(std::int32_t) {
    return Unavailable{.reason = "this build of ridge has no CUDA support",
                       .remedy =
                           "install the CUDA Toolkit (13.0 or newer) and build with "
                           "-DRIDGE_CUDA=ON; predictions need no GPU"};
}

void launch_binary(const BinaryLaunch&) {
    throw DeviceError("this build of ridge has no CUDA support: it launches nothing");
}

}  // namespace ridge::measure
