// Following machine code: operands, integer instructions, trips of loops, and what a CUDA binary
// says about its kernels. row_sums.cu was compiled by nvcc 13.0 for sm_90; the matrix product is
// Triton's.
#include <fstream>
#include <iterator>

#include "hardware/error.h"
#include "kernel/code/code_model.h"
#include "kernel/code/cubin.h"
#include "kernel/code/thread_state.h"
#include "kernel/code/walk.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::kernel;

namespace {

std::string file_of(const std::string& name) {
    std::ifstream stream(std::string(RIDGE_KERNEL_DATA) + "/" + name, std::ios::binary);
    REQUIRE(stream);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Function function_of(const std::string& name) {
    return parse_sass(file_of(name), name).front();
}

/// The value of a register after some instructions, "IADD3 R1, R1, 0x4, RZ" one a line.
std::optional<bool> flag_after(const std::vector<std::string>& lines, std::string_view flag) {
    const WalkInput input{.constants = {{0x210, 4096}, {0x214, 7}}, .block = {64, 1, 1}};
    ThreadState state(input, {.block = {5, 0, 0}, .thread = {32, 0, 0}});
    for (const std::string& line : lines) {
        Instruction made;
        const std::size_t blank = line.find(' ');
        made.opcode = line.substr(0, blank);
        made.operands = line.substr(blank + 1);
        const CodeStep step = step_of(made);
        state.execute(step);
    }
    return state.predicate(predicate_of("@" + std::string(flag)));
}

/// Whether a register then holds a number.
bool holds(std::vector<std::string> lines, const std::string& name, const std::string& number) {
    lines.push_back("ISETP.EQ.U32.AND P5, PT, " + name + ", " + number + ", PT");
    return flag_after(lines, "P5") == std::optional(true);
}

}  // namespace

TEST_CASE("operands are taken apart", "[walk]") {
    const auto all = operands_of("R4, P1, -R2.reuse, c[0x0][0x228], 0x7f, !PT, |R3|, SR_TID.X");
    REQUIRE(all.size() == 8);
    CHECK(all[0].kind == OperandKind::vector);
    CHECK(all[1].kind == OperandKind::predicate);
    CHECK(all[2].is_negative);
    CHECK(all[2].number == 2);
    CHECK(all[3].number == 0x228);
    CHECK(all[4].number == 0x7f);
    CHECK(all[5].is_inverted);
    CHECK(all[5].number == true_predicate);
    CHECK(all[6].is_absolute);
    CHECK(all[7].kind == OperandKind::special);
    const auto store = operands_of("desc[UR4][R2.64+0x10], R8");
    REQUIRE(store.size() == 2);
    CHECK(store[0].kind == OperandKind::other);
}

TEST_CASE("integer instructions are computed", "[walk]") {
    CHECK(holds({"S2R R1, SR_TID.X"}, "R1", "0x20"));
    CHECK(holds({"S2UR UR1, SR_CTAID.X", "UIADD3 UR1, UR1, 0x2, URZ"}, "UR1", "0x7"));
    CHECK(holds({"ULDC.64 UR4, c[0x0][0x210]"}, "UR5", "0x7"));
    CHECK(holds({"LDC R1, c[0x0][0x210]", "VIADD R2, R1, 0x1f"}, "R2", "0x101f"));
    CHECK(holds({"MOV R1, 0x5", "IADD3 R2, -R1, 0xa, RZ"}, "R2", "0x5"));
    CHECK(holds({"MOV R1, 0x9", "IADD3 R2, R1, -0x1, RZ"}, "R2", "0x8"));
    CHECK(holds(
        {"MOV R1, 0xffffffff", "IADD3 R2, P1, R1, 0x2, RZ", "IADD3.X R3, RZ, 0x4, RZ, P1, !PT"},
        "R3", "0x5"));
    CHECK(holds({"MOV R1, 0x5", "IMAD R2, R1, 0x3, R1"}, "R2", "0x14"));
    CHECK(holds({"MOV R1, 0x80000000", "IMAD.HI.U32 R2, R1, 0x6, RZ"}, "R2", "0x3"));
    CHECK(holds({"MOV R1, 0xffffffff", "SHF.R.S32.HI R2, RZ, 0x1f, R1"}, "R2", "0xffffffff"));
    CHECK(holds({"MOV R1, 0x101f", "SHF.R.U32.HI R2, RZ, 0x5, R1"}, "R2", "0x80"));
    CHECK(holds({"MOV R1, 0x3", "SHF.L.U32 R2, R1, 0x4, RZ"}, "R2", "0x30"));
    CHECK(holds({"MOV R1, 0x3", "LEA R2, R1, R1, 0x2"}, "R2", "0xf"));
    CHECK(holds({"MOV R1, 0x2a", "LOP3.LUT R2, R1, 0xf, RZ, 0xc0, !PT"}, "R2", "0xa"));
    CHECK(holds({"MOV R1, 0x7f", "SGXT R2, R1, 0x7"}, "R2", "0xffffffff"));
    CHECK(holds({"MOV R1, -0x8", "IABS R2, R1"}, "R2", "0x8"));
    CHECK(holds({"MOV R1, 0x3", "VIMNMX R2, R1, 0x8, PT"}, "R2", "0x3"));
    CHECK(holds({"MOV R1, 0x3", "ISETP.LT.AND P0, PT, R1, 0x4, PT", "SEL R2, R1, 0x9, P0"}, "R2",
                "0x3"));
}

TEST_CASE("integers are divided as compilers do it", "[walk]") {
    // 1000 / 7 by a reciprocal, as in code of ptxas for unsigned numbers.
    CHECK(holds({"MOV R1, 0x3e8", "MOV R9, 0x7", "I2F.U32.RP R0, R9", "MUFU.RCP R0, R0",
                 "VIADD R4, R0, 0xffffffe", "F2I.FTZ.U32.TRUNC.NTZ R5, R4", "MOV R4, RZ",
                 "IMAD.MOV R8, RZ, RZ, -R5", "IMAD R11, R8, R9, RZ", "IMAD.HI.U32 R5, R5, R11, R4",
                 "IMAD.HI.U32 R5, R5, R1, RZ"},
                "R5", "0x8e"));
}

TEST_CASE("what memory holds is unknown, and so is what follows from it", "[walk]") {
    CHECK_FALSE(flag_after(
        {"MOV R4, 0x1", "LDG.E R4, desc[UR4][R2.64]", "ISETP.EQ.U32.AND P0, PT, R4, 0x1, PT"},
        "P0"));
    CHECK_FALSE(flag_after(
        {"MOV R7, 0x1", "LDG.E.128 R4, desc[UR4][R2.64]", "ISETP.EQ.U32.AND P0, PT, R7, 0x1, PT"},
        "P0"));
    // A false operand decides whatever the rest is.
    CHECK(flag_after({"LDG.E R4, desc[UR4][R2.64]", "ISETP.EQ.U32.AND P0, PT, R4, 0x1, !PT"},
                     "P0") == std::optional(false));
}

TEST_CASE("a binary names its registers, shared memory and arguments", "[walk]") {
    const std::string bytes = file_of("row_sums.cubin");
    REQUIRE(is_cubin(bytes));
    const auto all = read_cubin(bytes, "row_sums.cubin");
    REQUIRE(all.size() == 1);
    CHECK(all[0].name == "row_sums");
    CHECK(all[0].registers == 14);
    CHECK(all[0].shared_bytes >= 512);
    REQUIRE(all[0].parameters.size() == 4);
    CHECK(all[0].parameters[0].offset == 0x210);
    CHECK(all[0].parameters[0].size == 8);
    CHECK(all[0].parameters[3].offset == 0x224);
    CHECK(all[0].parameters[3].size == 4);
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
        try {
            static_cast<void>(read_cubin(bytes.substr(0, size), "cut"));
        } catch (const InputError& error) {
            CHECK(std::string(error.what()).find("cut") != std::string::npos);
        }
    }
}

TEST_CASE("loops run as the arguments say", "[walk]") {
    const Function function = function_of("row_sums.sass");
    std::vector<Loop> loops = loops_of(function);
    REQUIRE(loops.size() == 2);
    const WalkInput input{.constants = {{0xc, 64}, {0x220, 4096}, {0x224, 1024}},
                          .grid = {64, 1, 1},
                          .block = {128, 1, 1}};
    const Walk walk = walk_code(function, input, loops);
    CHECK(walk.is_complete);
    CHECK(walk.unknown.empty());
    set_trips(loops, walk);
    CHECK(*loops[0].trips == Approx(64.0));  // rows of a block
    CHECK(*loops[1].trips == Approx(8.0));   // columns of a thread
    const auto roofs = *roofs_of(model::make_machine(model::catalogue().at("h100-sxm")));
    const CodeCounts counts = count_code(function, loops, roofs, &walk);
    CHECK(counts.symbolic.empty());
    CHECK_FALSE(counts.has_predicates);
    CHECK(counts.global_loads == Approx(64.0 * 8.0 * 4.0));
    CHECK(counts.global_stores == Approx(64.0 * 4.0 / 4.0));  // one warp of four
    CHECK(counts.flop == Approx(64.0 * (8.0 + 3.0 / 4.0)));
}

TEST_CASE("an unknown bound leaves its loop to the caller", "[walk]") {
    const Function function = function_of("row_sums.sass");
    std::vector<Loop> loops = loops_of(function);
    const WalkInput input{
        .constants = {{0xc, 64}, {0x220, 4096}}, .grid = {64, 1, 1}, .block = {128, 1, 1}};
    Walk walk = walk_code(function, input, loops);
    set_trips(loops, walk);
    CHECK(loops[0].trips);
    CHECK_FALSE(loops[1].trips);
    set_trips(loops, "L2=8");
    walk = walk_code(function, input, loops);
    CHECK(walk.issued[loops[1].last] == Approx(64.0 * 8.0));
}

TEST_CASE("a product of Triton runs over k in steps of its tile", "[walk]") {
    const Function function = function_of("matmul_128x128x32.sass");
    std::vector<Loop> loops = loops_of(function);
    WalkInput input{.grid = {1024, 1, 1}, .block = {128, 1, 1}};
    for (std::uint32_t offset = 0x228; offset <= 0x23c; offset += 4) input.constants[offset] = 4096;
    const Walk walk = walk_code(function, input, loops);
    set_trips(loops, walk);
    double longest = 0.0;
    for (const Loop& loop : loops) longest = std::max(longest, loop.is_wait ? 0.0 : *loop.trips);
    CHECK(longest == Approx(128.0));
    const auto roofs = *roofs_of(model::make_machine(model::catalogue().at("h100-sxm")));
    const CodeCounts counts = count_code(function, loops, roofs, &walk);
    CHECK(1024.0 * 4.0 * counts.tensor_flop == Approx(2.0 * 4096.0 * 4096.0 * 4096.0));
}
