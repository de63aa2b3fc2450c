#include "programs/software/request.h"

namespace ridge::programs {

std::string_view name_of(Phase phase) {
    switch (phase) {
        case Phase::prefill:
            return "prefill";
        case Phase::decode:
            return "decode";
        case Phase::train:
            return "train";
    }
    return "";
}

std::string_view name_of(Software software) {
    switch (software) {
        case Software::transformers:
            return "transformers";
        case Software::compiled:
            return "compiled";
        case Software::serving:
            return "serving";
    }
    return "";
}

std::string_view name_of(Checkpoint checkpoint) {
    switch (checkpoint) {
        case Checkpoint::none:
            return "none";
        case Checkpoint::selective:
            return "selective";
        case Checkpoint::full:
            return "full";
    }
    return "";
}

}  // namespace ridge::programs
