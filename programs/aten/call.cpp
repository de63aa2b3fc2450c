#include "programs/aten/call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>

#include "hardware/json.h"
#include "hardware/nearest.h"

namespace ridge::programs {
namespace {

using model::DataType;

struct TypeRow {
    ElementType type;
    std::string_view name;
    std::int64_t bytes;
    DataType computed;
};

constexpr std::array type_rows{TypeRow{ElementType::unknown, "unknown", 0, DataType::fp32},
                               TypeRow{ElementType::fp64, "fp64", 8, DataType::fp64},
                               TypeRow{ElementType::fp32, "fp32", 4, DataType::fp32},
                               TypeRow{ElementType::fp16, "fp16", 2, DataType::fp16},
                               TypeRow{ElementType::bf16, "bf16", 2, DataType::bf16},
                               TypeRow{ElementType::fp8, "fp8", 1, DataType::fp8},
                               TypeRow{ElementType::int64, "int64", 8, DataType::fp64},
                               TypeRow{ElementType::int32, "int32", 4, DataType::fp32},
                               TypeRow{ElementType::int16, "int16", 2, DataType::fp16},
                               TypeRow{ElementType::int8, "int8", 1, DataType::int8},
                               TypeRow{ElementType::boolean, "bool", 1, DataType::int8},
                               TypeRow{ElementType::complex64, "complex64", 8, DataType::fp64},
                               TypeRow{ElementType::complex128, "complex128", 16, DataType::fp64}};

const TypeRow& row_of(ElementType type) {
    return type_rows[static_cast<std::size_t>(type)];
}

struct TypeWord {
    std::string_view word;
    ElementType type;
};

/// The names that C++, Python and c10::ScalarType use, in lower case.
constexpr std::array type_words{TypeWord{"bfloat16", ElementType::bf16},
                                TypeWord{"float16", ElementType::fp16},
                                TypeWord{"half", ElementType::fp16},
                                TypeWord{"float", ElementType::fp32},
                                TypeWord{"float32", ElementType::fp32},
                                TypeWord{"double", ElementType::fp64},
                                TypeWord{"float64", ElementType::fp64},
                                TypeWord{"float8_e4m3fn", ElementType::fp8},
                                TypeWord{"float8_e5m2", ElementType::fp8},
                                TypeWord{"long int", ElementType::int64},
                                TypeWord{"long", ElementType::int64},
                                TypeWord{"int64", ElementType::int64},
                                TypeWord{"int", ElementType::int32},
                                TypeWord{"int32", ElementType::int32},
                                TypeWord{"short int", ElementType::int16},
                                TypeWord{"short", ElementType::int16},
                                TypeWord{"int16", ElementType::int16},
                                TypeWord{"signed char", ElementType::int8},
                                TypeWord{"unsigned char", ElementType::int8},
                                TypeWord{"char", ElementType::int8},
                                TypeWord{"byte", ElementType::int8},
                                TypeWord{"int8", ElementType::int8},
                                TypeWord{"uint8", ElementType::int8},
                                TypeWord{"bool", ElementType::boolean},
                                TypeWord{"complex<float>", ElementType::complex64},
                                TypeWord{"complex64", ElementType::complex64},
                                TypeWord{"complex<double>", ElementType::complex128},
                                TypeWord{"complex128", ElementType::complex128}};

constexpr std::int64_t most_elements = std::int64_t{1} << 50U;

/// A product that saturates before it overflows; a negative factor counts as 0.
std::int64_t product(std::int64_t a, std::int64_t b) {
    if (a <= 0 || b <= 0) return 0;
    return a > most_elements / b ? most_elements : a * b;
}

std::optional<std::vector<std::int64_t>> numbers(const Json& json) {
    if (!json.is_array()) return {};
    std::vector<std::int64_t> values;
    for (const Json& item : json.items()) {
        const std::optional<std::int64_t> value = item.if_whole();
        if (!value) return {};
        values.push_back(*value);
    }
    return values;
}

const Json* item(const std::optional<Json>& list, std::size_t place) {
    return list && list->is_array() && place < list->items().size() ? &list->items()[place]
                                                                    : nullptr;
}

/// One tensor from its lists of dimensions and strides; a stride list of the wrong length is
/// ignored.
std::optional<Tensor> tensor_of(const Json& dims, const Json* strides, ElementType type) {
    std::optional<std::vector<std::int64_t>> sizes = numbers(dims);
    if (!sizes) return {};
    Tensor tensor{.type = type, .dims = std::move(*sizes), .strides = {}};
    if (strides != nullptr) {
        if (auto steps = numbers(*strides); steps && steps->size() == tensor.dims.size()) {
            tensor.strides = std::move(*steps);
        }
    }
    return tensor;
}

bool is_tensor_word(std::string_view type) {
    return type != "Scalar" && type != "ScalarList" && !type.empty() && type != "GenericList";
}

Argument argument_of(std::string_view type, const Json* dims, const Json* strides,
                     const Json* value) {
    Argument argument;
    if (value != nullptr) {
        if (const std::string* const text = value->if_text()) argument.value = *text;
    }
    if (dims == nullptr || !is_tensor_word(type)) return argument;
    constexpr std::string_view list = "TensorList";
    if (type.starts_with(list)) {
        // A dispatch mode appends the element type: "TensorList torch.float32".
        const ElementType element = type.size() > list.size()
                                        ? parse_element_type(type.substr(list.size() + 1))
                                        : ElementType::unknown;
        argument.list = true;
        for (std::size_t i = 0; i < dims->items().size(); ++i) {
            const Json* const steps =
                strides != nullptr && i < strides->items().size() ? &strides->items()[i] : nullptr;
            if (auto tensor = tensor_of(dims->items()[i], steps, element)) {
                argument.tensors.push_back(std::move(*tensor));
            }
        }
        return argument;
    }
    if (auto tensor = tensor_of(*dims, strides, parse_element_type(type))) {
        argument.tensors.push_back(std::move(*tensor));
    }
    return argument;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(mark);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return {};
    return value;
}

std::string text_of(const Tensor& tensor) {
    std::string text = "[";
    for (const std::int64_t size : tensor.dims) {
        text += (text.size() > 1 ? "," : "") + std::to_string(size);
    }
    return text + "]";
}

}  // namespace

std::int64_t size_of(ElementType type) {
    return row_of(type).bytes;
}
std::string_view name_of(ElementType type) {
    return row_of(type).name;
}
model::DataType data_type(ElementType type) {
    return row_of(type).computed;
}

ElementType parse_element_type(std::string_view text) {
    for (const std::string_view space : {"torch.", "c10::"}) {
        if (text.starts_with(space)) text.remove_prefix(space.size());
    }
    const auto* const found =
        std::find_if(type_words.begin(), type_words.end(),
                     [text](const TypeWord& row) { return same_word(row.word, text); });
    return found == type_words.end() ? ElementType::unknown : found->type;
}

std::int64_t Tensor::elements() const {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, product);
}

std::int64_t Tensor::stored_elements() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0) return 0;
        if (strides.empty() || strides[i] != 0) count = product(count, dims[i]);
    }
    return count;
}

bool Tensor::contiguous() const {
    if (strides.empty()) return true;
    std::int64_t expected = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
        if (dims[i] == 1) continue;
        if (strides[i] != expected) return false;
        expected = product(expected, dims[i]);
    }
    return true;
}

bool Tensor::dense() const {
    if (strides.empty()) return true;
    std::vector<std::pair<std::int64_t, std::int64_t>> order;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] != 1) order.emplace_back(strides[i], dims[i]);
    }
    std::sort(order.begin(), order.end());
    std::int64_t expected = 1;
    for (const auto& [stride, size] : order) {
        if (stride != expected) return false;
        expected = product(expected, size);
    }
    return true;
}

const Tensor* Call::tensor(std::size_t place) const {
    if (place >= arguments.size() || arguments[place].list) return nullptr;
    return arguments[place].tensors.empty() ? nullptr : arguments[place].tensors.data();
}

std::string_view Call::value(std::size_t place) const {
    return place < arguments.size() ? std::string_view(arguments[place].value) : "";
}

std::optional<std::int64_t> Call::whole(std::size_t place) const {
    return parse_whole(value(place));
}

bool Call::flag(std::size_t place) const {
    return value(place) == "True";
}

std::vector<std::int64_t> Call::wholes(std::size_t place) const {
    std::string_view text = value(place);
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
    text = text.substr(1, text.size() - 2);
    std::vector<std::int64_t> values;
    for (const std::string_view part : split(text, ',')) {
        if (const auto number = parse_whole(part)) values.push_back(*number);
    }
    return values;
}

std::vector<const Tensor*> Call::tensors() const {
    std::vector<const Tensor*> all;
    for (const Argument& argument : arguments) {
        for (const Tensor& tensor : argument.tensors) all.push_back(&tensor);
    }
    return all;
}

Call parse_call(std::string_view name, std::string_view inputs) {
    Call call{.name = std::string(name), .arguments = {}};
    // Types contain no '|', and the values come last, so a '|' in them does no harm.
    std::array<std::optional<Json>, 4> lists;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::size_t end = i + 1 < lists.size() ? inputs.find('|') : inputs.size();
        lists[i] = Json::parse(inputs.substr(0, end));
        if (end == std::string_view::npos) break;
        inputs.remove_prefix(std::min(inputs.size(), end + 1));
    }
    const auto& [types, dims, strides, values] = lists;
    if (!types || !types->is_array()) return call;
    for (std::size_t i = 0; i < types->items().size(); ++i) {
        const std::string* const type = types->items()[i].if_text();
        call.arguments.push_back(argument_of(type != nullptr ? std::string_view(*type) : "",
                                             item(dims, i), item(strides, i), item(values, i)));
    }
    return call;
}

namespace {

/// A product has two operands; a third tensor is where the result goes (mm.out).
bool is_result(const Call& call, std::size_t place) {
    constexpr std::array products{std::string_view("aten::mm"), std::string_view("aten::bmm")};
    return place == 2 && std::find(products.begin(), products.end(), call.name) != products.end();
}

}  // namespace

std::string_view bare_operator(std::string_view name) {
    for (const std::string_view library : {"aten::", "_C_cache_ops::"}) {
        if (name.starts_with(library)) name.remove_prefix(library.size());
    }
    name = name.substr(0, name.find('.'));
    if (name.size() > 1 && name.back() == '_' && !name.ends_with("__")) name.remove_suffix(1);
    return name;
}

std::string shape_text(const Call& call) {
    std::string text;
    std::vector<const Tensor*> tensors = call.tensors();
    if (tensors.size() == 3 && is_result(call, 2)) tensors.pop_back();
    constexpr std::size_t most = 4;  // of a list of hundreds, the first few are shown
    for (std::size_t i = 0; i < std::min(tensors.size(), most); ++i) {
        text += (text.empty() ? "" : " x ") + text_of(*tensors[i]);
    }
    if (tensors.size() > most) text += " and " + std::to_string(tensors.size() - most) + " more";
    const bool same = !tensors.empty() && tensors.front()->type != ElementType::unknown &&
                      std::all_of(tensors.begin(), tensors.end(), [&](const Tensor* tensor) {
                          return tensor->type == tensors.front()->type;
                      });
    if (same) text += " " + std::string(name_of(tensors.front()->type));
    return text;
}

}  // namespace ridge::programs
