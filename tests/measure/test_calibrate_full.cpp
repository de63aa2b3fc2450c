// `ridge calibrate --full` and `--rows` on the fake device: measuring, interruption, continuation,
// fitting, and use of the result by --gpu.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "hardware/error.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/parameters.h"
#include "model/predict.h"
#include "model/software.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/measure/fakes.h"
#include "tests/measure/run_on.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using measure::FakeDevice;
using measure::FakePlan;
using test::h200_plan;
using test::holds;
using test::run_on;
using test::TemporaryFolder;
using test::Transcript;

namespace {

/// An empty configuration and data folder for a user, in effect while the object lives.
class Home {
  public:
    [[nodiscard]] std::string overlay() const {
        return folder.file("config/ridge/gpus/h200-sxm.calibrated.toml");
    }

    TemporaryFolder folder;

  private:
    test::Variable configuration_{"XDG_CONFIG_HOME", folder.file("config")};
    test::Variable data_{"XDG_DATA_HOME", folder.file("data")};
};

/// An H200 that writes memory more slowly and whose wgmma kernel issues less often.
FakePlan other_h200() {
    FakePlan plan = h200_plan();
    plan.noise = 0.002;
    plan.machine.residuals = nullptr;
    plan.machine.memory->write_efficiency *= 0.85;
    plan.machine.matmul.bundled.wgmma->issue_fraction *= 0.8;
    plan.machine.matmul.bundled.wgmma->launch *= 1.5;
    return plan;
}

double time_of(const std::string& gpu_options, const std::string& operation) {
    const Transcript t =
        run_on(h200_plan(), "predict " + operation + gpu_options + " --format json");
    CAPTURE(t.err);
    REQUIRE(t.code == 0);
    return nlohmann::json::parse(t.out)["time_us"].get<double>();
}

const std::string full = "calibrate --full --no-torch --minutes 1 --shapes ";
const std::string wgmma = "matmul --m 4096 --n 4096 --k 4096 --dtype bf16 --impl wgmma";

}  // namespace

TEST_CASE("calibrate --full continues after an interruption, and --gpu uses what it wrote") {
    const Home home;
    FakePlan plan = other_h200();
    const double before = time_of(" --gpu h200-sxm", wgmma);
    int samples = 0;
    plan.on_sample = [&samples] {
        if (++samples == 100) std::raise(SIGINT);
    };
    const Transcript cut = run_on(plan, full + "200");
    CAPTURE(cut.err);
    CHECK(cut.code == 130);
    CHECK(holds(cut.err, "run the same command again to continue"));
    CHECK_FALSE(std::filesystem::exists(home.overlay()));
    const measure::RecordFile kept =
        measure::read_all_records({home.folder.file("data/ridge/h200-sxm/records")});
    REQUIRE(!kept.records.empty());

    plan.on_sample = {};
    const Transcript rest = run_on(plan, full + "200");
    CAPTURE(rest.err, rest.out);
    REQUIRE(rest.code == 0);
    CHECK(holds(rest.err, "ceilings: 0 measured"));
    CHECK(holds(rest.err, std::to_string(kept.records.size()) + " already there, 0 not reached"));
    CHECK(holds(rest.err, "PyTorch's kernels: skipped: --no-torch"));
    CHECK(holds(rest.err, "every later answer for --gpu h200-sxm uses it"));
    CHECK(holds(rest.out, "wgmma"));
    CHECK(holds(rest.out, "taken"));

    const Transcript check = run_on(plan, "gpus check " + home.overlay());
    CAPTURE(check.out, check.err);
    CHECK(check.code == 0);
    const std::string overlay = test::text_of(home.overlay());
    CHECK(holds(overlay, "seeds 101"));
    CHECK(holds(overlay, "% cross-validated"));
    CHECK_FALSE(holds(overlay, "nan"));
    const model::Outcome truth =
        model::predict(test::question("matmul m=4096 n=4096 k=4096 dtype=bf16").operation,
                       {.implementation = model::Implementation::wgmma}, plan.machine);
    const double slower = std::get<model::Prediction>(truth).time.in(units::us);
    CHECK(slower > 1.1 * before);
    CHECK(time_of(" --gpu h200-sxm", wgmma) == Approx(slower).epsilon(0.03));
    CHECK(time_of(" --gpu h200-sxm --datasheet", wgmma) == Approx(before).epsilon(0.01));
}

TEST_CASE("a second calibration starts from the description, not from the first one's overlay") {
    const Home home;
    const FakePlan plan = other_h200();
    const Transcript first = run_on(plan, full + "60 --format json");
    CAPTURE(first.err);
    REQUIRE(first.code == 0);
    const Transcript second = run_on(plan, full + "60 --format json");
    CHECK(holds(second.err, "shapes: 0 measured"));
    CHECK(second.out == first.out);
    // Fit to the records without a device.
    const std::string records = home.folder.file("data/ridge/h200-sxm/records");
    const Transcript again =
        run_on(plan, "calibrate --gpu h200-sxm --format json --rows " + records);
    CAPTURE(again.err);
    CHECK(again.code == 0);
    CHECK(holds(again.out, "wgmma"));
    const auto rows = nlohmann::json::parse(first.out);
    bool found = false;
    for (const auto& row : rows) {
        if (row["fit"] != "matmul" || row["kernels"] != "wgmma") continue;
        found = true;
        CHECK(row["values"] == "taken");
        CHECK(row["mean_error_before"].get<double>() > 0.1);
        CHECK(row["mean_error"].get<double>() < 0.03);
    }
    CHECK(found);
}

TEST_CASE("calibrate --full measures PyTorch's kernels if there is PyTorch") {
    const Home home;
    const std::string python = home.folder.file("python");
    // Stands in for Python: reports that PyTorch is there, then copies given records instead of
    // measuring.
    const std::string kept = home.folder.file("kept");
    std::filesystem::create_directories(kept);
    FakePlan plan = h200_plan();
    plan.machine.memory->torch->first_dram *= 1.3;
    FakeDevice device(plan);
    std::vector<measure::Question> questions;
    for (const std::string& text :
         measure::expand("softmax dtype=bf16 rows={64,512,4096} cols={256,1024,2000,4096} "
                         "impl=torch l2={cold,warm}")) {
        questions.push_back(test::question(text));
    }
    for (const measure::Question& question : questions) {
        measure::Record record;
        record.question = question;
        record.tool = "test";
        record.date = measure::utc_now();
        record.device = measure::describe(device.info());
        const auto prediction = std::get<model::Prediction>(
            model::predict(question.operation, question.execution, plan.machine));
        record.timing = measure::Timing{};
        for (int i = 0; i < 12; ++i) record.timing->samples.push_back({.time = prediction.time});
        measure::settle(*record.timing, {});
        measure::append_record(kept + "/softmax.jsonl", record);
    }
    test::write_text(python,
                     "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nmkdir -p \"$2/seed-101\"\n"
                     "cp " +
                         kept + "/softmax.jsonl \"$2/seed-101/\"\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const Transcript t = run_on(
        plan, "calibrate --full --shapes 20 --minutes 1 --python " + python + " --format json");
    CAPTURE(t.err, t.out);
    REQUIRE(t.code == 0);
    CHECK(holds(t.err, "PyTorch's kernels: measured"));
    bool found = false;
    for (const auto& row : nlohmann::json::parse(t.out)) {
        if (row["fit"] != "torch") continue;
        found = true;
        CHECK(row["rows"].get<int>() == static_cast<int>(questions.size()));
    }
    CHECK(found);
    CHECK(holds(test::text_of(home.folder.file("data/ridge/h200-sxm/torch/torch-kernels.py")),
                "Measures PyTorch's own kernels"));
    CHECK(holds(test::text_of(home.folder.file("data/ridge/h200-sxm/torch/torch_plan.py")),
                "def cases_of("));
    CHECK(holds(test::text_of(home.folder.file("data/ridge/h200-sxm/torch/torch_streams.py")),
                "def row_operations("));
    const Transcript none =
        run_on(plan, "calibrate --full --shapes 20 --minutes 1 --python /nonexistent/python");
    CHECK(none.code == 0);
    CHECK(holds(none.err, "PyTorch's kernels: skipped: /nonexistent/python"));
}

TEST_CASE("nothing is measured if the overlay cannot be written") {
    const Home home;
    const Transcript t = run_on(h200_plan(), full + "20 -o /dev/null/x.toml");
    CHECK(t.code == 2);
    CHECK(holds(t.err, "/dev/null: cannot be created: "));
    CHECK_FALSE(std::filesystem::exists(home.folder.file("data/ridge/h200-sxm/ceilings.jsonl")));
    const Transcript ceilings = run_on(h200_plan(), "calibrate -o /nonexistent/folder/x.toml");
    CHECK(ceilings.code == 2);
    CHECK(holds(ceilings.err, "/nonexistent/folder/x.toml: cannot write the overlay: "));
}

namespace {

/// A table of an engine's products whose kernel needs half as long again for a step.
std::string slower_engine_rows(double factor) {
    model::Machine machine = model::machine_with(model::Catalogue::embedded().machine("h200-sxm"),
                                                 model::SoftwareChoice::named("vllm-0.24.0"));
    for (const model::ModelParameter* const each :
         model::engine_parameters("model.engine.tiled_product.vllm.fp8_sm90")) {
        if (!each->name.starts_with("step_")) continue;
        static_cast<void>(each->write(machine, factor * each->read(machine).value()));
    }
    std::string table = "op,dtype,m,n,k,l2,launch,software,kernel,measured_us\n";
    for (const std::int64_t m : {48, 200, 1024, 4096, 16384}) {
        for (const std::int64_t n : {1024, 4096, 14336}) {
            for (const std::int64_t k : {1024, 4096, 8192}) {
                const model::Matmul op{.m = m, .n = n, .k = k, .type = model::DataType::fp8};
                model::Execution execution{.launch = model::LaunchMode::graph};
                execution.software = model::SoftwareChoice::named("vllm-0.24.0");
                const auto prediction =
                    std::get<model::Prediction>(model::predict(op, execution, machine));
                table += fmt::format(
                    "matmul,fp8,{},{},{},warm,graph,vllm-0.24.0,CutlassFP8ScaledMMLinearKernel,{}"
                    "\n",
                    m, n, k, prediction.time.in(units::us));
            }
        }
    }
    return table;
}

}  // namespace

TEST_CASE("calibrate --software --rows makes an overlay of an engine's kernels") {
    const Home home;
    const FakePlan plan = h200_plan();
    const std::string tables = home.folder.file("tables");
    std::filesystem::create_directories(tables);
    test::write_text(tables + "/products.csv", slower_engine_rows(1.5));
    const std::string question =
        "matmul --m 8192 --n 8192 --k 8192 --dtype fp8 --launch graph --software vllm";
    const std::string other = "matmul --m 8192 --n 8192 --k 8192 --dtype fp8 --software sglang";
    const double before = time_of(" --gpu h200-sxm", question);
    const double of_other = time_of(" --gpu h200-sxm", other);
    const std::string asked = "calibrate --software vllm --rows " + tables + " --gpu h200-sxm";
    const Transcript t = run_on(plan, asked + " --format json");
    CAPTURE(t.err, t.out);
    REQUIRE(t.code == 0);
    const auto row = nlohmann::json::parse(t.out)[0];
    CHECK(row["fit"] == "engine");
    CHECK(row["kernels"] == "model.engine.tiled_product.vllm.fp8_sm90");
    CHECK(row["values"] == "taken");
    CHECK(row["rows"] == 45);
    CHECK(row["mean_error"].get<double>() < 0.3 * row["mean_error_before"].get<double>());
    const std::string overlay =
        home.folder.file("config/ridge/gpus/h200-sxm.vllm-0.24.0.calibrated.toml");
    CHECK(holds(test::text_of(overlay), "[model.engine.tiled_product.vllm.fp8_sm90]"));
    CHECK(time_of(" --gpu h200-sxm", question) > 1.2 * before);
    // Other software is untouched, and another run starts from what comes with ridge.
    CHECK(time_of(" --gpu h200-sxm", other) == of_other);
    const std::string first = test::text_of(overlay);
    REQUIRE(run_on(plan, asked).code == 0);
    CHECK(first.substr(first.find("\n[model")) ==
          test::text_of(overlay).substr(test::text_of(overlay).find("\n[model")));
    // Rows of a kernel that no file describes, and of other software.
    CHECK(run_on(plan, "calibrate --software sglang --rows " + tables + " --gpu h200-sxm").code !=
          0);
    CHECK(run_on(plan, "calibrate --software vllm --gpu h200-sxm").code == 1);
    CHECK(run_on(plan, "calibrate --software nobody --rows " + tables + " --gpu h200-sxm").code !=
          0);
}

TEST_CASE("calibrate --rows fits a table of a GPU that is not here") {
    const Home home;
    FakePlan plan = h200_plan();
    plan.machine.residuals = nullptr;
    model::MatmulParameters& kernels = *plan.machine.matmul.pipes[0];
    kernels.issue_fraction *= 0.75;
    kernels.launch *= 1.4;
    std::string table = "op,dtype,m,n,k,l2,launch,measured_us\n";
    for (const std::int64_t m : {1, 16, 128, 1024, 4096, 16384}) {
        for (const std::int64_t n : {1024, 4096, 14336}) {
            for (const std::int64_t k : {512, 4096, 8192}) {
                const model::Matmul op{.m = m, .n = n, .k = k, .type = model::DataType::bf16};
                const model::Execution execution{.launch = model::LaunchMode::graph};
                const auto prediction =
                    std::get<model::Prediction>(model::predict(op, execution, plan.machine));
                table += fmt::format("matmul,bf16,{},{},{},warm,graph,{}\n", m, n, k,
                                     prediction.time.in(units::us));
            }
        }
    }
    const std::string path = home.folder.file("rows.csv");
    test::write_text(path, table);
    const std::string question = "matmul --m 8192 --n 8192 --k 8192 --dtype bf16 --launch graph";
    const double before = time_of(" --gpu h200-sxm --analytic", question);
    const Transcript t = run_on(plan, "calibrate --rows " + path + " --gpu h200-sxm --format json");
    CAPTURE(t.err, t.out);
    REQUIRE(t.code == 0);
    const auto row = nlohmann::json::parse(t.out)[0];
    CHECK(row["fit"] == "matmul");
    CHECK(row["values"] == "taken");
    CHECK(row["mean_error"].get<double>() < 0.5 * row["mean_error_before"].get<double>());
    CHECK(time_of(" --gpu h200-sxm --analytic", question) > 1.1 * before);

    // Few rows determine nothing, so the description keeps its values and the output says so.
    test::write_text(path, table.substr(0, table.find('\n', 200) + 1));
    const std::string written = test::text_of(home.overlay());
    const Transcript few = run_on(plan, "calibrate --rows " + path + " --gpu h200-sxm");
    CHECK(few.code == 2);
    CHECK(holds(few.out, "at least 12 are needed"));
    CHECK(holds(few.err, "nothing was written"));
    CHECK(test::text_of(home.overlay()) == written);
    // A table of a class that has no corrections, whose times no law of memory gives.
    std::string norms = "gpu,op,dtype,rows,cols,l2,launch,measured_us\n";
    double scatter = 2.0;
    for (const int rows : {1024, 4096, 16384, 65536}) {
        for (const int cols : {256, 1024, 4096, 8192}) {
            norms += fmt::format("v100-pcie,softmax,fp32,{},{},cold,stream,{}\n", rows, cols,
                                 scatter * (20.0 + 1.2e-5 * rows * cols));
            scatter = 1.0 / scatter;
        }
    }
    test::write_text(path, norms);
    const Transcript softmax = run_on(plan, "calibrate --rows " + path + " --gpu v100-pcie");
    CAPTURE(softmax.err);
    CHECK(softmax.code == 2);
    CHECK(holds(softmax.out, "memory"));
    CHECK(run_on(plan, "calibrate --rows " + path + " --full").code == 1);
    CHECK(run_on(plan, "calibrate --rows " + path + " --gpu h100-sxm --minutes 0").code == 1);
    CHECK(run_on(plan, "calibrate --rows /nonexistent.csv --gpu h200-sxm").code != 0);
}
