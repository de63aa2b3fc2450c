// The times of the laws of engine kernels.
//
//   const LawTime time = time_of(call);
//
// Each law is a function over a call; the kernel's recipe says which (`model/machine/engine_law.h`).
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime time_of(const LawCall& call);

}  // namespace ridge::model
