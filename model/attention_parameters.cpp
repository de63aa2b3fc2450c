#include "model/attention_parameters.h"

#include <array>
#include <string>
#include <type_traits>

#include "hardware/schema.h"

namespace ridge::model {
namespace {

template <auto member>
constexpr FlashField field(std::string_view name) {
    using Value = std::remove_cvref_t<decltype(FlashParameters{}.*member)>;
    if constexpr (std::is_same_v<Value, double>) {
        return {name, [](const FlashParameters& p) { return p.*member; },
                [](FlashParameters& p, double value) { p.*member = value; }};
    } else {
        return {name, [](const FlashParameters& p) { return (p.*member).base(); },
                [](FlashParameters& p, double value) { p.*member = Value::from_base(value); }};
    }
}

using F = FlashParameters;
constexpr std::array fields{field<&F::start>("start"),
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

/// A number or quantity in base units; empty where the schema or the device does not have it.
std::optional<double> value_of(const hardware::Description& gpu, const std::string& path) {
    const hardware::Datum* const datum = gpu.find(path);
    if (datum == nullptr) return std::nullopt;
    if (const auto* const value = std::get_if<double>(&datum->value)) return *value;
    return std::nullopt;
}

std::optional<FlashParameters> flash_of(const hardware::Description& gpu,
                                        const std::string& section) {
    if (gpu.find(section + ".start") == nullptr) return std::nullopt;
    FlashParameters parameters;
    parameters.own = gpu.has_own(section + ".start");
    for (const FlashField& each : fields) {
        const auto value = value_of(gpu, section + "." + std::string(each.name));
        if (value) each.write(parameters, *value);
    }
    return parameters;
}

}  // namespace

std::span<const FlashField> flash_fields() {
    return fields;
}

std::optional<AttentionParameters> attention_parameters_of(const hardware::Description& gpu) {
    const std::string section = "model.attention";
    AttentionParameters parameters;
    parameters.flash2 = flash_of(gpu, section + ".flash2");
    parameters.flash3 = flash_of(gpu, section + ".flash3");
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
    standard.kernel = gpu.quantity<Time>(section + ".standard.kernel").value_or(Time{});
    return parameters;
}

}  // namespace ridge::model
