#include "programs/traffic/simulation.h"

#include "hardware/error.h"
#include "programs/traffic/server.h"

namespace ridge::programs {

TrafficRun simulate(const std::vector<TrafficRequest>& requests, const TrafficOptions& options,
                    StepTimes& times) {
    if (options.tokens < times.parts().deployment().block) {
        throw InputError("the model leaves no room for a cache");
    }
    return Server(requests, options, times).run();
}

}  // namespace ridge::programs
