// What a change of a whole program must save to be named, as a share of its kernels' time; from
// software/pytorch-2.11/costs.toml.
//
//   if (saved < all * least_change()) return;
#pragma once

namespace ridge::programs {

[[nodiscard]] double least_change();

}  // namespace ridge::programs
