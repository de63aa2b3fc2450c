#include "hardware/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "hardware/embedded.h"
#include "hardware/loader.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::hardware;
using ridge::test::TemporaryFolder;

namespace {

double ridge_point(const Description& gpu, const std::string& type) {
    const auto peak = gpu.require<FlopRate>("peak.tensor." + type);
    return (peak / gpu.require<Bandwidth>("dram.bandwidth")).base();
}

const std::string overlay_text =
    "schema = 1\nkind = \"overlay\"\nname = \"mine\"\noverlay = \"h100-sxm\"\n"
    "[sources]\nRUN = { kind = \"measured\", text = \"a run\" }\n"
    "[measured.dram]\nread = { value = \"3 TB/s\", source = \"RUN\" }\n";

}  // namespace

TEST_CASE("every description loads and its redundant figures agree") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK(catalogue.entries().size() >= 30);
    for (const CatalogueEntry& entry : catalogue.entries()) {
        for (const Overlays overlays : {Overlays::left_out, Overlays::applied}) {
            const auto [gpu, problems] = catalogue.inspect(entry.name, overlays);
            for (const Problem& problem : problems) FAIL_CHECK(to_string(problem));
            CHECK(gpu.name == entry.name);
        }
    }
}

TEST_CASE("every embedded file has its own name and the kind of its folder") {
    for (const EmbeddedFile& file : embedded_files()) {
        CAPTURE(file.path);
        const Loaded loaded = load_text(file.text, std::string(file.path), device_schema());
        CHECK(loaded.problems.empty());
        const std::string stem = std::filesystem::path(file.path).stem().string();
        CHECK(loaded.description.name == stem);
        const bool architecture = file.path.starts_with("hardware/architectures/");
        CHECK((loaded.description.kind == DescriptionKind::architecture) == architecture);
    }
}

TEST_CASE("ridge points follow from the data sheets") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    const auto bf16 = [&](const char* name) {
        return ridge_point(catalogue.at(name, Overlays::left_out), "bf16");
    };
    CHECK(bf16("a100-sxm-40gb") == Approx(200.6).margin(0.05));
    CHECK(bf16("a100-sxm-80gb") == Approx(153.0).margin(0.05));
    CHECK(bf16("h100-sxm") == Approx(295.3).margin(0.05));
    CHECK(bf16("h200-sxm") == Approx(206.1).margin(0.05));
}

TEST_CASE("figures that are easy to get wrong") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK(catalogue.at("a100-sxm-80gb").count("sm.count") == 108);
    CHECK(catalogue.at("h100-sxm").quantity<Frequency>("clock.boost") == 1980.0 * units::MHz);
    CHECK(catalogue.at("h100-sxm").quantity<Frequency>("clock.tensor") == 1830.0 * units::MHz);
    CHECK(catalogue.at("h100-sxm").quantity<Bytes>("shared.per_block") == 227.0 * units::KiB);
    CHECK(catalogue.at("h200-sxm").quantity<Bytes>("l2.size") == 60.0 * units::MiB);
    CHECK(catalogue.at("rtx-4090").quantity<FlopPerCycle>("rate.tensor.fp16") ==
          512.0 * units::FLOP / units::cycle);
    CHECK(catalogue.at("l40s").quantity<FlopPerCycle>("rate.tensor.fp16") ==
          1024.0 * units::FLOP / units::cycle);
    CHECK_FALSE(catalogue.at("a100-sxm-80gb").quantity<FlopRate>("peak.tensor.fp8").has_value());
    CHECK_FALSE(catalogue.at("tpu-v4").count("limits.warp_size").has_value());
    CHECK_FALSE(catalogue.at("v100-sxm").quantity<FlopRate>("peak.tensor.bf16").has_value());
    CHECK(catalogue.at("v100-sxm-32gb").quantity<Bytes>("dram.capacity") == 32.0 * units::GiB);
}

TEST_CASE("the driver's name of a card finds it") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    const std::vector<std::pair<std::string, std::string>> cases{
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA H100 NVL", "h100-nvl"},
        {"NVIDIA H200", "h200-sxm"},
        {"NVIDIA H200 NVL", "h200-nvl"},
        {"NVIDIA GH200 480GB", "gh200-96gb"},
        {"NVIDIA B200", "b200"},
        {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
        {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
        {"A100-SXM4-80GB", "a100-sxm-80gb"},
        {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
        {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
        {"NVIDIA A30", "a30"},
        {"NVIDIA A10", "a10"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA L40S", "l40s"},
        {"Tesla T4", "t4"},
        {"Tesla V100-SXM2-16GB", "v100-sxm"},
        {"Tesla V100-SXM2-32GB", "v100-sxm-32gb"},
        {"Tesla V100-PCIE-16GB", "v100-pcie"},
        {"Tesla P100-PCIE-16GB", "p100-pcie"},
        {"Tesla K80", "k80"},
        {"NVIDIA GeForce RTX 3090", "rtx-3090"},
        {"NVIDIA GeForce RTX 4090", "rtx-4090"},
        {"nvidia geforce rtx 5090", "rtx-5090"},
        {"AMD Instinct MI300X", "mi300x"},
        {"AMD Instinct MI250X", "mi250x"},
        {"TPU v5e", "tpu-v5e"},
        {"H100-SXM", "h100-sxm"},
        {" h100_sxm ", "h100-sxm"},
    };
    for (const auto& [name, expected] : cases) {
        CAPTURE(name);
        CHECK(catalogue.canonical_name(name) == expected);
    }
}

TEST_CASE("parts of names find no card") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    for (const std::string name :
         {"NVIDIA L2", "NVIDIA A16", "NVIDIA A800", "NVIDIA RTX A4000",
          "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100X", "NVIDIA H80", "NVIDIA", "", "-",
          "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "Tesla"}) {
        CAPTURE(name);
        CHECK(catalogue.canonical_name(name).empty());
    }
}

TEST_CASE("no two devices share a name") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    for (const CatalogueEntry& entry : catalogue.entries()) {
        CHECK(catalogue.canonical_name(entry.name) == entry.name);
        for (const std::string& alias : entry.aliases) {
            CAPTURE(alias);
            CHECK(catalogue.canonical_name(alias) == entry.name);
        }
    }
}

TEST_CASE("an unknown name gets suggestions") {
    const Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK_THROWS_WITH(catalogue.at("h100-smx"),
                      contains_text("unknown GPU \"h100-smx\"") && contains_text("h100-sxm"));
    CHECK_THROWS_WITH(catalogue.at("a100-sxm-8"), contains_text("a100-sxm-80gb"));
    CHECK_THROWS_WITH(catalogue.at("h1000"), contains_text("did you mean h100?"));
    CHECK(catalogue.canonical_name("a100") == "a100-sxm-80gb");
    CHECK(catalogue.canonical_name("H100") == "h100-sxm");
    CHECK_THROWS_WITH(catalogue.at("quantum"), contains_text("`ridge gpus`"));
}

TEST_CASE("an overlay adds to a device, and the data sheet remains available") {
    Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK(catalogue.add_text(overlay_text, "mine.toml") == "h100-sxm");
    const Description& calibrated = catalogue.at("h100-sxm");
    CHECK(calibrated.quantity<Bandwidth>("measured.dram.read") == 3.0 * units::TB / units::s);
    CHECK(calibrated.provenance("measured.dram.read") == Provenance::measured);
    CHECK_THAT(calibrated.origin, contains_text("built in") && contains_text("with mine.toml"));
    const Description& datasheet = catalogue.at("h100-sxm", Overlays::left_out);
    CHECK_FALSE(datasheet.quantity<Bandwidth>("measured.dram.read").has_value());
    CHECK(&catalogue.at("NVIDIA H100 80GB HBM3") == &calibrated);
}

TEST_CASE("a user's file replaces the built-in one") {
    const TemporaryFolder folder;
    std::string text;
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path.ends_with("/t4.toml")) text = file.text;
    }
    const std::size_t at = text.find("320 GB/s");
    REQUIRE(at != std::string::npos);
    const std::string path = folder.write("ridge/gpus/my-t4.toml", text.replace(at, 8, "321 GB/s"));

    Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK(catalogue.add_file(path) == "t4");
    CHECK(catalogue.at("Tesla T4").quantity<Bandwidth>("dram.bandwidth") ==
          321.0 * units::GB / units::s);
    CHECK(catalogue.at("t4").origin == path + ", in place of the built-in t4");
}

TEST_CASE("an architecture inherits from another, and an endless chain is refused") {
    const auto architecture = [](const std::string& name, const std::string& parent) {
        return "schema = 1\nkind = \"architecture\"\nname = \"" + name + "\"\n" +
               (parent.empty() ? "" : "inherits = \"" + parent + "\"\n") +
               "[sources]\nRUN = { kind = \"measured\", text = \"a run\" }\n[sm]\n";
    };
    const auto inspected = [&](const std::string& last) {
        Catalogue catalogue = Catalogue::embedded(device_schema());
        catalogue.add_text(architecture("old", last) +
                               "count = { value = 7, source = \"RUN\" }\n"
                               "full_die = { value = 9, source = \"RUN\" }\n",
                           "old.toml");
        catalogue.add_text(architecture("new", "old") + "count = { value = 8, source = \"RUN\" }\n",
                           "new.toml");
        catalogue.add_text(
            "schema = 1\nname = \"toy\"\ntitle = \"T\"\nvendor = \"A\"\ninherits = \"new\"\n",
            "toy.toml");
        return catalogue.inspect("toy", Overlays::applied);
    };
    const Description toy = inspected("").first;
    CHECK(std::get<std::int64_t>(toy.data.at("sm.count").value) == 8);
    CHECK(std::get<std::int64_t>(toy.data.at("sm.full_die").value) == 9);
    const auto first_problem = [&](const std::string& last) {
        return to_string(inspected(last).second.at(0));
    };
    CHECK_THAT(first_problem("older"),
               contains_text("old.toml") &&
                   contains_text("inherits from \"older\", which is not a known architecture"));
    CHECK_THAT(first_problem("new"), contains_text("which inherits from too many others"));
}

TEST_CASE("line ends of any system are taken") {
    for (const EmbeddedFile& file : embedded_files()) {
        std::string windows;
        for (const char letter : file.text) {
            if (letter == '\n') windows += '\r';
            windows += letter;
        }
        CAPTURE(file.path);
        Catalogue catalogue = Catalogue::embedded(device_schema());
        CHECK_FALSE(catalogue.add_text(windows, "windows.toml").empty());
        const Loaded loaded = load_text(windows, "windows.toml", device_schema());
        CHECK(loaded.problems.empty());
        CHECK(loaded.description.data.size() ==
              load_text(std::string(file.text), "plain.toml", device_schema())
                  .description.data.size());
    }
}

TEST_CASE("an error names the file that it is in") {
    const TemporaryFolder folder;
    Catalogue catalogue = Catalogue::embedded(device_schema());
    const std::string path = folder.write("bad.toml", "schema = 1\nname = \"b\n");
    try {
        static_cast<void>(catalogue.add_file(path));
        FAIL("no error");
    } catch (const InputError& error) {
        CHECK(error.location().file == path);
        CHECK_THAT(error.what(), contains_text(path + ":2:"));
    }
}

TEST_CASE("checking a file reports every problem with its place") {
    const TemporaryFolder folder;
    const std::string path = folder.write("bad.toml",
                                          "schema = 1\nname = \"bad\"\ntitle = \"B\"\n"
                                          "vendor = \"A\"\ninherits = \"sm_99\"\n");
    std::string all;
    for (const Problem& problem : check_file(path, device_schema()))
        all += to_string(problem) + "\n";
    CHECK_THAT(all, contains_text("bad.toml:2:8: inherits from \"sm_99\"") &&
                        contains_text("bad has no dram.bandwidth"));
    CHECK_THROWS_AS(check_file(folder.path() + "/absent.toml", device_schema()), InputError);
    CHECK_THROWS_AS(check_file(folder.path(), device_schema()), InputError);
    CHECK(check_file(folder.write("over.toml", overlay_text), device_schema()).empty());
    std::string lost = overlay_text;
    lost.replace(lost.find("h100-sxm"), 8, "h101-sxm");
    REQUIRE(check_file(folder.write("lost.toml", lost), device_schema()).size() == 1);
    for (const EmbeddedFile& file : embedded_files()) {
        const std::string name = std::filesystem::path(file.path).filename().string();
        const std::vector<Problem> problems =
            check_file(folder.write(name, std::string(file.text)), device_schema());
        for (const Problem& problem : problems) FAIL_CHECK(to_string(problem));
    }
}

TEST_CASE("descriptions share the texts of the embedded files") {
    const Description copy = Catalogue::embedded(device_schema()).at("h200-sxm");
    const std::string_view text = copy.find("dram.bandwidth")->text.view();
    CHECK(std::any_of(embedded_files().begin(), embedded_files().end(), [&](const auto& file) {
        return file.text.data() <= text.data() &&
               text.data() + text.size() <= file.text.data() + file.text.size();
    }));
}

TEST_CASE("a description outlives the catalogue and the text that it was read from") {
    Description kept;
    {
        Catalogue catalogue = Catalogue::embedded(device_schema());
        std::string text = overlay_text;
        text.replace(text.find("3 TB/s"), 6, "3.0123456789012345 TB/s");
        CHECK(catalogue.add_text(text, "mine.toml") == "h100-sxm");
        text.assign(text.size(), 'x');
        kept = catalogue.at("h100-sxm");
    }
    CHECK(kept.find("measured.dram.read")->text == "3.0123456789012345 TB/s");
    CHECK(written(*kept.find("sm.count")) == "132");
}
