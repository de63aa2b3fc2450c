// A kernel's name as its author would write it.
//
//   short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
//                     "<float>, std::array<char*, 3>>(int, float)")
//       // "vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, array<...>>"
//
// Method: the return type, the parameters and the namespaces go; templates within templates are
// folded. A name without these, such as one of cuBLAS or Triton, stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace ridge::kernel {

[[nodiscard]] std::string short_kernel_name(std::string_view name);

}  // namespace ridge::kernel
