// The table of classes that share a correction: name, features, what determines them, largest factor.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/machine/residual_parameters.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 16> product_features{
    "m",       "n",      "k",     "tiles",   "wave",    "wave_square", "wave_narrow", "last",
    "compute", "memory", "bytes", "align_n", "align_k", "flat",        "deep",        "l2"};
constexpr std::array<std::string_view, 10> attention_features{
    "batch",  "kv_heads", "group",   "tokens", "head_dim",
    "blocks", "wave",     "compute", "memory", "time"};
constexpr std::array<std::string_view, 10> latent_features{
    "batch", "heads", "queries", "tokens", "cache", "blocks", "wave", "compute", "memory", "time"};
constexpr std::array<std::string_view, 12> expert_features{
    "tokens", "hidden", "intermediate", "topk",    "experts", "split",
    "load",   "type",   "rows",         "compute", "memory",  "time"};

constexpr std::array<std::string_view, 15> record_product_features{
    "m",       "n",       "k",    "batch",   "tiles",  "wave_square", "wave_narrow", "last",
    "align_n", "align_k", "type", "compute", "memory", "bytes",       "l2"};
constexpr std::array<std::string_view, 15> bundled_attention_features{
    "kernel", "batch", "heads",   "group",  "queries", "tokens", "head_dim", "type",
    "tiles",  "wave",  "compute", "memory", "time",    "align",  "l2"};
constexpr std::array<std::string_view, 9> bundled_row_features{
    "kernel", "rows", "cols", "type", "align", "bytes", "wave", "time", "l2"};
constexpr std::array<std::string_view, 9> bundled_pointwise_features{
    "kernel", "elements", "type", "inputs", "special", "fma", "bytes", "time", "l2"};
constexpr std::array<std::string_view, 10> bundled_movement_features{
    "kernel", "rows", "cols", "extent", "type", "align", "align_other", "bytes", "time", "l2"};
constexpr std::array<std::string_view, 8> bundled_access_features{
    "kernel", "elements", "degree", "type", "bytes", "wave", "time", "l2"};
/// "variant": the type and the layout of B.
constexpr std::array<std::string_view, 16> torch_product_features{
    "m",       "n",       "k",     "batch", "variant",      "bias",
    "align_n", "align_k", "tiles", "wave",  "tiles_narrow", "wave_narrow",
    "last",    "work",    "bytes", "l2"};
/// For one type and layout. In place of the variant they have the block's tile, which tells kernels
/// apart.
constexpr std::array<std::string_view, 16> torch_float_features{
    "m",       "n",       "k",     "batch", "tile",         "bias",
    "align_n", "align_k", "tiles", "wave",  "tiles_narrow", "wave_narrow",
    "last",    "work",    "bytes", "l2"};
constexpr std::array<std::string_view, 12> torch_attention_features{
    "kernel", "queries", "keys",   "heads", "group", "head_dim",
    "causal", "type",    "blocks", "wave",  "work",  "l2"};
constexpr std::array<std::string_view, 10> torch_row_features{
    "kernel", "axis", "backward", "rows", "cols", "elements", "type", "align", "wave", "l2"};
constexpr std::array<std::string_view, 12> torch_stream_features{
    "kernel", "elements", "bytes",  "type",   "output", "reads",
    "cost",   "cols",     "stride", "pieces", "align",  "l2"};

/// The largest factor of a correction: the usual one, and a wider one for classes whose times
/// scatter more. (docs/model.md K3)
constexpr double usual_correction = 1.2;
constexpr double wide_correction = 1.5;
/// For kernels among which a library chooses by rules that no equation here covers.
constexpr double widest_correction = 2.5;

/// What determines a class: public tables of many GPUs, or the records of one GPU.
enum class Rows : std::uint8_t { tables, records };

constexpr bool has(std::span<const std::string_view> features, std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
}

struct ClassEntry {
    ResidualClass residual_class;
    std::string_view name;
    std::span<const std::string_view> features;
    Rows rows = Rows::tables;
    double largest = usual_correction;
    bool has_kernel = has(features, "kernel");
    bool has_l2 = has(features, "l2");
};

/// Every class once, in the order of `ResidualClass`.
constexpr std::array<ClassEntry, residual_class_count> class_table{{
    {ResidualClass::product_16, "product_16", product_features, Rows::tables, wide_correction},
    {ResidualClass::product_8, "product_8", product_features, Rows::tables, wide_correction},
    {ResidualClass::product_4, "product_4", product_features},
    {ResidualClass::prefill, "prefill", attention_features},
    {ResidualClass::decode, "decode", attention_features},
    {ResidualClass::prefill_cache8, "prefill_cache8", attention_features},
    {ResidualClass::decode_cache8, "decode_cache8", attention_features},
    {ResidualClass::latent_prefill, "latent_prefill", latent_features},
    {ResidualClass::latent_decode, "latent_decode", latent_features},
    {ResidualClass::experts, "experts", expert_features},
    {ResidualClass::product_odd, "product_odd", record_product_features, Rows::records,
     wide_correction},
    {ResidualClass::product_wide, "product_wide", record_product_features, Rows::records,
     wide_correction},
    {ResidualClass::bundled_attention, "bundled_attention", bundled_attention_features,
     Rows::records, wide_correction},
    {ResidualClass::bundled_rows, "bundled_rows", bundled_row_features, Rows::records},
    {ResidualClass::bundled_pointwise, "bundled_pointwise", bundled_pointwise_features,
     Rows::records},
    {ResidualClass::bundled_movement, "bundled_movement", bundled_movement_features, Rows::records},
    {ResidualClass::bundled_access, "bundled_access", bundled_access_features, Rows::records},
    {ResidualClass::torch_product_16, "torch_product_16", torch_product_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_product_odd, "torch_product_odd", torch_product_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_odd_thin, "torch_product_odd_thin", torch_product_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32, "torch_product_fp32", torch_float_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_fp32_rows, "torch_product_fp32_rows", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32_thin, "torch_product_fp32_thin", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_fp32_thin_rows, "torch_product_fp32_thin_rows",
     torch_float_features, Rows::records, widest_correction},
    {ResidualClass::torch_product_tf32, "torch_product_tf32", torch_float_features, Rows::records,
     widest_correction},
    {ResidualClass::torch_product_tf32_rows, "torch_product_tf32_rows", torch_float_features,
     Rows::records, widest_correction},
    {ResidualClass::torch_product_8, "torch_product_8", torch_product_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_forward, "torch_forward", torch_attention_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_backward, "torch_backward", torch_attention_features, Rows::records,
     wide_correction},
    {ResidualClass::torch_rows, "torch_rows", torch_row_features, Rows::records, wide_correction},
    {ResidualClass::torch_streams, "torch_streams", torch_stream_features, Rows::records,
     wide_correction},
}};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        if (static_cast<std::size_t>(class_table[i].residual_class) != i) return false;
        if (class_table[i].features.size() > most_residual_features) return false;
    }
    return true;
}
static_assert(is_in_order());

const ClassEntry& entry_of(ResidualClass residual_class) {
    return class_table.at(static_cast<std::size_t>(residual_class));
}

}  // namespace

std::string_view name_of(ResidualClass residual_class) {
    return entry_of(residual_class).name;
}

std::span<const std::string_view> residual_features(ResidualClass residual_class) {
    return entry_of(residual_class).features;
}

bool has_kernel_feature(ResidualClass residual_class) {
    return entry_of(residual_class).has_kernel;
}

bool has_l2_feature(ResidualClass residual_class) {
    return entry_of(residual_class).has_l2;
}

bool rests_on_records(ResidualClass residual_class) {
    return entry_of(residual_class).rows == Rows::records;
}

double largest_correction(ResidualClass residual_class) {
    return entry_of(residual_class).largest;
}

double largest_correction() {
    return std::max_element(
               class_table.begin(), class_table.end(),
               [](const ClassEntry& a, const ClassEntry& b) { return a.largest < b.largest; })
        ->largest;
}

double largest_log_correction(ResidualClass residual_class) {
    // Computed once, since each prediction needs one and a logarithm takes time.
    static const auto logarithms = [] {
        std::array<double, residual_class_count> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::log(class_table[i].largest);
        return all;
    }();
    return logarithms[static_cast<std::size_t>(residual_class)];
}

}  // namespace ridge::model
