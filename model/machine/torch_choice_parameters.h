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
    std::int64_t batch_depth = 0;     ///< batches: k must exceed this
    std::int64_t batch_fewest = 0;    ///< batches: number of results must exceed this
    std::int64_t batch_most = 0;      ///< batches: largest number of results
    std::int64_t bias_results = 0;    ///< with a bias: number of results above which rows alone
                                      ///< decide
    std::int64_t bias_rows = 0;       ///< with a bias and more results: largest number of rows
    std::int64_t bias_depth = 0;      ///< with a bias and fewer results: largest k
    std::int64_t bias_few_rows = 0;   ///< with a bias: largest number of rows, whatever k
    double bias_shape = 0.0;          ///< with a bias: largest k over n
    std::int64_t few_rows = 0;        ///< largest number of rows that counts as few
    std::int64_t few_columns = 0;     ///< few rows: number of columns above which the size of B
                                      ///< decides
    std::int64_t few_weights = 0;     ///< few rows: largest number of elements of B
    std::int64_t few_depth = 0;       ///< few rows and columns: largest k
    std::int64_t short_depth = 0;     ///< largest k that counts as short
    std::int64_t short_weights = 0;   ///< short k: largest number of elements of B
    std::int64_t most_rows = 0;       ///< largest number of rows
    std::int64_t most_columns = 0;    ///< largest number of columns
    std::int64_t fewest_weights = 0;  ///< number of elements of B must exceed this
};

/// Which products of few rows of fp32, B by rows, walk along k: `model.torch.choice.walk`.
struct WalkChoice {
    std::int64_t batch_weights = 0;     ///< batches: number of elements of B must exceed this
    std::int64_t batch_rows = 0;        ///< batches: largest number of rows
    std::int64_t batch_results = 0;     ///< batches of more rows: number of results must exceed
                                        ///< this
    std::int64_t bias_depth = 0;        ///< with a bias: k above which it counts as deep
    double bias_shape = 0.0;            ///< with a bias, deep: largest k over n
    std::int64_t bias_results = 0;      ///< with a bias, deep: largest number of results
    std::int64_t bias_rows = 0;         ///< with a bias: largest number of rows that counts as few
    double bias_few_shape = 0.0;        ///< with a bias, few rows: largest k over n
    std::int64_t bias_few_weights = 0;  ///< with a bias, few rows: or largest number of elements of
                                        ///< B
    std::int64_t bias_fewest = 0;       ///< with a bias, more rows: number of results must exceed
                                        ///< this
    std::int64_t bias_weights = 0;      ///< with a bias, more rows: or largest number of elements
                                        ///< of B
    double flat = 0.0;                  ///< largest k over n that counts as flat
    std::int64_t flat_results = 0;      ///< flat: largest number of results
    std::int64_t flat_depth = 0;        ///< flat: or largest k
    double middle = 0.0;                ///< largest k over n that lies between flat and deep
    std::int64_t middle_columns = 0;    ///< between: number of columns above which results decide
    std::int64_t middle_results = 0;    ///< between: largest number of results
    std::int64_t middle_weights = 0;    ///< between, fewer columns: largest number of elements of B
    std::int64_t deep_depth = 0;        ///< deep: largest k
    std::int64_t deep_results = 0;      ///< deep: or number of results must exceed this
    std::int64_t deep_weights = 0;      ///< deep: and largest number of elements of B
};

/// How products that walk along k are cut: `model.torch.choice.walk_threads`.
struct WalkThreadsChoice {
    std::int64_t long_depth = 0;     ///< k above which a block has more threads
    std::int64_t batch_columns = 0;  ///< batches: number of columns in all above which a block has
                                     ///< more threads
    std::int64_t one_block = 0;      ///< largest number of rows that one block takes
    std::int64_t two_blocks = 0;     ///< largest number of rows that two blocks take
};

/// Kernels of few rows of bf16 at odd bytes, B by columns: `model.torch.choice.bf16_columns`.
struct ThinColumnsChoice {
    std::int64_t batch_columns =
        0;  ///< batches: number of columns in all above which tensor cores are not used
    std::int64_t batch_depth = 0;    ///< batches: k above which they are dot products
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
    std::int64_t walk_results = 0;   ///< short k: largest number of results that walk along it
    std::int64_t wide = 0;           ///< number of columns above which k is not cut into slices
    std::int64_t walk_rows = 0;      ///< many columns: largest number of rows that walk along k
    std::int64_t slice_columns = 0;  ///< slices: least number of columns
    std::int64_t slice_depth = 0;    ///< slices: k must exceed this
    double slice_shape = 0.0;        ///< slices: largest k over n
};

/// Kernels of few rows of fp16 at odd bytes: `model.torch.choice.fp16`.
struct HalvesChoice {
    std::int64_t deep = 0;            ///< B by columns: k above which it is cut
    std::int64_t most_columns = 0;    ///< B by columns: largest number of columns with which k is
                                      ///< cut
    std::int64_t fewest_weights = 0;  ///< B by columns: number of elements of B above which k is
                                      ///< cut
    std::int64_t rows_deep = 0;       ///< B by rows: k above which it is cut
    std::int64_t rows_flat = 0;       ///< B by rows: n over k below which k is cut
    std::int64_t walk_rows = 0;       ///< B by rows: largest number of rows that walk along k
};

/// Into how many parts k is cut in products of few rows of 16 bits: `model.torch.choice.parts`.
struct PartsChoice {
    std::int64_t small_columns = 0;  ///< B by columns: largest number of elements of B that counts
                                     ///< as small
    std::int64_t small_rows_fp16 = 0;  ///< B by rows, fp16: the same
    std::int64_t small_rows = 0;       ///< B by rows, bf16: the same
    std::int64_t columns_depth =
        0;                        ///< small B by columns: elements of k for each vector of a part
    std::int64_t rows_depth = 0;  ///< the same for B by rows
    std::int64_t thin_columns =
        0;  ///< slices: largest number of columns with which they are one instruction wide
    std::int64_t thin_depth = 0;   ///< slices: k below which they are one instruction wide
    std::int64_t few_tiles = 0;    ///< slices: largest number of tiles that counts as few
    std::int64_t few_slices = 0;   ///< largest number of slices with few tiles
    std::int64_t most_slices = 0;  ///< largest number of slices
};

/// Which small products of fp32 are cut finely along k: `model.torch.choice.fine_splits`.
struct FineSplitsChoice {
    std::int64_t most_work = 0;       ///< largest number of multiply-adds
    std::int64_t least_depth = 0;     ///< least k
    std::int64_t least_rows = 0;      ///< least number of rows when the result is not narrow
    std::int64_t narrow = 0;          ///< largest number of columns of a narrow result
    std::int64_t narrow_rows = 0;     ///< B by rows, narrow results: least number of rows
    std::int64_t columns_264 = 0;     ///< largest number of columns for 264 parts
    std::int64_t columns_132 = 0;     ///< B by columns: largest number of columns for 132 parts
    std::int64_t columns_66 = 0;      ///< B by columns: largest number of columns for 66 parts
    std::int64_t square_rows = 0;     ///< B by columns, square tiles: largest number of rows
    std::int64_t square_columns = 0;  ///< B by columns, square tiles: largest number of columns
};

/// Which tiles products of int8 take: `model.torch.choice.integer`.
struct IntegerChoice {
    double few = 0.0;    ///< tiles of 64 x 64 over multiprocessors, below which these small tiles
                         ///< are used
    double large = 0.0;  ///< tiles of 256 x 128 over multiprocessors, from which on they are used
                         ///< if k is odd
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
