// Kernels of convolutions by class, and what a library allocates for a call; by hand.
#include "programs/aten/kernel_parts.h"

#include <array>

#include "model/catalogue/catalogue.h"
#include "programs/aten/operations.h"
#include "programs/aten/workspace.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using namespace programs;

/// 4 images of 16 x 16 with 8 channels and 24 filters of 3 x 3, in 16 bits.
Call plain_convolution(const char* strides) {
    return parse_call(
        "aten::cudnn_convolution",
        std::string(R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"]|)"
                    R"([[4,8,16,16],[24,8,3,3],[],[],[],[]]|[)") +
            strides + R"(,[72,9,3,1],[],[],[],[]]|["","","[1, 1]","[1, 1]","[1, 1]","1"])");
}
constexpr const char* first = "[2048,256,16,1]";
constexpr const char* last = "[2048,1,128,8]";

}  // namespace

TEST_CASE("a kernel's name states its tile", "[kernel_parts]") {
    const auto tile = [](std::string_view name, bool powers) {
        const auto found = tile_of(name, powers);
        return found ? std::array{found->rows, found->columns} : std::array<std::int64_t, 2>{};
    };
    using Sides = std::array<std::int64_t, 2>;
    CHECK(tile("sm90_xmma_fprop_implicit_gemm_nhwc_tilesize128x64x32_g1_tensor16x8x16", false) ==
          Sides{128, 64});
    CHECK(tile("_ZN17cutlass__5x_cudnn9GemmShapeILi64ELi256ELi32EEE", false) == Sides{64, 256});
    CHECK(tile("cutlass__5x_cudnn::Kernel<cutlass_s16816fprop_bf16_128x32_64x3>", false) ==
          Sides{128, 32});
    CHECK(tile("implicit_convolve_sgemm<__half, __half, 1024, 5, 6, 3, 3>", true) == Sides{32, 64});
    CHECK(tile("wgrad_engine<float, 3, 0, 5, 7>", true) == Sides{});
    CHECK(tile("nchwToNhwcKernel<float>", false) == Sides{});
    CHECK(tile("gemm_99999999999999999999x3", false) == Sides{});
    CHECK(tile("engine<512", true) == Sides{});
}

TEST_CASE("the kernels of a convolution count what their blocks go through", "[kernel_parts]") {
    const std::array kernels{
        KernelSeen{"void cudnn::nchwToNhwcKernel<__half>", 40, 40 * 256},
        KernelSeen{"sm80_xmma_fprop_implicit_gemm_tilesize64x32x64_stage5", 16, 16 * 128},
        KernelSeen{"void cudnn::nchwToNhwcKernel<__half>", 8, 8 * 256}};
    const auto parts = kernel_parts(plain_convolution(first), ElementType::unknown, kernels);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].law == "kernel.turn_to_last.16");
    CHECK(parts[0].counts[Count::launches] == 2);
    CHECK(parts[0].counts[Count::blocks] == 48);
    const Counts& counts = parts[1].counts;
    CHECK(parts[1].law == "kernel.xmma_forward.16");
    // 1024 pixels and 24 filters in tiles of 64 x 32: 16 blocks with 9 taps, each of 8 channels and 56 zeros.
    CHECK(counts[Count::window] == 1024.0 * 24 * 72);
    CHECK(counts[Count::padded] == 1024.0 * 32 * 9 * 64);
    CHECK(counts[Count::depth] == 9 * 64);
    CHECK(counts[Count::tiled] == 64.0 * 32 * 9 * 64);
    CHECK(kernel_parts(
              parse_call("aten::mm", R"(["float","float"]|[[8,4],[4,2]]|[[4,1],[2,1]]|["",""])"),
              ElementType::unknown, kernels)
              .empty());
}

TEST_CASE("a step along k and groups side by side stand in a kernel's name", "[kernel_parts]") {
    const auto tile = [](std::string_view name) { return tile_of(name, false).value_or(Tile{}); };
    CHECK(tile("xmma_tilesize128x64x32_stage4_warpsize4x1x1_g16_tensor16x8x16").depth == 32);
    CHECK(tile("xmma_tilesize128x64x32_stage4_warpsize4x1x1_g16_tensor16x8x16").groups == 16);
    CHECK(tile("cutlass_80_tensorop_s1688gemm_64x128_32x6_nn_align4").depth == 32);
    CHECK(tile("nvjet_sm90_hsh_128x64_64x4_1x2_h_bz").depth == 64);
    CHECK(tile("nvjet_sm90_hsh_128x64_h_bz_g").depth == 0);
    CHECK(tile("nvjet_sm90_hsh_128x64_h_bz_g").groups == 1);
}

TEST_CASE("blocks tell the two products of a gradient apart", "[kernel_parts]") {
    // 4096 pixels, 64 channels and 128 filters of one tap: the inputs' gradient is 4096 x 64 x 128, the weights' 128 x 64 x 4096.
    const Call call = parse_call(
        "aten::convolution_backward",
        R"(["float","float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"]|)"
        R"([[1,128,64,64],[1,64,64,64],[128,64,1,1],[],[],[],[],[],[],[],[]]|)"
        R"([[524288,4096,64,1],[262144,4096,64,1],[64,1,1,1],[],[],[],[],[],[],[],[]]|)"
        R"(["","","","[0]","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1","[True, True, False]"])");
    const std::array kernels{
        KernelSeen{"cutlass_80_tensorop_s1688gemm_64x64_16x6_nn", 64, 64 * 128},
        KernelSeen{"cutlass_80_tensorop_s1688gemm_64x64_32x6_nt", 2, 2 * 128}};
    const auto parts = kernel_parts(call, ElementType::unknown, kernels);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].counts[Count::depth] == 128);
    CHECK(parts[1].counts[Count::depth] == 4096);
}

TEST_CASE("a form of convolution is the sum of its kernels where each has a law",
          "[kernel_parts]") {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    // Few filters: the form's law does not know which of a dozen kernels runs.
    const Call call = parse_call(
        "aten::cudnn_convolution",
        R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"]|)"
        R"([[8,16,128,128],[8,16,3,3],[],[],[],[]]|[[262144,16384,128,1],[144,9,3,1],[],[],[],[]]|)"
        R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])");
    const auto time_with = [&call](std::int64_t blocks) {
        auto found = operations_of(call);
        REQUIRE(found);
        const std::array kernels{
            KernelSeen{"sm80_xmma_fprop_implicit_gemm_tilesize128x32x64", blocks, blocks * 128}};
        take_kernels(*found, kernel_parts(call, ElementType::unknown, kernels));
        REQUIRE(found->by_kernels != nullptr);
        return predict(*found, machine).answer;
    };
    const auto few = time_with(1024);
    CHECK(few.time > Time{});
    CHECK(few.low < few.time);
    CHECK(few.high > few.time);
    auto unknown = operations_of(call);
    take_kernels(*unknown, {KernelPart{.law = "kernel.nobody.16"}});
    CHECK(unknown->by_kernels == nullptr);
}

TEST_CASE("a library turns images with channels first in a workspace", "[workspace]") {
    // 1024 pixels of 8 channels, 1024 results of 24, and filters: two bytes each.
    CHECK(workspace_of(plain_convolution(first)) == 2 * (1024 * 8 + 1024 * 24 + 24 * 9 * 8));
    CHECK(workspace_of(plain_convolution(last)) == 0);
    CHECK(workspace_of(parse_call("aten::relu", R"(["float"]|[[8]]|[[1]]|[""])")) == 0);
}

}  // namespace ridge::test
