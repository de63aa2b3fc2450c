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
    parameter<&DotsChoice::bias_results>("bias_results", size, "with a bias: largest number of results", everywhere(measured), required),
    parameter<&DotsChoice::bias_depth>("bias_depth", size, "with a bias: largest k", everywhere(measured), required),
    parameter<&DotsChoice::few_rows>("few_rows", size, "largest number of rows that counts as few", everywhere(measured), required),
    parameter<&DotsChoice::few_columns>("few_columns", size, "few rows: number of columns above which k does not matter", everywhere(measured), required),
    parameter<&DotsChoice::few_depth>("few_depth", size, "few rows and columns: largest k", everywhere(measured), required),
    parameter<&DotsChoice::most_rows>("most_rows", size, "largest number of rows", everywhere(measured), required),
    parameter<&DotsChoice::most_columns>("most_columns", size, "largest number of columns", everywhere(measured), required),
};
constexpr std::array dots_choice{choice<&TorchChoice::dots, DotsChoice>("torch.choice.dots", "which products of few rows of fp32, B by columns, are dot products", dots_rows_of_choice)};

constexpr std::array walk_threads_rows_of_choice{
    parameter<&WalkThreadsChoice::long_depth>("long_depth", size, "k above which a block has more threads", everywhere(measured), required),
    parameter<&WalkThreadsChoice::one_block>("one_block", size, "largest number of rows that one block takes", everywhere(measured), required),
    parameter<&WalkThreadsChoice::two_blocks>("two_blocks", size, "largest number of rows that two blocks take", everywhere(measured), required),
};
constexpr std::array walk_threads_choice{choice<&TorchChoice::walk_threads, WalkThreadsChoice>("torch.choice.walk_threads", "how products that walk along k are cut", walk_threads_rows_of_choice)};

constexpr std::array thin_columns_rows_of_choice{
    parameter<&ThinColumnsChoice::batch_columns>("batch_columns", size, "batches: number of columns in all above which tensor cores are not used", everywhere(measured), required),
    parameter<&ThinColumnsChoice::batch_depth>("batch_depth", size, "batches: k above which they are dot products", everywhere(measured), required),
    parameter<&ThinColumnsChoice::flat>("flat", size, "least n over k for which k is not cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::deep>("deep", size, "k above which it is cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_rows>("few_rows", size, "largest number of rows that counts as few", everywhere(measured), required),
    parameter<&ThinColumnsChoice::narrow>("narrow", size, "largest number of columns that counts as narrow", everywhere(measured), required),
    parameter<&ThinColumnsChoice::few_depth>("few_depth", size, "few rows: largest k that is not cut", everywhere(measured), required),
    parameter<&ThinColumnsChoice::most_rows>("most_rows", size, "largest number of rows of dot products", everywhere(measured), required),
};
constexpr std::array thin_columns_choice{choice<&TorchChoice::thin_columns, ThinColumnsChoice>("torch.choice.bf16_columns", "kernels of few rows of bf16 at odd bytes, B by columns", thin_columns_rows_of_choice)};

constexpr std::array thin_rows_rows_of_choice{
    parameter<&ThinRowsChoice::short_depth>("short_depth", size, "largest k that is not cut", everywhere(measured), required),
    parameter<&ThinRowsChoice::wide>("wide", size, "number of columns above which k is not cut into slices", everywhere(measured), required),
    parameter<&ThinRowsChoice::walk_rows>("walk_rows", size, "many columns: largest number of rows that walk along k", everywhere(measured), required),
    parameter<&ThinRowsChoice::slice_columns>("slice_columns", size, "slices: least number of columns", everywhere(measured), required),
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
    parameter<&PartsChoice::columns_depth>("columns_depth", size, "small B by columns: elements of k for each vector of a part", everywhere(measured), required),
    parameter<&PartsChoice::rows_depth>("rows_depth", size, "the same for B by rows", everywhere(measured), required),
    parameter<&PartsChoice::thin_columns>("thin_columns", size, "slices: largest number of columns with which they are one instruction wide", everywhere(measured), required),
    parameter<&PartsChoice::most_slices>("most_slices", size, "largest number of slices", everywhere(measured), required),
};
constexpr std::array cuts_choice{choice<&TorchChoice::cuts, PartsChoice>("torch.choice.parts", "into how many parts k is cut in products of few rows of 16 bits", cuts_rows_of_choice)};

constexpr std::array crumbs_rows_of_choice{
    parameter<&CrumbsChoice::most_work>("most_work", size, "largest number of multiply-adds", everywhere(measured), required),
    parameter<&CrumbsChoice::least_depth>("least_depth", size, "least k", everywhere(measured), required),
    parameter<&CrumbsChoice::least_rows>("least_rows", size, "least number of rows when the result is not narrow", everywhere(measured), required),
    parameter<&CrumbsChoice::narrow>("narrow", size, "largest number of columns of a narrow result", everywhere(measured), required),
    parameter<&CrumbsChoice::columns_264>("columns_264", size, "largest number of columns for 264 parts", everywhere(measured), required),
    parameter<&CrumbsChoice::square_columns>("square_columns", size, "B by columns, square tiles: largest number of columns", everywhere(measured), required),
};
constexpr std::array crumbs_choice{choice<&TorchChoice::crumbs, CrumbsChoice>("torch.choice.crumbs", "which small products of fp32 are cut into crumbs", crumbs_rows_of_choice)};

constexpr std::array integer_tiles_rows_of_choice{
    parameter<&IntegerChoice::few>("few", ratio, "tiles of 64 x 64 over multiprocessors, below which these small tiles are used", everywhere(measured), required),
    parameter<&IntegerChoice::large>("large", ratio, "tiles of 256 x 128 over multiprocessors, from which on they are used if k is odd", everywhere(measured), required),
};
constexpr std::array integer_tiles_choice{choice<&TorchChoice::integer_tiles, IntegerChoice>("torch.choice.integer", "which tiles products of int8 take", integer_tiles_rows_of_choice)};

// clang-format on

}  // namespace

const TorchChoiceSections& torch_choice_sections() {
    static const TorchChoiceSections all{dots_choice,      walk_threads_choice, thin_columns_choice,
                                         thin_rows_choice, halves_choice,       cuts_choice,
                                         crumbs_choice,    integer_tiles_choice};
    return all;
}

}  // namespace ridge::model
