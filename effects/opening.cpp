#include "effects/opening.h"

#include "effects/text.h"
#include "hardware/units.h"

namespace ridge::effects {
namespace {

constexpr std::string_view words =
    R"(A GPU is many small processors that share one memory.
NVIDIA calls them streaming multiprocessors (SMs); {gpu} has {sms}.
What runs on them is a kernel: a function that the host (the CPU with its program) launches once and that thousands of threads execute, each on its own part of the data.
Threads come in blocks of up to {block}.
A block stays on one SM from start to end; there its threads can wait for each other and share data.

An SM executes {warp} threads of a block at a time, all with the same instruction: a warp.
It holds up to {warps} warps and in every clock continues with those that are not waiting; this is how a GPU uses the time until data arrives.
The share of these warp slots that a kernel fills is its occupancy.
It is limited by registers, which hold the numbers that a thread works on ({registers} of 4 bytes on each SM), and by shared memory, a small and fast memory that the program manages itself (up to {shared}).

Data comes from increasingly distant places: from registers; from the shared memory and the L1 cache of the SM; from the L2 cache, which all SMs share; from DRAM, the large memory of the GPU; from the memory of the host, over PCIe.
On this GPU the L2 holds {l2}.
DRAM holds {memory}.
Traffic is the number of bytes that pass such a level, bandwidth the rate at which they pass ({bandwidth} from DRAM by the datasheet), and latency the wait until the first of them arrive.
For traffic and rates a KB is 1000 bytes; for capacities a KiB is 1024 bytes.

Arithmetic is counted in FLOP, floating-point operations, and its rate in FLOP/s.
A fused multiply-add (FMA), a x b + c in one instruction, counts as two.
With such instructions this GPU does {peak_fp32} in fp32, numbers of 4 bytes.
Tensor cores multiply small matrices in one instruction: {peak_bf16} in bf16, numbers of 2 bytes with the range of fp32 and fewer digits.
The other formats are fp16 (2 bytes, more digits and a smaller range than bf16), tf32 (fp32 cut to 19 bits) and fp8 (1 byte).

The operations are those of neural networks.
Elementwise operations treat each number separately: ReLU is max(x, 0), and GeLU is a smooth form of it.
Others need a sum or a maximum over a whole row: softmax and the normalisations.
A product is a matrix product, m x k times k x n, and 4096^3 means m = n = k = 4096; attention is two products with a softmax between them.
They run as bundled kernels, which come with ridge, as kernels of a library (NVIDIA's cuBLAS), or in PyTorch: eager, with one kernel per operation, each launched by the host in turn, or compiled into fewer kernels.)";

std::map<std::string, std::string> figures_of(const model::Machine& machine) {
    std::map<std::string, std::string> facts;
    if (!machine.limits) return facts;
    const model::SmLimits& limits = *machine.limits;
    facts["block"] = std::to_string(limits.threads_per_block);
    facts["warp"] = std::to_string(limits.warp_size);
    facts["warps"] = std::to_string(limits.warps);
    facts["registers"] = std::to_string(limits.registers);
    facts["shared"] = format_capacity(limits.shared);
    return facts;
}

}  // namespace

plot::Section opening_of(const Subject& subject) {
    const Study none;
    std::vector<std::string> unfilled;
    return {.id = "words",
            .title = "Before the first effect",
            .lead = "What is a GPU, and what do the terms mean?",
            .paragraphs = paragraphs_of(
                Places(none, subject, figures_of(subject.machine)).claims(words, unfilled))};
}

plot::Section ratios_of(std::span<const Study> studies) {
    plot::TextTable table{.caption = "The ratio that each effect shows",
                          .columns = {"Effect", "Ratio", "Predicted", "Measured", "Apart"},
                          .rows = {}};
    for (const Study& study : studies) {
        if (!study.refused.empty() || !study.predicted_ratio) continue;
        const double predicted = *study.predicted_ratio;
        const auto& measured = study.measured_ratio;
        table.rows.push_back({std::string(study.effect->title), study.ratio.what,
                              format_number(predicted, 3),
                              measured ? format_number(*measured, 3) : "-",
                              measured ? distance_text(predicted, *measured) : "-"});
    }
    return {.id = "ratios",
            .title = "All ratios",
            .lead = "How far apart are prediction and measurement?",
            .tables = {std::move(table)}};
}

}  // namespace ridge::effects
