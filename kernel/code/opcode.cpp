#include "kernel/code/opcode.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ridge::kernel {
namespace {

struct OpcodeRow {
    std::string_view base;
    CodePipe pipe;
    double flop = 0.0;
    double issues = 1.0;
    Delay delay = Delay::fixed;
};

using enum CodePipe;

// Half-rate instructions take two slots of their pipe.
constexpr std::array opcode_rows{
    OpcodeRow{"FFMA", fma, 2.0},
    OpcodeRow{"FFMA32I", fma, 2.0},
    OpcodeRow{"FADD", fma, 1.0},
    OpcodeRow{"FADD32I", fma, 1.0},
    OpcodeRow{"FMUL", fma, 1.0},
    OpcodeRow{"FMUL32I", fma, 1.0},
    OpcodeRow{"HFMA2", fma, 4.0},
    OpcodeRow{"HFMA2_32I", fma, 4.0},
    OpcodeRow{"HADD2", fma, 2.0},
    OpcodeRow{"HADD2_32I", fma, 2.0},
    OpcodeRow{"HMUL2", fma, 2.0},
    OpcodeRow{"HMUL2_32I", fma, 2.0},
    OpcodeRow{"FFMA2", fma, 4.0},
    OpcodeRow{"FADD2", fma, 2.0},
    OpcodeRow{"FMUL2", fma, 2.0},
    OpcodeRow{"IMAD", fma, 0.0, 2.0},
    OpcodeRow{"IMUL", fma, 0.0, 2.0},
    OpcodeRow{"IDP", fma, 0.0, 2.0},
    OpcodeRow{"DFMA", fp64, 2.0, 1.0, Delay::special},
    OpcodeRow{"DADD", fp64, 1.0, 1.0, Delay::special},
    OpcodeRow{"DMUL", fp64, 1.0, 1.0, Delay::special},
    OpcodeRow{"DSETP", fp64, 0.0, 1.0, Delay::special},
    OpcodeRow{"DMNMX", fp64, 0.0, 1.0, Delay::special},
    OpcodeRow{"MUFU", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"I2F", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"F2I", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"F2F", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"FRND", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"POPC", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"FLO", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"BREV", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"HMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"IMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"DMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"QMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"HGMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"IGMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"QGMMA", tensor, 0.0, 1.0, Delay::tensor},
    OpcodeRow{"LDG", lsu, 0.0, 1.0, Delay::global},
    OpcodeRow{"STG", lsu},
    OpcodeRow{"LD", lsu, 0.0, 1.0, Delay::global},
    OpcodeRow{"ST", lsu},
    OpcodeRow{"LDL", lsu, 0.0, 1.0, Delay::shared},
    OpcodeRow{"STL", lsu},
    OpcodeRow{"LDS", lsu, 0.0, 1.0, Delay::shared},
    OpcodeRow{"STS", lsu},
    OpcodeRow{"LDSM", lsu, 0.0, 1.0, Delay::shared},
    OpcodeRow{"STSM", lsu},
    OpcodeRow{"LDGSTS", lsu},
    OpcodeRow{"LDGDEPBAR", lsu},
    OpcodeRow{"ATOM", lsu, 0.0, 1.0, Delay::global},
    OpcodeRow{"ATOMG", lsu, 0.0, 1.0, Delay::global},
    OpcodeRow{"ATOMS", lsu, 0.0, 1.0, Delay::shared},
    OpcodeRow{"RED", lsu},
    OpcodeRow{"REDG", lsu},
    OpcodeRow{"SHFL", lsu, 0.0, 1.0, Delay::shared},
    OpcodeRow{"LDC", uniform, 0.0, 1.0, Delay::constant},
    OpcodeRow{"S2R", alu, 0.0, 1.0, Delay::constant},
    OpcodeRow{"S2UR", uniform, 0.0, 1.0, Delay::constant},
    OpcodeRow{"R2UR", uniform},
    OpcodeRow{"REDUX", xu, 0.0, 1.0, Delay::special},
    OpcodeRow{"VOTE", alu},
    OpcodeRow{"MATCH", lsu, 0.0, 1.0, Delay::special},
    OpcodeRow{"BRA", branch},
    OpcodeRow{"BRX", branch},
    OpcodeRow{"EXIT", branch},
    OpcodeRow{"RET", branch},
    OpcodeRow{"CALL", branch},
    OpcodeRow{"BSSY", branch},
    OpcodeRow{"BSYNC", branch},
    OpcodeRow{"BREAK", branch},
    OpcodeRow{"BMOV", branch},
    OpcodeRow{"WARPSYNC", branch},
    OpcodeRow{"YIELD", branch},
    OpcodeRow{"NANOSLEEP", branch},
    OpcodeRow{"KILL", branch},
    OpcodeRow{"BPT", branch},
    OpcodeRow{"NOP", branch},
    OpcodeRow{"BAR", branch},
    OpcodeRow{"DEPBAR", branch},
    OpcodeRow{"MEMBAR", branch},
    OpcodeRow{"ERRBAR", branch},
    OpcodeRow{"FENCE", branch},
    OpcodeRow{"CCTL", branch},
    OpcodeRow{"SYNCS", branch, 0.0, 1.0, Delay::shared},
    OpcodeRow{"WARPGROUP", branch},
    OpcodeRow{"PLOP3", alu},
    OpcodeRow{"ACQBULK", branch},
    OpcodeRow{"ELECT", alu},
    OpcodeRow{"USETMAXREG", branch},
    OpcodeRow{"UTMALDG", copy_engine},
    OpcodeRow{"UTMASTG", copy_engine},
    OpcodeRow{"UTMAREDG", copy_engine},
    OpcodeRow{"UTMACMDFLUSH", copy_engine},
    OpcodeRow{"UTMACCTL", copy_engine},
    OpcodeRow{"UBLKCP", copy_engine},
};

constexpr std::array on_alu{
    "IADD3",  "IADD",     "IADD32I",   "LOP3",  "LOP",       "LEA",    "SHF",         "SHL",
    "SHR",    "ISETP",    "FSETP",     "FMNMX", "FMNMX3",    "IMNMX",  "VIMNMX",      "VIMNMX3",
    "SEL",    "FSEL",     "PRMT",      "MOV",   "MOV32I",    "IABS",   "R2P",         "P2R",
    "CS2R",   "BMSK",     "SGXT",      "VIADD", "VIADDMNMX", "ISCADD", "HSETP2",      "HSET2",
    "HMNMX2", "F2FP",     "I2FP",      "I2I",   "I2IP",      "F2IP",   "FSWZADD",     "FCHK",
    "LEPC",   "VABSDIFF", "VABSDIFF4", "FSET",  "ISET",      "PSETP",  "GETLMEMBASE", "VHMNMX"};

/// "16816" of "HMMA.16816.F32", "64x128x16" of "HGMMA.64x128x16.F32"; FLOP of a warp.
double tensor_flop(const Instruction& instruction) {
    std::string_view rest = instruction.opcode;
    while (rest.find('.') != rest.npos) {
        rest.remove_prefix(rest.find('.') + 1);
        const std::string_view word = rest.substr(0, rest.find('.'));
        if (word.empty() || word.front() < '0' || word.front() > '9') continue;
        std::array<double, 3> sizes{};
        if (word.find('x') != word.npos) {
            const char* at = word.data();
            const char* const end = word.data() + word.size();
            for (double& size : sizes) {
                int number = 0;
                at = std::from_chars(at, end, number).ptr;
                size = number;
                if (at != end && *at == 'x') ++at;
            }
            constexpr double warps = 4.0;  // all of a group issue it
            return 2.0 * sizes[0] * sizes[1] * sizes[2] / warps;
        }
        // Digits run together: m has one or two, n one, the rest is k.
        const std::size_t first = word.starts_with("16") ? 2 : 1;
        if (word.size() < first + 2) continue;
        const auto number = [](std::string_view digits) {
            int value = 0;
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
            return static_cast<double>(value);
        };
        return 2.0 * number(word.substr(0, first)) * number(word.substr(first, 1)) *
               number(word.substr(first + 1));
    }
    return 0.0;
}

double width_of(const Instruction& instruction) {
    if (instruction.base() == "LDSM" || instruction.base() == "STSM") {
        return instruction.has("4") ? 16.0 : instruction.has("2") ? 8.0 : 4.0;
    }
    if (instruction.has("128")) return 16.0;
    if (instruction.has("64")) return 8.0;
    for (const char* const one : {"U8", "S8"}) {
        if (instruction.has(one)) return 1.0;
    }
    for (const char* const two : {"U16", "S16"}) {
        if (instruction.has(two)) return 2.0;
    }
    return 4.0;
}

void set_memory(Meaning& meaning, const Instruction& instruction) {
    const std::string_view base = instruction.base();
    if (base == "SHFL" || base == "MATCH" || base == "LDGDEPBAR") return;
    meaning.bytes = width_of(instruction);
    meaning.is_store = base.starts_with("ST") || base.starts_with("RED");
    meaning.is_atomic = base.starts_with("ATOM") || base.starts_with("RED");
    meaning.is_copy = base == "LDGSTS";
    const bool shared =
        base == "LDS" || base == "STS" || base == "LDSM" || base == "STSM" || base == "ATOMS";
    meaning.space = shared                           ? Space::shared
                    : base == "LDL" || base == "STL" ? Space::local
                                                     : Space::global;
}

/// A register is set to a constant by arithmetic on zeros.
bool is_constant(const Instruction& instruction) {
    return instruction.operands.find("RZ, RZ") != std::string::npos;
}

}  // namespace

std::string_view name_of(CodePipe pipe) {
    constexpr std::array<std::string_view, code_pipe_count> names{
        "fma",    "alu",     "fp64",   "special functions", "load and store",
        "tensor", "uniform", "branch", "copy engine",       "not known"};
    return names.at(static_cast<std::size_t>(pipe));
}

Meaning meaning_of(const Instruction& instruction) {
    const std::string_view base = instruction.base();
    Meaning meaning;
    const auto row = std::find_if(opcode_rows.begin(), opcode_rows.end(),
                                  [base](const OpcodeRow& each) { return each.base == base; });
    if (row != opcode_rows.end()) {
        meaning.pipe = row->pipe;
        meaning.issues = row->issues;
        meaning.flop = is_constant(instruction) ? 0.0 : row->flop;
        meaning.delay = row->delay;
    } else if (std::find(on_alu.begin(), on_alu.end(), base) != on_alu.end()) {
        meaning.pipe = alu;
    } else if (base.starts_with("U")) {
        meaning.pipe = uniform;
    }
    meaning.is_barrier = base == "BAR";
    meaning.has_flop_type_double = meaning.pipe == fp64;
    if (meaning.pipe == lsu) set_memory(meaning, instruction);
    if (meaning.pipe == tensor) meaning.tensor_flop = tensor_flop(instruction);
    return meaning;
}

}  // namespace ridge::kernel
