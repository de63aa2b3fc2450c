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
                 bool one_head, std::int64_t asked) {
    Series series{.id = id, .name = name};
    for (const double length : with(doubling(1024, 131072), asked)) {
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
            "attention batch=64 heads=16 seq=1024 head_dim=64 dtype=fp16 {} "
            "direction={}",
            how, direction);
    };
    const std::string scores = " dtype=fp16 elements=1073741824 impl=torch";
    return {
        .title = "The setting of the paper, forward plus backward",
        .x = {.title = "Kernels", .names = {"standard", "+dropout, mask", "flash1", "flash"}},
        .y = {.title = "Time", .unit = "ms"},
        .quantity = Quantity::time,
        .unit = millisecond,
        .series = {named(
            "paper", "64 x 16 heads of 1024 x 64, fp16",
            {{"standard", call("impl=torch", "forward") + "; " + call("impl=torch", "backward")},
             {"+dropout, mask",
              call("impl=torch", "forward") + "; " + call("impl=torch", "backward") +
                  "; elementwise expr=\"x * c\"" + scores + "; elementwise expr=dropout(x)" +
                  scores + "; elementwise expr=masked_fill(x,mask)" + scores},
             {"flash1", call("impl=flash1", "forward") + "; " + call("impl=flash1", "backward")},
             {"flash", call("", "forward") + "; " + call("", "backward")}})}};
}

}  // namespace

Plan online_softmax_plan(const Subject& subject) {
    const auto useful = [](std::int64_t cols) {
        const double rows = cols > 4096 ? 16777216.0 / static_cast<double>(cols) : 65536.0;
        return rows * static_cast<double>(cols) * 4.0;  // 2 bytes in, 2 out
    };
    const std::int64_t asked = subject.at(knob::cols);
    const std::vector<double> cols = with({128, 1024, 4096, 32768, 131072}, asked);
    const std::vector<double> short_rows = with({128, 1024, 4096}, asked);
    Plan plan;
    plan.figures.push_back(
        {.title = "Softmax over rows, bf16",
         .x = {.title = "Columns", .scale = plot::Scale::log},
         .y = {.title = "(Input + output) / time", .unit = "GB/s"},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("manual", "five kernels", short_rows, softmaxes("manual"), useful),
                    sweep("fused", "one kernel", cols, softmaxes("fused"), useful)}});
    plan.figures.push_back(
        {.title = "DRAM traffic: 65536 rows, fewer above 4096 columns",
         .x = {.title = "Columns", .scale = plot::Scale::log},
         .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
         .quantity = Quantity::traffic,
         .unit = giga,
         .series = {sweep("manual_bytes", "five kernels", short_rows, softmaxes("manual")),
                    sweep("fused_bytes", "one kernel", cols, softmaxes("fused"))}});
    plan.facts["row"] = worked_row();
    plan.formula = "m' = max(m, x), l' = l exp(m - m') + exp(x - m')";
    plan.ratio = {.what = "Time of five kernels over one, $cols columns",
                  .above = "fused@$cols",
                  .below = "manual@$cols"};
    plan.text =
        R"([fused@$cols/manual@$cols > 1.05] Softmax of rows of $cols numbers runs at {fused@$cols} on {gpu} in one kernel and at {manual@$cols} in the five of its definition: {fused@$cols/manual@$cols} times faster.
| Softmax of rows of $cols numbers runs at {fused@$cols} on {gpu} in one kernel and at {manual@$cols} in the five of its definition.

The measured ratio is {fused@$cols/manual@$cols:measured}.
[manual_bytes@$cols/fused_bytes@$cols > 1.05] Five kernels move {manual_bytes@$cols}, one moves {fused_bytes@$cols}.
Maximum and sum can be found in one pass (Milakov and Gimelshein, 2018): keep both, and rescale the sum when a new maximum appears.
For the row 2, 5, 1, 7: {row}.
Pairs (m, l) of two halves can be merged, so softmax can be computed block by block together with the next product: FlashAttention.)";
    return plan;
}

Plan flash_io_plan(const Subject& subject) {
    using model::Implementation;
    const std::vector<double> seqs = with(doubling(512, 16384), subject.at(knob::seq));
    const std::vector<double> fitting = with(doubling(512, 8192), subject.at(knob::seq));
    Plan plan;
    plan.figures.push_back(setting_of_paper());
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
    model::AttentionContext plain;
    model::AttentionContext full{.dropout = true, .separate_mask = true};
    plan.facts["plain_bytes"] = format_traffic(both_passes(Implementation::standard, plain));
    plan.facts["full_bytes"] = format_traffic(both_passes(Implementation::standard, full));
    plan.facts["flash_bytes"] = format_traffic(both_passes(Implementation::flash1, plain));
    plan.facts["slope"] = format_number(slope, 2);
    plan.formula =
        "standard: 4 S + 4 T forward, 7 S + 8 T backward; flash1: (1 + 3 Tc) T forward, "
        "Tc = 4 N d / M: Theta(N^2 d^2 / M)";
    plan.ratio = {.what = "Time of three kernels over the bundled flash2, $seq tokens",
                  .above = "standard@$seq",
                  .below = "tiled@$seq"};
    plan.text =
        R"([paper@standard/paper@flash > 1.05] In the setting of the paper, 64 x 16 heads of 1024 tokens, both passes of attention take {paper@standard} on {gpu} with the scores stored and {paper@flash} with FlashAttention: {paper@standard/paper@flash} times faster.
| In the setting of the paper, 64 x 16 heads of 1024 tokens, both passes of attention take {paper@standard} on {gpu} with the scores stored and {paper@flash} with FlashAttention.

Measured with PyTorch, the first takes {paper@standard:measured}; with dropout and mask {paper@+dropout, mask:measured}.
By count the standard kernels move {plain_bytes}, {full_bytes} with dropout and a separate mask, and the first FlashAttention {flash_bytes}; the paper gives 40.3 and 4.4 GB, and 41.7 and 7.3 ms on an A100 with 40 GB.
[standard@$seq/tiled@$seq > 1.05] One sequence of $seq tokens with 16 heads takes {standard@$seq} in three kernels and {tiled@$seq} in the bundled kernel, {standard@$seq/tiled@$seq} times faster.
The measured ratio is {standard@$seq/tiled@$seq:measured}.
With more on-chip memory M the first version needs fewer passes: over the sizes shown its traffic falls as M to the power of -{slope}; theorem 2 of the paper, N^2 d^2 / M, leaves out the tensors that are read once.)";
    return plan;
}

Plan attention_vram_plan(const Subject& subject) {
    const std::int64_t asked = subject.at(knob::tokens);
    using model::AttentionSoftware;
    using model::Implementation;
    Plan plan;
    plan.figures.push_back(
        {.title = "Memory of forward attention, 32 heads of 128, fp16",
         .x = {.title = "Tokens", .scale = plot::Scale::log},
         .y = {.title = "Memory", .unit = "GiB", .scale = plot::Scale::log},
         .quantity = Quantity::memory,
         .unit = (1.0 * units::GiB).base(),
         .series = {memory_of("standard", "all heads", Implementation::standard, false, asked),
                    memory_of("one", "the rule for one head", Implementation::standard, true,
                              asked),
                    memory_of("flash", "flash2", Implementation::flash2, false, asked)},
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
    plan.ratio = {.what = "Memory of all heads over flash2, $seq tokens",
                  .above = "standard@$seq",
                  .below = "flash@$seq",
                  .unmeasured = "it needs PyTorch (scripts/measure/lessons.py)"};
    plan.text =
        R"([standard@$seq/flash@$seq > 1.05] Attention over $seq tokens with 32 heads of 128 holds {standard@$seq} with its scores stored and {flash@$seq} by FlashAttention: {standard@$seq/flash@$seq} times less.

The measured peaks of PyTorch are {standard@$seq:measured} and {flash@$seq:measured}.
Stored scores grow as the square of the length, everything else in proportion to it.
A formula of a notebook, N^2 times the bytes of an element, leaves out heads and batch: {one@131072} at 131072 tokens, where 32 heads need {standard@131072}.
A forward and backward pass of this call alone can have {standard40} tokens in 40 GB and {standard80} in 80 GB with stored scores, {flash40} and {flash80} with PyTorch's flash backend.)";
    return plan;
}

}  // namespace ridge::effects
