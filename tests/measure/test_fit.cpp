// Fitting: least squares, tables of measured rows, residuals, and fits that find the parameters
// that made their data.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "measure/fit/expert_rows.h"
#include "measure/fit/fit.h"
#include "measure/fit/fit_bands.h"
#include "measure/fit/residuals.h"
#include "measure/fit/rows.h"
#include "measure/record/record.h"
#include "measure/run/measure.h"
#include "measure/run/suite.h"
#include "measure/statistics/least_squares.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "model/roof/band.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/error_message.h"
#include "tests/support/fake_device.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

using test::TemporaryFile;

TEST_CASE("least squares finds the parameters and ignores an outlier", "[fit]") {
    // ln of 3 x^0.5 at ten points. One of the points is ten times too high.
    const auto model = [](std::span<const double> p, double x) { return p[0] * std::pow(x, p[1]); };
    const Residuals residuals = [&](std::span<const double> p) {
        std::vector<double> logs;
        for (int i = 1; i <= 10; ++i) {
            const double x = i;
            const double measured = 3.0 * std::sqrt(x) * (i == 7 ? 10.0 : 1.0);
            logs.push_back(std::log(model(p, x) / measured));
        }
        return logs;
    };
    const std::vector<double> start{1.5, 1.0};
    const LeastSquaresSummary fit = least_squares(residuals, start, {.scale = 0.01, .pull = 1e-4});
    CHECK(fit.status == FitStatus::converged);
    CHECK(fit.cost < fit.cost_at_start);
    CHECK(fit.iterations > 0);
    CHECK(fit.values[0] == Approx(3.0).epsilon(0.01));
    CHECK(fit.values[1] == Approx(0.5).epsilon(0.02));
}

TEST_CASE("an undetermined parameter keeps its value", "[fit]") {
    const Residuals residuals = [](std::span<const double> p) {
        return std::vector<double>{std::log(p[0] / 2.0)};
    };
    const LeastSquaresSummary fit = least_squares(residuals, std::vector<double>{1.0, 7.0}, {});
    CHECK(fit.values[0] == Approx(2.0).epsilon(0.1));
    CHECK(fit.values[1] == Approx(7.0).epsilon(1e-9));
    CHECK(std::isfinite(fit.standard_errors[0]));
    CHECK(std::isinf(fit.standard_errors[1]));
    CHECK(strongest_correlation(fit, 1).value == 0.0);
}

TEST_CASE("standard errors and correlations are those of linear regression", "[fit]") {
    // ln p0 + x ln p1 at known ordinates, x = 0 .. 3: least squares of a straight line.
    const std::vector<double> y{0.10, 0.12, 0.20, 0.18};
    const Residuals residuals = [&](std::span<const double> p) {
        std::vector<double> r;
        for (std::size_t i = 0; i < y.size(); ++i) {
            r.push_back(std::log(p[0]) + static_cast<double>(i) * std::log(p[1]) - y[i]);
        }
        return r;
    };
    const LeastSquaresSummary fit =
        least_squares(residuals, std::vector<double>{1.0, 1.0},
                      {.scale = std::numeric_limits<double>::infinity(), .pull = 0.0});
    CHECK(fit.status == FitStatus::converged);
    // Slope S_xy / S_xx = 0.16 / 5; intercept 0.15 - 1.5 x 0.032.
    CHECK(std::log(fit.values[1]) == Approx(0.032).epsilon(1e-6));
    CHECK(std::log(fit.values[0]) == Approx(0.102).epsilon(1e-6));
    // Residuals -0.002, -0.014, 0.034, -0.018 leave a variance of 0.00168 / 2.
    CHECK(fit.cost == Approx(0.00168).epsilon(1e-6));
    const double variance = 0.00084;
    CHECK(fit.standard_errors[1] == Approx(std::sqrt(variance / 5.0)).epsilon(1e-6));
    CHECK(fit.standard_errors[0] ==
          Approx(std::sqrt(variance * (1.0 / 4.0 + 1.5 * 1.5 / 5.0))).epsilon(1e-6));
    // -mean(x) / sqrt(mean(x^2)) = -1.5 / sqrt(3.5)
    CHECK(fit.correlations[0][1] == Approx(-1.5 / std::sqrt(3.5)).epsilon(1e-6));
    CHECK(strongest_correlation(fit, 0).with == 1);
}

TEST_CASE("two parameters that matter only as a product are not determined", "[fit]") {
    const Residuals residuals = [](std::span<const double> p) {
        std::vector<double> r;
        for (const double y : {0.9, 1.0, 1.1, 1.0}) r.push_back(std::log(p[0] * p[1] / y));
        return r;
    };
    const LeastSquaresSummary fit = least_squares(residuals, std::vector<double>{2.0, 2.0}, {});
    CHECK(fit.standard_errors[0] > 1.0);
    CHECK(fit.standard_errors[1] > 1.0);
    CHECK(fit.correlations[0][1] == Approx(-1.0).epsilon(1e-6));
}

TEST_CASE("residuals that are not finite at the start are reported", "[fit]") {
    const Residuals residuals = [](std::span<const double>) {
        return std::vector<double>{std::nan("")};
    };
    const LeastSquaresSummary fit = least_squares(residuals, std::vector<double>{3.0}, {});
    CHECK(fit.status == FitStatus::not_finite);
    CHECK(fit.values == std::vector<double>{3.0});
}

TEST_CASE("a fit that reaches its step limit says so", "[fit]") {
    const Residuals residuals = [](std::span<const double> p) {
        return std::vector<double>{std::log(p[0] / 4.0), std::log(p[0] * p[1])};
    };
    const LeastSquaresSummary fit =
        least_squares(residuals, std::vector<double>{1.0, 1.0}, {.steps = 1});
    CHECK(fit.status == FitStatus::step_limit);
    CHECK(fit.iterations == 1);
}

TEST_CASE("errors are summed up by class", "[fit]") {
    // Errors of one class: 0, 10 % and 20 % above, 10 % below; of the other: 50 % above.
    const std::vector<Residual> residuals{{"a", {1.0, true}},
                                          {"a", {1.1, true}},
                                          {"a", {1.2, false}},
                                          {"a", {0.9, true}},
                                          {"b", {1.5, false}}};
    const std::vector<ResidualSummary> summaries = summarise(residuals);
    REQUIRE(summaries.size() == 3);
    CHECK(summaries[0].group == "a");
    const ErrorSummary& a = summaries[0].errors;
    CHECK(a.mean == Approx(0.10));
    CHECK(a.median == Approx(0.10));
    // Absolute errors 0, 0.1, 0.1, 0.2: 0.7 of the way from the third to the fourth.
    CHECK(a.p90 == Approx(0.17));
    CHECK(a.bias == Approx(0.05));  // the median of -0.1, 0, 0.1, 0.2
    CHECK(a.worst == Approx(0.20));
    CHECK(a.coverage == Approx(0.75));
    // ln(measured / predicted): 10 % of the way through the 3 intervals between -ln 1.2 and -ln
    // 0.9.
    CHECK(a.log_low == Approx(-std::log(1.2) + 0.3 * std::log(1.2 / 1.1)));
    CHECK(a.log_high == Approx(0.7 * -std::log(0.9)));
    CHECK(summaries[2].group == "all");
    CHECK(summaries[2].errors.count == 5);
    CHECK(summaries[2].errors.bias == Approx(0.1));  // a mean would be 0.14
    CHECK(summaries[2].errors.worst == Approx(0.50));
}

TEST_CASE("rows of a table are read", "[fit]") {
    const TemporaryFile file(
        "gpu,op,dtype,gpus,bytes,expr,elements,measured_us,source\n"
        "h100-sxm,all_reduce,half,8,1024,,,12.5,aiconfigurator h100_sxm nccl\n"
        "h100-sxm,all_reduce,int8,8,1024,,,12.5,own\n"
        "h100-sxm,elementwise,fp32,,,\"pow(x, y)\",4096,3.25,own\n",
        ".csv");
    const std::vector<MeasuredRow> rows = read_rows(file.path());
    REQUIRE(rows.size() == 3);
    // The table from aiconfigurator counts elements of 2 bytes, the own table bytes.
    CHECK(std::get<model::Collective>(rows[0].operation).bytes == 2048);
    CHECK(std::get<model::Collective>(rows[1].operation).bytes == 1024);
    CHECK(std::get<model::Collective>(rows[1].operation).type == model::DataType::int8);
    CHECK(std::get<model::Elementwise>(rows[2].operation).elements == 4096);
    CHECK(rows[2].measured.in(units::us) == Approx(3.25));
    CHECK(rows[2].line == 4);
}

TEST_CASE("an unknown column of a table is refused unless it is kept", "[fit]") {
    const TemporaryFile file("gpu,op,m,n,k,betch,measured_us\nh100-sxm,matmul,64,64,64,3,12.5\n",
                             ".csv");
    CHECK_THROWS_WITH(read_rows(file.path()), Catch::Contains("column 'betch' is not known") &&
                                                  Catch::Contains("did you mean 'batch'?"));
    CHECK(read_rows(file.path(), {.names = {"betch"}}).size() == 1);
}

TEST_CASE("errors in tables name their place", "[fit]") {
    const auto message_of = [](const std::string& text) -> std::string {
        const TemporaryFile file(text, ".csv");
        return test::message_of([&] { return read_rows(file.path()); });
    };
    CHECK(message_of("gpu,op\na,copy\n").find("no column 'measured_us'") != std::string::npos);
    const std::string text = message_of("gpu,op,elements,measured_us\nt4,copy,8,1\nt4,copy,8,-1\n");
    CHECK(text.find(":3:1") != std::string::npos);
    CHECK(text.find("measured: '-1' is not a positive number") != std::string::npos);
    CHECK_THROWS_AS(read_folder("/nonexistent", {"copy"}), InputError);
}

TEST_CASE("a fit finds the parameters that made its rows", "[fit]") {
    const model::Catalogue catalogue = model::catalogue();
    const model::Machine start = model::make_machine(catalogue.at("a100-pcie-40gb"));
    model::Machine truth = start;
    truth.memory->read_efficiency = 0.75;
    truth.memory->eager.launch = 30.0 * units::us;

    FitProblem problem;
    problem.machines.emplace("a100-pcie-40gb", start);
    for (std::int64_t elements = 1 << 16; elements <= 1 << 28; elements *= 2) {
        MeasuredRow row;
        row.gpu = "a100-pcie-40gb";
        row.kind = model::OperationKind::copy;
        row.operation = model::Copy{.elements = elements, .type = model::DataType::fp32};
        row.execution.launch = model::LaunchMode::stream;
        row.measured =
            std::get<model::Prediction>(model::predict(row.operation, row.execution, truth)).time;
        problem.rows.push_back(row);
    }
    problem.machines.begin()->second.memory->eager.reuse = 0.0;
    for (const char* const name : {"model.memory.read_efficiency", "model.eager.launch",
                                   "model.eager.reductions", "model.eager.reuse"}) {
        problem.parameters.push_back({model::find_parameter(name)});
    }
    problem.group = [](const MeasuredRow&, const model::Prediction&) { return "copy"; };
    problem.fold_key = [](const MeasuredRow& row) {
        return std::to_string(std::get<model::Copy>(row.operation).elements);
    };
    const FitReport report = run_fit(problem);
    CHECK(report.usable());
    // Copies do not determine a cost of norms, and a fit in logarithms cannot leave zero.
    REQUIRE(report.held.size() == 2);
    CHECK(report.held[0].field == "model.eager.reuse");
    CHECK(report.held[0].reason.find("zero") != std::string::npos);
    CHECK(report.held[1].field == "model.eager.reductions");
    CHECK(report.held[1].reason == "no row depends on it");
    REQUIRE(report.parameters.size() == 2);
    CHECK(report.parameters[0].standard_error < 0.01);
    CHECK(report.parameters[0].correlated_with == "model.eager.launch");
    CHECK(std::stod(report.parameters[0].value) == Approx(0.75).epsilon(0.001));
    CHECK(report.parameters[1].value.starts_with("\"30"));
    CHECK(report.fitted.back().errors.mean < 1e-3);
    CHECK(report.cross_validated.back().errors.count ==
          static_cast<std::int64_t>(problem.rows.size()));
    CHECK(report.cross_validated.back().errors.mean < 5e-3);
}

TEST_CASE("a fit may change only what its data determine, as the model declares", "[fit]") {
    const model::Machine h200 = model::make_machine(test::catalogue().at("h200-sxm"));
    std::vector<std::string> paths;
    for (const FreeParameter& each :
         free_parameters("attention.wgmma", model::Origin::records, h200)) {
        paths.push_back(each.parameter->field.path);
    }
    // Thread blocks of wgmma do not overlap each other.
    CHECK(paths.size() == 3);
    CHECK(std::find(paths.begin(), paths.end(), "model.attention.wgmma.overlap") == paths.end());
    CHECK(free_parameters("memory", model::Origin::tables, h200).size() == 1);
    CHECK(free_parameters("memory", model::Origin::records, h200).size() == 3);
    const model::Machine k80 = model::make_machine(test::catalogue().at("k80"));
    CHECK_THROWS_WITH(
        free_parameters("attention.wgmma", model::Origin::records, k80),
        contains_text("GPU 'k80' has no fields of model.attention.wgmma to start from"));
}

TEST_CASE("a fitted value is written so that the schema reads it back", "[fit]") {
    const model::Machine h200 = model::make_machine(test::catalogue().at("h200-sxm"));
    for (const model::ModelParameter& each : model::model_parameters()) {
        const auto value = each.read(h200);
        if (!value || !(*value > 0.0) || each.field.kind == hardware::ValueKind::count) continue;
        CAPTURE(each.field.path);
        const std::string text =
            "schema = 1\nkind = \"architecture\"\nname = \"x\"\n"
            "sources.F = { kind = \"measured\", text = \"fit\" }\n" +
            each.field.path + " = { value = " + toml_value(each.field, *value) +
            ", source = \"F\" }\n";
        const hardware::Loaded loaded = hardware::load_text(text, "x", model::schema());
        REQUIRE(loaded.problems.empty());
        CHECK(loaded.description.value(each.field.path).value() == Approx(*value).epsilon(5e-4));
    }
}

TEST_CASE("bands are quantiles of their class's residuals", "[fit]") {
    FakePlan plan = test::h200_plan();
    plan.noise = 0.0;
    const test::TemporaryFolder folder;
    // 54 copies at the predicted time and 6 a quarter slower.
    for (const double bias : {1.0, 1.25}) {
        plan.bias = bias;
        FakeDevice device(plan);
        for (int i = 0; i < (bias > 1.0 ? 6 : 54); ++i) {
            const std::string elements = std::to_string((1 << 28) + 4096 * i);
            append_record(folder.path() + "/copy.jsonl",
                          *measure_one(device, test::question("copy elements=" + elements), {}));
        }
    }
    FitRequest request{
        .data = {},
        .gpus = {},
        .machine =
            [](const std::string& name) {
                return model::make_machine(test::catalogue().at(name, model::View::calibrated));
            },
        .records = {folder.path()}};
    const std::vector<FittedBand> bands = fit_bands(request);
    REQUIRE(bands.size() == model::band_class_count);
    const FittedBand& stream = bands[static_cast<std::size_t>(model::BandClass::stream)];
    CHECK(stream.band_class == model::BandClass::stream);
    CHECK(stream.rows == 60);
    CHECK(stream.low == Approx(0.0).margin(1e-3));
    // A correction narrows the band of a copy. The table holds the band before narrowing.
    const Question copy = test::question("copy elements=268435456");
    const auto one = std::get<model::Prediction>(
        model::predict(copy.operation, copy.execution, request.machine("h200-sxm")));
    const double narrowed =
        (one.high / one.time - 1.0) / std::expm1(model::band_row(model::BandClass::stream).high);
    CHECK(narrowed < 1.0);
    const double slow = std::log1p(0.25 / narrowed);
    CHECK(stream.high == Approx(slow).epsilon(1e-3));
    CHECK(
        table_line(
            {.band_class = model::BandClass::stream, .low = -0.05, .high = 0.0625, .rows = 7}) ==
        R"(stream = { low = -0.050, high = 0.062, rows = 7, basis = "bundled", source = "ROWS" })");
    // Rows that were held out scatter like new rows, so the quantiles lie further in.
    request.held_out = true;
    const FittedBand narrower = fit_bands(request)[static_cast<std::size_t>(stream.band_class)];
    CHECK(narrower.high == Approx(0.1 * slow).epsilon(1e-2));
    // A class without rows keeps its band.
    const FittedBand& ring = bands[static_cast<std::size_t>(model::BandClass::ring)];
    CHECK(ring.low == model::band_row(model::BandClass::ring).low);
}

TEST_CASE("bundled attention is fitted from records", "[fit]") {
    const test::TemporaryFolder folder;
    FakePlan plan = test::h200_plan();
    plan.noise = 1e-4;
    plan.machine.residuals = nullptr;  // parameters are fitted without corrections
    const model::TiledAttentionParameters before = *plan.machine.attention->mma;
    plan.machine.attention->mma->softmax_fraction *= 0.8;
    plan.machine.attention->mma->tile_load *= 1.5;
    FakeDevice device(plan);
    std::vector<Question> questions;
    for (const char* const shape :
         {"heads=1 seq={200,1000,4000}", "heads=8 seq={300,2000,5000}", "heads=64 seq={128,900}"}) {
        for (const std::string& text : expand("attention " + std::string(shape) +
                                              " head_dim={64,128} causal={0,1} impl=mma")) {
            questions.push_back(test::question(text));
        }
    }
    questions.push_back(test::question("copy elements=1048576"));
    const SuiteResult measured = measure_suite(device, questions, {.folder = folder.path()});
    REQUIRE(measured.records.size() == questions.size());

    const model::Catalogue catalogue = model::catalogue();
    const FitRequest request{
        .data = {},
        .gpus = {},
        .machine = [&](const std::string& name) { return model::make_machine(catalogue.at(name)); },
        .records = {folder.path()}};
    const std::vector<FitReport> reports = fit_attention(request);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].name == "h200-sxm mma");
    CHECK(reports[0].fitted.back().errors.count == static_cast<std::int64_t>(questions.size()) - 1);
    CHECK(reports[0].fitted.back().errors.mean < 0.01);
    CHECK(reports[0].cross_validated.back().errors.mean < 0.02);
    const auto fitted = [&](std::string_view field) {
        for (const FittedParameter& parameter : reports[0].parameters) {
            if (parameter.field == field) return parameter.number;
        }
        return 0.0;
    };
    CHECK(fitted("model.attention.mma.softmax_fraction") ==
          Approx(0.8 * before.softmax_fraction).epsilon(0.03));
    const double clocks = (before.tile_load * plan.machine.boost_clock).base();
    CHECK(fitted("model.attention.mma.tile_load") == Approx(1.5 * clocks).epsilon(0.03));
    FitRequest nothing = request;
    nothing.records = {folder.path() + "/none"};
    CHECK_THROWS_AS(fit_attention(nothing), InputError);
}

TEST_CASE("records of a slower kernel give its parameters", "[fit]") {
    FakePlan plan = test::h200_plan();
    plan.noise = 0.0;
    model::BundledMatmul& kernel = *plan.machine.matmul.bundled.mma;
    kernel.issue_fraction /= 1.25;
    kernel.step *= 1.25;
    kernel.store_per_sm = kernel.store_per_sm / 1.25;
    FakeDevice device(plan);
    const test::TemporaryFolder folder;
    const std::string path = folder.file("records.jsonl");
    for (const int size : {128, 256, 512, 1024, 1536, 2048, 4096, 6144}) {
        const std::string n = std::to_string(size);
        for (const std::string k : {"64", "512", "4096"}) {
            const Question question =
                test::question("matmul m=" + n + " n=" + n + " k=" + k + " impl=mma dtype=bf16");
            append_record(path, *measure_one(device, question, {}));
        }
    }
    const auto machine = [](const std::string& name) {
        return model::make_machine(test::catalogue().at(name, model::View::calibrated));
    };
    const double before = machine("h200-sxm").matmul.bundled.mma->issue_fraction;
    const auto reports =
        fit_matmul({.data = {}, .gpus = {}, .machine = machine, .records = {path}});
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].name == "h200-sxm mma");
    CHECK(reports[0].fitted.back().errors.mean < 5e-3);
    bool found = false;
    for (const FittedParameter& parameter : reports[0].parameters) {
        if (parameter.field != "model.matmul.mma.issue_fraction") continue;
        found = true;
        CHECK(std::stod(parameter.value) == Approx(before / 1.25).epsilon(0.01));
    }
    CHECK(found);
}

TEST_CASE("rows of experts whose tiles another model may have tuned are told apart", "[fit]") {
    const TemporaryFile file(
        "gpu,op,impl,tokens,hidden,intermediate,topk,experts,tp,ep,measured_us\n"
        "h200-sxm,moe,cutlass,64,4096,1024,10,512,1,4,100\n"  // 1024 wide, 128 experts per GPU
        "h200-sxm,moe,cutlass,64,4096,2048,8,256,2,2,100\n"   // another model, same shape
        "b200,moe,cutlass,8,4096,1024,10,512,1,4,50\n"        // the same on another GPU
        "h200-sxm,moe,cutlass,64,4096,1024,10,512,1,2,100\n"  // 256 experts per GPU: one model only
        "h200-sxm,moe,cutlass,64,4096,2048,8,256,1,2,100\n",  // 2048 wide: one model only
        ".csv");
    const ExpertRows rows = split_experts(read_rows(file.path()));
    REQUIRE(rows.shared.size() == 3);
    CHECK(rows.shared[0].line == 2);
    CHECK(rows.shared[2].gpu == "b200");
    REQUIRE(rows.own.size() == 2);
    CHECK(rows.own[0].line == 5);
    // A single model has no shared shapes.
    CHECK(split_experts(rows.own).shared.empty());
}

TEST_CASE("streaming kernels are fitted from records", "[fit]") {
    FakePlan plan = test::h200_plan();
    plan.noise = 0.0;
    plan.machine.residuals = nullptr;  // parameters are fitted without corrections
    model::MemoryParameters& memory = *plan.machine.memory;
    memory.bundled.reduction_slots = 200.0;
    memory.bundled.element_slots = 20.0;
    memory.read_efficiency = 0.8;
    FakeDevice device(plan);
    std::vector<Question> questions;
    for (const char* const kind : {"softmax", "layernorm", "rmsnorm", "sum"}) {
        for (const std::string& text :
             expand(std::string(kind) +
                    " dtype=bf16 rows={64,2048,65536} cols={64,1024,4096,4097,16384}")) {
            questions.push_back(test::question(text));
        }
    }
    const test::TemporaryFolder folder;
    const SuiteResult measured = measure_suite(device, questions, {.folder = folder.path()});
    REQUIRE(measured.records.size() == questions.size());
    const FitRequest request{
        .data = {},
        .gpus = {},
        .machine =
            [](const std::string& name) {
                return model::make_machine(test::catalogue().at(name, model::View::calibrated));
            },
        .records = {folder.path()}};
    const std::vector<FitReport> reports = fit_memory(request);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].name == "h200-sxm");
    const auto fitted = [&](std::string_view field) {
        for (const FittedParameter& parameter : reports[0].parameters) {
            if (parameter.field == field) return parameter.value;
        }
        return std::string("0");
    };
    CHECK(std::stod(fitted("model.memory.read_efficiency")) == Approx(0.8).epsilon(0.03));
    CHECK(std::stod(fitted("model.bundled.reduction_slots")) == Approx(200.0).epsilon(0.1));
    CHECK(std::stod(fitted("model.bundled.element_slots")) == Approx(20.0).epsilon(0.1));
    CHECK(reports[0].fitted.back().errors.mean < 0.01);
    CHECK(reports[0].cross_validated.back().errors.mean < 0.03);
}

}  // namespace
}  // namespace ridge::measure
