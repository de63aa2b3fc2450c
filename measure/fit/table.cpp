#include "measure/fit/fit.h"

namespace ridge::measure {

const std::vector<FitProgram>& fit_programs() {
    static const std::vector<FitProgram> programs{
        {"memory", "streaming and row kernels of an eager framework", fit_memory},
        {"torch", "PyTorch's kernels, from records", fit_torch},
        {"attention", "fused attention, prefill and decode of a serving engine", fit_attention},
        {"matmul", "library matrix products: 16-bit, 8-bit and fp32", fit_matmul},
        {"collective", "collectives among the GPUs of one node", fit_collective},
        {"mla", "latent attention, prefill and absorbed decoding", fit_mla},
        {"moe", "blocks of experts", fit_moe}};
    return programs;
}

}  // namespace ridge::measure
