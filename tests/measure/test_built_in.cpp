// Calibrations made from records: the plan, what the files say, and that a second run gives the same.
#include "measure/fit/built_in.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "measure/fit/built_difference.h"
#include "measure/fit/built_trees.h"
#include "measure/fit/fit_starts.h"
#include "measure/record/record.h"
#include "measure/run/measure.h"
#include "model/catalogue/calibration_text.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/embedded.h"
#include "model/catalogue/trees_file.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/fake_device.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

using test::TemporaryFolder;

const std::string plan_header = "schema = 1\nkind = \"plan\"\nname = \"plan\"\n";
const std::string product_fit =
    "[[fit]]\nprogram = \"matmul\"\ngpus = [\"h200-sxm\"]\nsoftware = [\"ridge-0.1\"]\n"
    "source = \"MMRUN\"\nrecords = [\"records/mine\"]\n";
const std::string starts =
    "[sources]\nSTART = { kind = \"estimate\", text = \"usual\", date = \"2026-11-28\" }\n"
    "[model.matmul.mma]\nstart = { value = \"3000 clk\", source = \"START\" }\n"
    "step = { value = \"1000 clk\", source = \"START\" }\n"
    "issue_fraction = { value = 0.4, source = \"START\" }\n"
    "store_bytes_per_clock = { value = \"8 B/clk\", source = \"START\" }\n";

/// Records of a bundled product that is slower by a quarter than the description says.
void record_slower_products(const std::string& path) {
    FakePlan plan = test::h200_plan();
    plan.noise = 0.0;
    model::BundledMatmul& kernel = *plan.machine.matmul.bundled.mma;
    kernel.issue_fraction /= 1.25;
    kernel.step *= 1.25;
    kernel.store_per_sm = kernel.store_per_sm / 1.25;
    FakeDevice device(plan);
    for (const int size : {128, 256, 512, 1024, 1536, 2048, 4096, 6144}) {
        const std::string n = std::to_string(size);
        for (const std::string k : {"64", "512", "4096"}) {
            const Question question =
                test::question("matmul m=" + n + " n=" + n + " k=" + k + " impl=mma dtype=bf16");
            append_record(path, *measure_one(device, question, {}));
        }
    }
}

std::string write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

}  // namespace

TEST_CASE("a class of corrections that the plan keeps stays as it is committed", "[built_in]") {
    const std::string path = "calibration/b200/trtllm-1.3.0rc20.trees";
    const auto committed = model::catalogue().files().at(path);
    REQUIRE(committed);
    const hardware::Description before = model::read_trees(committed->text, path).description;
    hardware::Source source;
    source.text = "made again";
    TreesToBuild trees{.reports = {},
                       .gpu = "b200",
                       .source = source,
                       .keep = {"latent_prefill", "prefill"},
                       .committed = before};
    const auto text_of = [](const hardware::Description& all) {
        return model::trees_file(all, "b200", "trtllm-1.3.0rc20");
    };
    const std::string made = text_of(built_trees(trees));
    const hardware::Description kept =
        model::read_trees(SharedText::copy_of(made), "made").description;
    const auto of_engines = [](const hardware::Description& all) {
        return std::count_if(all.data.begin(), all.data.end(), [](const auto& field) {
            return hardware::lies_in(field.first, "model.engine");
        });
    };
    CHECK(of_engines(before) > 0);
    CHECK(of_engines(kept) == of_engines(before));
    CHECK(std::ssize(kept.data) == 5 + of_engines(kept));
    for (const char* const part : {"range", "splits", "trees", "spread"}) {
        const std::string field = "model.residual.latent_prefill." + std::string(part);
        CAPTURE(field);
        REQUIRE(kept.find(field) != nullptr);
        CHECK(written(*kept.find(field)) == written(*before.find(field)));
    }
    // Its source says that it is kept; once more gives the same bytes.
    CHECK(kept.find("model.residual.latent_prefill.trees")->sources.front().starts_with("KEPT"));
    trees.committed = kept;
    CHECK(text_of(built_trees(trees)) == made);
}

TEST_CASE("calibrations are made from records, and the same again", "[built_in]") {
    const TemporaryFolder folder;
    record_slower_products(folder.write("records/mine/matmul.jsonl", ""));
    const CalibrationPlan plan = read_plan(plan_header + product_fit + starts, "plan.toml");
    const model::Catalogue committed = model::catalogue();
    const auto build = [&](model::Catalogue catalogue) {
        return build_calibrations(
            plan, {.catalogue = std::move(catalogue), .tree = folder.path(), .data = {}});
    };
    const Built built = build(model::catalogue());
    REQUIRE(built.files.size() == 1);
    CHECK(built.files[0].path == "calibration/h200-sxm/ridge-0.1.toml");
    CHECK(model::check_text(built.files[0].text, "built.toml").empty());
    const hardware::Description made =
        hardware::load_text(built.files[0].text, "built.toml", model::schema(),
                            model::calibration_form())
            .description;
    const std::string path = "model.matmul.mma.issue_fraction";
    CHECK(made.value(path).value() ==
          Approx(committed.at("h200-sxm").value(path).value() / 1.25).epsilon(0.02));
    CHECK_THAT(made.find(path)->note.str(), contains_text("standard error"));
    const hardware::Source& source = made.sources.at("MMRUN");
    CHECK(source.command == "ridge calibrate --built-in --gpu h200-sxm --software ridge-0.1");
    CHECK(source.records == "records/mine");
    CHECK(source.digest == digest_of_files({folder.path() + "/records/mine"}));
    CHECK(source.date.view().size() == 10);
    // What no fit of the plan writes stays.
    const std::string other = "model.attention.mma.start";
    CHECK(made.value(other) == committed.at("h200-sxm").value(other));

    model::Catalogue next = model::catalogue();
    next.add_text(built.files[0].text, "calibration/h200-sxm/ridge-0.1.toml");
    CHECK(next.at("h200-sxm").value(path) == made.value(path));
    // The text that was added last counts, so that a fit sees what the fits before it wrote.
    const std::string before{committed.files().at(built.files[0].path)->text.view()};
    next.add_text(before, built.files[0].path);
    CHECK(next.at("h200-sxm").value(path) == committed.at("h200-sxm").value(path));
    next.add_text(built.files[0].text, built.files[0].path);
    CHECK(next.at("h200-sxm").value(path) == made.value(path));
    // It does not start from what it once found.
    CHECK(build(std::move(next)).files[0].text == built.files[0].text);
}

TEST_CASE("fits to public tables are left out without them", "[built_in]") {
    const std::string tables =
        "[[fit]]\nprogram = \"collective\"\ngpus = [\"b200\"]\nsoftware = [\"nccl\"]\n"
        "source = \"NCCLFIT\"\ntables = [\"collectives_b200.csv\"]\ndate = \"2026-11-22\"\n";
    const Built built =
        build_calibrations(read_plan(plan_header + tables, "plan.toml"),
                           {.catalogue = model::catalogue(), .tree = ".", .data = {}});
    CHECK(built.files.empty());
    REQUIRE(built.skipped.size() == 1);
    CHECK_THAT(built.skipped[0].reason, contains_text("--data DIR"));
}

TEST_CASE("a fit starts where the plan says, then where its software's file does", "[built_in]") {
    const std::string law = "model.engine.tiled_product.any.any.step_1";
    const std::string kernel = "model.engine.tiled_product.vllm.fp8_sm90.step_1";
    const std::string unknown = "model.engine.tiled_product.vllm.of_tomorrow.step_1";
    const std::string of_law =
        plan_header + starts +
        "[model.engine.tiled_product.any.any]\nstep_1 = { value = \"77 clk\", "
        "source = \"START\" }\n";
    const model::Catalogue committed = model::catalogue();
    const std::vector<std::string> vllm{"vllm-0.24.0"};
    const std::vector<std::string> l40s{"l40s"};
    const auto start = [&](const std::string& plan, const std::string& field) {
        return FitStarts(read_plan(plan, "plan.toml").starts)
            .of(field, {.gpus = l40s, .software = vllm}, committed.software());
    };
    CHECK(start(of_law, "model.matmul.mma.start").value().value == 3000.0);
    CHECK_FALSE(start(of_law, "model.matmul.tensor.launch"));
    CHECK(start(of_law, unknown).value().value == 77.0);
    CHECK(start(of_law, unknown).value().of_plan);
    CHECK(start(of_law, kernel).value().value != 77.0);
    CHECK_FALSE(start(of_law, kernel).value().of_plan);
    CHECK(start(of_law, law).value().value == 77.0);
    CHECK(start(plan_header, unknown).value().value == 0.0);
    const std::string own =
        of_law +
        "[model.engine.tiled_product.vllm.fp8_sm90]\nstep_1 = { value = \"78 clk\", "
        "source = \"START\" }\n";
    CHECK(start(own, kernel).value().value == 78.0);
}

TEST_CASE("a fit of one GPU starts where its file of starts says", "[built_in]") {
    const std::string kernel = "model.engine.tiled_product.vllm.fp8_sm90.";
    const auto [chip, values] = read_starts(
        "schema = 1\nkind = \"starts\"\nname = \"starts-l40s\"\nchip = \"l40s\"\n\n[sources]\n"
        "START = { kind = \"estimate\", text = \"by hand\" }\n\n"
        "[model.engine.tiled_product.vllm.fp8_sm90]\nstep_1 = { value = \"79 clk\", "
        "source = \"START\" }\n",
        "starts-l40s.toml");
    CHECK(chip == "l40s");
    const std::string plan = plan_header + starts +
                             "[model.engine.tiled_product.vllm.fp8_sm90]\nstep_1 = { value = "
                             "\"78 clk\", source = \"START\" }\n";
    const model::Catalogue committed = model::catalogue();
    const std::vector<std::string> vllm{"vllm-0.24.0"};
    FitStarts all(read_plan(plan, "plan.toml").starts, {{chip, values}});
    const auto start = [&](const std::vector<std::string>& gpus, const std::string& name) {
        return all.of(kernel + name, {.gpus = gpus, .software = vllm}, committed.software())
            .value();
    };
    CHECK(start({"l40s"}, "step_1").value == 79.0);
    CHECK(start({"l40s"}, "step_1").of_plan);
    CHECK(start({"h200-sxm"}, "step_1").value == 78.0);
    CHECK(start({"l40s", "h200-sxm"}, "step_1").value == 78.0);
    // Of its other parameters, those of the software's file count; what that leaves out is as usual.
    CHECK(start({"l40s"}, "end_1").value == start({"h200-sxm"}, "end_1").value);
    CHECK(start({"l40s"}, "end_1").value > 0.0);
    CHECK(start({"l40s"}, "host").value == 0.0);
    CHECK_THROWS_WITH(read_starts("schema = 1\nkind = \"starts\"\nname = \"s\"\n", "s.toml"),
                      contains_text("a file of starts names its chip"));
}

TEST_CASE("a parameter without a start is refused", "[built_in]") {
    const TemporaryFolder folder;
    record_slower_products(folder.write("records/mine/matmul.jsonl", ""));
    CHECK_THROWS_WITH(
        build_calibrations(read_plan(plan_header + product_fit, "plan.toml"),
                           {.catalogue = model::catalogue(), .tree = folder.path(), .data = {}}),
        contains_text("no start for model.matmul.mma."));
}

TEST_CASE("a broken plan is refused with the place of each mistake", "[built_in]") {
    const std::string broken = plan_header + "[[fit]]\nprogram = \"matmull\"\ngpus = [\"b200\"]\n";
    CHECK_THROWS_WITH(
        read_plan(broken, "plan.toml"),
        contains_text("unknown program \"matmull\"") &&
            contains_text("a fit needs gpus, software, source, and records or tables"));
    CHECK_THROWS_WITH(read_plan(plan_header + product_fit + product_fit, "plan.toml"),
                      contains_text("two fits write \"MMRUN\" for ridge-0.1 on h200-sxm"));
    CHECK_THROWS_WITH(read_plan(plan_header + "[sm]\nnumber = 3\n", "plan.toml"),
                      contains_text("plan.toml:5:1: unknown key \"sm.number\""));
}

TEST_CASE("the digest follows contents and names, in any order", "[built_in]") {
    const TemporaryFolder folder;
    const std::string a = write(folder.file("a"), "first");
    const std::string b = write(folder.file("b"), "second");
    const std::string digest = digest_of_files({a, b});
    CHECK(digest.size() == 16);
    CHECK(digest_of_files({b, a}) == digest);
    CHECK(digest_of_files({folder.path()}) == digest);
    write(b, "Second");
    CHECK(digest_of_files({a, b}) != digest);
}

TEST_CASE("what differs between two calibrations is said field by field", "[built_in]") {
    const std::string head =
        "schema = 1\nkind = \"calibration\"\nname = \"h200-sxm.pytorch-2.11\"\nchip = "
        "\"h200-sxm\"\n"
        "software = \"pytorch-2.11\"\n[sources]\nTORCHFIT = { kind = \"measured\", text = \"a "
        "fit\", records "
        "= \"records\", digest = \"DIGEST\" }\n[model.torch]\n";
    const auto file = [&](const std::string& combine, const std::string& digest = "0123") {
        std::string text = head + "combine = { value = \"" + combine +
                           " us\", source = \"TORCHFIT\", note = \"" + combine + "\" }\n";
        return text.replace(text.find("DIGEST"), 6, digest);
    };
    const BuiltFile made{.path = "calibration/h200-sxm/pytorch-2.11.toml", .text = file("3.0")};
    CHECK(differences(made, file("3.0")).empty());
    CHECK(differences(made, file("3.0002")).empty());
    const auto other = differences(made, file("3.001"));
    REQUIRE(other.size() == 1);
    CHECK(other[0].field == "model.torch.combine");
    CHECK(other[0].committed == "3.001 us");
    CHECK(other[0].made == "3.0 us");
    const auto inputs = differences(made, file("3.0", "4567"));
    REQUIRE(inputs.size() == 1);
    CHECK(inputs[0].field == "TORCHFIT");
    const auto more =
        differences(made, file("3.0") + "partial = { value = \"1 us\", source = \"TORCHFIT\" }\n");
    REQUIRE(more.size() == 1);
    CHECK(more[0].made.empty());
    CHECK(differences(made, "broken").size() == 1);
}

TEST_CASE("every calibration is written as it reads", "[built_in]") {
    for (const hardware::EmbeddedFile& file : model::calibration_files()) {
        const std::string path(file.path);
        if (hardware::kind_of(file.text, path) != "calibration") continue;
        CAPTURE(path);
        const hardware::Description read =
            hardware::load_text(file.text, path, model::schema(), model::calibration_form())
                .description;
        const std::string text = model::calibration_text(read);
        const hardware::Loaded again =
            hardware::load_text(text, path, model::schema(), model::calibration_form());
        CHECK(again.problems.empty());
        REQUIRE(again.description.data.size() == read.data.size());
        for (const auto& [field, datum] : read.data) {
            CHECK(written(again.description.data.at(field)) == written(datum));
            CHECK(again.description.data.at(field).sources == datum.sources);
        }
        CHECK(model::calibration_text(again.description) == text);
    }
}

}  // namespace ridge::measure
