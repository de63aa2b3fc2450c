#include "measure/fit/fit.h"

namespace ridge::measure {

const std::vector<FitProgram>& fit_programs() {
    static const std::vector<FitProgram> programs{
        {"memory", "streaming and row kernels of an eager framework", RowSource::either,
         fit_memory},
        {"torch", "PyTorch's kernels, from records", RowSource::records, fit_torch},
        {"kernels", "the code of PyTorch's kernels, the same on every GPU, from records",
         RowSource::records, fit_code, true},
        {"attention", "fused attention, prefill and decode of a serving engine", RowSource::either,
         fit_attention},
        {"matmul", "library matrix products: 16-bit, 8-bit and fp32", RowSource::either,
         fit_matmul},
        {"collective", "collectives among the GPUs of one node", RowSource::tables, fit_collective},
        {"collective_kernels", "kernels of collectives from a common start, from records",
         RowSource::records, fit_collective_kernels},
        {"mla", "latent attention, prefill and absorbed decoding", RowSource::tables, fit_mla},
        {"moe", "blocks of experts", RowSource::tables, fit_moe},
        {"engine", "kernels of serving engines, each by its law", RowSource::tables, fit_engine,
         false, true},
        {"engine_correction", "what the laws of those kernels leave, over their shapes",
         RowSource::tables, fit_engine_correction, false, true}};
    return programs;
}

}  // namespace ridge::measure
