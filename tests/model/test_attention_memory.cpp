// Memory plans of attention: published tables, invariants, what fits, and the key and value cache.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "hardware/error.h"
#include "model/footprint/footprint.h"
#include "model/footprint/kv_cache.h"
#include "model/footprint/memory_fit.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::array all_software{
    AttentionSoftware::standard,    AttentionSoftware::flash1,
    AttentionSoftware::flash2,      AttentionSoftware::flash3,
    AttentionSoftware::torch_flash, AttentionSoftware::torch_efficient,
    AttentionSoftware::torch_cudnn, AttentionSoftware::torch_math};

AttentionCall call_of(AttentionSoftware software, std::int64_t batch, std::int64_t heads,
                      std::int64_t seq, std::int64_t head_dim, DataType type = DataType::fp16) {
    return {.attention = {.batch = batch,
                          .heads = heads,
                          .kv_heads = heads,
                          .seq_q = seq,
                          .seq_kv = seq,
                          .head_dim = head_dim,
                          .type = type},
            .software = software};
}

AttentionMemory memory_of(const AttentionCall& call) {
    const auto outcome = attention_memory(call);
    REQUIRE(std::holds_alternative<AttentionMemory>(outcome));
    return std::get<AttentionMemory>(outcome);
}

TEST_CASE("FlashAttention paper, table 21, from plans", "[memory]") {
    // B 16, H 8, d 64, fp16, forward and backward, in MiB, truncated.
    const std::vector<std::int64_t> standard{36, 104, 336, 1184, 4416, 17024};
    const std::vector<std::int64_t> flash{22, 44, 104, 209, 418, 836, 1672, 3344, 6688, 13376};
    std::int64_t seq = 128;
    for (std::size_t i = 0; i < flash.size(); ++i, seq *= 2) {
        INFO("N " << seq);
        if (i < standard.size()) {
            const auto call = call_of(AttentionSoftware::standard, 16, 8, seq, 64);
            CHECK(memory_of(call).total_training / mebibyte == standard[i]);
        }
        const auto call = call_of(AttentionSoftware::flash1, 16, 8, seq, 64);
        CHECK(memory_of(call).total_training / mebibyte == flash[i]);
    }
}

TEST_CASE("two shapes by hand, for PyTorch 2.11 on an H200", "[memory]") {
    // T = 33554432, L = 524288: forward T + L + 2 scalars, backward 7 T + L.
    const AttentionMemory flash =
        memory_of(call_of(AttentionSoftware::torch_flash, 1, 32, 4096, 128, DataType::bf16));
    CHECK(flash.inputs == 3 * 33554432);
    CHECK(flash.inference_peak == 33554432 + 524288 + 1024);
    CHECK(flash.forward_saved == 33554432 + 524288 + 1024);
    CHECK(flash.backward_peak == 7 * 33554432 + 524288);
    CHECK(flash.backward_after == 3 * 33554432 - 524288 - 1024);
    // The math backend has three fp32 matrices of scores at the peak of its backward pass.
    const AttentionMemory math =
        memory_of(call_of(AttentionSoftware::torch_math, 64, 16, 1024, 64));
    CHECK(math.backward_peak == 12 * std::int64_t{1073741824});
    CHECK(math.forward_saved == 5234491392);
}

/// The results of the calls that scaled_dot_product_attention makes in the math backend, recorded with a
/// dispatch mode of PyTorch 2.11 on meta tensors for bf16, batch 4, heads 16 over 8, 200 tokens: elements of
/// each with its bytes. `_safe_softmax` is one call there.
TEST_CASE("the math backend makes the tensors of PyTorch's operator, whatever the head size") {
    for (const std::int64_t head : {96, 97}) {
        AttentionCall call =
            call_of(AttentionSoftware::torch_math, 4, 16, 200, head, DataType::bf16);
        call.attention.kv_heads = 8;
        const std::int64_t query = std::int64_t{4} * 16 * 200 * head;
        const std::int64_t key = query / 2;
        const std::int64_t scores = std::int64_t{4} * 16 * 200 * 200;
        const std::vector<std::int64_t> recorded{4 * query,  4 * key,    4 * key,   4 * query,
                                                 4 * query,  4 * query,  4 * query, 4 * scores,
                                                 4 * scores, 2 * scores, 4 * query, 2 * query};
        const AttentionPlan plan = attention_plan(call);
        REQUIRE(std::holds_alternative<MemoryPlan>(plan));
        const auto& made = std::get<MemoryPlan>(plan).allocations();
        std::size_t next = 0;
        for (const auto& each : made) {
            // The inputs and what the softmax makes inside stand between them.
            if (next < recorded.size() && each.bytes == recorded[next] && each.name != "q" &&
                each.name != "k" && each.name != "v") {
                ++next;
            }
        }
        CAPTURE(head, next);
        CHECK(next == recorded.size());
        // Without a workspace of cuBLAS, which is apart from the call.
        if (head == 96) CHECK(memory_of(call).inference_peak == 48120832);
        CHECK(library_workspace(call, false, 90).cublas_per_thread == 32 * mebibyte);
    }
}

TEST_CASE("the sums of V1 to V3 equal the peaks of the plans", "[memory][property]") {
    std::mt19937_64 random(21);
    const auto pick = [&random](std::int64_t most) {
        return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    for (int i = 0; i < 200; ++i) {
        AttentionCall call = call_of(AttentionSoftware::standard, pick(4), 8, pick(3000), 64);
        call.attention.seq_kv = pick(3000);
        call.attention.kv_heads = i % 2 == 0 ? 8 : 2;
        for (const auto& [software, implementation] :
             {std::pair{AttentionSoftware::standard, Implementation::standard},
              std::pair{AttentionSoftware::flash2, Implementation::flash2},
              std::pair{AttentionSoftware::flash3, Implementation::flash3}}) {
            call.software = software;
            const auto outcome = attention_plan(call);
            const MemoryPlan plan = plan_of(std::get<MemoryPlan>(outcome), MemoryPasses::training);
            std::int64_t highest = 0;
            for (const MemoryLevel& level : replay(plan).levels) {
                highest = std::max(highest, level.requested);
            }
            CHECK(static_cast<double>(highest) ==
                  footprint(Operation(call.attention), implementation, Pass::training)
                      .total()
                      .base());
        }
    }
}

TEST_CASE("a plan releases everything except inputs, outputs and gradients", "[memory][property]") {
    std::mt19937_64 random(5);
    const auto pick = [&random](std::int64_t most) {
        return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    int planned = 0;
    for (int i = 0; i < 400; ++i) {
        AttentionCall call = call_of(all_software[random() % all_software.size()], pick(5),
                                     2 * pick(6), pick(700), 8 * pick(32));
        call.attention.seq_kv = 1 + pick(700);
        call.layout = i % 3 == 0 ? TensorLayout::sequence_first : TensorLayout::heads_first;
        call.dropout = i % 5 == 0 ? 0.1 : 0.0;
        if (i % 4 == 0) call.attention.kv_heads /= 2;
        if (i % 7 == 0) call.mask = MaskKind::boolean;
        const AttentionPlan outcome = attention_plan(call);
        if (std::holds_alternative<NotModelled>(outcome)) continue;
        ++planned;
        INFO(name_of(call.software) << " " << i);
        const MemoryTimeline timeline = replay(std::get<MemoryPlan>(outcome));
        CHECK(timeline.phase(memory_phase::inference).after.allocated == 0);
        // After the backward pass these remain: inputs, out, grad_out and three gradients.
        const std::int64_t element = size_of(call.attention.type);
        const std::int64_t query = element * call.attention.batch * call.attention.heads *
                                   call.attention.seq_q * call.attention.head_dim;
        const std::int64_t key = element * call.attention.batch * call.attention.kv_heads *
                                 call.attention.seq_kv * call.attention.head_dim;
        const std::int64_t mask =
            call.mask == MaskKind::none ? 0 : call.attention.seq_q * call.attention.seq_kv;
        CHECK(timeline.levels.back().requested == 4 * query + 4 * key + mask);
    }
    CHECK(planned > 200);
}

TEST_CASE("the largest size that fits does fit, and larger ones do not", "[memory]") {
    const AllocatorOptions options{.limit = 8 * 1024 * mebibyte};
    for (const AttentionSoftware software : all_software) {
        INFO(name_of(software));
        const AttentionCall call = call_of(software, 2, 8, 16, 128);
        for (const FitDimension dimension : {FitDimension::seq, FitDimension::batch}) {
            const Largest most =
                largest_that_fits(call, dimension, MemoryPasses::training, options);
            REQUIRE(most.size > 1);
            const auto fits = [&](std::int64_t size) {
                const auto plan = attention_plan(resized(call, dimension, size));
                return replay(plan_of(std::get<MemoryPlan>(plan), MemoryPasses::training), options)
                    .fits;
            };
            CHECK(fits(most.size));
            CHECK_FALSE(fits(most.size + 1));
            CHECK_FALSE(fits(most.size + 7));
        }
    }
    AttentionCall grouped = call_of(AttentionSoftware::torch_flash, 1, 8, 4096, 128);
    grouped.attention.kv_heads = 2;
    const Largest heads =
        largest_that_fits(grouped, FitDimension::heads, MemoryPasses::training, options);
    CHECK(heads.size % 4 == 0);
    grouped.software = AttentionSoftware::torch_efficient;
    CHECK(largest_that_fits(grouped, FitDimension::seq, MemoryPasses::training, options)
              .refused.has_value());
}

TEST_CASE("cuBLAS's workspace depends on compute capability and threads", "[memory]") {
    const AttentionCall math = call_of(AttentionSoftware::torch_math, 1, 1, 16, 64);
    CHECK(library_workspace(math, true, 90).total() == 2 * 32 * mebibyte);
    CHECK(library_workspace(math, false, 80).total() == 8519680);
    const AttentionCall flash = call_of(AttentionSoftware::torch_flash, 1, 1, 16, 64);
    CHECK(library_workspace(flash, true, 90).total() == 0);
}

TEST_CASE("the key and value cache", "[memory]") {
    // Llama 3 8B: 2 x 32 layers x 8 heads x 128 x 2 bytes.
    KvCache cache{.layers = 32, .kv_heads = 8, .head_dim = 128, .block = 16};
    CHECK(cache.token_bytes() == 131072);
    CHECK(cache.sequence_bytes(4096) == 4096 * std::int64_t{131072});
    CHECK(cache.sequence_bytes(4097) == 4112 * std::int64_t{131072});
    CHECK(cache.wasted_bytes(4097) == 15 * 131072);
    CHECK(cache.sequences_in(10 * cache.sequence_bytes(4097) + 5, 4097) == 10);
    CHECK(cache.longest_in(1024 * mebibyte, 2) == 4096);
    CHECK(cache.sequences_in(-1, 4097) == 0);
    // Lengths 1 to 32 in blocks of 16: on average, 24 tokens are held for 16.5.
    CHECK(cache.mean_waste(32) == Approx(1.0 - 16.5 / 24.0));
    cache.type = DataType::fp8;
    CHECK(cache.token_bytes() == 65536);
    cache.block = 0;
    CHECK(cache.mean_waste(99) == Approx(1.0 - 50.0 / 99.0));
    // DeepSeek-V3: 61 layers x (512 + 64) x 2 bytes.
    const KvCache latent{.kind = KvKind::latent, .layers = 61, .latent = 512, .rope = 64};
    CHECK(latent.token_bytes() == 70272);
    CHECK_THROWS_AS(validate(KvCache{.layers = 1, .kv_heads = 0, .head_dim = 1}), InputError);
}

TEST_CASE("the words of a call are parsed", "[memory][error]") {
    for (const AttentionSoftware software : all_software) {
        CHECK(parse_attention_software(name_of(software)) == software);
    }
    CHECK(parse_tensor_layout("bnhd") == TensorLayout::sequence_first);
    CHECK_THROWS_AS(parse_attention_software("torch"), InputError);
    CHECK_THROWS_AS(parse_mask_kind("causal"), InputError);
    CHECK_THROWS_AS(parse_mask_shape("heads"), InputError);
}

}  // namespace
}  // namespace ridge::model
