#include "model/machine/torch_product_parameters.h"

#include <array>

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::exponent_of_norm;
using ranges::factor;
using enum Origin;
using enum Need;

constexpr hardware::Range slots_of_lanes{1e-3, 1e6};

/// The set of this member, for machines that have parameters of PyTorch's products.
template <auto member>
constexpr auto in_products = in_held<&Machine::torch_product, member>;
template <auto member, class Set>
constexpr Section<Set> product_code(std::string_view path, std::string_view title,
                                    std::span<const Parameter<Set>> table, std::size_t column = 0) {
    return section<Set, in_products<member>>(path, title, table, column);
}

// A kernel without a cost has no parameter for it. The columns of a table follow its sections in
// order.
// clang-format off
constexpr std::array product_rows{
    count_of_clocks<&ProductCode::start>("start", clocks, "clocks by which a product starts later than the library's", {none, none, none, none, none, records, none}, required),
    parameter<&ProductCode::k_step>("k_step", factor, "factor on the time of a step along k", {none, none, records, none, none, records, none}, required),
    parameter<&ProductCode::issue>("issue", factor, "factor on the share of the peak that the main loop issues", {none, none, records, none, none, none, records}, required),
    parameter<&ProductCode::store>("store", factor, "factor on the rate at which results are stored", {none, records, records, records, none, none, none}, required),
    parameter<&ProductCode::second_kernel>("second_kernel", factor, "factor on the time to add the partial sums of a split k", {none, none, none, none, records, as(4), none}, required),
};
constexpr std::array product_sections{
    product_code<&TorchProductCode::eight_bit, ProductCode>("torch.product.eight_bit", "products of 8-bit floats", product_rows, 1),
    product_code<&TorchProductCode::odd_columns, ProductCode>("torch.product.odd_columns", "products of 16 bits, rows at 2 bytes, B by columns", product_rows, 2),
    product_code<&TorchProductCode::odd_rows, ProductCode>("torch.product.odd_rows", "products of 16 bits, rows at 2 bytes, B by rows", product_rows, 3),
    product_code<&TorchProductCode::single, ProductCode>("torch.product.single", "products of fp32", product_rows, 4),
    product_code<&TorchProductCode::tf32, ProductCode>("torch.product.tf32", "products of tf32", product_rows, 5),
    product_code<&TorchProductCode::tf32_odd, ProductCode>("torch.product.tf32_odd", "products of tf32, rows that are not multiples of 16 bytes", product_rows, 6),
};

constexpr std::array integer_tile_rows{
    count_of_clocks<&IntegerTileCode::step>("step", clocks, "clocks of a step along k", {records, records, records, records, none, as(2), records}, required),
    count_of_clocks<&IntegerTileCode::store>("store", clocks, "clocks to store the results of a tile", {records, records, records, as(1), none, none, records}, required),
    count_of_clocks<&IntegerTileCode::start>("start", clocks, "clocks of the kernel beyond an empty one", {none, records, none, records, none, records, records}, required),
};
constexpr std::array integer_tile_sections{
    product_code<&TorchProductCode::small_tiles, IntegerTileCode>("torch.product.integer.small", "int8 products, tiles of 64 x 64", integer_tile_rows),
    product_code<&TorchProductCode::tall_tiles, IntegerTileCode>("torch.product.integer.tall", "int8 products, tiles of 128 x 64", integer_tile_rows, 1),
    product_code<&TorchProductCode::small_unaligned, IntegerTileCode>("torch.product.integer.small_odd", "int8 products, tiles of 64 x 64, n or k not a multiple of 16", integer_tile_rows, 2),
    product_code<&TorchProductCode::tall_unaligned, IntegerTileCode>("torch.product.integer.tall_odd", "int8 products, tiles of 128 x 64, n or k not a multiple of 16", integer_tile_rows, 3),
    product_code<&TorchProductCode::odd_results, IntegerTileCode>("torch.product.integer.odd_results", "int8 products, tiles of 256 x 128, only n not a multiple of 16", integer_tile_rows, 5),
    product_code<&TorchProductCode::integer_rows, IntegerTileCode>("torch.product.integer.rows", "int8 products, B by rows", integer_tile_rows, 6),
};

constexpr std::array integer_rows{
    count_of_clocks<&IntegerCode::warm>("warm", clocks, "clocks saved at the start when operands are in the L2", everywhere(records), required),
    parameter<&IntegerCode::last_round>("last_round", factor, "share of a round's time that the idle part of the last round of tiles takes", everywhere(records), required),
};
constexpr std::array integer_sections{
    product_code<&TorchProductCode::integer, IntegerCode>("torch.product.integer", "int8 products", integer_rows),
};

constexpr std::array walk_rows{
    parameter<&WalkCode::step>("step", factor, "time of a load that waits for the previous one, in loads", {records, records, as(1), as(1)}, required),
    parameter<&WalkCode::slots>("slots", slots_of_lanes, "lane slots of a multiply-add", {records, as(0), none, none}, required),
    parameter<&WalkCode::unpack>("unpack", slots_of_lanes, "lane slots of an element of B that a block unpacks", {none, none, records, records}, required),
};
constexpr std::array walk_sections{
    product_code<&TorchProductCode::short_walk, WalkCode>("torch.product.walk.short", "few rows of fp32, B by rows, short k", walk_rows),
    product_code<&TorchProductCode::long_walk, WalkCode>("torch.product.walk.long", "few rows of fp32, B by rows, long k", walk_rows, 1),
    product_code<&TorchProductCode::short_walk_16bit, WalkCode>("torch.product.walk.short_16bit", "few rows of 16 bits, B by rows, short k", walk_rows, 2),
    product_code<&TorchProductCode::long_walk_16bit, WalkCode>("torch.product.walk.long_16bit", "few rows of 16 bits, B by rows, long k", walk_rows, 3),
};

constexpr std::array walks_rows{
    count_of_clocks<&WalksCode::start>("start", clocks, "clocks of a block before it walks along k", everywhere(records), required),
    parameter<&WalksCode::overlap>("overlap", exponent_of_norm, "how far the walk and the traffic overlap: exponent of their norm", everywhere(records), required),
};
constexpr std::array walks_sections{
    product_code<&TorchProductCode::walk, WalksCode>("torch.product.walk", "few rows, B by rows", walks_rows),
};

constexpr std::array dots_rows{
    parameter<&DotsCode::two>("two", factor, "time of a load of the variant for two rows, in loads", everywhere(records), required),
    parameter<&DotsCode::four>("four", factor, "the same for four rows", everywhere(records), required),
    parameter<&DotsCode::six>("six", factor, "the same for six rows", everywhere(records), required),
    parameter<&DotsCode::eight>("eight", factor, "the same for eight rows", everywhere(records), required),
    parameter<&DotsCode::ten>("ten", factor, "the same for ten and fourteen rows, and for three in the variant for four", everywhere(records), required),
    count_of_clocks<&DotsCode::result>("result", clocks, "clocks to form a block's results", everywhere(records), required),
    parameter<&DotsCode::slots>("slots", slots_of_lanes, "lane slots of a multiply-add", everywhere(records), required),
    parameter<&DotsCode::half_slots>("half_slots", slots_of_lanes, "lane slots of a multiply-add, 16 bits", everywhere(records), required),
    parameter<&DotsCode::moved>("moved", exponent_of_norm, "how far slots, DRAM and L2 overlap: exponent of their norm", everywhere(records), required),
    parameter<&DotsCode::rounds>("rounds", exponent_of_norm, "how far rounds of blocks and traffic overlap: exponent of their norm", everywhere(records), required),
};
constexpr std::array dots_sections{
    product_code<&TorchProductCode::dots, DotsCode>("torch.product.dots", "few rows, B by columns", dots_rows),
};

constexpr std::array thin_tile_rows{
    parameter<&ThinTileCode::step>("step", factor, "time of a load of 64 elements along k, in loads", everywhere(records), required),
    count_of_clocks<&ThinTileCode::result>("result", clocks, "clocks to form a block's results", everywhere(records), required),
    parameter<&ThinTileCode::slots>("slots", slots_of_lanes, "lane slots of an element of B", everywhere(records), required),
};
constexpr std::array thin_tile_sections{
    product_code<&TorchProductCode::thin_fp16, ThinTileCode>("torch.product.thin.fp16", "few rows of fp16 at odd bytes", thin_tile_rows),
    product_code<&TorchProductCode::thin_bf16, ThinTileCode>("torch.product.thin.bf16", "few rows of bf16 at odd bytes", thin_tile_rows, 1),
};

constexpr std::array thin_tiles_rows{
    parameter<&ThinTilesCode::lanes>("lanes", slots_of_lanes, "lane slots of an element of B without tensor cores", everywhere(records), required),
    count_of_clocks<&ThinTilesCode::sum>("sum", clocks, "fixed clocks to add the parts of a split k", everywhere(records), required),
    count_of_clocks<&ThinTilesCode::part>("part", clocks, "additional clocks for each part", everywhere(records), required),
    count_of_clocks<&ThinTilesCode::slice>("slice", clocks, "clocks of each slice", everywhere(records), required),
    count_of_clocks<&ThinTilesCode::element>("element", clocks, "clocks of each element of k in a slice", everywhere(records), required),
};
constexpr std::array thin_tiles_sections{
    product_code<&TorchProductCode::thin, ThinTilesCode>("torch.product.thin", "few rows of 16 bits at odd bytes", thin_tiles_rows),
};

constexpr std::array vector_rows{
    parameter<&VectorCode::l2>("l2", factor, "time over that of the traffic through the L2", {records, as(0), records, as(2)}, required),
    count_of_clocks<&VectorCode::start>("start", clocks, "clocks of the kernel beyond its first load", {records, as(0), as(0), as(0)}, required),
    parameter<&VectorCode::walk>("walk", factor, "time per 1000 elements along k, in loads", {records, as(0), as(0), as(0)}, required),
};
constexpr std::array vector_sections{
    product_code<&TorchProductCode::vector_columns, VectorCode>("torch.product.vector.columns", "one row, B by columns", vector_rows),
    product_code<&TorchProductCode::vector_rows, VectorCode>("torch.product.vector.rows", "one row, B by rows", vector_rows, 1),
    product_code<&TorchProductCode::vector_columns_16bit, VectorCode>("torch.product.vector.columns_16bit", "one row of 16 bits, B by columns", vector_rows, 2),
    product_code<&TorchProductCode::vector_rows_16bit, VectorCode>("torch.product.vector.rows_16bit", "one row of 16 bits, B by rows", vector_rows, 3),
};

constexpr std::array fine_splits_rows{
    count_of_clocks<&FineSplitsCode::start>("start", clocks, "clocks of both kernels beside the parts", everywhere(records), required),
    count_of_clocks<&FineSplitsCode::part>("part", clocks, "clocks of each part of k", everywhere(records), required),
    count_of_clocks<&FineSplitsCode::narrow>("narrow", clocks, "clocks of both kernels for 176 parts of narrow results", everywhere(records), required),
};
constexpr std::array fine_splits_sections{
    product_code<&TorchProductCode::fine_splits, FineSplitsCode>("torch.product.fine_splits", "small products of few rows of fp32", fine_splits_rows),
};

constexpr std::array products_rows{
    parameter<&ProductsCode::turn_around>("turn_around", factor, "time of a line that is written back to make room for a product's, over its time at DRAM bandwidth", everywhere(records), required),
    parameter<&ProductsCode::vector_dram>("vector_dram", factor, "one row: time over that of its DRAM traffic", everywhere(records), required),
};
constexpr std::array products_sections{
    product_code<&TorchProductCode::common, ProductsCode>("torch.product", "all products of PyTorch", products_rows),
};

// clang-format on

}  // namespace

const TorchProductSections& torch_product_sections() {
    static const TorchProductSections all{
        product_sections, integer_tile_sections, integer_sections,   walk_sections,
        walks_sections,   dots_sections,         thin_tile_sections, thin_tiles_sections,
        vector_sections,  fine_splits_sections,  products_sections};
    return all;
}

void resolve_torch_product(const hardware::Description& gpu, Machine& machine) {
    resolve_sections(gpu, torch_product_sections(), machine, &Machine::torch_product);
    if (!machine.torch_product) return;
    if (!read_sections(gpu, torch_choice_sections(), machine)) machine.torch_product.reset();
}

}  // namespace ridge::model
