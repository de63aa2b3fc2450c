#include "model/machine/attention_parameters.h"

#include <array>
#include <string>
#include <type_traits>

#include "hardware/schema.h"

namespace ridge::model {
namespace {

template <class>
struct OwnerOf;
template <class Set, class Value>
struct OwnerOf<Value Set::*> {
    using Type = Set;
};

template <auto member>
constexpr auto field(std::string_view name) {
    using Set = typename OwnerOf<decltype(member)>::Type;
    using Value = std::remove_cvref_t<decltype(Set{}.*member)>;
    if constexpr (std::is_same_v<Value, double>) {
        return ParameterField<Set>{name, [](const Set& p) { return p.*member; },
                                   [](Set& p, double value) { p.*member = value; }};
    } else {
        return ParameterField<Set>{
            name, [](const Set& p) { return (p.*member).base(); },
            [](Set& p, double value) { p.*member = Value::from_base(value); }};
    }
}

using F = FlashParameters;
constexpr std::array flash_fields{field<&F::start>("start"),
                                  field<&F::cache_write_start>("cache_write_start"),
                                  field<&F::tensor_fraction>("tensor_fraction"),
                                  field<&F::softmax_fraction>("softmax_fraction"),
                                  field<&F::page_block>("page_block"),
                                  field<&F::lone_block_factor>("lone_block_factor"),
                                  field<&F::tile>("tile"),
                                  field<&F::decode_tile>("decode_tile"),
                                  field<&F::tile_rows>("tile_rows"),
                                  field<&F::bulk_rows>("bulk_rows"),
                                  field<&F::tile_columns>("tile_columns"),
                                  field<&F::decode_columns>("decode_columns"),
                                  field<&F::split_tile>("split_tile"),
                                  field<&F::bulk_tile>("bulk_tile"),
                                  field<&F::tail>("tail"),
                                  field<&F::load>("load"),
                                  field<&F::l2_fraction>("l2_fraction"),
                                  field<&F::dram_fraction>("dram_fraction"),
                                  field<&F::dram_start>("dram_start"),
                                  field<&F::droop>("droop"),
                                  field<&F::droop_time>("droop_time"),
                                  field<&F::cache_write>("cache_write"),
                                  field<&F::scan>("scan"),
                                  field<&F::fold>("fold"),
                                  field<&F::copy>("copy"),
                                  field<&F::copy_fraction>("copy_fraction"),
                                  field<&F::combine>("combine"),
                                  field<&F::combine_split>("combine_split"),
                                  field<&F::combine_block>("combine_block"),
                                  field<&F::backward_tensor_fraction>("backward_tensor_fraction")};

using T = TiledAttentionParameters;
constexpr std::array tiled_fields{field<&T::start>("start"),
                                  field<&T::tile>("tile"),
                                  field<&T::tile_columns>("tile_columns"),
                                  field<&T::tile_load>("tile_load"),
                                  field<&T::tile_miss>("tile_miss"),
                                  field<&T::tensor_fraction>("tensor_fraction"),
                                  field<&T::softmax_fraction>("softmax_fraction"),
                                  field<&T::overlap>("overlap"),
                                  field<&T::tail>("tail")};

using D = DecodeAttentionParameters;
constexpr std::array decode_fields{
    field<&D::start>("start"),           field<&D::block>("block"),
    field<&D::block_row>("block_row"),   field<&D::block_load>("block_load"),
    field<&D::sm_load>("sm_load"),       field<&D::dram_fraction>("dram_fraction"),
    field<&D::dram_start>("dram_start"), field<&D::l2_fraction>("l2_fraction"),
    field<&D::combine>("combine"),       field<&D::combine_split>("combine_split")};

/// A number or quantity in base units; empty where the schema or the device does not have it.
std::optional<double> value_of(const hardware::Description& gpu, const std::string& path) {
    const hardware::Datum* const datum = gpu.find(path);
    if (datum == nullptr) return std::nullopt;
    if (const auto* const value = std::get_if<double>(&datum->value)) return *value;
    return std::nullopt;
}

}  // namespace

template <>
std::span<const ParameterField<FlashParameters>> parameter_fields() {
    return flash_fields;
}
template <>
std::span<const ParameterField<TiledAttentionParameters>> parameter_fields() {
    return tiled_fields;
}
template <>
std::span<const ParameterField<DecodeAttentionParameters>> parameter_fields() {
    return decode_fields;
}

namespace {

template <class Set>
std::optional<Set> set_of(const hardware::Description& gpu, const std::string& section) {
    if (gpu.find(section + ".start") == nullptr) return std::nullopt;
    Set parameters;
    parameters.own = gpu.has_own(section + ".start");
    for (const ParameterField<Set>& each : parameter_fields<Set>()) {
        const auto value = value_of(gpu, section + "." + std::string(each.name));
        if (value) each.write(parameters, *value);
    }
    return parameters;
}

}  // namespace

std::optional<AttentionParameters> attention_parameters_of(const hardware::Description& gpu) {
    const std::string section = "model.attention";
    AttentionParameters parameters;
    parameters.flash2 = set_of<FlashParameters>(gpu, section + ".flash2");
    parameters.flash3 = set_of<FlashParameters>(gpu, section + ".flash3");
    parameters.mma = set_of<TiledAttentionParameters>(gpu, section + ".mma");
    parameters.wgmma = set_of<TiledAttentionParameters>(gpu, section + ".wgmma");
    parameters.decode = set_of<DecodeAttentionParameters>(gpu, section + ".decode");
    if (!parameters.flash2 && !parameters.flash3) return std::nullopt;
    parameters.flash1 = parameters.flash2;
    if (const auto fraction = gpu.number(section + ".flash1.tensor_fraction");
        fraction && parameters.flash1) {
        parameters.flash1->tensor_fraction = *fraction;
        parameters.flash1->own = false;
    }
    StandardParameters& standard = parameters.standard;
    const auto number = [&](const std::string& name, double otherwise) {
        return gpu.number(section + ".standard." + name).value_or(otherwise);
    };
    standard.forward_dram_fraction =
        number("forward_dram_fraction", standard.forward_dram_fraction);
    standard.backward_dram_fraction =
        number("backward_dram_fraction", standard.backward_dram_fraction);
    standard.tensor_fraction = number("tensor_fraction", standard.tensor_fraction);
    standard.l2_fraction = number("l2_fraction", standard.l2_fraction);
    standard.softmax_elements = number("softmax_elements", standard.softmax_elements);
    const auto time = [&](const std::string& name) {
        return gpu.quantity<Time>(section + ".standard." + name).value_or(Time{});
    };
    standard.softmax_row = time("softmax_row");
    standard.own = gpu.has_own(section + ".standard.softmax_row");
    standard.kernel = time("kernel");
    return parameters;
}

}  // namespace ridge::model
