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

}  // namespace ridge::programs
