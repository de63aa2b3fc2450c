// Costs of the compiled code of PyTorch's products: clocks of a multiprocessor, lane slots of its
// vector pipes and factors on the library's parameters. They are the same on every GPU (equations
// M25 and M26 of docs/model.md).
//
//   machine.torch_product->dots.result   // clocks of a block's results
//
// The fields are `model.torch.product.*` in `software/pytorch-2.11/software.toml`, from which
// architectures inherit them. `ridge fit kernels` determines them from records. The rules by which
// the library chooses a kernel are in `model/matmul/torch_few_rows.cpp`.
#pragma once

#include <span>
#include <tuple>

#include "hardware/description.h"
#include "model/machine/parameter.h"
#include "model/machine/torch_choice_parameters.h"

namespace ridge::model {

/// Factors on the parameters of a library's products, and clocks of their start. (eq. M25)
struct ProductCode {
    double start = 0.0;  ///< additional clocks
    double k_step = 1.0;
    double issue = 1.0;
    double store = 1.0;
    double second_kernel = 1.0;
};

/// A kernel with int8 operands and int32 results, which runs tiles one after the other. (eq. M25)
struct IntegerTileCode {
    double step = 0.0;   ///< clocks along k
    double store = 0.0;  ///< clocks
    double start = 0.0;  ///< clocks
};

/// Values that these kernels have in common.
struct IntegerCode {
    double warm = 0.0;  ///< clocks saved
    double last_round = 0.0;
};

/// Few rows, B by rows: a block forms 64 columns and walks along k. (eq. M26)
struct WalkCode {
    double step = 0.0;    ///< in loads
    double slots = 0.0;   ///< of a multiply-add
    double unpack = 0.0;  ///< of an element of B
};

/// Values that these kernels have in common.
struct WalksCode {
    double start = 0.0;  ///< clocks
    double overlap = 1.0;
};

/// Few rows, B by columns: a block forms 8 columns as dot products. (eq. M26)
struct DotsCode {
    double two = 0.0;  ///< a load of the variant for two rows, in loads
    double four = 0.0;
    double six = 0.0;
    double eight = 0.0;
    double ten = 0.0;         ///< also fourteen, and three rows in the variant for four
    double result = 0.0;      ///< clocks
    double slots = 0.0;       ///< of a multiply-add
    double half_slots = 0.0;  ///< of a multiply-add
    double moved = 1.0;
    double rounds = 1.0;
};

/// 16 bits at odd bytes: tiles of tensor cores that hold all rows. (eq. M26)
struct ThinTileCode {
    double step = 0.0;    ///< in loads
    double result = 0.0;  ///< clocks
    double slots = 0.0;   ///< of an element of B
};

/// Values that these tiles have in common, and slices of k that add up one after the other. (eq.
/// M26)
struct ThinTilesCode {
    double lanes = 0.0;    ///< slots of an element of B without tensor cores
    double sum = 0.0;      ///< clocks
    double part = 0.0;     ///< clocks
    double slice = 0.0;    ///< clocks
    double element = 0.0;  ///< clocks
};

/// One row: B is read once. (eq. M26)
struct VectorCode {
    double l2 = 0.0;     ///< over the time of the traffic through the L2
    double start = 0.0;  ///< clocks
    double walk = 0.0;   ///< loads per 1000 elements along k, which count by their square root
};

/// Products that are cut into more parts than k has steps. (eq. M26)
struct FineSplitsCode {
    double start = 0.0;   ///< clocks
    double part = 0.0;    ///< clocks of each part
    double narrow = 0.0;  ///< clocks for 176 parts of narrow results
};

/// Values that all products have in common. (eq. M25, M26)
struct ProductsCode {
    double turn_around = 0.0;  ///< time of a line written back, over its time at DRAM bandwidth
    double vector_dram = 0.0;  ///< over the time of the DRAM traffic
};

struct TorchProductCode {
    ProductCode eight_bit, odd_columns, odd_rows, single, tf32, tf32_odd;
    IntegerTileCode small_tiles, tall_tiles, small_unaligned, tall_unaligned, odd_results,
        integer_rows;
    IntegerCode integer;
    WalkCode short_walk, long_walk, short_walk_16bit, long_walk_16bit;
    WalksCode walk;
    DotsCode dots;
    ThinTileCode thin_fp16, thin_bf16;
    ThinTilesCode thin;
    VectorCode vector_columns, vector_rows, vector_columns_16bit, vector_rows_16bit;
    FineSplitsCode fine_splits;
    ProductsCode common;
    TorchChoice choice;
};

using TorchProductSections =
    std::tuple<std::span<const Section<ProductCode>>, std::span<const Section<IntegerTileCode>>,
               std::span<const Section<IntegerCode>>, std::span<const Section<WalkCode>>,
               std::span<const Section<WalksCode>>, std::span<const Section<DotsCode>>,
               std::span<const Section<ThinTileCode>>, std::span<const Section<ThinTilesCode>>,
               std::span<const Section<VectorCode>>, std::span<const Section<FineSplitsCode>>,
               std::span<const Section<ProductsCode>>>;

/// The sections `model.torch.product`, of machines that have `torch_product`.
[[nodiscard]] const TorchProductSections& torch_product_sections();

/// Reads the values into a machine; none if the description lacks one of the fields.
void resolve_torch_product(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
