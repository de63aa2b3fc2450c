// The catalogue: chips, software and calibrations put together; users' files; where numbers come from.
#include "model/catalogue/catalogue.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "hardware/loader.h"
#include "model/catalogue/assembly.h"
#include "model/catalogue/embedded.h"
#include "model/catalogue/trees_file.h"
#include "model/catalogue/why.h"
#include "model/machine/parameters.h"
#include "tests/catch.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

namespace ridge::model {
namespace {

using hardware::Description;
using hardware::EmbeddedFile;
using hardware::Loaded;
using hardware::Problem;
using hardware::Provenance;
using ridge::test::TemporaryFolder;
using ridge::test::Variable;

const std::string overlay_text =
    "schema = 1\nkind = \"overlay\"\nname = \"mine\"\noverlay = \"h100-sxm\"\n"
    "[sources]\nRUN = { kind = \"measured\", text = \"a run\" }\n"
    "[measured.dram]\nread = { value = \"3 TB/s\", source = \"RUN\" }\n";

std::string all_of(const std::vector<Problem>& problems) {
    std::string all;
    for (const Problem& problem : problems) all += to_string(problem) + "\n";
    return all;
}

/// A file of chip, software or calibration with one value of a parameter.
std::string gather_file(const std::string& header, const std::string& clocks) {
    return "schema = 1\n" + header +
           "[sources]\nRUN = { kind = \"measured\", text = \"a run\", command = \"ridge fit\", "
           "records = \"my-records\", digest = \"12ab\", date = \"2026-11-28\" }\n"
           "[model.torch.gather]\nsingle = { value = \"" +
           clocks + " clk\", source = \"RUN\" }\n";
}

const std::string newer =
    "kind = \"software\"\nname = \"pytorch-2.12\"\ninherits = \"pytorch-2.11\"\n";

}  // namespace

TEST_CASE("a broken file in the user's folder is left out and named") {
    const TemporaryFolder folder;
    REQUIRE_FALSE(folder.write("ridge/gpus/broken.toml", "name = [\n").empty());
    REQUIRE_FALSE(folder.write("ridge/gpus/over.toml", overlay_text).empty());
    const Variable configuration("XDG_CONFIG_HOME", folder.path());
    const Catalogue users = Catalogue::with_user_files();
    REQUIRE(users.left_out().size() == 1);
    CHECK_THAT(users.left_out().front(), contains_text("broken.toml:"));
    CHECK_THAT(users.at("h100-sxm").origin, contains_text("over.toml"));
    CHECK(users.overlays().back().target == "h100-sxm");
}

TEST_CASE("a device takes the corrections of the relative that it names") {
    const std::string head =
        "schema = 1\nname = \"toy\"\ntitle = \"T\"\nvendor = \"A\"\ninherits = \"sm_100\"\n";
    const auto problems_of = [&](const std::string& line) {
        Catalogue catalogue = Catalogue::embedded();
        catalogue.add_text(head + line, "toy.toml");
        std::string all;
        const auto [device, problems] = catalogue.inspect("toy", View::calibrated);
        for (const Problem& problem : problems) all += to_string(problem) + "\n";
        return all;
    };
    const auto unknown = contains_text("which is not another known device");
    CHECK_THAT(problems_of("corrections = \"b200\"\n"), !unknown);
    CHECK_THAT(problems_of("corrections = \"b201\"\n"),
               contains_text("uses the corrections of \"b201\"") && unknown);
    CHECK_THAT(problems_of("corrections = \"toy\"\n"), unknown);

    std::string overlay = overlay_text;
    overlay.insert(overlay.find("overlay = "), "corrections = \"b200\"\n");
    const std::vector<Problem> problems = check_text(overlay, "over.toml");
    REQUIRE(problems.size() == 1);
    CHECK_THAT(to_string(problems[0]),
               contains_text("only a device can use the corrections of another"));
}

TEST_CASE("an architecture carries parameters over from a GPU or another architecture") {
    const std::string sources = "[sources]\nRUN = { kind = \"measured\", text = \"a run\" }\n";
    const auto inspected = [&](const std::string& from, const std::string& own = {}) {
        Catalogue catalogue = Catalogue::embedded();
        const std::string architecture = "schema = 1\nkind = \"architecture\"\n";
        catalogue.add_text(architecture + "name = \"far\"\n" + sources +
                               "[sm]\ncount = { value = 5, source = \"RUN\" }\n",
                           "far.toml");
        catalogue.add_text(
            "schema = 1\nname = \"near\"\ntitle = \"N\"\nvendor = \"A\"\ninherits = "
            "\"new\"\n" +
                sources +
                "[sm]\ncount = { value = 7, source = \"RUN\", note = \"twice\" }\n"
                "full_die = { value = 9, source = \"RUN\" }\n",
            "near.toml");
        catalogue.add_text(architecture + "name = \"new\"\n" + sources +
                               "[[carried_over]]\nfrom = \"" + from +
                               "\"\nparameters = [\"sm.count\"]\n" + own,
                           "new.toml");
        catalogue.add_text(
            "schema = 1\nname = \"toy\"\ntitle = \"T\"\nvendor = \"A\"\ninherits = \"new\"\n",
            "toy.toml");
        return catalogue.inspect("toy", View::calibrated);
    };
    SECTION("derived from a GPU of the architecture, with its note and without its source") {
        const Description toy = inspected("near").first;
        CHECK(toy.count("sm.count") == 7);
        CHECK(toy.provenance("sm.count") == Provenance::derived);
        CHECK(toy.data.at("sm.count").note.str() == "twice");
        CHECK(toy.sources.at("near").text == "carried over from N");
        CHECK_FALSE(toy.has_own("sm.count"));
        CHECK_FALSE(toy.count("sm.full_die").has_value());
    }
    SECTION("an estimate from another architecture") {
        const Description toy = inspected("far").first;
        CHECK(toy.count("sm.count") == 5);
        CHECK(toy.provenance("sm.count") == Provenance::estimate);
    }
    SECTION("what the architecture has itself comes first") {
        const Description toy =
            inspected("near", "[sm]\ncount = { value = 8, source = \"RUN\" }\n").first;
        CHECK(toy.count("sm.count") == 8);
        CHECK(toy.provenance("sm.count") == Provenance::measured);
    }
    SECTION("a name that nothing has is refused at its place") {
        CHECK_THAT(
            to_string(inspected("nearer").second.at(0)),
            contains_text("new.toml:6:1: carries parameters over from \"nearer\", which is not "
                          "a known device or architecture"));
    }
}

TEST_CASE("kernels that an architecture inherits carry over from its own GPUs as derived") {
    const std::string head = "schema = 1\ntitle = \"T\"\nvendor = \"A\"\n";
    const std::string family = "schema = 1\nkind = \"architecture\"\n";
    Catalogue catalogue = Catalogue::embedded();
    catalogue.add_text(family +
                           "name = \"kernels\"\n[[carried_over]]\nfrom = \"near\"\n"
                           "parameters = [\"sm.count\"]\n",
                       "kernels.toml");
    for (const char* const name : {"new", "other"}) {
        catalogue.add_text(family + "inherits = \"kernels\"\nname = \"" + name + "\"\n",
                           std::string(name) + ".toml");
    }
    catalogue.add_text(head +
                           "name = \"near\"\ninherits = \"new\"\n[sources]\nRUN = { kind = "
                           "\"measured\", text = \"a run\" }\n[sm]\n"
                           "count = { value = 7, source = \"RUN\" }\n",
                       "near.toml");
    catalogue.add_text(head + "name = \"toy\"\ninherits = \"new\"\n", "toy.toml");
    catalogue.add_text(head + "name = \"far\"\ninherits = \"other\"\n", "far.toml");
    const auto provenance = [&](const char* name) {
        return catalogue.inspect(name, View::calibrated).first.provenance("sm.count");
    };
    CHECK(provenance("toy") == Provenance::derived);
    CHECK(provenance("far") == Provenance::estimate);
}

TEST_CASE("carried_over needs a source and known parameters, and stands in an architecture",
          "[catalogue]") {
    const auto problems = [](const std::string& lines) {
        return all_of(check_text("schema = 1\nkind = \"architecture\"\nname = \"sm_toy\"\n" + lines,
                                 "toy.toml"));
    };
    CHECK(problems("[[carried_over]]\nfrom = \"b200\"\nparameters = [\"sm\", \"dram.bandwidth\"]\n")
              .empty());
    CHECK_THAT(problems("[[carried_over]]\nfrom = \"b200\"\nparameters = [\"dram.bandwith\"]\n"),
               contains_text("unknown key \"dram.bandwith\", did you mean \"dram.bandwidth\"?"));
    CHECK_THAT(problems("[[carried_over]]\nfrom = \"b200\"\n"),
               contains_text("carried_over needs from and parameters"));
    CHECK_THAT(
        problems("[[carried_over]]\nfrom = \"b200\"\nparameters = [\"sm\"]\nat = \"b300\"\n"),
        contains_text("unknown key \"at\" in carried_over"));
    CHECK_THAT(problems("carried_over = 3\n"), contains_text("carried_over must be a table"));
    std::string overlay = overlay_text;
    overlay += "[[carried_over]]\nfrom = \"b200\"\nparameters = [\"sm\"]\n";
    CHECK_THAT(all_of(check_text(overlay, "over.toml")),
               contains_text("only an architecture can carry parameters over"));
}

TEST_CASE("chips hold facts alone", "[catalogue]") {
    for (const EmbeddedFile& file : hardware::embedded_files()) {
        CAPTURE(file.path);
        CHECK_FALSE(file.text.find("[model.") != std::string_view::npos);
    }
}

TEST_CASE("every file of software and calibration is right, and stands where it says",
          "[catalogue]") {
    const Catalogue all = catalogue();
    for (const auto files : {software_files(), calibration_files()}) {
        for (const EmbeddedFile& file : files) {
            CAPTURE(file.path);
            CHECK(all_of(check_text(std::string(file.text), std::string(file.path))).empty());
        }
    }
    for (const Software& each : all.software()) {
        CHECK(each.file == "software/" + each.name + "/software.toml");
    }
    for (const EmbeddedFile& file : calibration_files()) {
        DataFiles files = DataFiles::embedded();
        const std::string path(file.path);
        files.add(std::string(file.text), "again.toml");
        CAPTURE(path);
        CHECK(files.find(path).size() == 2);
    }
}

TEST_CASE("every parameter is of one software, or a law", "[catalogue]") {
    const Catalogue all = catalogue();
    const std::vector<StackPart> stack = stack_of(all.software(), {});
    for (const ModelParameter& each : model_parameters()) {
        const auto owners =
            std::count_if(stack.begin(), stack.end(), [&each](const StackPart& part) {
                const std::vector<std::string> path{each.field.path};
                return !common_paths(path, part.software->parameters).empty();
            });
        CAPTURE(each.field.path);
        CHECK(owners == (each.field.path.starts_with("model.laws.") ? 0 : 1));
    }
}

TEST_CASE("versions are compared by their numbers", "[catalogue]") {
    CHECK(is_older("pytorch-2.9", "pytorch-2.11"));
    CHECK(is_older("trtllm-1.3.0rc2", "trtllm-1.3.0rc20"));
    CHECK(is_older("trtllm-1.3.0rc20", "trtllm-1.3.0"));
    CHECK(is_older("x-1.3", "x-1.3.1"));
    CHECK_FALSE(is_older("x-2.0", "x-2.0"));
    CHECK(split_name("flash-attention-2.8").family == "flash-attention");
    CHECK(split_name("vllm").version.empty());
}

TEST_CASE("a new version of software is one file, and the newest counts", "[catalogue]") {
    Catalogue all = Catalogue::embedded();
    const std::string path = "model.torch.gather.single";
    const double before = all.at("h200-sxm").value(path).value();
    CHECK(all.add_text(gather_file(newer, "4000"), "new.toml").empty());
    CHECK(all.at("h200-sxm").value(path) == 4000.0);
    CHECK(all.at("h200-sxm", View::calibrated, "pytorch").value(path) == 4000.0);
    CHECK(all.at("h200-sxm", View::calibrated, "pytorch-2.11").value(path) == before);
    const std::string other = "model.torch.gather.step";
    CHECK(all.at("h200-sxm").value(other) == catalogue().at("h200-sxm").value(other));
}

TEST_CASE("an older version has nothing of a newer one's kernels", "[catalogue]") {
    const Catalogue all = catalogue();
    const Description& old = all.at("h200-sxm", View::calibrated, "pytorch-2.1");
    CHECK(old.find("model.torch.gather.single") == nullptr);
    CHECK(old.find("model.eager.launch") != nullptr);
    CHECK_THROWS_WITH(all.at("h200-sxm", View::calibrated, "pytroch-2.10"),
                      contains_text("unknown software \"pytroch-2.10\"") &&
                          contains_text("did you mean pytorch-2.1"));
}

TEST_CASE("a chip is one file, and gets what carries over to its architecture", "[catalogue]") {
    Catalogue all = Catalogue::embedded();
    const std::string chip =
        "schema = 1\nname = \"toy\"\ntitle = \"Toy\"\nvendor = \"A\"\ninherits = \"sm_90\"\n"
        "[sources]\nDS = { kind = \"vendor\", text = \"sheet\" }\n"
        "[architecture]\nname = { value = \"Hopper\", source = \"DS\" }\n"
        "[sm]\ncount = { value = 100, source = \"DS\" }\n"
        "[clock]\nboost = { value = \"1500 MHz\", source = \"DS\" }\n"
        "[dram]\ncapacity = { value = \"80 GiB\", source = \"DS\" }\n"
        "bandwidth = { value = \"3 TB/s\", source = \"DS\" }\n";
    CHECK(all.add_text(chip, "toy.toml") == "toy");
    const Description& toy = all.at("toy");
    CHECK(toy.provenance("model.matmul.tf32.issue_fraction") == Provenance::derived);
    CHECK(toy.find("model.torch.gather.single") != nullptr);
    CHECK_FALSE(toy.has_own("model.torch.gather.single"));
}

TEST_CASE("calibrations of users count before those in the binary", "[catalogue]") {
    const TemporaryFolder folder;
    const std::string head =
        "kind = \"calibration\"\nname = \"mine\"\nchip = \"h200-sxm\"\nsoftware = "
        "\"pytorch-2.12\"\n";
    REQUIRE_FALSE(
        folder.write("ridge/software/pytorch-2.12/software.toml", gather_file(newer, "4000"))
            .empty());
    REQUIRE_FALSE(
        folder.write("ridge/calibration/h200-sxm/pytorch-2.12.toml", gather_file(head, "5000"))
            .empty());
    const Variable configuration("XDG_CONFIG_HOME", folder.path());
    const Catalogue users = Catalogue::with_user_files();
    CHECK(users.left_out().empty());
    const std::string path = "model.torch.gather.single";
    CHECK(users.at("h200-sxm").value(path) == 5000.0);
    CHECK(users.at("h200-sxm").has_own(path));
    CHECK(users.at("h100-sxm").value(path) == 4000.0);
    const Derivation derivation = why(users, "h200-sxm", path);
    CHECK_THAT(derivation.place, contains_text("calibration/h200-sxm/pytorch-2.12.toml:9:"));
    REQUIRE(derivation.sources.size() == 1);
    CHECK(derivation.sources[0].command == "ridge fit");
    CHECK(derivation.sources[0].records == "my-records");
    CHECK(derivation.sources[0].digest == "12ab");
    CHECK(derivation.sources[0].date == "2026-11-28");
}

TEST_CASE("a carried value has the sources of the chip that it comes from", "[catalogue]") {
    const Catalogue all = catalogue();
    const Derivation derivation = why(all, "h100-sxm", "model.matmul.tf32.issue_fraction");
    CHECK_THAT(derivation.place, contains_text("calibration/h200-sxm/cublaslt-13.0.toml:"));
    CHECK_THAT(derivation.carried,
               contains_text("carried over from") && contains_text("(derived)"));
    REQUIRE(derivation.sources.size() == 1);
    CHECK_THAT(derivation.sources[0].command.str(), contains_text("ridge fit matmul"));
    const Derivation trees = why(all, "gb200", "model.residual.experts.trees");
    CHECK_THAT(trees.place, contains_text("calibration/b200/trtllm-1.3.0rc20.trees:"));
    CHECK_THAT(trees.sources.at(0).command.str(), contains_text("ridge calibrate --built-in"));
    CHECK_THROWS_WITH(why(all, "h100-sxm", "dram.bandwith"),
                      contains_text("did you mean dram.bandwidth?"));
    CHECK_THROWS_WITH(why(all, "h100-sxm", "matmul.tf32"),
                      contains_text("fields with it in their names: model.matmul.tf32."));
    CHECK_THROWS_WITH(why(all, "t4", "link.total"), contains_text("t4 has no link.total"));
}

TEST_CASE("a calibration that is not its software's, or of an unknown chip, is refused",
          "[catalogue]") {
    const auto problems_of = [](const std::string& chip, const std::string& software) {
        return all_of(check_text(gather_file("kind = \"calibration\"\nname = \"x\"\nchip = \"" +
                                                 chip + "\"\nsoftware = \"" + software + "\"\n",
                                             "5"),
                                 "x.toml"));
    };
    CHECK(problems_of("h200-sxm", "pytorch-2.11").empty());
    CHECK_THAT(problems_of("h201", "pytorch-2.11"), contains_text("\"h201\" is not a known GPU"));
    CHECK_THAT(
        problems_of("h200-sxm", "vllm-0.24.0"),
        contains_text("model.torch.gather.single is not among the parameters of vllm-0.24.0"));
    CHECK_THAT(problems_of("h200-sxm", "vlm"), contains_text("unknown software \"vlm\""));
}

TEST_CASE("trees are written as they are read, and a changed file is found", "[catalogue]") {
    for (const EmbeddedFile& file : calibration_files()) {
        if (!file.path.ends_with(".trees")) continue;
        CAPTURE(file.path);
        const std::string text(file.text);
        const TreesHeader head = read_trees_header(text, "a.trees");
        const Loaded read = read_trees(SharedText::in_program(file.text), "a.trees");
        CHECK(read.problems.empty());
        const std::string again = trees_file(read.description, head.chip, head.software);
        CHECK(read_trees_header(again, "b.trees").digest == digest_of_trees(again));
        const Loaded second = read_trees(SharedText::copy_of(again), "b.trees");
        REQUIRE(second.description.data.size() == read.description.data.size());
        for (const auto& [path, datum] : read.description.data) {
            CHECK(written(second.description.data.at(path)) == written(datum));
        }
    }
    std::string changed;
    for (const EmbeddedFile& file : calibration_files()) {
        if (file.path == "calibration/b200/vllm-0.24.0.trees") changed = file.text;
    }
    REQUIRE_FALSE(changed.empty());
    changed.replace(changed.rfind(' ') + 1, 1, "9");
    CHECK_THAT(all_of(check_text(changed, "b.trees")), contains_text("the content has the digest"));
    CHECK_THAT(all_of(check_text("ridge trees 1\nchip b200\nclass oops a 1 F\n", "c.trees")),
               contains_text("c.trees:3:1: unknown class \"oops\""));
    CHECK_THAT(all_of(check_text("ridge trees 1\nchip b200\nkernel model.engine.no.a.b 1 x F\n",
                                 "d.trees")),
               contains_text("d.trees:3:1: unknown kernel \"model.engine.no.a.b\"") &&
                   contains_text("source \"F\" is not declared") &&
                   contains_text("above must be a number") && contains_text("has no trees"));
}

TEST_CASE("what made a source is said after it, or before the first for all", "[catalogue]") {
    const std::string text =
        "ridge trees 1\nchip b200\nsoftware vllm-0.24.0\ndigest 0\ndate 2026-11-22\n"
        "source A derived first\ncommand ridge fit a\nsource B measured second\n"
        "records r.csv\ninputs 12\ndate 2026-11-29\n"
        "kernel model.engine.tiled_product.vllm.fp8_sm90 0.1 0.2 B\n"
        "range m 0 1\nsplits m 1 1\ntrees 0\n";
    const Description read = read_trees(SharedText::copy_of(text), "a.trees").description;
    const hardware::Source& first = read.sources.at("A");
    CHECK(first.command == "ridge fit a");
    CHECK(first.records.empty());
    CHECK(first.date == "2026-11-22");
    const hardware::Source& second = read.sources.at("B");
    CHECK(second.command.empty());
    CHECK(second.records == "r.csv");
    CHECK(second.digest == "12");
    CHECK(second.date == "2026-11-29");
    const std::string kernel = "model.engine.tiled_product.vllm.fp8_sm90.correction_";
    CHECK(read.value(kernel + "below") == 0.1);
    CHECK(read.find(kernel + "trees")->sources == std::vector<std::string>{"B"});
    const std::string again = trees_file(read, "b200", "vllm-0.24.0");
    CHECK_THAT(again, contains_text("\nsource B measured second\nrecords r.csv\ninputs 12\n"
                                    "date 2026-11-29\nkernel "));
}

}  // namespace ridge::model
