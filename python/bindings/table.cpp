#include "python/bindings/table.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/views/energy.h"
#include "hardware/error.h"
#include "model/core/fields.h"
#include "model/explain.h"
#include "model/predict.h"
#include "python/bindings/conversion.h"
#include "python/bindings/machines.h"

namespace ridge::python {
namespace {

namespace nb = nanobind;
using model::Field;
using model::OperationKind;
using model::Parameters;

using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t no_value = std::numeric_limits<std::int64_t>::min();

/// A column of whole numbers; `no_value` leaves the field at its default.
struct CountColumn {
    std::string name;
    std::span<const std::int64_t> values;
};

/// A column of texts as codes into its distinct texts; a negative code is an empty cell.
struct TextColumn {
    std::string name;
    std::span<const std::int32_t> codes;
    std::vector<std::string> texts;
};

/// The results, one array each. Errors are codes into `texts`; 0 is no error.
struct Results {
    explicit Results(std::size_t rows)
        : numbers(result_count * rows), bound(rows), limiter(rows), evidence(rows), error(rows) {}

    static constexpr std::size_t result_count = 17;
    std::vector<double> numbers;  ///< result_count columns, one after another
    std::vector<std::int32_t> bound;
    std::vector<std::int32_t> limiter;
    std::vector<std::int32_t> evidence;
    std::vector<std::int32_t> error;
    std::vector<std::string> texts{""};
    std::vector<std::string> words;  ///< of bound, limiter and evidence
};

constexpr std::array<const char*, Results::result_count> number_names{
    "time_us",
    "time_low_us",
    "time_high_us",
    "lower_bound_us",
    "flop",
    "compulsory_bytes",
    "dram_bytes",
    "l2_bytes",
    "algorithmic_intensity_flop_per_byte",
    "dram_intensity_flop_per_byte",
    "power_w",
    "power_low_w",
    "power_high_w",
    "energy_j",
    "energy_low_j",
    "energy_high_j",
    "flop_per_j"};

std::int32_t code_in(std::vector<std::string>& texts, std::string_view text) {
    // Words are few and the newest is the most frequent, so a search from the end is short.
    for (std::size_t i = texts.size(); i-- > 0;) {
        if (texts[i] == text) return static_cast<std::int32_t>(i);
    }
    constexpr std::size_t most = 10000;  // errors may contain values, so limit their number
    if (texts.size() >= most) return code_in(texts, "further errors, not kept");
    texts.emplace_back(text);
    return static_cast<std::int32_t>(texts.size() - 1);
}

class TablePredictor {
  public:
    TablePredictor(std::vector<CountColumn> counts, std::vector<TextColumn> texts,
                   std::optional<std::string> operation, std::optional<std::string> gpu,
                   model::View view, std::size_t rows)
        : counts_(std::move(counts)), view_(view), results_(rows) {
        if (operation) operation_ = model::parse_operation_kind(*operation);
        if (gpu) machine_ = &machine_of(*gpu, view_);
        for (TextColumn& column : texts) place(std::move(column));
        if (!operation_ && !operations_) {
            throw InputError("op: no column of that name, and no operation given");
        }
        if (machine_ == nullptr && !gpus_) {
            throw InputError("gpu: no column of that name, and no GPU given");
        }
        for (const CountColumn& column : counts_) count_fields_.push_back(known(column.name));
    }

    void predict(std::size_t row) {
        try {
            predict_row(row);
        } catch (const InputError& error) {
            fail(row, error.what());
        }
    }

    Results& results() { return results_; }

  private:
    static Field known(const std::string& name) {
        if (const auto field = model::find_field(name)) return *field;
        throw InputError(name + ": no operation has such a field");
    }

    void place(TextColumn column) {
        if (column.name == "op") {
            operations_ = std::move(column);
        } else if (column.name == "gpu") {
            gpus_ = std::move(column);
        } else {
            text_fields_.push_back(known(column.name));
            texts_.push_back(std::move(column));
        }
    }

    static const std::string* text_at(const TextColumn& column, std::size_t row) {
        const std::int32_t code = column.codes[row];
        if (code < 0) return nullptr;
        const auto place = static_cast<std::size_t>(code);
        if (place >= column.texts.size()) throw InputError(column.name + ": a code has no text");
        return column.texts[place].empty() ? nullptr : &column.texts[place];
    }

    OperationKind kind_at(std::size_t row) {
        if (operations_) {
            if (const std::string* const name = text_at(*operations_, row)) {
                if (kind_text_ != name) {
                    kind_ = model::parse_operation_kind(*name);
                    kind_text_ = name;
                }
                return kind_;
            }
        }
        if (!operation_) throw InputError("op is missing");
        return *operation_;
    }

    const model::Machine& machine_at(std::size_t row) {
        if (gpus_) {
            if (const std::string* const name = text_at(*gpus_, row)) {
                if (gpu_text_ != name) {
                    gpu_ = &machine_of(*name, view_);
                    gpu_text_ = name;
                }
                return *gpu_;
            }
        }
        if (machine_ == nullptr) throw InputError("gpu is missing");
        return *machine_;
    }

    void predict_row(std::size_t row) {
        const OperationKind kind = kind_at(row);
        const model::Machine& machine = machine_at(row);
        parameters_.clear();
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const std::int64_t value = counts_[i].values[row];
            if (value == no_value || !model::applies(kind, count_fields_[i])) continue;
            parameters_.set_count(count_fields_[i], value);
        }
        for (std::size_t i = 0; i < texts_.size(); ++i) {
            const std::string* const text = text_at(texts_[i], row);
            if (text == nullptr || !model::applies(kind, text_fields_[i])) continue;
            parameters_.set(text_fields_[i], *text);
        }
        const model::Operation operation = model::make_operation(kind, parameters_);
        const model::Outcome outcome =
            model::predict(operation, model::make_execution(parameters_), machine);
        if (const auto* unmodelled = std::get_if<model::NotModelled>(&outcome)) {
            return fail(row, unmodelled->reason);
        }
        store(row, std::get<model::Prediction>(outcome));
    }

    void store(std::size_t row, const model::Prediction& p) {
        const auto dram = model::dram_intensity(p);
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        const auto energy = cli::energy_values(p);
        const auto of_energy = [&energy](std::size_t i) { return energy ? energy->at(i) : none; };
        const std::array<double, Results::result_count> values{
            p.time.in(units::us), p.low.in(units::us),
            p.high.in(units::us), p.lower_bound.in(units::us),
            p.work.flop().base(), p.work.compulsory().base(),
            p.work.dram().base(), p.work.l2.base(),
            p.algorithmic.base(), dram ? dram->base() : none,
            of_energy(0),         of_energy(1),
            of_energy(2),         of_energy(3),
            of_energy(4),         of_energy(5),
            of_energy(6)};
        const std::size_t rows = results_.error.size();
        for (std::size_t i = 0; i < values.size(); ++i)
            results_.numbers[i * rows + row] = values[i];
        results_.bound[row] = code_in(results_.words, name_of(p.bound));
        results_.limiter[row] = code_in(results_.words, name_of(p.limiter));
        results_.evidence[row] = code_in(results_.words, name_of(p.evidence.grade()));
    }

    void fail(std::size_t row, std::string_view reason) {
        const std::size_t rows = results_.error.size();
        for (std::size_t i = 0; i < Results::result_count; ++i) {
            results_.numbers[i * rows + row] = std::numeric_limits<double>::quiet_NaN();
        }
        results_.bound[row] = results_.limiter[row] = results_.evidence[row] = -1;
        results_.error[row] = code_in(results_.texts, reason);
    }

    std::vector<CountColumn> counts_;
    std::vector<TextColumn> texts_;
    std::vector<Field> count_fields_;
    std::vector<Field> text_fields_;
    std::optional<TextColumn> operations_;
    std::optional<TextColumn> gpus_;
    std::optional<OperationKind> operation_;
    model::View view_;
    const model::Machine* machine_ = nullptr;
    OperationKind kind_ = OperationKind::matmul;
    const std::string* kind_text_ = nullptr;
    const model::Machine* gpu_ = nullptr;
    const std::string* gpu_text_ = nullptr;
    Parameters parameters_;
    Results results_;
};

template <class T>
nb::object array_of(std::vector<T> values) {
    auto* const kept = new std::vector<T>(std::move(values));  // freed by its capsule
    const nb::capsule owner(
        kept, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    const std::size_t shape[1] = {kept->size()};
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), 1, shape, owner).cast();
}

/// Rows between two checks for Ctrl-C: about ten milliseconds.
constexpr std::size_t rows_between_signals = 16384;

nb::dict predict_table(
    std::size_t rows, const std::vector<std::pair<std::string, Counts>>& counts,
    const std::vector<std::tuple<std::string, Codes, std::vector<std::string>>>& texts,
    std::optional<std::string> operation, std::optional<std::string> gpu, bool datasheet,
    bool analytic) {
    std::vector<CountColumn> count_columns;
    for (const auto& [name, array] : counts) {
        if (array.shape(0) != rows)
            throw InputError(name + ": differs in length from the other columns");
        count_columns.push_back({name, {array.data(), rows}});
    }
    std::vector<TextColumn> text_columns;
    for (const auto& [name, codes, words] : texts) {
        if (codes.shape(0) != rows)
            throw InputError(name + ": differs in length from the other columns");
        text_columns.push_back({name, {codes.data(), rows}, words});
    }
    TablePredictor predictor(std::move(count_columns), std::move(text_columns),
                             std::move(operation), std::move(gpu), view_of(datasheet, analytic),
                             rows);
    for (std::size_t begin = 0; begin < rows; begin += rows_between_signals) {
        {
            const nb::gil_scoped_release released;
            const std::size_t end = std::min(rows, begin + rows_between_signals);
            for (std::size_t row = begin; row < end; ++row) predictor.predict(row);
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    Results& results = predictor.results();
    nb::dict out;
    for (std::size_t i = 0; i < number_names.size(); ++i) {
        const auto first = results.numbers.begin() + static_cast<std::ptrdiff_t>(i * rows);
        out[number_names[i]] =
            array_of(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(rows)));
    }
    out["words"] = nb::cast(results.words);
    out["bound"] = array_of(std::move(results.bound));
    out["limiter"] = array_of(std::move(results.limiter));
    out["evidence"] = array_of(std::move(results.evidence));
    out["errors"] = nb::cast(results.texts);
    out["error"] = array_of(std::move(results.error));
    return out;
}

}  // namespace

void bind_table(nb::module_& module) {
    nb::list names;
    for (const char* name : number_names) names.append(name);
    module.attr("result_numbers") = nb::tuple(names);
    module.attr("NO_VALUE") = no_value;
    module.def("predict_table", &predict_table, nb::arg("rows"), nb::arg("counts"),
               nb::arg("texts"), nb::arg("operation") = nb::none(), nb::arg("gpu") = nb::none(),
               nb::arg("datasheet") = false, nb::arg("analytic") = false);
}

}  // namespace ridge::python
