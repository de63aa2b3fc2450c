// Attention: softmax in one pass, traffic and memory without a stored score matrix.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "effects/lessons/lessons.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/attention/online_softmax.h"
#include "model/attention/work.h"
#include "model/footprint/footprint.h"
#include "model/footprint/memory_fit.h"

namespace ridge::effects {
namespace {

using si::giga;
using si::mega;
using si::microsecond;
using si::millisecond;

std::string softmax(std::int64_t cols, const char* how) {
    const std::int64_t rows = cols > 4096 ? (std::int64_t{1} << 24) / cols : 65536;
    return fmt::format("softmax rows={} cols={} dtype=bf16 impl={}", rows, cols, how);
}

Work softmaxes(const char* how) {
    return [how](std::int64_t cols) { return softmax(cols, how); };
}

/// The running maximum and sum over a row of four numbers, as text.
std::string worked_row() {
    constexpr std::array<double, 4> row{2.0, 5.0, 1.0, 7.0};
    model::OnlineSoftmax state;
    std::string out;
    for (const double value : row) {
        state = model::with_value(state, value);
        out += fmt::format("{}after {:.0f}: m = {:.0f}, l = {:.4f}", out.empty() ? "" : "; ", value,
                           state.maximum, state.sum);
    }
    return out;
}

model::Attention gpt2_medium(model::Direction direction) {
    return {.batch = 64,
            .heads = 16,
            .kv_heads = 16,
            .seq_q = 1024,
            .seq_kv = 1024,
            .head_dim = 64,
            .type = model::DataType::fp16,
            .direction = direction};
}

/// DRAM traffic of both passes as the FlashAttention paper counts it.
Bytes both_passes(model::Implementation implementation, const model::AttentionContext& context) {
    Bytes sum{};
    for (const model::Direction direction :
         {model::Direction::forward, model::Direction::backward}) {
        const model::AttentionWork work =
            model::count_attention(gpt2_medium(direction), implementation, context);
        sum += work.work.dram() - work.statistics;
    }
    return sum;
}

/// Forward traffic of flash1 against the on-chip memory of the paper's block rule.
Series on_chip() {
    Series series{.id = "chip", .name = "flash1, forward"};
    for (const double kib : {32.0, 64.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0}) {
        const model::AttentionContext context{.block_rule = model::FlashBlockRule::paper,
                                              .sram = kib * units::KiB};
        const model::AttentionWork work = model::count_attention(
            gpt2_medium(model::Direction::forward), model::Implementation::flash1, context);
        series.points.push_back({.x = kib, .value = (work.work.dram() - work.statistics).base()});
    }
    return series;
}

std::string attention(std::int64_t seq, const char* how) {
    return fmt::format("attention heads=16 seq={} head_dim=64 dtype=bf16 impl={}", seq, how);
}

Work lengths(const char* how) {
    return [how](std::int64_t seq) { return attention(seq, how); };
}

/// DRAM bytes as the algorithm counts them, without what an L2 keeps; measured by counters where
/// records have them.
Series counted(const char* id, const char* name, const std::vector<double>& seqs,
               model::Implementation implementation, const char* how) {
    Series series = sweep(id, name, seqs, lengths(how));
    for (Point& point : series.points) {
        const auto seq = static_cast<std::int64_t>(point.x);
        const model::Attention op{
            .heads = 16, .kv_heads = 16, .seq_q = seq, .seq_kv = seq, .head_dim = 64};
        point.value = model::count_attention(op, implementation, {}).work.dram().base();
    }
    return series;
}

Series memory_of(const char* id, const char* name, model::Implementation implementation,
                 bool one_head) {
    Series series{.id = id, .name = name};
    for (const double length : doubling(1024, 131072)) {
        const auto seq = static_cast<std::int64_t>(length);
        const model::Attention op{.heads = 32,
                                  .kv_heads = 32,
                                  .seq_q = seq,
                                  .seq_kv = seq,
                                  .head_dim = 128,
                                  .type = model::DataType::fp16};
        const Bytes bytes =
            one_head ? model::one_head_formula(op).rule_total
                     : model::footprint(op, implementation, model::Pass::inference).total();
        std::string question;
        if (!one_head) {
            question =
                fmt::format("memory of attention dtype=fp16 heads=32 seq={} head_dim=128 impl={}",
                            seq, name_of(implementation));
        }
        series.points.push_back({.x = length, .value = bytes.base(), .question = question});
    }
    return series;
}

/// The longest sequence that fits when training with 32 heads of 128.
std::string longest(model::AttentionSoftware software, double gigabytes) {
    const model::Attention op{.heads = 32,
                              .kv_heads = 32,
                              .seq_q = 1,
                              .seq_kv = 1,
                              .head_dim = 128,
                              .type = model::DataType::fp16};
    const model::Largest most = model::largest_that_fits(
        {.attention = op, .software = software}, model::FitDimension::seq,
        model::MemoryPasses::training, {.limit = static_cast<std::int64_t>(gigabytes * giga)});
    return std::to_string(most.size);
}

/// The paper's setting, 64 x 16 heads, by the kernels used.
Figure setting_of_paper() {
    const auto call = [](const char* how, const char* direction) {
        return fmt::format(
            "attention batch=64 heads=16 seq=1024 head_dim=64 dtype=fp16 impl={} "
            "direction={}",
            how, direction);
    };
    const std::string scores = " dtype=fp16 elements=1073741824 impl=torch";
    return {.title = "The setting of the paper, forward plus backward",
            .x = {.title = "Kernels", .names = {"standard", "+dropout, mask", "flash1"}},
            .y = {.title = "Time", .unit = "ms"},
            .quantity = Quantity::time,
            .unit = millisecond,
            .series = {named(
                "paper", "64 x 16 heads of 1024 x 64, fp16",
                {{"standard", call("torch", "forward") + "; " + call("torch", "backward")},
                 {"+dropout, mask", call("torch", "forward") + "; " + call("torch", "backward") +
                                        "; elementwise expr=\"x * c\"" + scores +
                                        "; elementwise expr=dropout(x)" + scores +
                                        "; elementwise expr=masked_fill(x,mask)" + scores},
                 {"flash1", call("flash1", "forward") + "; " + call("flash1", "backward")}})}};
}

}  // namespace

Plan online_softmax_plan(const Subject&) {
    const auto useful = [](std::int64_t cols) {
        const double rows = cols > 4096 ? 16777216.0 / static_cast<double>(cols) : 65536.0;
        return rows * static_cast<double>(cols) * 4.0;  // 2 bytes in, 2 out
    };
    const std::vector<double> cols{128, 1024, 4096, 32768, 131072};
    Plan plan;
    plan.figures.push_back(
        {.title = "Softmax over rows, bf16",
         .x = {.title = "Columns", .scale = plot::Scale::log},
         .y = {.title = "(Input + output) / time", .unit = "GB/s"},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("manual", "five kernels", {128, 1024, 4096}, softmaxes("manual"), useful),
                    sweep("fused", "one kernel", cols, softmaxes("fused"), useful)}});
    plan.figures.push_back(
        {.title = "DRAM traffic: 65536 rows, fewer above 4096 columns",
         .x = {.title = "Columns", .scale = plot::Scale::log},
         .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
         .quantity = Quantity::traffic,
         .unit = giga,
         .series = {sweep("manual_bytes", "five kernels", {128, 1024, 4096}, softmaxes("manual")),
                    sweep("fused_bytes", "one kernel", cols, softmaxes("fused"))}});
    plan.facts["row"] = worked_row();
    plan.formula = "m' = max(m, x), l' = l exp(m - m') + exp(x - m')";
    plan.ratio = {.what = "Time of five kernels over one, 4096 columns",
                  .above = "fused@4096",
                  .below = "manual@4096"};
    plan.text =
        R"(Softmax divides exp(x - m) by the sum of all such terms, with m the maximum of the row; without m the exponentials overflow.
Computed as defined, this takes three passes over the row: one for the maximum, one for the sum, one for the quotients.
As five kernels of a framework (maximum, difference, exponential, sum, quotient) it takes 5 reads and 3 writes of the whole matrix; fused, with the row kept on chip, it takes one read and one write.
On {gpu} five kernels move {manual_bytes@4096} for a matrix of 65536 x 4096 in bf16 and the fused kernel moves {fused_bytes@4096}; the fused kernel is {fused@4096/manual@4096} times faster.
The measured ratio is {fused@4096/manual@4096:measured}.

The maximum and the sum can be found in one pass (Milakov and Gimelshein, 2018).
Keep the running maximum m and the running sum l; when a new maximum appears, rescale the sum so far.
For the row 2, 5, 1, 7: {row}.
The last l is the sum of exp(x - 7) over the row, and no step needed more than one number of the row.

The online softmax saves one read of three when a row does not fit on chip: rows of 131072 run at {fused@131072} here, rows of 4096 at {fused@4096}.
Its main use is a different one: the pairs (m, l) of two halves of a row can be merged, so the softmax can be computed block by block together with the product that follows it. That is FlashAttention.)";
    return plan;
}

Plan flash_io_plan(const Subject&) {
    using model::Implementation;
    const std::vector<double> seqs = doubling(512, 16384);
    const std::vector<double> fitting = doubling(512, 8192);
    Plan plan;
    plan.figures.push_back(
        {.title = "Forward attention, 16 heads of 64, bf16",
         .x = {.title = "Tokens", .scale = plot::Scale::log},
         .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("standard", "three kernels", fitting, lengths("standard")),
                    sweep("flash1", "flash1", seqs, lengths("flash1")),
                    sweep("flash2", "flash2", seqs, lengths("flash2")),
                    sweep("tiled", "bundled flash2", seqs, lengths("mma"))}});
    plan.figures.push_back(
        {.title = "DRAM traffic: computed, and from counters with a warm L2",
         .x = {.title = "Tokens", .scale = plot::Scale::log},
         .y = {.title = "Traffic", .unit = "MB", .scale = plot::Scale::log},
         .quantity = Quantity::traffic,
         .unit = mega,
         .series = {counted("standard_bytes", "three kernels", fitting, Implementation::standard,
                            "standard"),
                    counted("flash1_bytes", "flash1", seqs, Implementation::flash1, "flash1"),
                    counted("tiled_bytes", "bundled flash2", seqs, Implementation::mma, "mma")}});
    Series chip = on_chip();
    const double slope =
        std::log(chip.points.front().value.value_or(1.0) / chip.points.back().value.value_or(1.0)) /
        std::log(chip.points.back().x / chip.points.front().x);
    plan.figures.push_back(
        {.title = "flash1 against on-chip memory: 64 x 16 heads of 1024 x 64",
         .x = {.title = "On-chip memory", .unit = "KiB", .scale = plot::Scale::log},
         .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
         .quantity = Quantity::traffic,
         .unit = giga,
         .series = {std::move(chip)}});
    plan.figures.push_back(setting_of_paper());
    model::AttentionContext plain;
    model::AttentionContext full{.dropout = true, .separate_mask = true};
    plan.facts["plain_bytes"] = format_traffic(both_passes(Implementation::standard, plain));
    plan.facts["full_bytes"] = format_traffic(both_passes(Implementation::standard, full));
    plan.facts["flash_bytes"] = format_traffic(both_passes(Implementation::flash1, plain));
    plan.facts["slope"] = format_number(slope, 2);
    plan.formula =
        "standard: 4 S + 4 T forward, 7 S + 8 T backward; flash1: (1 + 3 Tc) T forward, "
        "Tc = 4 N d / M: Theta(N^2 d^2 / M)";
    plan.ratio = {.what = "Time of three kernels over the bundled flash2, 4096 tokens",
                  .above = "standard@4096",
                  .below = "tiled@4096"};
    plan.text =
        R"(Attention multiplies Q by K, takes the softmax of the scores and multiplies the result by V: two products, not three as some notes say (the three projections before it are separate products).
With three kernels, the N x N scores are read or written four times in the forward pass and seven times in the backward pass.
FlashAttention keeps a block of scores on chip, with the running maximum and sum of the online softmax, so that only Q, K, V and O are read or written.

At 4096 tokens and 16 heads of 64 the three kernels move {standard_bytes@4096} and the tiled kernel moves {tiled_bytes@4096}; data that the L2 keeps from one kernel to the next reduces both figures.
On {gpu} the three kernels take {standard@4096} and the tiled kernel takes {tiled@4096}: it is {standard@4096/tiled@4096} times faster.
The measured ratio is {standard@4096/tiled@4096:measured}.
The number of FLOP is the same; FlashAttention saves traffic, launches and the separate passes of the softmax.

The first version of FlashAttention passes over the queries once for each block of keys.
It uses one thread block per head, so 16 heads keep only 16 of {sms} SMs busy, and in the first chart it is slower than the three kernels; the paper's 64 x 16 heads fill the GPU.
A larger on-chip memory M allows larger blocks and needs fewer passes: over the sizes shown here the traffic falls as M to the power of -{slope}, while theorem 2 of the paper gives N^2 d^2 / M, a power of -1; the difference comes from the tensors that are read once whatever M is.
Notes that write N^2 / sqrt(M) confuse this with the bound of a plain matrix product; and in the paper the time stops improving beyond blocks of 256, where arithmetic is the limit.
The second version swaps the two loops: a block of queries stays on chip, K and V stream past it through the L2, and DRAM reads or writes every tensor once.

The paper gives 40.3 GB against 4.4 GB and 41.7 ms against 7.3 ms for both passes of GPT-2 medium on an A100 with 40 GB.
The model counts {plain_bytes} for the kernels of the algorithm alone, {full_bytes} with dropout and a separate kernel for mask or scale, and {flash_bytes} for flash1.
On {gpu} the predicted times are {paper@standard}, {paper@+dropout, mask} with dropout and mask, and {paper@flash1} with flash1.
With PyTorch's kernels the first two were measured at {paper@standard:measured} and {paper@+dropout, mask:measured}.
The printed conference version gives 35.3 GB, and 35.1 ms against 11.7 ms, for a different setting; say which one you quote.)";
    return plan;
}

Plan attention_vram_plan(const Subject&) {
    using model::AttentionSoftware;
    using model::Implementation;
    Plan plan;
    plan.figures.push_back(
        {.title = "Memory of forward attention, 32 heads of 128, fp16",
         .x = {.title = "Tokens", .scale = plot::Scale::log},
         .y = {.title = "Memory", .unit = "GiB", .scale = plot::Scale::log},
         .quantity = Quantity::memory,
         .unit = (1.0 * units::GiB).base(),
         .series = {memory_of("standard", "all heads", Implementation::standard, false),
                    memory_of("one", "the rule for one head", Implementation::standard, true),
                    memory_of("flash", "flash2", Implementation::flash2, false)},
         .limits = {}});
    for (const int gigabytes : {40, 80, 141}) {
        const std::string size = std::to_string(gigabytes);
        plan.figures.back().limits.emplace_back(size + " GB", gigabytes * giga);
        plan.facts["standard" + size] = longest(AttentionSoftware::standard, gigabytes);
        plan.facts["flash" + size] = longest(AttentionSoftware::torch_flash, gigabytes);
    }
    plan.formula =
        "standard: batch x heads x N^2 x bytes for each stored score matrix; flash2: 4 "
        "bytes per row";
    plan.ratio = {.what = "Memory of all heads over flash2, 16384 tokens",
                  .above = "standard@16384",
                  .below = "flash@16384",
                  .unmeasured = "it needs PyTorch (scripts/measure/lessons.py)"};
    plan.text = R"(The scores of attention form one N x N matrix for every head of every sequence.
A formula from a notebook, N^2 times the bytes per element, leaves out heads and batch: at 131072 tokens it gives {one@131072}, with q, k, v and the output, while 32 heads need {standard@131072}.
The 34.4 GB that the notebook quotes for 128K tokens are the matrix of a single head.

Without a stored score matrix, memory grows only in proportion to N: {flash@131072} at the same length, {standard@131072/flash@131072} times less, of which the statistics of the softmax take 4 bytes per row (two such values in the first version).
At 1024 tokens the two are {standard@1024} and {flash@1024}; the saving grows with the length.

Memory limits the length of the sequences that can be trained.
The forward and backward pass of this one call, with nothing else on the GPU, can have {standard40} tokens in 40 GB, {standard80} in 80 GB and {standard141} in 141 GB with stored scores, and {flash40}, {flash80} and {flash141} with PyTorch's flash backend.
The figure shows these limits with the memory of the forward pass alone, which is smaller.
With twice the memory, a sequence with stored scores can be only 1.4 times as long; with the flash backend it can be twice as long.

These are sizes of tensors, which the model counts exactly, byte by byte (docs/vram.md).
The measured value is the peak of PyTorch's allocator during one call: {standard@16384:measured} with the scores written out and {flash@16384:measured} with the flash backend, at 16384 tokens.)";
    return plan;
}

}  // namespace ridge::effects
