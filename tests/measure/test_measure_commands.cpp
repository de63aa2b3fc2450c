// Commands that measure or read records, run in-process on the fake device.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/measure/fakes.h"
#include "tests/measure/run_on.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using measure::FakeDevice;
using measure::FakePlan;
using measure::Fault;
using test::h200_plan;
using test::holds;
using test::run_on;
using test::TemporaryFolder;
using test::Transcript;

namespace {

Transcript run_fake(const std::string& line) {
    return run_on(h200_plan(), line);
}

/// Writes records of a few operations whose times are 10 % above the predictions.
void fill(const TemporaryFolder& folder) {
    FakePlan plan = h200_plan();
    plan.bias = 1.1;
    const Transcript t =
        run_on(plan,
               "measure --op \"matmul m=1024 n=1024 k=1024\" --op \"matmul m=4096 n=4096 k=4096\""
               " --op \"softmax rows=8192 cols=8192\" --op \"copy elements=268435456\" -o " +
                   folder.path());
    CAPTURE(t.err);
    REQUIRE(t.code == 0);
}

}  // namespace

TEST_CASE("measure takes the arguments of predict and shows measured, predicted and difference") {
    const Transcript t = run_fake("measure matmul --m 4096 --n 4096 --k 4096 --dtype bf16");
    CAPTURE(t.out, t.err);
    CHECK(t.code == 0);
    for (const char* part : {"measured", "predicted", "difference", "inside the band", "TFLOP/s",
                             "counted", "against the CPU"}) {
        CHECK(holds(t.out, part));
    }
    CHECK(run_fake("measure matmul --m 4096 --n 4096 --k 4096 --gpu h200-sxm").code == 0);
    const Transcript json = run_fake("measure softmax --rows 4096 --cols 4096 --format json");
    const auto list = nlohmann::json::parse(json.out);
    REQUIRE(list.size() == 1);
    CHECK(list[0]["error"].get<double>() == Approx(0.0).margin(0.01));
    CHECK(list[0]["measured_time_us"].get<double>() > 0.0);
    const Transcript times = run_fake("measure softmax --rows 4096 --cols 4096 --no-counters");
    CHECK(times.code == 0);
    CHECK_FALSE(holds(times.out, "counted"));
}

TEST_CASE("measure explains what is missing") {
    CHECK(run_fake("measure").code == 1);
    CHECK(run_fake("measure matmul --m 4 --n 4").code == 1);
    CHECK(run_fake("measure --suite slow").code == 1);
    const Transcript none = run_fake("measure copy --elements 4096 --device 7");
    CHECK(none.code == 3);
    CHECK(holds(none.err, "there is no device 7"));
    CHECK(holds(none.err, "use device 0"));
}

TEST_CASE("a wrong kernel gives exit code 3 and no time") {
    FakePlan plan = h200_plan();
    plan.fault = [](const measure::Question&) { return Fault::wrong_result; };
    const Transcript t = run_on(plan, "measure copy --elements 4096");
    CHECK(t.code == 3);
    CHECK(holds(t.out, "not measured"));
    CHECK(holds(t.out, "wrong result"));
    CHECK_FALSE(holds(t.out, "difference"));
}

TEST_CASE("the quick suite runs, keeps records and resumes") {
    const TemporaryFolder folder;
    const Transcript first = run_fake("measure --suite quick -o " + folder.path());
    CAPTURE(first.err);
    CHECK(first.code == 0);
    CHECK(holds(first.out, "operation"));
    CHECK(holds(first.err, " 0 already there"));
    const Transcript second = run_fake("measure --suite quick -o " + folder.path());
    CHECK(second.code == 0);
    CHECK(holds(second.err, "0 measured, 0 failed"));
    CHECK(second.out.empty());
}

TEST_CASE("Ctrl-C ends cleanly and a second run continues") {
    const TemporaryFolder folder;
    FakePlan plan = h200_plan();
    int samples = 0;
    plan.on_sample = [&samples] {
        if (++samples == 10) std::raise(SIGINT);
    };
    const Transcript t = run_on(plan, "measure --suite quick -o " + folder.path(), true);
    CHECK(t.code == 130);
    CHECK(holds(t.err, "run the same command again"));
    CHECK(holds(t.err, "[..."));
    const measure::RecordFile kept = measure::read_all_records({folder.path()});
    CHECK(!kept.records.empty());
    CHECK(kept.records.size() < 10);
    CHECK(kept.damaged.empty());
    const Transcript rest = run_fake("measure --suite quick -o " + folder.path());
    CHECK(rest.code == 0);
    CHECK(holds(rest.err, std::to_string(kept.records.size()) + " already there"));
}

TEST_CASE("random shapes are measured") {
    const Transcript t = run_fake("measure --random 8 --seed 3 --format csv");
    CAPTURE(t.err);
    CHECK(t.code == 0);
    CHECK(std::count(t.out.begin(), t.out.end(), '\n') == 9);
    CHECK(t.out == run_fake("measure --random 8 --seed 3 --format csv").out);
}

TEST_CASE("validate reports in every format and fails above the bound") {
    const TemporaryFolder folder;
    fill(folder);
    const Transcript table = run_fake("validate " + folder.path());
    CAPTURE(table.out, table.err);
    CHECK(table.code == 0);
    CHECK(holds(table.out, "-9.1 %"));  // 1 / 1.1 - 1
    const Transcript markdown = run_fake("validate " + folder.path() + " --format md");
    CHECK(holds(markdown.out, "| operation"));
    const auto json =
        nlohmann::json::parse(run_fake("validate " + folder.path() + " --format json").out);
    CHECK(json["overall"]["n"] == 4);
    CHECK(json["overall"]["bias"].get<double>() == Approx(-1.0 / 11.0).epsilon(0.03));
    const Transcript csv = run_fake("validate " + folder.path() + " --format csv");
    CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 5);
    CHECK(run_fake("validate " + folder.path() + " --max-error 15").code == 0);
    const Transcript beyond = run_fake("validate " + folder.path() + " --max-error 5");
    CHECK(beyond.code == 4);
    CHECK(holds(beyond.err, "exceeds 5 %"));
}

TEST_CASE("validate names damaged lines and reads the others") {
    const TemporaryFolder folder;
    fill(folder);
    const std::string path = folder.file("matmul.jsonl");
    test::write_text(path, test::text_of(path) + "nonsense\n");
    const Transcript t = run_fake("validate " + folder.path());
    CHECK(t.code == 2);
    CHECK(holds(t.err, "matmul.jsonl:3: damaged record"));
    CHECK(holds(t.out, "matmul"));
    test::write_text(path, "nonsense\n");
    CHECK(run_fake("validate " + path).code == 2);
    CHECK(run_fake("validate " + folder.file("none")).code == 2);
}

TEST_CASE("plot scatter and sweep draw records") {
    const TemporaryFolder folder;
    fill(folder);
    const Transcript scatter = run_fake("plot scatter " + folder.path() + " --ascii");
    CAPTURE(scatter.err);
    CHECK(scatter.code == 0);
    CHECK(holds(scatter.out, "matmul library"));
    CHECK(run_fake("plot sweep " + folder.path() + " --x m -o " + folder.file("sweep.svg")).code ==
          0);
    CHECK(holds(test::text_of(folder.file("sweep.svg")), "<svg"));
    CHECK(run_fake("plot sweep " + folder.path() + " --x m --where impl=wgmma").code == 1);
    CHECK(run_fake("plot sweep " + folder.path() + " --x mm").code == 1);
    CHECK(run_fake("plot sweep " + folder.path() + " --x m --where batch=1").code == 0);
    CHECK(run_fake("plot sweep " + folder.path() + " --x m --where batch=2").code == 1);
    CHECK(run_fake("plot sweep " + folder.path() + " --x m --where n=@m --y time").code == 0);
}

TEST_CASE("roofline joins measured and predicted points and shows measured roofs") {
    const TemporaryFolder folder;
    fill(folder);
    REQUIRE(run_fake("calibrate -o " + folder.file("mine.toml")).code == 0);
    const std::string records =
        " --records " + folder.path() + " --gpu-file " + folder.file("mine.toml");
    const Transcript t = run_fake("roofline" + records + " -o " + folder.file("roof.svg"));
    CAPTURE(t.err);
    REQUIRE(t.code == 0);
    const std::string svg = test::text_of(folder.file("roof.svg"));
    CHECK(holds(svg, "/s, measured"));
    CHECK(holds(svg, "bf16 tensor, sustained"));
    CHECK(holds(svg, "L2, measured)"));
    CHECK(run_fake("roofline" + records + " --levels dram -o " + folder.file("flat.svg")).code ==
          0);
    const auto points_in = [](const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = text.find("class=\"point"); at != std::string::npos;
             at = text.find("class=\"point", at + 1)) {
            ++count;
        }
        return count;
    };
    CHECK(points_in(test::text_of(folder.file("flat.svg"))) < points_in(svg));
    CHECK(run_fake("roofline" + records + " --dtype fp64").code == 1);
}

TEST_CASE("calibrate writes an overlay that ridge gpus check accepts") {
    const TemporaryFolder folder;
    const Transcript t = run_fake("calibrate -o " + folder.file("mine.toml"));
    CAPTURE(t.err);
    REQUIRE(t.code == 0);
    CHECK(holds(t.out, "measured.dram.copy"));
    const Transcript check = run_fake("gpus check " + folder.file("mine.toml"));
    CAPTURE(check.out);
    CHECK(check.code == 0);
    CHECK(run_fake("calibrate -o /nonexistent/mine.toml").code != 0);
}

TEST_CASE("doctor says what works, what is missing, and the remedy") {
    FakePlan plan = h200_plan();
    remove_feature(plan, "counters", "the driver keeps counters to administrators");
    const Transcript t = run_on(plan, "doctor");
    CHECK(t.code == 0);
    CHECK(holds(t.out, "NVIDIA H200"));
    CHECK(holds(t.out, "MISS"));
    CHECK(holds(t.out, "keeps counters to"));
    CHECK(holds(t.out, "remedy: use another fake"));
    CHECK(holds(t.out, "h200-sxm"));
    const Transcript none = run_fake("doctor --device 7 --format json");
    CHECK(none.code == 3);
    CHECK(nlohmann::json::parse(none.out)[0]["ok"] == false);
}

TEST_CASE("effect --measure measures the points of an effect, keeps records, and compares") {
    const TemporaryFolder folder;
    const std::string line = "effect bank-conflicts --measure --format csv --save " + folder.path();
    const Transcript t = run_fake(line);
    CAPTURE(t.out, t.err);
    CHECK(t.code == 0);
    CHECK(holds(t.err, "6 measured, 0 failed"));
    CHECK(holds(t.out, "bank-conflicts,ways,32,"));
    // A second run finds the records. --records draws them without a device.
    const Transcript again = run_fake(line);
    CHECK(holds(again.err, "0 measured, 0 failed, 6 already there"));
    CHECK(again.out == t.out);
    const Transcript drawn =
        run_fake("effect bank-conflicts --gpu h200-sxm --records " + folder.path());
    CAPTURE(drawn.out);
    CHECK(drawn.code == 0);
    CHECK(holds(drawn.out, "the same direction"));
    CHECK(run_fake("effect bank-conflicts --measure --device 7").code == 3);
    // --questions prints what would be measured, without measuring.
    const Transcript asked = run_fake("effect bank-conflicts --gpu h200-sxm --questions");
    CHECK(asked.code == 0);
    CHECK(asked.out.starts_with("access pattern=bank_conflict "));
    CHECK(std::count(asked.out.begin(), asked.out.end(), '\n') == 6);
}

TEST_CASE("measure takes collectives between GPUs, alone, drawn, and as a suite") {
    const Transcript one = run_fake("measure all_reduce --bytes 1048576 --gpus 2");
    CAPTURE(one.out, one.err);
    CHECK(one.code == 0);
    CHECK(holds(one.out, "measured"));
    CHECK(run_fake("measure all_reduce --bytes 1048576 --gpus 8").code == 3);
    const Transcript drawn =
        run_fake("measure --random 5 --collectives --ranks 2 --seed 3 --seconds 0.01");
    CHECK(drawn.code == 0);
    CHECK(holds(drawn.err, "5 measured, 0 failed"));
    const Transcript suite =
        run_fake("measure --suite collectives --ranks 2 --seconds 0.001 --format csv");
    CHECK(suite.code == 0);
    CHECK(holds(suite.err, " 0 failed"));
    CHECK(holds(suite.out, "all_to_all"));
    // Mixed with operations of one GPU.
    const Transcript mixed =
        run_fake("measure --op \"copy elements=4096\" --op \"broadcast bytes=4096 gpus=4\"");
    CHECK(mixed.code == 0);
    CHECK(holds(mixed.out, "broadcast"));
}

TEST_CASE("doctor says how the GPUs are linked, and which are not") {
    const Transcript t = run_fake("doctor --format json");
    CHECK(holds(t.out, "18 NVLinks (version 4) to a switch; reaches GPU 1; NUMA node 1"));
    CHECK(holds(t.out, "reaches no other GPU"));
}

TEST_CASE("links shows what pairs of GPUs and the host carry, and draws it") {
    const Transcript t = run_fake("links");
    CAPTURE(t.out, t.err);
    CHECK(t.code == 0);
    CHECK(holds(t.out, "391 GB/s"));
    CHECK(holds(t.out, "55 GB/s"));
    const auto json = nlohmann::json::parse(run_fake("links --format json").out);
    CHECK(json["one_way_bytes_per_s"][1][0].get<double>() == 392e9);
    CHECK(json["one_way_bytes_per_s"][0][0].is_null());
    CHECK(json["load_s"][0][1].get<double>() == Approx(1.7e-6));
    const TemporaryFolder folder;
    CHECK(run_fake("links -o " + folder.path() + "/links.svg").code == 0);
    const std::string svg = test::text_of(folder.path() + "/links.svg");
    CHECK(holds(svg, ">392<"));
    CHECK(holds(svg, "GPU 1"));
}
