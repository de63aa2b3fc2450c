#include "python/bindings/conversion.h"

#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::python {

namespace nb = nanobind;

nb::object to_python(const Json& json) {
    if (json.is_object()) {
        nb::dict object;
        for (const JsonMember& member : json.members()) {
            object[nb::str(member.name.data(), member.name.size())] = to_python(member.value);
        }
        return object;
    }
    if (json.is_array()) {
        nb::list list;
        for (const Json& item : json.items()) list.append(to_python(item));
        return list;
    }
    if (const std::string* const text = json.if_text()) return nb::str(text->data(), text->size());
    if (const bool* const flag = json.if_flag()) return nb::bool_(*flag);
    if (const auto whole = json.if_whole()) return nb::int_(*whole);
    if (const auto number = json.if_number()) return nb::float_(*number);
    return nb::none();
}

model::Field field_of(model::OperationKind kind, std::string_view name) {
    const auto field = model::find_field(name);
    if (field && model::applies(kind, *field)) return *field;
    const model::OperationInfo& info = model::info_of(kind);
    std::vector<std::string> names;
    for (const auto& list : {info.required, info.optional}) {
        for (const model::Field each : list) names.emplace_back(model::info_of(each).name);
    }
    const std::string near = nearest(name, names);
    throw InputError(std::string(name) + ": not a field of " + std::string(info.name), {},
                     near.empty() ? near : "did you mean '" + near + "'?");
}

model::Parameters parameters_of(model::OperationKind kind, const nb::dict& fields) {
    model::Parameters parameters;
    for (const auto& [key, value] : fields) {
        if (value.is_none()) continue;
        const auto name = nb::cast<std::string>(key);
        const model::Field field = field_of(kind, name);
        if (nb::isinstance<nb::bool_>(value)) {
            parameters.set(field, nb::cast<bool>(value) ? "1" : "0");
        } else if (nb::isinstance<nb::str>(value)) {
            parameters.set(field, nb::cast<std::string>(value));
        } else {
            // int, NumPy's integers and anything else with a text; set() checks the text.
            parameters.set(field, nb::cast<std::string>(nb::str(value)));
        }
    }
    return parameters;
}

}  // namespace ridge::python
