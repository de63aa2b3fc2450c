// Known results of the launch geometry that the model and the kernels share.
#include "model/bundled/access.h"
#include "model/bundled/attention.h"
#include "model/bundled/matmul.h"
#include "model/bundled/rows.h"
#include "model/bundled/streams.h"
#include "tests/catch.h"

using namespace ridge::model::bundled;

namespace {

constexpr std::int64_t h200_sms = 132;
constexpr std::int64_t multiprocessors = 108;
constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// The most shared memory of a block on a GPU with 228 KiB per SM.
constexpr std::int64_t largest_block = 227 * 1024;

}  // namespace

TEST_CASE("Matrix products have a grid of tiles", "[model][geometry]") {
    constexpr MatmulExtents square{.m = 4096, .n = 4096, .k = 4096};
    CHECK(matmul_grid(matmul_naive, square, h200_sms) ==
          LaunchGrid{.x = 256, .y = 256, .threads = 256});
    CHECK(matmul_grid(matmul_coalesced, square, h200_sms) ==
          LaunchGrid{.x = 512, .y = 128, .threads = 256});
    CHECK(matmul_grid(matmul_shared_tiled, square, h200_sms) ==
          LaunchGrid{.x = 128, .y = 128, .threads = 1024, .shared_bytes = 8192});
    CHECK(matmul_grid(matmul_register_tiled, square, h200_sms) ==
          LaunchGrid{.x = 1024, .threads = 256, .shared_bytes = 16640});
    CHECK(matmul_grid(matmul_mma_sync, square, h200_sms) ==
          LaunchGrid{.x = 1024, .threads = 128, .shared_bytes = 65536});
    constexpr MatmulExtents ragged{.m = 100, .n = 33, .k = 7, .batch = 5};
    CHECK(matmul_grid(matmul_naive, ragged, h200_sms) ==
          LaunchGrid{.x = 7, .y = 3, .z = 5, .threads = 256});
    CHECK(matmul_grid(matmul_mma_sync, ragged, h200_sms).y == 5);
    CHECK(steps_of(matmul_mma_sync, 33) == 2);
    CHECK(steps_of(matmul_naive, 33) == 33);
}

TEST_CASE("The clusters of wgmma fill the GPU once", "[model][geometry]") {
    constexpr MatmulExtents square{.m = 4096, .n = 4096, .k = 4096};
    // 16 x 16 pieces of 256 x 256 on 66 pairs of multiprocessors: 4 rounds, or 8 of half the size.
    CHECK(wgmma_for(square, h200_sms).tile.n == 256);
    CHECK(matmul_grid(matmul_wgmma_large, square, h200_sms) ==
          LaunchGrid{.x = 132, .threads = 384, .shared_bytes = 230400});
    // 4 x 4 pieces leave most of the GPU idle; 4 x 8 pieces halve the time.
    constexpr MatmulExtents small{.m = 1024, .n = 1024, .k = 1024};
    CHECK(wgmma_for(small, h200_sms).tile.n == 128);
    CHECK(matmul_grid(matmul_wgmma_small, small, h200_sms).x == 64);
    CHECK(slots_of(matmul_wgmma_large, 131) == 65);
    CHECK(slots_of(matmul_wgmma_large, 1) == 1);
    CHECK(matmul_wgmma_small.shared_bytes <= largest_block);
    CHECK(matmul_wgmma_large.stages == 4);
    CHECK(matmul_wgmma_small.stages == 6);
}

TEST_CASE("register_tiled runs two blocks per SM unless both operands are loaded by elements",
          "[model][geometry]") {
    CHECK(in_float_vectors(4096));
    CHECK_FALSE(in_float_vectors(4098));
    CHECK(register_tiled_blocks_per_sm(true, true) == 2);
    CHECK(register_tiled_blocks_per_sm(false, true) == 2);
    CHECK(register_tiled_blocks_per_sm(false, false) == 1);
}

TEST_CASE("Decoding splits the keys until the last wave is nearly full", "[model][geometry]") {
    // 264 blocks fit: 8 tiles x 32 splits would fill 97 % of a wave; 31 splits fill 94 %.
    constexpr AttentionExtents cache{.heads = 32, .kv_heads = 8, .queries = 1, .keys = 8192};
    CHECK(decodes(cache));
    CHECK(decode_splits(cache, h200_sms) == 31);
    CHECK(decode_grid(cache, 31) ==
          LaunchGrid{.x = 31, .y = 1, .z = 8, .threads = 128, .shared_bytes = 98304});
    CHECK(decode_combine_grid(cache) == LaunchGrid{.x = 32, .threads = 128, .shared_bytes = 1040});
    CHECK(decode_keys_per_split(cache, 31) == 320);
    // 256 tiles fill 97 % of a wave without splits.
    constexpr AttentionExtents many{
        .batch = 32, .heads = 32, .kv_heads = 8, .queries = 1, .keys = 8192};
    CHECK(decode_splits(many, h200_sms) == 1);
    CHECK(decode_splits({.heads = 8, .kv_heads = 8, .queries = 1, .keys = 300}, h200_sms) == 1);
    // One tile with 256 splits would fill 97 %; 244 splits fill 92 %.
    CHECK(decode_splits({.heads = 8, .kv_heads = 1, .queries = 1, .keys = 1 << 20}, h200_sms) ==
          244);
    CHECK_FALSE(decodes({.heads = 8, .kv_heads = 1, .queries = 9, .keys = 100}));
    CHECK_FALSE(decodes({.heads = 8, .kv_heads = 8, .queries = 64, .keys = 64}));
    CHECK(decode_row_tiles({.heads = 64, .kv_heads = 2, .queries = 2, .keys = 100}) == 4);
}

TEST_CASE("Tiled attention has a block per tile or a block per multiprocessor",
          "[model][geometry]") {
    constexpr AttentionExtents prefill{
        .batch = 2, .heads = 16, .kv_heads = 4, .queries = 1000, .keys = 1000, .head_dim = 64};
    CHECK(attention_mma_sync_grid(prefill) ==
          LaunchGrid{.x = 8, .y = 16, .z = 2, .threads = 128, .shared_bytes = 49152});
    CHECK(attention_wgmma_tiles(prefill) == 32 * 6);
    CHECK(attention_wgmma_grid(prefill, h200_sms).x == h200_sms);
    CHECK(
        attention_wgmma_grid({.heads = 4, .kv_heads = 4, .queries = 300, .keys = 300}, h200_sms) ==
        LaunchGrid{.x = 12, .threads = 384, .shared_bytes = 214016});
    CHECK(attention_wgmma(128, true).keys == 128);
    CHECK(attention_wgmma(64, false).threads == 512);
    for (const std::int64_t head_dim : {64, 128}) {
        for (const bool causal : {false, true}) {
            CHECK(attention_wgmma(head_dim, causal).shared_bytes <= largest_block);
        }
    }
}

TEST_CASE("wgmma attention takes the heads whose keys and values fit in L2 together",
          "[model][geometry]") {
    // 2 MiB of keys and values per key-value head: 16 of them fit in 2/3 of 50 MiB.
    constexpr AttentionExtents calls{
        .batch = 4, .heads = 32, .kv_heads = 8, .queries = 4096, .keys = 4096};
    CHECK(wgmma_head_groups(calls, 50 * mebibyte) == 2);
    CHECK(wgmma_heads_per_group(calls, 2) == 64);
    CHECK(wgmma_head_groups(calls, 1) == 32);  // one key-value head at a time
}

TEST_CASE("A row belongs to a warp or a block, or is read twice", "[model][geometry]") {
    CHECK(row_plan(1024, 2).method == RowMethod::warp);
    CHECK(row_plan(1024, 2).vectors == 4);
    CHECK(row_plan(8, 2).vectors == 1);
    CHECK(row_plan(1032, 2).method == RowMethod::block);
    CHECK(row_plan(8192, 4).threads == 512);
    CHECK(row_plan(8192, 2).threads == 256);
    CHECK(row_plan(32768, 4).vectors == 8);
    CHECK(row_plan(32768, 2).method == RowMethod::block);
    CHECK(row_plan(32776, 2).method == RowMethod::two_pass);
    CHECK(row_plan(1001, 4).method == RowMethod::element_pass);
    CHECK(row_plan(1001, 4).threads == 128);
    CHECK(row_plan(1025, 4).threads == 512);
    CHECK(row_grid(1001, row_plan(64, 2), softmax_reduced) ==
          LaunchGrid{.x = 126, .threads = 256, .shared_bytes = 0});
    CHECK(row_grid(1001, row_plan(8192, 2), softmax_reduced) ==
          LaunchGrid{.x = 1001, .threads = 256, .shared_bytes = 256});
    CHECK(row_sum_plan(4096, 2).method == RowMethod::warp);
    CHECK(row_sum_plan(4097, 2).threads == 256);
    CHECK(row_sum_plan(32769, 2).threads == 1024);
    CHECK(softmax_step_grid(10, 10000, 4).x == 30);
    CHECK(softmax_step_grid(10, 10001, 4).x == 100);
}

TEST_CASE("The softmax of scores keeps rows of up to 32768 two-byte elements in registers",
          "[model][geometry]") {
    CHECK(score_softmax_plan(1024, 2).vectors == 1);
    CHECK(score_softmax_plan(1024, 2).threads == 128);
    CHECK(score_softmax_plan(4096, 2).vectors == 2);
    CHECK(score_softmax_plan(16384, 2).threads == 512);
    CHECK(score_softmax_plan(32768, 2).vectors == 8);
    CHECK(score_softmax_plan(32776, 2).vectors == 0);
    CHECK(score_softmax_plan(16384, 4).vectors == 8);
    CHECK(score_softmax_plan(1001, 2).threads == 256);
}

TEST_CASE("Streaming kernels have a block per tile of vectors", "[model][geometry]") {
    CHECK(elementwise_grid(1'000'000, elementwise_width(2)) ==
          LaunchGrid{.x = 245, .threads = 256});
    CHECK(elementwise_width(2, 4096) == 8);
    CHECK(elementwise_width(2, 1001) == 1);
    CHECK(copy_grid(1) == LaunchGrid{.x = 1, .threads = 256});
    CHECK(copy_grid(4096).x == 1);
    CHECK(copy_grid(4111).x == 1);  // the first block takes the last bytes
    CHECK(copy_grid(4112).x == 2);
    CHECK(tiled_transpose(64, 64, 2) == TransposeMethod::swizzled);
    CHECK(tiled_transpose(64, 65, 2) == TransposeMethod::padded);
    CHECK(transpose_grid(1000, 65, 4, TransposeMethod::padded) ==
          LaunchGrid{.x = 2, .y = 16, .threads = 256, .shared_bytes = 16640});
    CHECK(transpose_grid(4096, 2048, 2, TransposeMethod::swizzled) ==
          LaunchGrid{.x = 16, .y = 32, .threads = 256, .shared_bytes = 32768});
    CHECK(transpose_grid(33, 32, 2, TransposeMethod::naive) ==
          LaunchGrid{.x = 1, .y = 2, .threads = 256});
    CHECK(gather_grid(1001) == LaunchGrid{.x = 126, .threads = 256});
    CHECK(gather_access(4096) == 16);
    CHECK(gather_access(4092) == 4);
    CHECK(gather_access(4090) == 2);
}

TEST_CASE("Access patterns read with resident blocks, branches use a thread per element",
          "[model][geometry]") {
    CHECK(word_read_grid(1 << 20, h200_sms) ==
          LaunchGrid{.x = 512, .threads = 256, .shared_bytes = 128});
    CHECK(word_read_grid(1 << 30, h200_sms).x == 1056);
    CHECK(word_read_grid(1 << 30, multiprocessors).x == 864);
    CHECK(bank_conflict_grid(1 << 30, h200_sms) ==
          LaunchGrid{.x = 528, .threads = 512, .shared_bytes = 6272});
    CHECK(divergence_grid(513) == LaunchGrid{.x = 2, .threads = 512});
}
