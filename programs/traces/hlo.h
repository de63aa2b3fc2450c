// What compiled programs of XLA (HloProto) say of the kernels that ran: the shapes that each fusion and each call of
// a library reads and writes, and the product within.
//
//   HloModules modules;
//   const std::string damage = modules.add(bytes);            // of one HloProto; empty: all was read
//   modules.find("jit_step", "loop_add_fusion_1")->operands;  // of the instruction "loop_add_fusion.1"
//   modules.find("jit_step", "loop_add_fusion_1")->inputs;    // as an operator's: types|dims|strides|values
//
// Method: kernels are named after their instructions, with '_' for '.' and '-'. The kernels of libraries are not: their
// instructions are `library_calls`, in the order in which the schedule runs them. Operands of a product are given as
// [m, k] and [k, n], behind a batch if there is one, with the strides that their layout has, so that products of all
// frameworks look alike. The last value says what the call is: "hlo product library", "hlo product fusion" (and
// "tf32", which XLA takes for fp32 unless the program asks for more), "hlo traffic" (operands and results, each once)
// or "hlo parts" (the same, of which only parts may be read or written).
//
// Limits: fusions and calls of libraries only. A fusion whose places in a tensor depend on data (gather, scatter,
// dynamic slices) is such parts. Of two instructions of one name, in programs of one name, nothing is known if they
// differ. A damaged program gives what stood before the damage.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::programs {

struct HloShape {
    std::int64_t type = 0;  ///< PrimitiveType of xla_data.proto
    std::vector<std::int64_t> dims{};
    std::int64_t minor = -1;  ///< the dimension whose elements are neighbours; -1: the last one
};

/// A dot: which dimensions of its operands it sums over, and which are its batch.
struct HloDot {
    HloShape a{};
    HloShape b{};
    std::vector<std::int64_t> a_sum{};
    std::vector<std::int64_t> b_sum{};
    std::vector<std::int64_t> a_batch{};
    std::vector<std::int64_t> b_batch{};
    bool exact = false;  ///< fp32 may not be rounded to tf32
};

struct HloInstruction {
    std::string name;    ///< "loop_add_fusion.1"
    std::string opcode;  ///< "fusion", "custom-call"
    std::string target;  ///< of a custom call
    std::vector<HloShape> operands{};
    std::vector<HloShape> results{};
    std::optional<HloDot> dot{};
    bool whole = false;  ///< it reads all of its operands and writes all of its results, once
    std::string inputs;  ///< empty: not known
};

class HloModules {
  public:
    /// Adds a program. Returns what is damaged, "hlo_module.computations[2].instructions[7] (...)".
    std::string add(std::string_view proto);

    /// Null if there is none, or several that differ. The name is the instruction's or the kernel's.
    [[nodiscard]] const HloInstruction* find(std::string_view module, std::string_view name) const;
    [[nodiscard]] bool knows(std::string_view module) const;
    /// Empty if the program is not known, or several of that name have such calls.
    [[nodiscard]] std::vector<const HloInstruction*> library_calls(std::string_view module) const;

  private:
    struct Module {
        std::map<std::string, HloInstruction, std::less<>> instructions{};
        std::vector<std::string> library_calls{};
    };
    std::map<std::string, Module, std::less<>> modules_;
};

}  // namespace ridge::programs
