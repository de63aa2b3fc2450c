// One call of an ATen operator: its name and its arguments with their shapes, types and strides, as
// a profiler or a dispatch mode records them.
//
//   const Call call = parse_call("aten::mm", R"(["c10::BFloat16","c10::BFloat16"]|[[8,4],[4,2]]|)"
//                                            R"([[4,1],[1,4]]|["",""])");
//   call.tensor(0)->dims;      // {8, 4}
//   call.tensor(1)->strides;   // {1, 4}: the transpose of a [2, 4] matrix
//
// The four lists are the profiler's `Input type`, `Input Dims`, `Input Strides` and `Concrete
// Inputs`. A profiler records no type for a list of tensors (`TensorList`), so the tensors of such
// a list have the type `unknown`; a dispatch mode writes "TensorList torch.float32".
// Text that does not parse gives an argument without tensors; malformed input never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/core/data_type.h"

namespace ridge::programs {

/// Element types of PyTorch, including those for which ridge has no arithmetic.
enum class ElementType : std::uint8_t {
    unknown,
    fp64,
    fp32,
    fp16,
    bf16,
    fp8,
    int64,
    int32,
    int16,
    int8,
    boolean,
    complex64,
    complex128
};

/// Bytes of one element; 0 when unknown.
[[nodiscard]] std::int64_t size_of(ElementType type);
[[nodiscard]] std::string_view name_of(ElementType type);
/// Parses C++ types as the profiler writes them ("c10::BFloat16", "float", "long int") and
/// "torch.bfloat16".
[[nodiscard]] ElementType parse_element_type(std::string_view text);
/// The type with which the model computes: floating types are unchanged, integers are mapped by
/// size.
[[nodiscard]] model::DataType data_type(ElementType type);

struct Tensor {
    ElementType type = ElementType::unknown;
    std::vector<std::int64_t> dims{};
    std::vector<std::int64_t> strides{};  ///< empty when not recorded: assumed contiguous

    /// Elements by shape; 1 for a scalar tensor.
    [[nodiscard]] std::int64_t elements() const;
    /// Elements in memory: a broadcast (stride 0) dimension counts once.
    [[nodiscard]] std::int64_t stored_elements() const;
    [[nodiscard]] std::int64_t bytes() const { return stored_elements() * size_of(type); }
    /// Row-major without gaps; dimensions of one element are ignored.
    [[nodiscard]] bool contiguous() const;
    /// Without gaps, with dimensions in any order.
    [[nodiscard]] bool dense() const;
};

struct Argument {
    std::vector<Tensor> tensors{};  ///< one for a tensor, several for a list, none otherwise
    bool list = false;
    std::string value{};  ///< text of a scalar or a list of scalars: "1", "[-1]", "True"
};

struct Call {
    std::string name;  ///< "aten::mm"
    std::vector<Argument> arguments;

    /// The tensor at a place; null if there is none.
    [[nodiscard]] const Tensor* tensor(std::size_t place) const;
    [[nodiscard]] std::string_view value(std::size_t place) const;
    [[nodiscard]] std::optional<std::int64_t> whole(std::size_t place) const;
    [[nodiscard]] bool flag(std::size_t place) const;
    /// "[-1]", "[0, 1]" as numbers.
    [[nodiscard]] std::vector<std::int64_t> wholes(std::size_t place) const;
    /// The tensors of all arguments, including those in lists.
    [[nodiscard]] std::vector<const Tensor*> tensors() const;
};

/// "aten::add_" and "aten::add.Tensor" give "add"; a leading '_' stays.
[[nodiscard]] std::string_view bare_operator(std::string_view name);

[[nodiscard]] Call parse_call(std::string_view name, std::string_view inputs);

/// "[2048,2048] x [2048,512] bf16": the shapes of the tensors, and the type if all share one.
[[nodiscard]] std::string shape_text(const Call& call);

}  // namespace ridge::programs
