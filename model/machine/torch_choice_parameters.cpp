#include "model/machine/torch_choice_parameters.h"

#include <array>

#include "model/machine/machine.h"

namespace ridge::model {
namespace {

using enum Origin;
using enum Need;

constexpr hardware::Range size{1.0, 1e12};
constexpr hardware::Range ratio{1e-3, 1e3};

template <auto member>
constexpr auto of_choice = [](auto& machine) {
    return machine.torch_product ? &(machine.torch_product->choice.*member) : nullptr;
};
template <auto member, class Set>
constexpr Section<Set> choice(std::string_view path, std::string_view title,
                              std::span<const Parameter<Set>> table) {
    return section<Set, of_choice<member>>(path, title, table);
}

// clang-format off
constexpr std::array dots_rows_of_choice{
    parameter<&DotsChoice::batch_depth>("batch_depth", size, "batches: elements of k above", everywhere(measured), required),
    parameter<&DotsChoice::batch_fewest>("batch_fewest", size, "batches: results above", everywhere(measured), required),
    parameter<&DotsChoice::batch_most>("batch_most", size, "batches: results, at most", everywhere(measured), required),
    parameter<&DotsChoice::bias_results>("bias_results", size, "with a bias: results, above which rows alone decide", everywhere(measured), required),
    parameter<&DotsChoice::bias_rows>("bias_rows", size, "with a bias and more results: rows, at most", everywhere(measured), required),
    parameter<&DotsChoice::bias_depth>("bias_depth", size, "with a bias and fewer results: elements of k, at most", everywhere(measured), required),
    parameter<&DotsChoice::bias_few_rows>("bias_few_rows", size, "with a bias: rows, at most, whatever k", everywhere(measured), required),
    parameter<&DotsChoice::bias_shape>("bias_shape", ratio, "with a bias: k over n, at most", everywhere(measured), required),
    parameter<&DotsChoice::few_rows>("few_rows", size, "rows, at most, that count as few", everywhere(measured), required),
    parameter<&DotsChoice::few_columns>("few_columns", size, "few rows: columns above which the size of B decides", everywhere(measured), required),
    parameter<&DotsChoice::few_weights>("few_weights", size, "few rows: elements of B, at most", everywhere(measured), required),
    parameter<&DotsChoice::few_depth>("few_depth", size, "few rows and columns: elements of k, at most", everywhere(measured), required),
    parameter<&DotsChoice::short_depth>("short_depth", size, "elements of k, at most, that count as short", everywhere(measured), required),
    parameter<&DotsChoice::short_weights>("short_weights", size, "short k: elements of B, at most", everywhere(measured), required),
    parameter<&DotsChoice::most_rows>("most_rows", size, "rows, at most", everywhere(measured), required),
    parameter<&DotsChoice::most_columns>("most_columns", size, "columns, at most", everywhere(measured), required),
    parameter<&DotsChoice::fewest_weights>("fewest_weights", size, "elements of B above", everywhere(measured), required),
};
constexpr std::array dots_choice{choice<&TorchChoice::dots, DotsChoice>("torch.choice.dots", "which products of few rows of fp32, B by columns, are dot products", dots_rows_of_choice)};

constexpr std::array walks_rows_of_choice{
    parameter<&WalkChoice::batch_weights>("batch_weights", size, "batches: elements of B above", everywhere(measured), required),
    parameter<&WalkChoice::batch_rows>("batch_rows", size, "batches: rows, at most", everywhere(measured), required),
    parameter<&WalkChoice::batch_results>("batch_results", size, "batches of more rows: results above", everywhere(measured), required),
    parameter<&WalkChoice::bias_depth>("bias_depth", size, "with a bias: elements of k above which it is deep", everywhere(measured), required),
    parameter<&WalkChoice::bias_shape>("bias_shape", ratio, "with a bias, deep: k over n, at most", everywhere(measured), required),
    parameter<&WalkChoice::bias_results>("bias_results", size, "with a bias, deep: results, at most", everywhere(measured), required),
    parameter<&WalkChoice::bias_rows>("bias_rows", size, "with a bias: rows, at most, that count as few", everywhere(measured), required),
    parameter<&WalkChoice::bias_few_shape>("bias_few_shape", ratio, "with a bias, few rows: k over n, at most", everywhere(measured), required),
    parameter<&WalkChoice::bias_few_weights>("bias_few_weights", size, "with a bias, few rows: or elements of B, at most", everywhere(measured), required),
    parameter<&WalkChoice::bias_fewest>("bias_fewest", size, "with a bias, more rows: results above", everywhere(measured), required),
    parameter<&WalkChoice::bias_weights>("bias_weights", size, "with a bias, more rows: or elements of B, at most", everywhere(measured), required),
    parameter<&WalkChoice::flat>("flat", ratio, "k over n, at most, that counts as flat", everywhere(measured), required),
    parameter<&WalkChoice::flat_results>("flat_results", size, "flat: results, at most", everywhere(measured), required),
    parameter<&WalkChoice::flat_depth>("flat_depth", size, "flat: or elements of k, at most", everywhere(measured), required),
    parameter<&WalkChoice::middle>("middle", ratio, "k over n, at most, between flat and deep", everywhere(measured), required),
    parameter<&WalkChoice::middle_columns>("middle_columns", size, "between: columns above which results decide", everywhere(measured), required),
    parameter<&WalkChoice::middle_results>("middle_results", size, "between: results, at most", everywhere(measured), required),
    parameter<&WalkChoice::middle_weights>("middle_weights", size, "between, fewer columns: elements of B, at most", everywhere(measured), required),
    parameter<&WalkChoice::deep_depth>("deep_depth", size, "deep: elements of k, at most", everywhere(measured), required),
    parameter<&WalkChoice::deep_results>("deep_results", size, "deep: or results above", everywhere(measured), required),
    parameter<&WalkChoice::deep_weights>("deep_weights", size, "deep: and elements of B, at most", everywhere(measured), required),
};
constexpr std::array walks_choice{choice<&TorchChoice::walks, WalkChoice>("torch.choice.walk", "which products of few rows of fp32, B by rows, walk along k", walks_rows_of_choice)};

constexpr std::array walk_threads_rows_of_choice{
    parameter<&WalkThreadsChoice::long_depth>("long_depth", size, "elements of k above which a block has more threads", everywhere(measured), required),
    parameter<&WalkThreadsChoice::batch_columns>("batch_columns", size, "batches: columns of all above which it has them too", everywhere(measured), required),
    parameter<&WalkThreadsChoice::one_block>("one_block", size, "rows, at most, of one block", everywhere(measured), required),
    parameter<&WalkThreadsChoice::two_blocks>("two_blocks", size, "rows, at most, of two", everywhere(measured), required),
};
constexpr std::array walk_threads_choice{choice<&TorchChoice::walk_threads, WalkThreadsChoice>("torch.choice.walk_threads", "how products that walk along k are cut", walk_threads_rows_of_choice)};

constexpr std::array thin_columns_rows_of_choice{
    parameter<&ThinColumnsChoice::batch_columns>("batch_columns", size, "batches: columns of all above which tensor cores are not used", everywhere(measured), required),
    parameter<&ThinColumnsChoice::batch_depth>("batch_depth", size, "batches: elements of k above which they are dot products", everywhere(measured), required),
    parameter<&ThinColumnsChoice::batch_results>("batch_results", size, "batches: results, at most, of dot products", everywhere(measured), required),
    parameter<&ThinColumnsChoice::flat>("flat", size, "n over k, from which on k is whole", everywhere(measured), required),
    parameter<&ThinColumnsChoice::deep>("deep", size, "elements of k above which it is cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_rows>("few_rows", size, "rows, at most, that count as few", everywhere(measured), required),
    parameter<&ThinColumnsChoice::narrow>("narrow", size, "columns, at most, that count as narrow", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_depth>("few_depth", size, "few rows: elements of k, at most, that stay whole", everywhere(measured), required),
    parameter<&ThinColumnsChoice::most_rows>("most_rows", size, "rows of dot products, at most", everywhere(measured), required),
    parameter<&ThinColumnsChoice::most_results>("most_results", size, "results above which they are dot products", everywhere(measured), required),
};
constexpr std::array thin_columns_choice{choice<&TorchChoice::thin_columns, ThinColumnsChoice>("torch.choice.bf16_columns", "kernels of few rows of bf16 at odd bytes, B by columns", thin_columns_rows_of_choice)};

constexpr std::array thin_rows_rows_of_choice{
    parameter<&ThinRowsChoice::short_depth>("short_depth", size, "elements of k, at most, that are not cut", everywhere(measured), required),
    parameter<&ThinRowsChoice::walk_results>("walk_results", size, "short k: results, at most, that walk along it", everywhere(measured), required),
    parameter<&ThinRowsChoice::wide>("wide", size, "columns above which k is not cut into slices", everywhere(measured), required),
    parameter<&ThinRowsChoice::walk_rows>("walk_rows", size, "many columns: rows, at most, that walk along k", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_columns>("slice_columns", size, "slices: columns, at least", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_depth>("slice_depth", size, "slices: elements of k above", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_shape>("slice_shape", ratio, "slices: k over n, at most", everywhere(measured), required),
};
constexpr std::array thin_rows_choice{choice<&TorchChoice::thin_rows, ThinRowsChoice>("torch.choice.bf16_rows", "kernels of few rows of bf16 at odd bytes, B by rows", thin_rows_rows_of_choice)};

constexpr std::array halves_rows_of_choice{
    parameter<&HalvesChoice::deep>("deep", size, "B by columns: elements of k above which it is cut", everywhere(measured), required),
    parameter<&HalvesChoice::most_columns>("most_columns", size, "B by columns: columns, at most, with which it is", everywhere(measured), required),
    parameter<&HalvesChoice::fewest_weights>("fewest_weights", size, "B by columns: elements of B above which it is", everywhere(measured), required),
    parameter<&HalvesChoice::rows_deep>("rows_deep", size, "B by rows: elements of k above which it is cut", everywhere(measured), required),
    parameter<&HalvesChoice::rows_flat>("rows_flat", size, "B by rows: n over k, below which it is", everywhere(measured), required),
    parameter<&HalvesChoice::walk_rows>("walk_rows", size, "B by rows: rows, at most, that walk along k", everywhere(measured), required),
};
constexpr std::array halves_choice{choice<&TorchChoice::halves, HalvesChoice>("torch.choice.fp16", "kernels of few rows of fp16 at odd bytes", halves_rows_of_choice)};

constexpr std::array cuts_rows_of_choice{
    parameter<&PartsChoice::small_columns>("small_columns", size, "B by columns: elements of B, at most, that count as small", everywhere(measured), required),
    parameter<&PartsChoice::small_rows_fp16>("small_rows_fp16", size, "B by rows, fp16: the same", everywhere(measured), required),
    parameter<&PartsChoice::small_rows>("small_rows", size, "B by rows, bf16: the same", everywhere(measured), required),
    parameter<&PartsChoice::columns_depth>("columns_depth", size, "small B by columns: elements of k for each vector of a part", everywhere(measured), required),
    parameter<&PartsChoice::rows_depth>("rows_depth", size, "the same of B by rows", everywhere(measured), required),
    parameter<&PartsChoice::thin_columns>("thin_columns", size, "slices: columns, at most, with which they are of one instruction", everywhere(measured), required),
    parameter<&PartsChoice::thin_depth>("thin_depth", size, "slices: elements of k below which they are", everywhere(measured), required),
    parameter<&PartsChoice::few_tiles>("few_tiles", size, "slices: tiles, at most, that count as few", everywhere(measured), required),
    parameter<&PartsChoice::few_slices>("few_slices", size, "slices of few tiles, at most", everywhere(measured), required),
    parameter<&PartsChoice::most_slices>("most_slices", size, "slices, at most", everywhere(measured), required),
};
constexpr std::array cuts_choice{choice<&TorchChoice::cuts, PartsChoice>("torch.choice.parts", "into how many parts k is cut in products of few rows of 16 bits", cuts_rows_of_choice)};

constexpr std::array crumbs_rows_of_choice{
    parameter<&CrumbsChoice::most_work>("most_work", size, "multiply-adds, at most", everywhere(measured), required),
    parameter<&CrumbsChoice::least_depth>("least_depth", size, "elements of k, at least", everywhere(measured), required),
    parameter<&CrumbsChoice::least_rows>("least_rows", size, "rows, at least, where more columns than a narrow result has", everywhere(measured), required),
    parameter<&CrumbsChoice::narrow>("narrow", size, "columns, at most, of a narrow result", everywhere(measured), required),
    parameter<&CrumbsChoice::narrow_rows>("narrow_rows", size, "B by rows, narrow results: rows, at least", everywhere(measured), required),
    parameter<&CrumbsChoice::columns_264>("columns_264", size, "columns, at most, of 264 parts", everywhere(measured), required),
    parameter<&CrumbsChoice::columns_132>("columns_132", size, "B by columns: columns, at most, of 132 parts", everywhere(measured), required),
    parameter<&CrumbsChoice::columns_66>("columns_66", size, "B by columns: columns, at most, of 66 parts", everywhere(measured), required),
    parameter<&CrumbsChoice::square_rows>("square_rows", size, "B by columns, square tiles: rows, at most", everywhere(measured), required),
    parameter<&CrumbsChoice::square_columns>("square_columns", size, "B by columns, square tiles: columns, at most", everywhere(measured), required),
};
constexpr std::array crumbs_choice{choice<&TorchChoice::crumbs, CrumbsChoice>("torch.choice.crumbs", "which small products of fp32 are cut into crumbs", crumbs_rows_of_choice)};

constexpr std::array integer_tiles_rows_of_choice{
    parameter<&IntegerChoice::few>("few", ratio, "tiles of 64 x 64 over multiprocessors, below which they stay so small", everywhere(measured), required),
    parameter<&IntegerChoice::large>("large", ratio, "tiles of 256 x 128 over multiprocessors, from which on odd k has them", everywhere(measured), required),
};
constexpr std::array integer_tiles_choice{choice<&TorchChoice::integer_tiles, IntegerChoice>("torch.choice.integer", "which tiles products of int8 take", integer_tiles_rows_of_choice)};

// clang-format on

}  // namespace

const TorchChoiceSections& torch_choice_sections() {
    static const TorchChoiceSections all{
        dots_choice,   walks_choice, walk_threads_choice, thin_columns_choice, thin_rows_choice,
        halves_choice, cuts_choice,  crumbs_choice,       integer_tiles_choice};
    return all;
}

}  // namespace ridge::model
