// At which sizes cuBLAS chooses another kernel for products of few rows and of int8, as PyTorch 2.11 calls it:
// numbers read off the names of recorded kernels (hardware/kernels/pytorch-2.11.toml).
//
//   op.k > code.choice.dots.batch_depth
//
// What the kernels cost is in `torch_product_parameters.h`. Limits: of one version of the library on sm_90.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "model/machine/parameter.h"

namespace ridge::model {

/// Which products of few rows of fp32, B by columns, are dot products: `model.torch.choice.dots`.
struct DotsChoice {
    std::int64_t batch_depth = 0;     ///< batches: elements of k above
    std::int64_t batch_fewest = 0;    ///< batches: results above
    std::int64_t batch_most = 0;      ///< batches: results, at most
    std::int64_t bias_results = 0;    ///< with a bias: results, above which rows alone decide
    std::int64_t bias_rows = 0;       ///< with a bias and more results: rows, at most
    std::int64_t bias_depth = 0;      ///< with a bias and fewer results: elements of k, at most
    std::int64_t bias_few_rows = 0;   ///< with a bias: rows, at most, whatever k
    double bias_shape = 0.0;          ///< with a bias: k over n, at most
    std::int64_t few_rows = 0;        ///< rows, at most, that count as few
    std::int64_t few_columns = 0;     ///< few rows: columns above which the size of B decides
    std::int64_t few_weights = 0;     ///< few rows: elements of B, at most
    std::int64_t few_depth = 0;       ///< few rows and columns: elements of k, at most
    std::int64_t short_depth = 0;     ///< elements of k, at most, that count as short
    std::int64_t short_weights = 0;   ///< short k: elements of B, at most
    std::int64_t most_rows = 0;       ///< rows, at most
    std::int64_t most_columns = 0;    ///< columns, at most
    std::int64_t fewest_weights = 0;  ///< elements of B above
};

/// Which products of few rows of fp32, B by rows, walk along k: `model.torch.choice.walk`.
struct WalkChoice {
    std::int64_t batch_weights = 0;     ///< batches: elements of B above
    std::int64_t batch_rows = 0;        ///< batches: rows, at most
    std::int64_t batch_results = 0;     ///< batches of more rows: results above
    std::int64_t bias_depth = 0;        ///< with a bias: elements of k above which it is deep
    double bias_shape = 0.0;            ///< with a bias, deep: k over n, at most
    std::int64_t bias_results = 0;      ///< with a bias, deep: results, at most
    std::int64_t bias_rows = 0;         ///< with a bias: rows, at most, that count as few
    double bias_few_shape = 0.0;        ///< with a bias, few rows: k over n, at most
    std::int64_t bias_few_weights = 0;  ///< with a bias, few rows: or elements of B, at most
    std::int64_t bias_fewest = 0;       ///< with a bias, more rows: results above
    std::int64_t bias_weights = 0;      ///< with a bias, more rows: or elements of B, at most
    double flat = 0.0;                  ///< k over n, at most, that counts as flat
    std::int64_t flat_results = 0;      ///< flat: results, at most
    std::int64_t flat_depth = 0;        ///< flat: or elements of k, at most
    double middle = 0.0;                ///< k over n, at most, between flat and deep
    std::int64_t middle_columns = 0;    ///< between: columns above which results decide
    std::int64_t middle_results = 0;    ///< between: results, at most
    std::int64_t middle_weights = 0;    ///< between, fewer columns: elements of B, at most
    std::int64_t deep_depth = 0;        ///< deep: elements of k, at most
    std::int64_t deep_results = 0;      ///< deep: or results above
    std::int64_t deep_weights = 0;      ///< deep: and elements of B, at most
};

/// How products that walk along k are cut: `model.torch.choice.walk_threads`.
struct WalkThreadsChoice {
    std::int64_t long_depth = 0;     ///< elements of k above which a block has more threads
    std::int64_t batch_columns = 0;  ///< batches: columns of all above which it has them too
    std::int64_t one_block = 0;      ///< rows, at most, of one block
    std::int64_t two_blocks = 0;     ///< rows, at most, of two
};

/// Kernels of few rows of bf16 at odd bytes, B by columns: `model.torch.choice.bf16_columns`.
struct ThinColumnsChoice {
    std::int64_t batch_columns =
        0;  ///< batches: columns of all above which tensor cores are not used
    std::int64_t batch_depth = 0;    ///< batches: elements of k above which they are dot products
    std::int64_t batch_results = 0;  ///< batches: results, at most, of dot products
    std::int64_t flat = 0;           ///< n over k, from which on k is whole
    std::int64_t deep = 0;           ///< elements of k above which it is cut
    std::int64_t few_rows = 0;       ///< rows, at most, that count as few
    std::int64_t narrow = 0;         ///< columns, at most, that count as narrow
    std::int64_t few_depth = 0;      ///< few rows: elements of k, at most, that stay whole
    std::int64_t most_rows = 0;      ///< rows of dot products, at most
    std::int64_t most_results = 0;   ///< results above which they are dot products
};

/// Kernels of few rows of bf16 at odd bytes, B by rows: `model.torch.choice.bf16_rows`.
struct ThinRowsChoice {
    std::int64_t short_depth = 0;    ///< elements of k, at most, that are not cut
    std::int64_t walk_results = 0;   ///< short k: results, at most, that walk along it
    std::int64_t wide = 0;           ///< columns above which k is not cut into slices
    std::int64_t walk_rows = 0;      ///< many columns: rows, at most, that walk along k
    std::int64_t slice_columns = 0;  ///< slices: columns, at least
    std::int64_t slice_depth = 0;    ///< slices: elements of k above
    double slice_shape = 0.0;        ///< slices: k over n, at most
};

/// Kernels of few rows of fp16 at odd bytes: `model.torch.choice.fp16`.
struct HalvesChoice {
    std::int64_t deep = 0;            ///< B by columns: elements of k above which it is cut
    std::int64_t most_columns = 0;    ///< B by columns: columns, at most, with which it is
    std::int64_t fewest_weights = 0;  ///< B by columns: elements of B above which it is
    std::int64_t rows_deep = 0;       ///< B by rows: elements of k above which it is cut
    std::int64_t rows_flat = 0;       ///< B by rows: n over k, below which it is
    std::int64_t walk_rows = 0;       ///< B by rows: rows, at most, that walk along k
};

/// Into how many parts k is cut in products of few rows of 16 bits: `model.torch.choice.parts`.
struct PartsChoice {
    std::int64_t small_columns = 0;  ///< B by columns: elements of B, at most, that count as small
    std::int64_t small_rows_fp16 = 0;  ///< B by rows, fp16: the same
    std::int64_t small_rows = 0;       ///< B by rows, bf16: the same
    std::int64_t columns_depth =
        0;                        ///< small B by columns: elements of k for each vector of a part
    std::int64_t rows_depth = 0;  ///< the same of B by rows
    std::int64_t thin_columns =
        0;  ///< slices: columns, at most, with which they are of one instruction
    std::int64_t thin_depth = 0;   ///< slices: elements of k below which they are
    std::int64_t few_tiles = 0;    ///< slices: tiles, at most, that count as few
    std::int64_t few_slices = 0;   ///< slices of few tiles, at most
    std::int64_t most_slices = 0;  ///< slices, at most
};

/// Which small products of fp32 are cut into crumbs: `model.torch.choice.crumbs`.
struct CrumbsChoice {
    std::int64_t most_work = 0;    ///< multiply-adds, at most
    std::int64_t least_depth = 0;  ///< elements of k, at least
    std::int64_t least_rows = 0;   ///< rows, at least, where more columns than a narrow result has
    std::int64_t narrow = 0;       ///< columns, at most, of a narrow result
    std::int64_t narrow_rows = 0;  ///< B by rows, narrow results: rows, at least
    std::int64_t columns_264 = 0;  ///< columns, at most, of 264 parts
    std::int64_t columns_132 = 0;  ///< B by columns: columns, at most, of 132 parts
    std::int64_t columns_66 = 0;   ///< B by columns: columns, at most, of 66 parts
    std::int64_t square_rows = 0;  ///< B by columns, square tiles: rows, at most
    std::int64_t square_columns = 0;  ///< B by columns, square tiles: columns, at most
};

/// Which tiles products of int8 take: `model.torch.choice.integer`.
struct IntegerChoice {
    double few = 0.0;    ///< tiles of 64 x 64 over multiprocessors, below which they stay so small
    double large = 0.0;  ///< tiles of 256 x 128 over multiprocessors, from which on odd k has them
};

struct TorchChoice {
    DotsChoice dots{};
    WalkChoice walks{};
    WalkThreadsChoice walk_threads{};
    ThinColumnsChoice thin_columns{};
    ThinRowsChoice thin_rows{};
    HalvesChoice halves{};
    PartsChoice cuts{};
    CrumbsChoice crumbs{};
    IntegerChoice integer_tiles{};
};

using TorchChoiceSections =
    std::tuple<std::span<const Section<DotsChoice>>, std::span<const Section<WalkChoice>>,
               std::span<const Section<WalkThreadsChoice>>,
               std::span<const Section<ThinColumnsChoice>>,
               std::span<const Section<ThinRowsChoice>>, std::span<const Section<HalvesChoice>>,
               std::span<const Section<PartsChoice>>, std::span<const Section<CrumbsChoice>>,
               std::span<const Section<IntegerChoice>>>;

/// `model.torch.choice`, of machines that have `torch_product`.
[[nodiscard]] const TorchChoiceSections& torch_choice_sections();

}  // namespace ridge::model
