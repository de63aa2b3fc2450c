// Documents: long strings, which are set aside while TOML is read, come back whole, and places stay
// right. The plain reader reads what it accepts as the TOML library does, and accepts nothing that
// breaks a rule.
#include "hardware/document.h"

#include <deque>
#include <string>

#include "hardware/embedded.h"
#include "hardware/plain_toml.h"
#include "tests/catch.h"
#include "tests/hardware/document_difference.h"

using namespace ridge;
using namespace ridge::hardware;

namespace {

const std::string large(20000, '7');

/// Parses a text and keeps it, because nodes point into it.
Document document_of(const std::string& text) {
    static std::deque<std::string> texts;
    return parse_document(texts.emplace_back(text), "toy.toml");
}

std::string place_of(const Location& location) {
    return to_string(location);
}

}  // namespace

TEST_CASE("long strings are read whole, and what follows keeps its place") {
    const Document document =
        document_of("[a]\nx = { value = \"" + large + "\", note = \"n\", more = \"" + large +
                    "8\", last = 3 }\n"
                    "y = 2\n");
    REQUIRE(!document.problem);
    const Node& x = *document.root.child("a")->child("x");
    CHECK(x.child("value")->text == large);
    CHECK(place_of(x.child("value")->location()) == "toy.toml:2:15");
    CHECK(x.child("note")->text == "n");
    CHECK(place_of(x.child("note")->key_location()) == "toy.toml:2:20019");
    CHECK(x.child("more")->text == large + '8');
    CHECK(place_of(x.child("more")->location()) == "toy.toml:2:20038");
    CHECK(x.child("last")->integer == 3);
    CHECK(place_of(x.child("last")->key_location()) == "toy.toml:2:40043");
    CHECK(place_of(document.root.child("a")->child("y")->location()) == "toy.toml:3:5");
}

TEST_CASE("strings that only look like long plain ones follow TOML's rules") {
    const std::string quoted = '"' + large + '"';
    // A key, an escape, a comment, a literal string, a multi-line string, non-ASCII letters.
    CHECK(document_of(quoted + " = 1\n").root.child(large)->integer == 1);
    CHECK(document_of("x = \"" + large + "\\n\"\n").root.child("x")->text == large + '\n');
    CHECK(document_of("x = 1 # y = " + quoted + "\n").root.child("x")->integer == 1);
    CHECK(document_of("x = 'y = " + quoted + "'\n").root.child("x")->text == "y = " + quoted);
    CHECK(document_of("x = \"\"\"\ny = " + quoted + "\n\"\"\"\n").root.child("x")->text ==
          "y = " + quoted + "\n");
    const Document wide = document_of("x = { a = \"\u00e9\", b = " + quoted + ", c = 1 }\n");
    CHECK(wide.root.child("x")->child("b")->text == large);
    CHECK(place_of(wide.root.child("x")->child("c")->key_location()) == "toy.toml:1:20024");
    CHECK(document_of("x = \"\"\n").root.child("x")->text.empty());
}

TEST_CASE("an error after a long string is reported at its place") {
    const Document document = document_of("x = { a = \"" + large + "\", b = }\n");
    REQUIRE(document.problem);
    CHECK(document.problem->location.line == 1);
    CHECK(document.problem->location.column > 20000);
    CHECK(document_of("x = \"" + large + "\n").problem);
    CHECK(document_of("x = \"" + large + "\" 1\n").problem);
    const Document deep = document_of("x = { a = \"" + large + "\", b = " + std::string(40, '['));
    REQUIRE(deep.problem);
    CHECK(deep.problem->location.column > 20000);
}

TEST_CASE("text over which the TOML library asserts has a problem with a place") {
    for (const auto& [text, at] : std::vector<std::pair<std::string, std::string>>{
             {"[=", "1:2"},
             {"a = 1\n[ =x=]\nb = 2", "2:3"},
             {"a = [\n1]\n[[.b]]", "3:3"},
             {"# \u00e9\n[[[", "2:3"},
             {"a = \"" + large + "\"\n[\n", "2:2"},
             {"a = [ }d\n ] b  ", "1:7"},
         }) {
        INFO(text);
        const Document document = document_of(text);
        REQUIRE(document.problem);
        CHECK(place_of(document.problem->location) == "toy.toml:" + at);
    }
}

TEST_CASE("every description of the catalogue is plain and reads as in the TOML library") {
    for (const EmbeddedFile& file : embedded_files()) {
        const std::string path(file.path);
        const auto plain = read_plain_toml(file.text, path);
        INFO(path);
        REQUIRE(plain);
        const Document document = parse_by_library(file.text, path);
        REQUIRE(!document.problem);
        CHECK(difference(plain->root, document.root).empty());
    }
}

TEST_CASE("plain text reads as in the TOML library") {
    for (const char* const text :
         {"", "\n\n", "# only this", "a = 1", "\ta\t=\t-7 # b\n", "a = -0\n",
          "a = -0.0\nb = 1e3\nc = -2.5E-03\n", "a = 9223372036854775807\nb = 0.1\nc = 1e-320\n",
          "a = [ # x\n 1,\n 2, # y\n]\nb = [[], [{}]]\n", "a = true\nb = [true, false]\n",
          "a = \"\"\nb = \"x \\\"y\\\" \\\\\"\n",
          "a = { b = { c = 1, d-2 = \"}\" }, e = [\"]\", \"#\"] }\n",
          "[ a . b ] # c\nd = 1\n[a.c]\n[e]\n[a.d]\n", "[a.b]\nc = 1\n[d]\n[a]\ne = 2\n",
          "[[a]]\nb = 1\n[[a]]\n[c]\n[[c.d]]\n[[c.d]]\ne = 2\n", "1 = 1\n-_ = 2\ntrue = 3\n"}) {
        INFO(text);
        const auto plain = read_plain_toml(text, "toy.toml");
        REQUIRE(plain);
        const Document document = parse_by_library(text, "toy.toml");
        REQUIRE(!document.problem);
        CHECK(difference(plain->root, document.root) == "");
    }
}

TEST_CASE("text that breaks TOML's rules or is not plain is left to the library") {
    const std::string deep(33, '[');
    const std::string shut(33, ']');
    for (const std::string& text : {std::string("a = 1\na = 2\n"),
                                    std::string("a = 01\n"),
                                    std::string("a = 1_000\n"),
                                    std::string("a = +1\n"),
                                    std::string("a = 1.\n"),
                                    std::string("a = .5\n"),
                                    std::string("a = 1e\n"),
                                    std::string("a = inf\n"),
                                    std::string("a = 0x1f\n"),
                                    std::string("a = 2026-01-01\n"),
                                    std::string("a = 9223372036854775808\n"),
                                    std::string("a = 1e999\n"),
                                    std::string("a = \n"),
                                    std::string("a 1\n"),
                                    std::string("a = 1 b = 2\n"),
                                    std::string("a.b = 1\n"),
                                    std::string("\"a\" = 1\n"),
                                    std::string("a = 'b'\n"),
                                    std::string("a = \"\"\"b\"\"\"\n"),
                                    std::string("a = \"b\n"),
                                    std::string("a = \"b\\n\"\n"),
                                    std::string("a = \"\u00e9\"\n"),
                                    std::string("a = 1\r\n"),
                                    std::string("a = { b = 1, }\n"),
                                    std::string("a = { b = 1\n}\n"),
                                    std::string("a = { b = 1, b = 2 }\n"),
                                    std::string("a = [1 2]\n"),
                                    std::string("a = [1\n"),
                                    std::string("[a\n"),
                                    std::string("[a]]\n"),
                                    std::string("[[a]\n"),
                                    std::string("[]\n"),
                                    std::string("[a.]\n"),
                                    std::string("[a]\n[a]\n"),
                                    std::string("[a.b]\n[a]\n[a]\n"),
                                    std::string("[a.b]\n[a]\nb = 1\n"),
                                    std::string("[a]\n[[a]]\n"),
                                    std::string("[[a]]\n[a]\n"),
                                    std::string("[[a]]\n[a.b]\n"),
                                    std::string("a = 1\n[a]\n"),
                                    std::string("[a]\nb = 1\n[a.b.c]\n"),
                                    std::string("[a] b = 1\n"),
                                    "a = " + deep + shut + "\n"}) {
        INFO(text);
        CHECK(!read_plain_toml(text, "toy.toml"));
    }
    std::string many;
    for (int i = 0; i < 1100; ++i) many += "k" + std::to_string(i) + " = 1\n";
    CHECK(!read_plain_toml(many, "toy.toml"));
    CHECK(document_of(many).root.children.size() == 1100);
}
