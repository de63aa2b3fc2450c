#include "effects/opening.h"

#include "effects/text.h"
#include "hardware/units.h"

namespace ridge::effects {
namespace {

constexpr std::string_view words =
    R"(A GPU is many small processors that share one memory.
NVIDIA calls them streaming multiprocessors (SMs); {gpu} has {sms}.
What runs on them is a kernel: a function that the host, which is the CPU with its program, launches once and that thousands of threads execute, each on its own part of the data.
Threads come in blocks of up to {block}.
A block stays on one multiprocessor from its start to its end, where its threads can wait for each other and share data.

A multiprocessor executes {warp} threads of a block at a time, all the same instruction: a warp.
It keeps up to {warps} warps at hand and in every clock goes on with those that are not waiting; that is how a GPU spends the time until data arrives.
The share of these places that a kernel fills is its occupancy.
It is limited by registers, which hold the numbers that a thread works on ({registers} of 4 bytes on each multiprocessor), and by shared memory, a small and fast memory that the program manages itself (up to {shared}).

Data comes from further and further away: from registers; from shared memory and the L1 cache of the multiprocessor; from the L2 cache, which all of them share; from DRAM, the GPU's large memory; from the memory of the host, behind a cable (PCIe).
Here the L2 holds {l2}.
DRAM holds {memory}.
Traffic is the bytes that pass such a level, bandwidth the rate at which they pass ({bandwidth} out of DRAM by the datasheet), and latency the wait until the first of them arrive.
Of traffic and rates a KB is 1000 bytes, of what a memory holds a KiB is 1024.

Arithmetic is counted in FLOP, floating-point operations, and its rate in FLOP/s.
A fused multiply-add (FMA), a x b + c in one instruction, counts as two.
By such instructions this GPU does {peak_fp32} in fp32, numbers of 4 bytes.
Tensor cores multiply small matrices in one instruction: {peak_bf16} in bf16, numbers of 2 bytes with the range of fp32 and fewer digits.
The other formats are fp16, 2 bytes with more digits and a smaller range, tf32, fp32 cut to 19 bits, and fp8, 1 byte.

The operations are those of neural networks.
Elementwise ones take each number by itself: ReLU is max(x, 0), GeLU a smooth form of it.
Others need a sum or a maximum over a whole row: softmax and the normalisations.
A product is one of matrices, m x k times k x n, and 4096^3 stands for m = n = k = 4096; attention is two products with a softmax between them.
They are carried out by bundled kernels, which come with ridge, by those of a library (NVIDIA's cuBLAS), or by PyTorch: eager, a kernel for every operation, each launched by the host in its turn, or compiled into fewer kernels.)";

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
    return {
        .id = "words",
        .title = "Before the first effect",
        .lead = "What is a GPU, and what do the words mean?",
        .paragraphs = Places(none, subject, figures_of(subject.machine)).filled(words, unfilled)};
}

plot::Section ratios_of(std::span<const Study> studies) {
    plot::TextTable table{.caption = "The ratio that each effect is about",
                          .columns = {"Effect", "Ratio", "Predicted", "Measured", "Apart"},
                          .rows = {}};
    for (const Study& study : studies) {
        if (!study.refused.empty() || !study.predicted_ratio) continue;
        const double predicted = *study.predicted_ratio;
        const auto& measured = study.measured_ratio;
        table.rows.push_back(
            {std::string(study.effect->title), study.ratio.what, format_number(predicted, 3),
             measured ? format_number(*measured, 3) : "-",
             measured ? format_number(100.0 * apart(predicted, *measured), 2) + " %" : "-"});
    }
    return {.id = "ratios",
            .title = "All ratios",
            .lead = "How far are prediction and measurement apart?",
            .tables = {std::move(table)}};
}

}  // namespace ridge::effects
