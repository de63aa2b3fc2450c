// Reading machine code: the parser, what instructions mean, loops, and kernels of Triton on an H100.
#include <fstream>
#include <iterator>

#include "hardware/error.h"
#include "kernel/code/code_model.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::kernel;

namespace {

const model::Machine& machine() {
    static const model::Machine made = model::make_machine(model::catalogue().at("h100-sxm"));
    return made;
}
const Roofs& roofs() {
    static const Roofs made = *roofs_of(machine());
    return made;
}

constexpr std::string_view loop_text = R"(
.text.sum:
        /*0000*/              LDC R1, c[0x0][0x28] ;          /* 0x00000a00ff017b82 */
                                                              /* 0x000e220000000800 */
.L_x_0:
        /*0010*/              LDG.E.128 R4, desc[UR4][R2.64] ; /* 0x0000000402047981 */
                                                              /* 0x000ea8000c1e1d00 */
        /*0020*/              FFMA R8, R4, R5, R8 ;           /* 0x0000000504087223 */
                                                              /* 0x004fc80000000008 */
        /*0030*/         @!P0 BRA `(.L_x_0) ;                 /* 0xfffffffc00f40947 */
                                                              /* 0x000fea000383ffff */
        /*0040*/              EXIT ;                          /* 0x000000000000794d */
                                                              /* 0x000fea0003800000 */
.L_x_1:
        /*0050*/              BRA `(.L_x_1);                  /* 0xfffffffc00fc7947 */
                                                              /* 0x000fc0000383ffff */
)";

Instruction instruction(std::string opcode, std::string operands = "R1, R2, R3") {
    Instruction made;
    made.opcode = std::move(opcode);
    made.operands = std::move(operands);
    return made;
}

Function recorded(const std::string& name) {
    std::ifstream stream(std::string(RIDGE_KERNEL_DATA) + "/" + name);
    REQUIRE(stream);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_sass(text, name).front();
}

}  // namespace

TEST_CASE("the text of nvdisasm becomes instructions with their control codes", "[code]") {
    const auto all = parse_sass(loop_text, "sum.sass");
    REQUIRE(all.size() == 1);
    const Function& sum = all.front();
    CHECK(sum.name == "sum");
    CHECK(sum.has_control);
    REQUIRE(sum.code.size() == 6);
    CHECK(sum.code[1].opcode == "LDG.E.128");
    CHECK(sum.code[1].base() == "LDG");
    CHECK(sum.code[1].has("128"));
    CHECK(!sum.code[1].has("64"));
    CHECK(sum.code[1].sets == 2U);
    CHECK(sum.code[1].stall == 4);
    CHECK(sum.code[2].waits == 0b100U);
    CHECK(sum.code[3].predicate == "@!P0");
    CHECK(sum.code[3].target == std::size_t{1});
    CHECK(sum.code[5].target == std::size_t{5});
}

TEST_CASE("branches of cuobjdump name addresses", "[code]") {
    const auto all = parse_sass(
        "\t\tFunction : _Z4copyPf\n"
        "        /*0000*/  IADD3 R1, R1, 0x1, RZ ;  /* 0x0000000101017810 */\n"
        "                                           /* 0x000fca0007ffe0ff */\n"
        "        /*0010*/  @P0 BRA 0x0 ;            /* 0xffffffe000000947 */\n"
        "                                           /* 0x000fea000383ffff */\n",
        "a.out");
    REQUIRE(all.size() == 1);
    CHECK(all.front().name == "_Z4copyPf");
    CHECK(all.front().code.back().target == std::size_t{0});
    CHECK(loops_of(all.front()).size() == 1);
}

TEST_CASE("a text without instructions is refused", "[code]") {
    CHECK_THROWS_AS(parse_sass("", "empty"), InputError);
    CHECK_THROWS_AS(parse_sass("/*0000*/ no end\n.text.a:\n", "x"), InputError);
}

TEST_CASE("what instructions mean", "[code]") {
    CHECK(meaning_of(instruction("FFMA")).flop == 2.0);
    CHECK(meaning_of(instruction("HFMA2.MMA", "R1, -RZ, RZ, 0, 0")).flop == 0.0);
    CHECK(meaning_of(instruction("HFMA2.MMA")).flop == 4.0);
    CHECK(meaning_of(instruction("DFMA")).pipe == CodePipe::fp64);
    CHECK(meaning_of(instruction("LDG.E.128")).bytes == 16.0);
    CHECK(meaning_of(instruction("LDG.E.U8.CONSTANT")).bytes == 1.0);
    CHECK(meaning_of(instruction("STS.64")).space == Space::shared);
    CHECK(meaning_of(instruction("LDSM.16.M88.4")).bytes == 16.0);
    CHECK(meaning_of(instruction("STL")).space == Space::local);
    CHECK(meaning_of(instruction("HMMA.16816.F32")).tensor_flop == 4096.0);
    CHECK(meaning_of(instruction("IMMA.16832.S8.S8.SAT")).tensor_flop == 8192.0);
    CHECK(meaning_of(instruction("DMMA.884")).tensor_flop == 512.0);
    CHECK(meaning_of(instruction("HGMMA.64x128x16.F32")).tensor_flop == 65536.0);
    CHECK(meaning_of(instruction("UIADD3")).pipe == CodePipe::uniform);
    CHECK(meaning_of(instruction("XYZZY")).pipe == CodePipe::unknown);
}

TEST_CASE("loops run as often as told, and are symbolic otherwise", "[code]") {
    const Function sum = parse_sass(loop_text, "sum.sass").front();
    std::vector<Loop> loops = loops_of(sum);
    REQUIRE(loops.size() == 1);
    CHECK(count_code(sum, loops, roofs()).symbolic == std::vector<std::string>{"L1"});
    set_trips(loops, "L1=64");
    const CodeCounts counts = count_code(sum, loops, roofs());
    CHECK(counts.symbolic.empty());
    CHECK(counts.flop == 128.0);
    CHECK(counts.global_loads == 1024.0);
    CHECK(counts.instructions == 3.0 + 3.0 * 64.0);
    // Each round waits for its load.
    CHECK(counts.chain > 64.0 * roofs().idle_latency * roofs().clock);
    CHECK_THROWS_AS(set_trips(loops, "L2=4"), InputError);
    CHECK_THROWS_AS(set_trips(loops, "many"), InputError);
}

TEST_CASE("FLOP, bytes and times of Triton's kernels on an H100", "[code]") {
    SECTION("dropout of 2^25 elements") {
        const Function code = recorded("dropout.sass");
        const CodeCounts counts = count_code(code, loops_of(code), roofs());
        constexpr std::int64_t blocks = 32768;
        constexpr double threads = 128.0 * blocks;
        CHECK(threads * counts.global_loads == 4.0 * 33554432.0);
        CHECK(threads * counts.global_stores == 4.0 * 33554432.0);
        CHECK(counts.unknown.empty());
        const CodeTime time = time_of_code(
            counts, {.blocks = blocks, .threads = 128, .registers = 40, .dram_bytes = 268435456.0},
            roofs(), machine());
        CHECK(time.seconds == Approx(107.4e-6).epsilon(0.1));
        CHECK(time.low < 107.4e-6);
        CHECK(time.high > 107.4e-6);
    }
    SECTION("a product of 4096 in tiles of 128x128x32") {
        const Function code = recorded("matmul_128x128x32.sass");
        std::vector<Loop> loops = loops_of(code);
        set_trips(loops, "128");
        const CodeCounts counts = count_code(code, loops, roofs());
        CHECK(1024.0 * 4.0 * counts.tensor_flop == 2.0 * 4096.0 * 4096.0 * 4096.0);
        CHECK(counts.mma_flop == 0.0);
        CHECK(counts.unknown.empty());
        const CodeTime time = time_of_code(counts,
                                           {.blocks = 1024,
                                            .threads = 128,
                                            .registers = 168,
                                            .shared_bytes = 65536,
                                            .dram_bytes = 100.7e6},
                                           roofs(), machine());
        CHECK(time.seconds == Approx(285.6e-6).epsilon(0.2));
        CHECK(time.high > 285.6e-6);
    }
}
