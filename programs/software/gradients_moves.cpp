// Gradients of rows that were gathered, chosen or joined.
#include <algorithm>
#include <bit>

#include "programs/software/recorder.h"

namespace ridge::programs {

/// index_put with accumulation: indices are made positive, multiplied and divided by strides,
/// numbered and radix-sorted. Up to 2304 indices are sorted by one block; more need a histogram,
/// its sums and a pass for every eight bits of the largest index.
void Recorder::backward_gather(TapeEntry& entry, Buffer gradient) {
    const auto [rows, columns, table_rows, unused] = entry.sizes;
    Buffer whole = made(Math::fill, table_rows * columns, entry.type, entry.name);
    for (int step = 0; step < 4; ++step) small("index_put: indices", rows * 16);
    constexpr std::int64_t one_block = 2304;
    const auto bits = static_cast<std::int64_t>(
        std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(table_rows - 1, 1))));
    const std::int64_t passes = rows <= one_block ? 1 : 2 + ceil_divide(bits, 8);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
        small("index_put: sort", rows * 32, time_cost("least.index_sort_pass"));
    }
    pointwise(Math::copy, rows * columns, 1, Reading::indexed, entry.type, entry.type, entry.name);
    gradient.reset();
    accumulate(entry.inputs[0], std::move(whole));
}

/// The gradient of keys that were joined from their own part and a part that all heads share: the
/// shared part is copied out, cleared and summed over the heads; the own part is copied out.
void Recorder::backward_assembled(TapeEntry& entry, Buffer gradient) {
    const std::int64_t own = entry.sizes[0];
    const std::int64_t shared = entry.sizes[1];
    const std::int64_t few = entry.sizes[2];
    Buffer each = allocate(shared, entry.type, entry.name);
    pointwise(Math::copy, shared, 1, Reading::indexed, entry.type, entry.type, entry.name);
    pointwise(Math::fill, shared, 0, Reading::vectors, entry.type, entry.type, entry.name);
    pointwise(Math::copy, shared, 1, Reading::indexed, entry.type, entry.type, entry.name);
    Buffer first = allocate(own, entry.type, entry.name);
    pointwise(Math::copy, own, 1, Reading::indexed, entry.type, entry.type, entry.name);
    gradient.reset();
    Buffer sum = allocate(few, entry.type, entry.name);
    rows_kernel(KernelKind::row_sum, few, shared / few, entry.type, entry.name);
    each.reset();
    accumulate(entry.inputs[0], std::move(first));
    accumulate(entry.inputs[1], std::move(sum));
}

/// The gradient of chosen elements is scattered into zeros. The gradient of weights divided by
/// their sum takes three quotients, a negation, a product, a sum and a broadcast of the sum.
void Recorder::backward_picked(TapeEntry& entry, Buffer gradient) {
    const std::int64_t elements = entry.sizes[0];
    Buffer out;
    if (entry.step == Step::picked) {
        out = made(Math::fill, elements, entry.type, entry.name);
        small(entry.name, entry.sizes[1] * 12, time_cost("least.picked"));
    } else {
        out = allocate(elements, entry.type, entry.name);
        for (int step = 0; step < 7; ++step) small(entry.name, elements * 12);
    }
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[0], std::move(out));
}

}  // namespace ridge::programs
