// `ridge fit kernels`: costs of the code of PyTorch's kernels, fitted to records.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "measure/fit/rows.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

/// A record whose time is the model's prediction for the plan's machine.
Record record_by(const FakePlan& plan, const Question& question) {
    const auto outcome = model::predict(question.operation, question.execution, plan.machine);
    const double time = std::get<model::Prediction>(outcome).time.base();
    const std::vector<Sample> samples{{.time = Time::from_base(time)}};
    return {.question = question,
            .device = describe(plan.info),
            .tool = "test",
            .date = "2026-01-01T00:00:00Z",
            .timing = Timing{.method = Method::activity,
                             .samples = samples,
                             .statistics = summarise(steady_times(samples))}};
}

TEST_CASE("records give the costs of the code that made them", "[fit]") {
    FakePlan plan = test::h200_plan();
    plan.noise = 0.0;
    plan.machine.residuals = nullptr;  // parameters are fitted without corrections
    // Values that softmax's kernels share.
    const std::string of_chain = "model.torch.softmax.registers.chain";
    const std::string of_slots = "model.torch.softmax.warp_16bit.slots";
    const auto scaled = [&plan](const std::string& field, double factor) {
        const model::ModelParameter* const parameter = model::find_parameter(field);
        const double value = factor * parameter->read(plan.machine).value();
        REQUIRE(parameter->write(plan.machine, value));
        return value;
    };
    const double chain = scaled(of_chain, 1.4);
    const double slots = scaled(of_slots, 0.7);
    const model::TorchStreamCode& code = plan.machine.memory->torch->code;
    CHECK(code.loop.chain == code.registers.chain);
    CHECK(code.loop.slots == code.warp_16bit.slots);
    const test::TemporaryFolder folder;
    for (const std::string& text : expand("softmax dtype={bf16,fp32} impl=torch rows={8,512,8192} "
                                          "cols={64,1024,4096,20000,50257,65536,131072}")) {
        append_record(folder.path() + "/rows.jsonl", record_by(plan, test::question(text)));
    }
    const std::vector<FitReport> reports = fit_code(
        {.data = {},
         .gpus = {},
         .machine =
             [](const std::string& name) {
                 return model::make_machine(test::catalogue().at(name, model::View::calibrated));
             },
         .records = {folder.path()}});
    // Besides the softmax, a report on how far rounds overlap in every kernel.
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].name == "h200-sxm torch.overlap");
    const FitReport& report = reports[1];
    CHECK(report.name == "h200-sxm torch.softmax");
    const auto fitted = [&](std::string_view field) {
        for (const FittedParameter& each : report.parameters) {
            if (each.field == field) return each.number;
        }
        return 0.0;
    };
    CHECK(fitted(of_chain) == Approx(chain).epsilon(0.05));
    CHECK(fitted(of_slots) == Approx(slots).epsilon(0.02));
    CHECK(report.fitted.back().errors.mean < 5e-3);
}

TEST_CASE("compiled products, several kernels in one time, are not used for fits", "[fit]") {
    const FakePlan plan = test::h200_plan();
    const test::TemporaryFolder folder;
    const std::string file = folder.path() + "/rows.jsonl";
    for (const std::string& text : expand("matmul m={64,4096} n=4096 k=4096 dtype=bf16 "
                                          "epilogue={none,bias_gelu} impl=compiled")) {
        append_record(file, record_by(plan, test::question(text)));
    }
    const auto name = [](const std::string&) { return std::string("h200-sxm"); };
    CHECK_THROWS_WITH(read_record_rows({file}, name),
                      contains_text("no measured records to fit to"));
    append_record(file, record_by(plan, test::question("matmul m=64 n=4096 k=4096 dtype=bf16 "
                                                       "impl=torch")));
    append_record(file, record_by(plan, test::question("softmax rows=8 cols=64 impl=compiled")));
    const std::vector<MeasuredRow> rows = read_record_rows({file}, name);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].execution.implementation == model::Implementation::torch);
    CHECK(rows[1].kind == model::OperationKind::softmax);
}

TEST_CASE("a row from records names the file and line of its record", "[fit]") {
    const FakePlan plan = test::h200_plan();
    const test::TemporaryFolder folder;
    const auto record_of = [&plan](const std::string& text) {
        return record_by(plan, test::question(text));
    };
    const std::string single = folder.path() + "/single.jsonl";
    append_record(single, record_of("matmul m=64 n=64 k=64 dtype=bf16 impl=compiled"));
    append_record(single, record_of("copy elements=1024 impl=torch"));
    const std::string inner = folder.path() + "/inner";
    std::filesystem::create_directory(inner);
    append_record(inner + "/a.jsonl", record_of("copy elements=2048 impl=torch"));
    std::ofstream(inner + "/b.jsonl")
        << "\n{\"schema\": 1\n"
        << to_json_line(record_of("copy elements=4096 impl=torch")) << "\n";
    const auto name = [](const std::string&) { return std::string("h200-sxm"); };
    const std::vector<MeasuredRow> rows = read_record_rows({single, inner}, name);
    REQUIRE(rows.size() == 3);
    const auto place = [](const MeasuredRow& row) {
        return row.file + ":" + std::to_string(row.line);
    };
    CHECK(place(rows[0]) == single + ":2");
    CHECK(place(rows[1]) == inner + "/a.jsonl:1");
    CHECK(place(rows[2]) == inner + "/b.jsonl:3");
}

TEST_CASE("the costs of PyTorch's code are not fitted without records", "[fit]") {
    CHECK_THROWS_WITH(fit_code({}), contains_text("fitted to records"));
}

}  // namespace
}  // namespace ridge::measure
