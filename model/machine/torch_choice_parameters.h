// Sizes at which cuBLAS, as PyTorch 2.11 calls it, chooses another kernel for products of few rows
// and of int8. They were read off the names of recorded kernels
// (software/pytorch-2.11/software.toml).
//
//   op.k > code.choice.dots.batch_depth
//
// The costs of the kernels are in `torch_product_parameters.h`. Limits: one version of the library
// on sm_90.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "model/machine/parameter.h"

namespace ridge::model {

/// Which products of few rows of fp32, B by columns, are dot products: `model.torch.choice.dots`.
struct DotsChoice {
    std::int64_t batch_depth = 0;    ///< batches: k must exceed this
    std::int64_t bias_rows = 0;      ///< with a bias: largest number of rows, whatever else
    std::int64_t bias_results = 0;   ///< with a bias: largest number of results
    std::int64_t bias_depth = 0;     ///< with a bias: largest k
    double bias_shape = 0.0;         ///< with a bias: or largest k over n
    std::int64_t few_rows = 0;       ///< largest number of rows that counts as few
    std::int64_t few_columns = 0;    ///< few rows: number of columns above which k does not matter
    std::int64_t few_depth = 0;      ///< few rows and columns: largest k
    std::int64_t short_depth = 0;    ///< largest k that counts as short
    std::int64_t short_weights = 0;  ///< short k: largest number of elements of B
    std::int64_t most_rows = 0;      ///< largest number of rows
    std::int64_t most_columns = 0;   ///< largest number of columns
};

/// Which products of few rows of fp32 with a bias, B by rows, walk along k: `model.torch.choice.walk`.
struct WalkChoice {
    double bias_shape = 0.0;        ///< largest k over n
    std::int64_t bias_weights = 0;  ///< or largest number of elements of B
};

/// How products that walk along k are cut: `model.torch.choice.walk_threads`.
struct WalkThreadsChoice {
    std::int64_t long_depth = 0;  ///< k above which a block has more threads
    std::int64_t one_block = 0;   ///< largest number of rows that one block takes
};

/// Kernels of few rows of bf16 at odd bytes, B by columns: `model.torch.choice.bf16_columns`.
struct ThinColumnsChoice {
    std::int64_t batch_columns =
        0;  ///< batches: number of columns in all above which tensor cores are not used
    std::int64_t batch_results = 0;  ///< batches: largest number of results of dot products
    std::int64_t flat = 0;           ///< least n over k for which k is not cut
    std::int64_t deep = 0;           ///< k above which it is cut
    std::int64_t few_rows = 0;       ///< largest number of rows that counts as few
    std::int64_t narrow = 0;         ///< largest number of columns that counts as narrow
    std::int64_t few_depth = 0;      ///< few rows: largest k that is not cut
    std::int64_t most_rows = 0;      ///< largest number of rows of dot products
    std::int64_t most_results = 0;   ///< number of results above which they are dot products
};

/// Kernels of few rows of bf16 at odd bytes, B by rows: `model.torch.choice.bf16_rows`.
struct ThinRowsChoice {
    std::int64_t short_depth = 0;    ///< largest k that is not cut
    std::int64_t wide = 0;           ///< number of columns above which k is not cut into slices
    std::int64_t slice_columns = 0;  ///< slices: least number of columns
    std::int64_t slice_depth = 0;    ///< slices: k must exceed this
    double slice_shape = 0.0;        ///< slices: largest k over n
};

/// Kernels of few rows of fp16 at odd bytes: `model.torch.choice.fp16`.
struct HalvesChoice {
    std::int64_t deep = 0;  ///< B by columns: k above which it is cut
    std::int64_t fewest_weights =
        0;                       ///< B by columns: number of elements of B above which k is cut
    std::int64_t rows_deep = 0;  ///< B by rows: k above which it is cut
    std::int64_t walk_rows = 0;  ///< B by rows: largest number of rows that walk along k
};

/// Into how many parts k is cut in products of few rows of 16 bits: `model.torch.choice.parts`.
struct PartsChoice {
    std::int64_t small_rows = 0;  ///< the same for bf16, B by rows
    std::int64_t small = 0;       ///< largest number of elements of B that counts as small
    std::int64_t columns_depth =
        0;                        ///< small B by columns: elements of k for each vector of a part
    std::int64_t rows_depth = 0;  ///< the same for B by rows
    std::int64_t thin_columns =
        0;  ///< slices: largest number of columns with which they are one instruction wide
    std::int64_t most_slices = 0;  ///< largest number of slices
};

/// Which small products of fp32 are cut finely along k: `model.torch.choice.fine_splits`.
struct FineSplitsChoice {
    std::int64_t most_work = 0;       ///< largest number of multiply-adds
    std::int64_t least_depth = 0;     ///< least k
    std::int64_t least_rows = 0;      ///< least number of rows when the result is not narrow
    std::int64_t narrow = 0;          ///< largest number of columns of a narrow result
    std::int64_t columns_264 = 0;     ///< largest number of columns for 264 parts
    std::int64_t square_columns = 0;  ///< B by columns, square tiles: largest number of columns
};

/// Which tiles products of int8 take: `model.torch.choice.integer`.
struct IntegerChoice {
    double few = 0.0;  ///< tiles of 64 x 64 over multiprocessors, below which these small tiles
                       ///< are used
};

struct TorchChoice {
    DotsChoice dots{};
    WalkChoice walks{};
    WalkThreadsChoice walk_threads{};
    ThinColumnsChoice thin_columns{};
    ThinRowsChoice thin_rows{};
    HalvesChoice halves{};
    PartsChoice cuts{};
    FineSplitsChoice fine_splits{};
    IntegerChoice integer_tiles{};
};

using TorchChoiceSections =
    std::tuple<std::span<const Section<DotsChoice>>, std::span<const Section<WalkChoice>>,
               std::span<const Section<WalkThreadsChoice>>,
               std::span<const Section<ThinColumnsChoice>>,
               std::span<const Section<ThinRowsChoice>>, std::span<const Section<HalvesChoice>>,
               std::span<const Section<PartsChoice>>, std::span<const Section<FineSplitsChoice>>,
               std::span<const Section<IntegerChoice>>>;

/// The sections `model.torch.choice`, of machines that have `torch_product`.
[[nodiscard]] const TorchChoiceSections& torch_choice_sections();

}  // namespace ridge::model
