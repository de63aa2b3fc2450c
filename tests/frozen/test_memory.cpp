// What memory operations take: the tensors of each operation and implementation, the allocations and levels of
// attention, the largest sizes that fit, and key and value caches, against data/memory.txt (table.h).
//
// A question begins with its part: "tensors flash2 attention heads=8 ...". Drawn once by "[frozen-draw]".
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "model/core/fields.h"
#include "model/footprint/footprint.h"
#include "model/footprint/kv_cache.h"
#include "model/footprint/memory_fit.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::model {
namespace {

constexpr std::array memory_softwares{
    AttentionSoftware::standard,    AttentionSoftware::flash1,
    AttentionSoftware::flash2,      AttentionSoftware::flash3,
    AttentionSoftware::torch_flash, AttentionSoftware::torch_efficient,
    AttentionSoftware::torch_cudnn, AttentionSoftware::torch_math};
constexpr std::array fit_dimensions{FitDimension::seq, FitDimension::seq_kv, FitDimension::batch,
                                    FitDimension::heads};
constexpr std::array fit_passes{MemoryPasses::inference, MemoryPasses::forward,
                                MemoryPasses::training};

Operation operation_in(std::istringstream& words) {
    std::string text;
    std::getline(words, text);
    const OperationText call = parse_operation(text);
    return make_operation(call.kind, call.parameters);
}

std::string tensors_answer(std::istringstream& words) {
    std::string name;
    words >> name;
    const Operation operation = operation_in(words);
    const Implementation implementation = parse_implementation(name);
    std::string text;
    for (const Pass pass : {Pass::inference, Pass::training}) {
        text += fmt::format("{} ", name_of(pass));
        for (const Allocation& part : footprint(operation, implementation, pass).parts) {
            text += fmt::format("{} {} {:.0f} ", part.name, name_of(part.phase), part.bytes.base());
        }
    }
    return text;
}

/// "torch-flash bnhd boolean batch 10 132 attention ...": layout, mask, dropout in percent, multiprocessors.
AttentionCall call_in(std::istringstream& words) {
    std::array<std::string, 4> names;
    std::int64_t dropout = 0;
    AttentionCall call;
    for (std::string& name : names) words >> name;
    words >> dropout >> call.multiprocessors;
    call.software = parse_attention_software(names[0]);
    call.layout = parse_tensor_layout(names[1]);
    call.mask = parse_mask_kind(names[2]);
    call.mask_shape = parse_mask_shape(names[3]);
    call.dropout = static_cast<double>(dropout) / 100.0;
    call.attention = std::get<Attention>(operation_in(words));
    return call;
}

std::string plan_answer_of(const AttentionCall& call, const AllocatorOptions& options) {
    const AttentionPlan made = attention_plan(call);
    if (const auto* const refused = std::get_if<NotModelled>(&made)) {
        return "refused: " + refused->reason;
    }
    const auto& plan = std::get<MemoryPlan>(made);
    const MemoryTimeline timeline = replay(plan, options);
    std::string text = fmt::format("fits {}", timeline.fits);
    for (const PhaseMemory& phase : timeline.phases) {
        text += fmt::format(" {} peak {} {} {} after {} {} {} start {} step {}", phase.name,
                            phase.peak.requested, phase.peak.allocated, phase.peak.reserved,
                            phase.after.requested, phase.after.allocated, phase.after.reserved,
                            phase.start_allocated, phase.peak_step);
    }
    for (const MemoryPlan::Allocation& each : plan.allocations()) {
        text += fmt::format(
            " {} {} {} {}", each.name, each.bytes, each.taken,
            each.given == MemoryPlan::never ? -1 : static_cast<std::int64_t>(each.given));
    }
    const AttentionMemory sums = attention_memory(timeline);
    return text + fmt::format(" sums {} {} {} {} {} {} {} {} {} {} workspace {} {}", sums.inputs,
                              sums.inference_peak, sums.forward_peak, sums.forward_saved,
                              sums.backward_peak, sums.backward_after, sums.reserved_inference,
                              sums.reserved_forward, sums.reserved_backward, sums.total_training,
                              library_workspace(call, true, 90).total(),
                              library_workspace(call, false, 80).total());
}

/// "cache KIND LAYERS HEADS DIM LATENT ROPE TYPE BLOCK TOKENS BYTES".
std::string cache_answer(std::istringstream& words) {
    KvCache cache;
    std::int64_t kind = 0;
    std::int64_t tokens = 0;
    std::int64_t bytes = 0;
    std::string type;
    words >> kind >> cache.layers >> cache.kv_heads >> cache.head_dim >> cache.latent >>
        cache.rope >> type >> cache.block >> tokens >> bytes;
    cache.kind = static_cast<KvKind>(kind);
    cache.type = parse_data_type(type, "type");
    validate(cache);
    return fmt::format("{} {} {} {:.6g} {} {}", cache.token_bytes(), cache.sequence_bytes(tokens),
                       cache.wasted_bytes(tokens), cache.mean_waste(tokens),
                       cache.sequences_in(bytes, tokens), cache.longest_in(bytes, tokens));
}

std::string memory_answer(const std::string& question) {
    std::istringstream words(question);
    std::string part;
    words >> part;
    if (part == "tensors") return tensors_answer(words);
    if (part == "cache") return cache_answer(words);
    AllocatorOptions options;
    std::int64_t dimension = 0;
    std::int64_t passes = 0;
    words >> options.expandable_segments >> options.roundup_power2_divisions >> options.limit >>
        dimension >> passes;
    const AttentionCall call = call_in(words);
    if (part == "plan") return plan_answer_of(call, options);
    const Largest most =
        largest_that_fits(call, fit_dimensions.at(static_cast<std::size_t>(dimension)),
                          fit_passes.at(static_cast<std::size_t>(passes)), options);
    return fmt::format("largest {} {} {}", most.size, most.unbounded,
                       most.refused.value_or("taken"));
}

TEST_CASE("operations take the memory that they took", "[frozen]") {
    test::check_table("memory", memory_answer);
}

std::string drawn_attention(test::Random& random, bool small) {
    Attention drawn = test::random_attention(random, test::Heads::grouped);
    drawn.seq_q = small ? random.whole(1, 300) : random.whole(1, 5000);
    drawn.seq_kv = drawn.causal || random.coin() ? drawn.seq_q : random.whole(1, 5000);
    if (drawn.window > 0) drawn.window = random.whole(1, drawn.seq_kv);
    return text_of(OperationKind::attention, parameters_of(drawn));
}

std::string drawn_call_of(test::Random& random, AttentionSoftware software, bool small) {
    constexpr std::array masks{MaskKind::none, MaskKind::none, MaskKind::additive,
                               MaskKind::boolean};
    constexpr std::array shapes{MaskShape::matrix, MaskShape::batch, MaskShape::full};
    constexpr std::array layouts{TensorLayout::heads_first, TensorLayout::sequence_first};
    constexpr std::array dropouts{0, 0, 10};
    constexpr std::array multiprocessors{132, 132, 108, 20};
    return fmt::format("{} {} {} {} {} {} {}", name_of(software), name_of(random.pick(layouts)),
                       name_of(random.pick(masks)), name_of(random.pick(shapes)),
                       random.pick(dropouts), random.pick(multiprocessors),
                       drawn_attention(random, small));
}

void draw_tensors(test::Random& random, std::vector<std::string>& questions) {
    for (const OperationInfo& info : operation_table()) {
        std::vector<Implementation> all{Implementation::automatic};
        all.insert(all.end(), info.implementations.begin(), info.implementations.end());
        for (const Implementation each : all) {
            for (int times = 0; times < 2; ++times) {
                Operation drawn = test::random_operation(random, info.kind);
                if (times == 1) drawn = test::cornered(drawn, random);
                questions.push_back(fmt::format("tensors {} {}", name_of(each),
                                                text_of(info.kind, parameters_of(drawn))));
            }
        }
    }
}

void draw_caches(test::Random& random, std::vector<std::string>& questions) {
    constexpr std::array types{"fp16", "fp8", "fp32"};
    constexpr std::array blocks{0, 1, 16, 64};
    for (int i = 0; i < 16; ++i) {
        questions.push_back(fmt::format(
            "cache {} {} {} {} {} {} {} {} {} {}", i % 2, random.whole(0, 60), random.whole(1, 32),
            random.whole(1, 256), random.whole(1, 512), random.whole(0, 64), random.pick(types),
            random.pick(blocks), random.whole(1, 5000), random.whole(1, 80) * 1'000'000'000));
    }
}

TEST_CASE("draws the questions of the table of memory", "[.][frozen-draw]") {
    test::Random random(20261130);
    std::vector<std::string> questions;
    draw_tensors(random, questions);
    draw_caches(random, questions);
    constexpr std::array divisions{0, 0, 4};
    for (const AttentionSoftware software : memory_softwares) {
        for (int i = 0; i < 10; ++i) {
            questions.push_back(fmt::format("plan {:d} {} {} 0 0 {}", i % 3 == 2,
                                            random.pick(divisions), i % 5 == 4 ? 100'000'000 : 0,
                                            drawn_call_of(random, software, i % 2 == 0)));
        }
        for (int i = 0; i < 4; ++i) {
            questions.push_back(
                fmt::format("fit {:d} 0 {} {} {} {}", i % 2 == 1, random.whole(1, 40) * 100'000'000,
                            i, random.whole(0, 2), drawn_call_of(random, software, true)));
        }
    }
    test::write_table("memory", questions, memory_answer);
}

}  // namespace
}  // namespace ridge::model
