// The command-line parser: options are declared once, then parsed, shown in the help, and listed.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "tests/catch.h"

using ridge::cli::CommandLine;
using ridge::cli::OptionInfo;
using ridge::cli::Parsed;
using ridge::cli::ParseResult;

namespace {

/// One option of every kind.
struct BoundVariables {
    explicit BoundVariables(CommandLine& line) {
        line.positional("op", op, "operation").value("OP");
        line.option("-o,--output", file, "file to write").value("FILE").group("Output");
        line.option("--op", operations, "may be repeated");
        line.option("--rows", rows, "height").in_range(6, 200);
        line.option("--seconds", seconds, "longest").in_range(0.5, 10.0);
        line.option("--seed", seed, "of random numbers");
        line.option("--max-error", max_error, "percent").not_negative();
        line.option("--format", format, "of the output").one_of({"csv", "json"});
        line.flag("--ascii", ascii, "no other characters");
    }

    std::string op;
    std::string file;
    std::vector<std::string> operations;
    std::int32_t rows = 20;
    double seconds = 1.0;
    std::uint64_t seed = 1;
    std::optional<double> max_error;
    std::string format;
    bool ascii = false;
};

ParseResult parse(const std::vector<std::string>& arguments) {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    return line.parse(arguments);
}

std::string error_of(const std::vector<std::string>& arguments) {
    const ParseResult result = parse(arguments);
    CHECK(result.what == Parsed::error);
    return result.text;
}

}  // namespace

TEST_CASE("arguments fill the bound variables, in any order and spelling") {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    const std::vector<std::string> arguments{
        "--rows=7", "matmul",    "--op", "a b",         "-o",
        "x.svg",    "--op",      "c",    "--seed",      "12345678901234567890",
        "--ascii",  "--seconds", "2.5",  "--max-error", "0",
        "--format", "json"};
    REQUIRE(line.parse(arguments).what == Parsed::command);
    CHECK(bound.op == "matmul");
    CHECK(bound.file == "x.svg");
    CHECK(bound.operations == std::vector<std::string>{"a b", "c"});
    CHECK(bound.rows == 7);
    CHECK(bound.seed == 12345678901234567890ULL);
    CHECK(bound.ascii);
    CHECK(bound.seconds == 2.5);
    CHECK(bound.max_error == 0.0);
    CHECK(bound.format == "json");
}

TEST_CASE("names take either dash, counts take prefixes, words take either case") {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    const std::vector<std::string> arguments{
        "--max_error=5", "--rows", "0.1k", "--seed", "4_096", "--format", "CSV", "--output", "a_b"};
    const ParseResult result = line.parse(arguments);
    CAPTURE(result.text);
    REQUIRE(result.what == Parsed::command);
    CHECK(bound.max_error == 5.0);
    CHECK(bound.rows == 100);
    CHECK(bound.seed == 4096);
    CHECK(bound.format == "csv");
    CHECK(bound.file == "a_b");
}

TEST_CASE("an option that is not given keeps its value") {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    REQUIRE(line.parse({}).what == Parsed::command);
    CHECK(bound.rows == 20);
    CHECK_FALSE(bound.max_error.has_value());
    CHECK_FALSE(bound.ascii);
}

TEST_CASE("an error names the wrong argument and what is allowed") {
    CHECK(error_of({"--rows", "5"}) == "--rows: Value 5 not in range 6 to 200");
    CHECK(error_of({"--seconds", "11"}).find("not in range 0.5") != std::string::npos);
    CHECK(error_of({"--format", "xml"}) == "--format: unknown word 'xml'; one of csv, json");
    CHECK(error_of({"--max-error", "-1"}).find("--max-error") != std::string::npos);
    CHECK(error_of({"--seed", "many"}).find("--seed") != std::string::npos);
    CHECK(error_of({"--format", "jsn"}) == "--format: unknown word 'jsn'; did you mean 'json'?");
    CHECK(error_of({"--nonsense"}) == "unknown option --nonsense");
    CHECK(error_of({"--sed", "4"}) == "unknown option --sed; did you mean '--seed'?");
    CHECK(error_of({"--nonsense", "4", "--outptu=x"}) ==
          "unknown option --nonsense; unknown option --outptu; did you mean '--output'?");
    CHECK(error_of({"--output"}).find("--output") != std::string::npos);
}

TEST_CASE("mutually exclusive options and missing required options are refused") {
    std::string a;
    std::string b;
    CommandLine line("ridge test", "A command");
    const ridge::cli::Option first = line.option("--a", a, "one").required();
    line.option("--b", b, "other").excludes(first);
    CHECK(line.parse(std::vector<std::string>{"--a", "1", "--b", "2"}).what == Parsed::error);
    CHECK(line.parse(std::vector<std::string>{"--b", "2"}).what == Parsed::error);
    CHECK(line.parse(std::vector<std::string>{"--a", "1"}).what == Parsed::command);
}

TEST_CASE("the help lists every option under its heading, within 80 columns") {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    std::string long_one;
    line.option("--long", long_one, std::string(30, 'x') + " " + std::string(40, 'y'));
    line.footer("The end.");
    const ParseResult result = line.parse(std::vector<std::string>{"--help"});
    REQUIRE(result.what == Parsed::help);
    CHECK(result.text == line.help());
    CHECK(result.text.find("\nOutput:\n") != std::string::npos);
    CHECK(result.text.find("The end.") != std::string::npos);
    std::size_t begin = 0;
    while (begin < result.text.size()) {
        const std::size_t end = std::min(result.text.find('\n', begin), result.text.size());
        CHECK(end - begin <= 80);
        begin = end + 1;
    }
}

TEST_CASE("a subcommand knows whether it was named and passes options to its parent") {
    std::string name;
    bool plain = false;
    CommandLine line("ridge test", "A command");
    line.flag("--plain", plain, "of the parent");
    line.require_subcommands(0, 1);
    CommandLine show = line.subcommand("show", "one of them");
    show.positional("name", name, "which").required();
    show.fall_through();
    const CommandLine check = line.subcommand("check", "another");
    REQUIRE(line.parse(std::vector<std::string>{"show", "x", "--plain"}).what == Parsed::command);
    CHECK(show.parsed());
    CHECK_FALSE(check.parsed());
    CHECK(name == "x");
    CHECK(plain);
    CHECK(line.subcommands().size() == 2);
    CHECK(line.subcommands().front().name() == "show");
    CHECK(line.subcommands().front().description() == "one of them");
}

TEST_CASE("options are listed with their names, value and help") {
    CommandLine line("ridge test", "A command");
    BoundVariables bound(line);
    const std::vector<OptionInfo> options = line.options();
    const auto find = [&](const std::string& name) {
        const auto found =
            std::find_if(options.begin(), options.end(), [&](const OptionInfo& option) {
                return std::count(option.names.begin(), option.names.end(), name) > 0;
            });
        REQUIRE(found != options.end());
        return *found;
    };
    CHECK(find("op").positional);
    CHECK(find("op").value == "OP");
    CHECK(find("-o").names == std::vector<std::string>{"-o", "--output"});
    CHECK(find("-o").group == "Output");
    CHECK(find("--output").value == "FILE");
    CHECK(find("--ascii").value.empty());
    CHECK(find("--ascii").help == "no other characters");
    CHECK_FALSE(find("--help").positional);
}
