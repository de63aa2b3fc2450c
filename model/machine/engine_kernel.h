// Kernels of engines on a GPU: what a software file says of one (`EngineRecipe`), and the values of its
// law for this GPU (`EngineKernel`).
//
//   [[kernel]]                                             # software/vllm-0.24.0/software.toml
//   name = "CutlassFP8ScaledMMLinearKernel"                # as the engine calls it; the field `kernel`
//   parameters = "fp8"                                     # model.engine.tiled_product.vllm.fp8
//   operations = ["matmul"]
//   types = ["fp8"]
//   capabilities = ["9.0"]
//   when = "n % 16 == 0"                                   # optional
//   law = "tiled_product"
//   always = "copies = 6, quantise = 1"                    # attributes of the law (engine_law.h)
//   dispatch = [                                           # the first line that holds decides
//       "rows = 64, columns = 16, depth = 256, step = 1, when m <= 16",
//       "rows = 128, columns = 128, depth = 128, step = 2",
//   ]
//
// Expressions are those of `hardware/whole_expression.h` over the operation's fields (counts; words of
// types as 'bf16') and `sms`, `capability` (90 for 9.0) and `l2_kib` of the GPU. Fields that are not
// set are 0, and given(FIELD) says whether one is.
//
// Limits: a condition sees the operation as asked, with defaults filled in by nobody; of attention,
// kv_heads, seq_q and seq_kv are always there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "hardware/error.h"
#include "hardware/whole_expression.h"
#include "model/core/fields.h"
#include "model/core/operation.h"
#include "model/core/software_choice.h"
#include "model/machine/engine_law.h"
#include "model/machine/evidence.h"
#include "model/machine/residual_parameters.h"

namespace ridge::model {

struct Machine;

/// What the expressions of kernels are evaluated over: the values of an operation on a GPU.
struct EngineSymbols {
    static constexpr std::size_t count = field_count + 3;
    std::array<std::int64_t, count> values{};
    SymbolValues fields;  ///< which fields are given

    EngineSymbols(const Operation& operation, const Machine& machine);
    [[nodiscard]] Scope scope() const { return {.symbols = values, .fields = &fields}; }
};

/// Expressions of a software file, and how they are read.
class EngineExpressions {
  public:
    /// Adds one; returns its root. InputError with the place.
    [[nodiscard]] std::int32_t add(std::string_view text, const Location& place);
    /// Adds "rows = 64, depth = 2 * k, when m <= 16" for a law: a root for each attribute, -1 for those
    /// that the line does not name, and the condition last (-1: none).
    [[nodiscard]] std::vector<std::int32_t> add_line(std::string_view line, const LawInfo& law,
                                                     const Location& place);
    /// The expression that was added last.
    [[nodiscard]] std::int32_t last() const { return static_cast<std::int32_t>(nodes_.size()) - 1; }
    [[nodiscard]] std::int64_t value(std::int32_t root, const EngineSymbols& symbols) const {
        return evaluate(nodes_, root, symbols.scope());
    }

  private:
    ExpressionNodes nodes_;
};

struct EngineRecipe {
    KernelChoice name;
    std::string key;      ///< "fp8"
    std::string section;  ///< model.engine.tiled_product.vllm.fp8
    std::size_t law = 0;  ///< in `law_table()`
    EngineExpressions expressions;
    std::vector<std::int32_t> always;                 ///< as `EngineExpressions::add_line`
    std::vector<std::vector<std::int32_t>> dispatch;  ///< the same; at least one line

    /// The attributes for an operation; false if no line of the dispatch holds.
    [[nodiscard]] bool attributes(const EngineSymbols& symbols, LawAttributes& values) const;
};

struct EngineKernel {
    std::shared_ptr<const EngineRecipe> recipe;
    LawValues values{};       ///< in the order of its law's parameters
    double band_below = 0.0;  ///< in ln; 0: no file states any
    double band_above = 0.0;
    Evidence evidence = Evidence::foreign;  ///< the strongest of its values: fits may hold some
    bool known = false;                     ///< whether any file states a value
    std::shared_ptr<const KernelCorrection> correction{};  ///< null: none
};

/// The kernel with the values that the description has.
[[nodiscard]] EngineKernel read_engine_kernel(std::shared_ptr<const EngineRecipe> recipe,
                                              const hardware::Description& gpu);

/// Attributes of a law by name, for its function: `attribute(law, "rows")` at start, then an index.
[[nodiscard]] std::size_t attribute_index(std::span<const LawAttribute> attributes,
                                          std::string_view name);

}  // namespace ridge::model
