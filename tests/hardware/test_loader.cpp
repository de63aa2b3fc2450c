#include "hardware/loader.h"

#include <array>
#include <random>

#include "tests/catch.h"
#include "tests/hardware/toy_header.h"

using namespace ridge;
using namespace ridge::hardware;

namespace {

const std::string header = ridge::test::toy_header("DS");

std::vector<std::string> problems_of(const std::string& text) {
    std::vector<std::string> texts;
    for (const Problem& problem : load_text(text, "toy.toml", device_schema()).problems) {
        texts.push_back(to_string(problem));
    }
    return texts;
}

/// The problems of the header followed by these lines, which begin on line 6.
std::vector<std::string> problems_with(const std::string& lines) {
    return problems_of(header + lines);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a valid file has no problems and keeps everything") {
    const Loaded loaded =
        load_text(header +
                      "[sm]\ncount = { value = 108, source = \"DS\", note = \"enabled\" }\n"
                      "[dram]\nbandwidth = { value = \"2039 GB/s\", source = [\"DS\"],"
                      " also = [{ value = \"2 TB/s\", source = \"DS\" }] }\n"
                      "[rate]\nsfu = { value = 16, source = \"DS\" }\n",
                  "toy.toml", device_schema());
    CHECK(loaded.problems.empty());
    const Description& gpu = loaded.description;
    CHECK(gpu.name == "toy");
    CHECK(gpu.count("sm.count") == 108);
    CHECK(gpu.find("sm.count")->note == "enabled");
    CHECK(gpu.quantity<Bandwidth>("dram.bandwidth")->base() == 2039e9);
    CHECK(gpu.find("dram.bandwidth")->disputes[0].value == "2 TB/s");
    CHECK(to_string(gpu.find("dram.bandwidth")->location) == "toy.toml:9:23");
    CHECK(gpu.number("rate.sfu") == 16.0);
    CHECK_FALSE(gpu.quantity<Bytes>("l2.size").has_value());
    CHECK_THROWS_WITH(gpu.require<Bytes>("l2.size"),
                      contains_text("the description of toy has no l2.size"));
    CHECK_THROWS_AS(gpu.quantity<Bytes>("dram.bandwidth"), ContractViolation);
    CHECK_THROWS_AS(gpu.quantity<Bytes>("dram.bandwith"), ContractViolation);
}

TEST_CASE("every mistake is reported with its place") {
    CHECK(problems_with("[dram]\nbandwith = { value = \"1 TB/s\", source = \"DS\" }\n") ==
          Texts{"toy.toml:7:1: unknown key \"dram.bandwith\", did you mean \"dram.bandwidth\"?"});
    CHECK(problems_with("[dram]\nbandwidth = { value = \"1 TB/s\" }\n") ==
          Texts{"toy.toml:7:13: dram.bandwidth has no source"});
    CHECK(problems_with("[dram]\nbandwidth = { value = \"1 TB/s\", source = \"XX\" }\n") ==
          Texts{"toy.toml:7:42: source \"XX\" is not declared in [sources]"});
    CHECK(problems_with("[dram]\nbandwidth = { value = \"80 GB\", source = \"DS\" }\n") ==
          Texts{"toy.toml:7:23: dram.bandwidth: \"80 GB\" is a capacity, expected a bandwidth such "
                "as \"2039 GB/s\""});
    CHECK(problems_with("[dram]\nbandwidth = { value = 2039, source = \"DS\" }\n") ==
          Texts{"toy.toml:7:23: dram.bandwidth must be a string with a unit such as \"2039 "
                "GB/s\", not an integer"});
    CHECK(problems_with("[dram]\nbandwidth = \"1 TB/s\"\n") ==
          Texts{"toy.toml:7:13: dram.bandwidth must be { value = ..., source = \"...\" }"});
    CHECK(problems_with("[sm]\ncount = { value = -3, source = \"DS\" }\n") ==
          Texts{"toy.toml:7:19: sm.count is negative"});
    CHECK(
        problems_with("[sm]\ncount = { value = 0, source = \"DS\" }\n") ==
        Texts{"toy.toml:7:19: sm.count is zero; leave out a field that the device does not have"});
    CHECK(problems_with("[sm]\ncount = { value = 9223372036854775807, source = \"DS\" }\n") ==
          Texts{"toy.toml:7:19: sm.count must lie in the range 1 to 65536"});
    CHECK(problems_with("[rate]\nsfu = { value = nan, source = \"DS\" }\n") ==
          Texts{"toy.toml:7:17: rate.sfu must be finite"});
    CHECK(problems_with("[sm]\ncount = { value = 8, source = \"DS\", nota = \"x\" }\n") ==
          Texts{"toy.toml:7:37: unknown key \"nota\" in sm.count, did you mean \"note\"?"});
    CHECK(problems_with("[dram]\ntype = { value = 3, source = \"DS\" }\n") ==
          Texts{"toy.toml:7:18: dram.type must be a string, not an integer"});
}

TEST_CASE("all problems are reported at once, in the order of the file") {
    const Texts texts = problems_with(
        "[sm]\ncount = { value = \"many\", source = \"DS\" }\n"
        "[dram]\ncapacity = { value = \"80 GX\", source = \"DS\" }\n"
        "[nothing]\nx = 1\n");
    REQUIRE(texts.size() == 3);
    CHECK(texts[0] == "toy.toml:7:19: sm.count must be an integer, not a string");
    CHECK(texts[1] ==
          "toy.toml:9:22: dram.capacity: unknown unit \"GX\" in \"80 GX\", expected a capacity "
          "such as \"80 GiB\" (did you mean \"GB\"?)");
    CHECK(texts[2] == "toy.toml:10:2: unknown key \"nothing\"");
}

TEST_CASE("the header is checked") {
    const Texts texts = problems_of("schema = 2\nname = \"To y\"\ntitel = \"x\"\n");
    REQUIRE(texts.size() == 5);
    CHECK(texts[0] == "toy.toml:1:1: \"title\" is missing");
    CHECK(texts[1] == "toy.toml:1:1: \"vendor\" is missing");
    CHECK(texts[2] == "toy.toml:1:10: schema must be 1, the only supported version");
    CHECK(texts[3] == "toy.toml:2:8: name \"To y\" may hold only a-z, 0-9, \"-\", \"_\" and \".\"");
    CHECK(texts[4] == "toy.toml:3:1: unknown key \"titel\", did you mean \"title\"?");
    CHECK(problems_of("") ==
          Texts{"toy.toml:1:1: \"schema\" is missing: begin the file with schema = 1",
                "toy.toml:1:1: \"name\" is missing", "toy.toml:1:1: \"title\" is missing",
                "toy.toml:1:1: \"vendor\" is missing"});
}

TEST_CASE("sources must state their kind and text") {
    CHECK(
        problems_of("schema = 1\nname = \"toy\"\ntitle = \"T\"\nvendor = \"A\"\n"
                    "[sources]\nA = \"a book\"\nB = { kind = \"rumour\", text = \"b\" }\n") ==
        Texts{"toy.toml:6:5: source A must be { kind = \"vendor|measured|derived|estimate\", text "
              "= \"...\" }",
              "toy.toml:7:14: unknown kind of source \"rumour\": vendor, measured, derived or "
              "estimate"});
}

TEST_CASE("a tolerance needs a field, a figure and a reason") {
    CHECK(
        problems_with("[[tolerance]]\ncheck = \"peak.fma.fp33\"\npercent = 5\nreason = \"r\"\n") ==
        Texts{"toy.toml:7:1: unknown key \"peak.fma.fp33\", did you mean \"peak.fma.fp32\"?"});
    CHECK(problems_with(
              "[[tolerance]]\ncheck = \"peak.fma.fp32\"\npercent = 500\nreason = \"r\"\n") ==
          Texts{"toy.toml:8:11: percent must lie between 0 and 100"});
    CHECK(problems_with("[[tolerance]]\ncheck = \"peak.fma.fp32\"\n").size() == 1);
}

TEST_CASE("syntax errors have a place") {
    const Texts texts = problems_of("schema = 1\nname = \n");
    REQUIRE(texts.size() == 1);
    CHECK_THAT(texts[0], Catch::Matchers::StartsWith("toy.toml:2:"));
    CHECK_THAT(problems_of("a = \"\xFF\xFE\"\n").at(0), Catch::Matchers::StartsWith("toy.toml:1:"));
}

TEST_CASE("hostile text is refused without harm") {
    CHECK(problems_of("a = " + std::string(100000, '[')).size() == 1);
    CHECK(problems_of("a = " + std::string(100000, '{')).size() == 1);
    std::string dotted = "a";
    for (int i = 0; i < 50000; ++i) dotted += ".a";
    CHECK(problems_of(dotted + " = 1").size() == 1);
    CHECK(problems_of("[" + dotted + "]").size() == 1);
    CHECK(problems_of(std::string(2 << 20, '#')).at(0) ==
          "toy.toml: the file is larger than 1 MiB");
    CHECK_FALSE(problems_of("a = 1e99999\nb = 99999999999999999999\n").empty());
    CHECK_FALSE(
        problems_with("[dram]\nbandwidth = { value = \"1e300 TB/s\", source = \"DS\" }\n").empty());
}

TEST_CASE("random damage never causes an exception") {
    const std::string right =
        header +
        "[dram]\nbandwidth = { value = \"2039 GB/s\", source = [\"DS\"] }\n"
        "[[tolerance]]\ncheck = \"dram.bandwidth\"\npercent = 5\nreason = \"r\"\n";
    std::mt19937 random(3);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable
    for (int i = 0; i < 3000; ++i) {
        std::string damaged = right;
        for (int hit = 0; hit < 4; ++hit) {
            damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
        }
        CHECK_NOTHROW(load_text(damaged, "toy.toml", device_schema()));
    }
}

TEST_CASE("a device keeps its own fields and takes the rest from its architecture") {
    const Description parent =
        load_text(
            "schema = 1\nkind = \"architecture\"\nname = \"arch\"\n"
            "sources.DS = { kind = \"estimate\", text = \"another paper\" }\n"
            "[sm]\ncount = { value = 10, source = \"DS\" }\nfull_die = { value = 12, source = "
            "\"DS\" }\n",
            "arch.toml", device_schema())
            .description;
    const Description child = load_text(header + "[sm]\ncount = { value = 8, source = \"DS\" }\n",
                                        "toy.toml", device_schema())
                                  .description;
    const Description whole = inherit(child, parent);
    CHECK(whole.count("sm.count") == 8);
    CHECK(whole.count("sm.full_die") == 12);
    CHECK(whole.provenance("sm.count") == Provenance::vendor);
    CHECK(whole.provenance("sm.full_die") == Provenance::estimate);
    CHECK(whole.find("sm.full_die")->sources == Texts{"DS (arch)"});
    const Description overlaid = apply_overlay(child, parent);
    CHECK(overlaid.count("sm.count") == 10);
    CHECK(overlaid.provenance("sm.count") == Provenance::estimate);
}

TEST_CASE("the fields that every GPU needs are named") {
    const Loaded loaded = load_text(header, "toy.toml", device_schema());
    CHECK(loaded.problems.empty());
    Texts texts;
    for (const Problem& problem : missing_fields(loaded.description)) {
        texts.push_back(to_string(problem));
    }
    CHECK(texts == Texts{"toy.toml:2:8: toy has no architecture.name",
                         "toy.toml:2:8: toy has no sm.count",
                         "toy.toml:2:8: toy has no limits.warp_size",
                         "toy.toml:2:8: toy has no dram.capacity",
                         "toy.toml:2:8: toy has no dram.bandwidth"});
}

TEST_CASE("problems are thrown together") {
    CHECK_NOTHROW(throw_problems({}));
    CHECK_THROWS_WITH(throw_problems({{{.file = "a", .line = 1, .column = 2}, "x"}, {{}, "y"}}),
                      "a:1:2: x\ny");
}

TEST_CASE("a value outside the range of its field is refused") {
    CHECK(problems_with("[dram]\nsector = { value = \"0.5 B\", source = \"DS\" }\n") ==
          Texts{"toy.toml:7:20: dram.sector must lie in the range 1 B to 1024 PiB"});
}

TEST_CASE("a section of a larger schema is read with that schema only") {
    const std::string text =
        header + "[model.streams]\nstart = { value = \"2 us\", source = \"DS\" }\n";
    CHECK(problems_with("[model.streams]\nstart = { value = \"2 us\", source = \"DS\" }\n") ==
          Texts{"toy.toml:6:2: unknown key \"model\""});
    const Schema grown = device_schema().with({{.path = "model.streams.start",
                                                .dimension = Time::dimension,
                                                .meaning = "fixed time",
                                                .range = {1e-9, 1e-3}}});
    const Loaded with = load_text(text, "toy.toml", grown);
    CHECK(with.problems.empty());
    CHECK(with.description.quantity<Time>("model.streams.start") == 2.0 * units::us);
    const std::string misspelt =
        header + "[model.streams]\nstrat = { value = \"2 us\", source = \"DS\" }\n";
    REQUIRE(load_text(misspelt, "toy.toml", grown).problems.size() == 1);
    CHECK(to_string(load_text(misspelt, "toy.toml", grown).problems[0]) ==
          "toy.toml:7:1: unknown key \"model.streams.strat\", did you mean "
          "\"model.streams.start\"?");
}

TEST_CASE("a form says what a header may hold besides, and what kind a file is") {
    constexpr std::array<std::string_view, 2> words{"chip", "needs"};
    constexpr std::array<std::string_view, 1> tables{"rule"};
    const Form form{.kind = "calibration", .words = words, .tables = tables, .roots = {}};
    const auto read = [&form](const std::string& text) {
        return load_text("schema = 1\nname = \"x\"\n" + text, "x.toml", device_schema(), form);
    };
    const Loaded loaded = read(
        "kind = \"calibration\"\nchip = \"a\"\nneeds = [\"b\", \"c\"]\n[[rule]]\nto = \"d\"\n"
        "[[rule]]\nto = [\"e\", \"f\"]\n");
    CHECK(loaded.problems.empty());
    CHECK(loaded.description.kind == DescriptionKind::data);
    CHECK(loaded.description.words.text("chip") == "a");
    CHECK(loaded.description.words.texts.at("needs") == Texts{"b", "c"});
    REQUIRE(loaded.description.rows.size() == 2);
    CHECK(loaded.description.rows[1].texts.at("to") == Texts{"e", "f"});
    CHECK(to_string(read("kind = \"gpu\"\n").problems.at(0)) ==
          "x.toml:3:8: kind must be \"calibration\"");
    CHECK(to_string(read("rule = 3\nkind = \"calibration\"\n").problems.at(0)) ==
          "x.toml:3:8: rule must be a table");
    CHECK(kind_of("schema = 1\nkind = \"laws\"\n[sources]\n", "x.toml") == "laws");
    CHECK(kind_of("kind = [\n", "x.toml").empty());
}
