// The module `ridge._core`: the C++ part of the Python package. Users import `ridge`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "cli/application.h"
#include "cli/console/version.h"
#include "cli/input/machines.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "hardware/error_field.h"
#include "model/allocator/caching_allocator.h"
#include "model/catalogue/catalogue.h"
#include "model/footprint/attention_memory.h"
#include "programs/aten/operations.h"
#include "programs/aten/workspace.h"
#include "programs/host.h"
#include "python/bindings/conversion.h"
#include "python/bindings/machines.h"
#include "python/bindings/table.h"

namespace ridge::python {

namespace nb = nanobind;

const model::Machine& machine_of(std::string_view gpu, model::View view) {
    // Predictions of a table do not hold the GIL, so the catalogue has its own lock.
    static std::mutex mutex;
    static std::map<model::View, std::unique_ptr<cli::Machines>> views;
    const std::scoped_lock lock(mutex);
    std::unique_ptr<cli::Machines>& machines = views[view];
    if (!machines) {
        machines = std::make_unique<cli::Machines>(model::catalogue(), view);
    }
    return machines->at(gpu);
}

namespace {

nb::object predict(const std::string& operation, const std::string& gpu, const nb::dict& fields,
                   bool datasheet, bool analytic) {
    cli::Answer answer;
    answer.kind = model::parse_operation_kind(operation);
    answer.parameters = parameters_of(answer.kind, fields);
    answer.machine = &machine_of(gpu, view_of(datasheet, analytic));
    cli::predict(answer);
    return to_python(cli::to_json(answer));
}

/// Predicts one recorded call of a PyTorch operator: the model's operation and its time. `inputs`
/// are the profiler's four lists, separated by '|'. No "time_us" if it is not modelled.
nb::dict predict_call(const std::string& name, const std::string& inputs, const std::string& gpu,
                      bool datasheet, bool analytic) {
    nb::dict out;
    const programs::Call call = programs::parse_call(name, inputs);
    out["shape"] = programs::shape_text(call);
    out["workspace_bytes"] = programs::workspace_of(call);
    const auto found = programs::operations_of(call);
    if (!found) {
        out["not_modelled"] = "ridge has no operation for " + name;
        return out;
    }
    out["family"] = std::string(name_of(found->family));
    out["basis"] = std::string(name_of(found->basis));
    const programs::CallPrediction one =
        programs::predict(*found, machine_of(gpu, view_of(datasheet, analytic)));
    if (!one.reason.empty()) {
        out["not_modelled"] = one.reason;
        return out;
    }
    const model::WorkloadPrediction& answer = one.answer;
    out["time_us"] = answer.time.in(units::us);
    out["time_low_us"] = answer.low.in(units::us);
    out["time_high_us"] = answer.high.in(units::us);
    out["bound"] = std::string(one.bound);
    out["limiter"] = std::string(one.limiter);
    out["evidence"] = std::string(name_of(answer.grade));
    out["kernels"] = answer.work.kernels;
    out["flop"] = answer.work.flop().base();
    out["bytes"] = answer.work.compulsory().base();
    return out;
}

/// What dispatch and the host's time need to know of a GPU: its compute capability (90 for 9.0),
/// how long its host takes for a kernel, and cuBLAS's workspace for each thread that multiplies.
nb::dict dispatch_facts(const std::string& gpu) {
    const model::Machine& machine = machine_of(gpu, view_of(false, false));
    const programs::Host& host = programs::host_beside(machine.name);
    nb::dict out;
    out["compute_capability"] = machine.compute_capability;
    out["host"] = std::string(host.name);
    out["us_per_kernel"] = host.per_kernel().in(units::us);
    const model::AttentionCall product{.software = model::AttentionSoftware::torch_math};
    out["cublas_workspace_bytes"] =
        library_workspace(product, false, machine.compute_capability).cublas_per_thread;
    out["us_per_gradient_kernel"] = host.per_gradient_kernel().in(units::us);
    return out;
}

/// Replays storages, allocated (bytes above 0) and freed (below 0), in PyTorch's allocator.
nb::dict replay(const std::vector<std::pair<std::int64_t, std::int64_t>>& events) {
    model::CachingAllocator memory;
    std::map<std::int64_t, model::CachingAllocator::Block> blocks;
    nb::list allocated;
    for (const auto& [number, bytes] : events) {
        if (bytes > 0) {
            blocks[number] = memory.allocate(bytes);
        } else if (const auto block = blocks.find(number); block != blocks.end()) {
            memory.release(block->second);
            blocks.erase(block);
        }
        allocated.append(memory.now().allocated);
    }
    nb::dict out;
    out["peak_requested_bytes"] = memory.peak().requested;
    out["peak_allocated_bytes"] = memory.peak().allocated;
    out["peak_reserved_bytes"] = memory.peak().reserved;
    out["allocated_bytes"] = allocated;
    return out;
}

/// Every field with its kind, every operation with its fields and implementations.
nb::dict vocabulary() {
    constexpr std::array kinds{"count", "flag", "word", "text"};
    nb::dict fields;
    for (const model::FieldInfo& info : model::field_table()) {
        fields[std::string(info.name).c_str()] = kinds[static_cast<std::size_t>(info.kind)];
    }
    nb::dict operations;
    for (const model::OperationInfo& info : model::operation_table()) {
        nb::list names;
        for (const auto& list : {info.required, info.optional}) {
            for (const model::Field field : list) {
                names.append(std::string(model::info_of(field).name));
            }
        }
        operations[std::string(info.name).c_str()] = names;
    }
    nb::dict both;
    both["fields"] = fields;
    both["operations"] = operations;
    return both;
}

/// Runs a command as the program does, with `input` as its standard input; returns exit code,
/// output, error output and, after an input error, the field that is wrong.
std::tuple<int, std::string, std::string, std::string> run(
    const std::vector<std::string>& arguments, int width, const std::string& input, bool piped) {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    std::string field;
    const cli::Context context{
        .in = in, .out = out, .err = err, .piped = piped, .width = width, .wrong_field = &field};
    int code = 0;
    {
        const nb::gil_scoped_release released;
        code = cli::run(arguments, context);
    }
    return {code, out.str(), err.str(), field};
}

}  // namespace
}  // namespace ridge::python

NB_MODULE(_core, module) {
    namespace nb = nanobind;
    module.attr("__version__") = ridge::cli::version;
    // One class for all input errors of ridge, made before anything can throw.
    static nb::handle input_error =
        nb::exception<ridge::InputError>(module, "InputError", PyExc_ValueError).release();
    static_cast<void>(input_error);
    module.def("predict", &ridge::python::predict, nb::arg("operation"), nb::arg("gpu"),
               nb::arg("fields"), nb::arg("datasheet") = false, nb::arg("analytic") = false);
    module.def("predict_call", &ridge::python::predict_call, nb::arg("name"), nb::arg("inputs"),
               nb::arg("gpu"), nb::arg("datasheet") = false, nb::arg("analytic") = false);
    module.def("dispatch_facts", &ridge::python::dispatch_facts, nb::arg("gpu"));
    module.def("replay", &ridge::python::replay, nb::arg("events"));
    module.def("vocabulary", &ridge::python::vocabulary);
    module.def("run", &ridge::python::run, nb::arg("arguments"), nb::arg("width") = 80,
               nb::arg("input") = "", nb::arg("piped") = false);
    module.def(
        "field_of",
        [](const std::string& message) { return ridge::field_of(ridge::InputError(message)); },
        nb::arg("message"));
    ridge::python::bind_table(module);
}
