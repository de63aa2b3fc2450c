// Extents of weights that products like less than a slightly larger one: a vocabulary of 50257 as 50304, heads of 65 as 72.
//
//   for (const Padding& padding : paddings_of(rows, machine)) padding.times[3];   // the kernels of row 3 take 0.2 of their time
//
// Method (docs/model.md S17). Kernels read 16 bytes at once, so an extent of a weight that is no multiple of them is tried with
// the next multiple of 128, 64, 32, 16 and 8 elements, in all calls that have this extent; a smaller one must save 2 % more. Heads are
// tried by the next multiple of 8, with all extents that are made of them; the copies and fills with which PyTorch pads them
// for its kernels go.
//
// Limits: an extent that something else has too by chance (words of a sentence) grows with it. What the padded columns hold is
// the program's business (logits of words that do not exist must not win).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

struct Padding {
    std::string what;
    std::int64_t calls = 0;       ///< that change
    std::vector<double> times{};  ///< of each row: its new time over the present one
};

[[nodiscard]] std::vector<Padding> paddings_of(const Rows& rows, const model::Machine& machine);

}  // namespace ridge::programs
