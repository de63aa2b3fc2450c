// The two entry points by which the CUDA driver and NVTX start the library. They never throw: the
// program continues whatever fails here.
#include <cstdint>

#include "measure/cuda/inject/ranges.h"
#include "measure/cuda/inject/session.h"

#define RIDGE_EXPORTED __attribute__((visibility("default")))

// The names are the driver's and NVTX's. NOLINTBEGIN(readability-identifier-naming)
extern "C" RIDGE_EXPORTED int InitializeInjection() {
    try {
        ridge::measure::cuda::Session::instance().start_cuda();
    } catch (...) {
        return 1;
    }
    return 1;
}

extern "C" RIDGE_EXPORTED int InitializeInjectionNvtx2(const void* (*export_table)(std::uint32_t)) {
    try {
        if (!ridge::measure::cuda::Session::instance().open()) return 0;
        return ridge::measure::cuda::set_range_functions(export_table);
    } catch (...) {
        return 0;
    }
}
// NOLINTEND(readability-identifier-naming)
