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
    parameter<&DotsChoice::batch_depth>("batch_depth", size, "batches: k must exceed this", everywhere(measured), required),
    parameter<&DotsChoice::bias_rows>("bias_rows", size, "with a bias: largest number of rows, whatever else", everywhere(measured), required),
    parameter<&DotsChoice::bias_results>("bias_results", size, "with a bias: largest number of results", everywhere(measured), required),
    parameter<&DotsChoice::bias_depth>("bias_depth", size, "with a bias: largest k", everywhere(measured), required),
    parameter<&DotsChoice::bias_shape>("bias_shape", ratio, "with a bias: or largest k over n", everywhere(measured), required),
    parameter<&DotsChoice::few_rows>("few_rows", size, "largest number of rows that counts as few", everywhere(measured), required),
    parameter<&DotsChoice::few_columns>("few_columns", size, "few rows: number of columns above which k does not matter", everywhere(measured), required),
    parameter<&DotsChoice::few_depth>("few_depth", size, "few rows and columns: largest k", everywhere(measured), required),
    parameter<&DotsChoice::short_depth>("short_depth", size, "largest k that counts as short", everywhere(measured), required),
    parameter<&DotsChoice::short_weights>("short_weights", size, "short k: largest number of elements of B", everywhere(measured), required),
    parameter<&DotsChoice::most_rows>("most_rows", size, "largest number of rows", everywhere(measured), required),
    parameter<&DotsChoice::most_columns>("most_columns", size, "largest number of columns", everywhere(measured), required),
};
constexpr std::array dots_choice{choice<&TorchChoice::dots, DotsChoice>("torch.choice.dots", "which products of few rows of fp32, B by columns, are dot products", dots_rows_of_choice)};

constexpr std::array walks_rows_of_choice{
    parameter<&WalkChoice::bias_shape>("bias_shape", ratio, "with a bias: largest k over n", everywhere(measured), required),
    parameter<&WalkChoice::bias_weights>("bias_weights", size, "with a bias: or largest number of elements of B", everywhere(measured), required),
};
constexpr std::array walks_choice{choice<&TorchChoice::walks, WalkChoice>("torch.choice.walk", "which products of few rows of fp32 with a bias, B by rows, walk along k", walks_rows_of_choice)};

constexpr std::array walk_threads_rows_of_choice{
    parameter<&WalkThreadsChoice::long_depth>("long_depth", size, "k above which a block has more threads", everywhere(measured), required),
    parameter<&WalkThreadsChoice::one_block>("one_block", size, "largest number of rows that one block takes", everywhere(measured), required),
};
constexpr std::array walk_threads_choice{choice<&TorchChoice::walk_threads, WalkThreadsChoice>("torch.choice.walk_threads", "how products that walk along k are cut", walk_threads_rows_of_choice)};

constexpr std::array thin_columns_rows_of_choice{
    parameter<&ThinColumnsChoice::batch_columns>("batch_columns", size, "batches: number of columns in all above which tensor cores are not used", everywhere(measured), required),
    parameter<&ThinColumnsChoice::batch_results>("batch_results", size, "batches: largest number of results of dot products", everywhere(measured), required),
    parameter<&ThinColumnsChoice::flat>("flat", size, "least n over k for which k is not cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::deep>("deep", size, "k above which it is cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_rows>("few_rows", size, "largest number of rows that counts as few", everywhere(measured), required),
    parameter<&ThinColumnsChoice::narrow>("narrow", size, "largest number of columns that counts as narrow", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_depth>("few_depth", size, "few rows: largest k that is not cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::most_rows>("most_rows", size, "largest number of rows of dot products", everywhere(measured), required),
    parameter<&ThinColumnsChoice::most_results>("most_results", size, "number of results above which they are dot products", everywhere(measured), required),
};
constexpr std::array thin_columns_choice{choice<&TorchChoice::thin_columns, ThinColumnsChoice>("torch.choice.bf16_columns", "kernels of few rows of bf16 at odd bytes, B by columns", thin_columns_rows_of_choice)};

constexpr std::array thin_rows_rows_of_choice{
    parameter<&ThinRowsChoice::short_depth>("short_depth", size, "largest k that is not cut", everywhere(measured), required),
    parameter<&ThinRowsChoice::wide>("wide", size, "number of columns above which k is not cut into slices", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_columns>("slice_columns", size, "slices: least number of columns", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_depth>("slice_depth", size, "slices: k must exceed this", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_shape>("slice_shape", ratio, "slices: largest k over n", everywhere(measured), required),
};
constexpr std::array thin_rows_choice{choice<&TorchChoice::thin_rows, ThinRowsChoice>("torch.choice.bf16_rows", "kernels of few rows of bf16 at odd bytes, B by rows", thin_rows_rows_of_choice)};

constexpr std::array halves_rows_of_choice{
    parameter<&HalvesChoice::deep>("deep", size, "B by columns: k above which it is cut", everywhere(measured), required),
    parameter<&HalvesChoice::fewest_weights>("fewest_weights", size, "B by columns: number of elements of B above which k is cut", everywhere(measured), required),
    parameter<&HalvesChoice::rows_deep>("rows_deep", size, "B by rows: k above which it is cut", everywhere(measured), required),
    parameter<&HalvesChoice::walk_rows>("walk_rows", size, "B by rows: largest number of rows that walk along k", everywhere(measured), required),
};
constexpr std::array halves_choice{choice<&TorchChoice::halves, HalvesChoice>("torch.choice.fp16", "kernels of few rows of fp16 at odd bytes", halves_rows_of_choice)};

constexpr std::array cuts_rows_of_choice{
    parameter<&PartsChoice::small>("small", size, "largest number of elements of B that counts as small", everywhere(measured), required),
    parameter<&PartsChoice::small_rows>("small_rows", size, "the same for bf16, B by rows", everywhere(measured), required),
    parameter<&PartsChoice::columns_depth>("columns_depth", size, "small B by columns: elements of k for each vector of a part", everywhere(measured), required),
    parameter<&PartsChoice::rows_depth>("rows_depth", size, "the same for B by rows", everywhere(measured), required),
    parameter<&PartsChoice::thin_columns>("thin_columns", size, "slices: largest number of columns with which they are one instruction wide", everywhere(measured), required),
    parameter<&PartsChoice::most_slices>("most_slices", size, "largest number of slices", everywhere(measured), required),
};
constexpr std::array cuts_choice{choice<&TorchChoice::cuts, PartsChoice>("torch.choice.parts", "into how many parts k is cut in products of few rows of 16 bits", cuts_rows_of_choice)};

constexpr std::array fine_splits_rows_of_choice{
    parameter<&FineSplitsChoice::most_work>("most_work", size, "largest number of multiply-adds", everywhere(measured), required),
    parameter<&FineSplitsChoice::least_depth>("least_depth", size, "least k", everywhere(measured), required),
    parameter<&FineSplitsChoice::least_rows>("least_rows", size, "least number of rows when the result is not narrow", everywhere(measured), required),
    parameter<&FineSplitsChoice::narrow>("narrow", size, "largest number of columns of a narrow result", everywhere(measured), required),
    parameter<&FineSplitsChoice::columns_264>("columns_264", size, "largest number of columns for 264 parts", everywhere(measured), required),
    parameter<&FineSplitsChoice::square_columns>("square_columns", size, "B by columns, square tiles: largest number of columns", everywhere(measured), required),
};
constexpr std::array fine_splits_choice{choice<&TorchChoice::fine_splits, FineSplitsChoice>("torch.choice.fine_splits", "which small products of fp32 are cut finely along k", fine_splits_rows_of_choice)};

constexpr std::array integer_tiles_rows_of_choice{
    parameter<&IntegerChoice::few>("few", ratio, "tiles of 64 x 64 over multiprocessors, below which these small tiles are used", everywhere(measured), required),
};
constexpr std::array integer_tiles_choice{choice<&TorchChoice::integer_tiles, IntegerChoice>("torch.choice.integer", "which tiles products of int8 take", integer_tiles_rows_of_choice)};

// clang-format on

}  // namespace

const TorchChoiceSections& torch_choice_sections() {
    static const TorchChoiceSections all{
        dots_choice,   walks_choice, walk_threads_choice, thin_columns_choice, thin_rows_choice,
        halves_choice, cuts_choice,  fine_splits_choice,  integer_tiles_choice};
    return all;
}

}  // namespace ridge::model
