// Documents: strings that are put aside while TOML is read come back whole, and places stay.
#include "hardware/document.h"

#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

namespace {

const std::string large(20000, '7');

Document document_of(const std::string& text) {
    return parse_document(text, "toy.toml");
}

std::string place_of(const Location& location) {
    return to_string(location);
}

}  // namespace

TEST_CASE("long strings are read whole, and what stands behind them keeps its place") {
    const Document document =
        document_of("[a]\nx = { value = \"" + large + "\", note = \"n\", more = \"" + large +
                    "8\", last = 3 }\n"
                    "y = 2\n");
    REQUIRE(!document.problem);
    const Node& x = *document.root.child("a")->child("x");
    CHECK(x.child("value")->text == large);
    CHECK(place_of(x.child("value")->location) == "toy.toml:2:15");
    CHECK(x.child("note")->text == "n");
    CHECK(place_of(x.child("note")->key_location) == "toy.toml:2:20019");
    CHECK(x.child("more")->text == large + '8');
    CHECK(place_of(x.child("more")->location) == "toy.toml:2:20038");
    CHECK(x.child("last")->integer == 3);
    CHECK(place_of(x.child("last")->key_location) == "toy.toml:2:40043");
    CHECK(place_of(document.root.child("a")->child("y")->location) == "toy.toml:3:5");
}

TEST_CASE("strings that only look like long plain ones are read by TOML's rules") {
    const std::string quoted = '"' + large + '"';
    // A key, an escape, a comment, literal and multi-line strings, letters beyond ASCII.
    CHECK(document_of(quoted + " = 1\n").root.child(large)->integer == 1);
    CHECK(document_of("x = \"" + large + "\\n\"\n").root.child("x")->text == large + '\n');
    CHECK(document_of("x = 1 # y = " + quoted + "\n").root.child("x")->integer == 1);
    CHECK(document_of("x = 'y = " + quoted + "'\n").root.child("x")->text == "y = " + quoted);
    CHECK(document_of("x = \"\"\"\ny = " + quoted + "\n\"\"\"\n").root.child("x")->text ==
          "y = " + quoted + "\n");
    const Document wide = document_of("x = { a = \"\u00e9\", b = " + quoted + ", c = 1 }\n");
    CHECK(wide.root.child("x")->child("b")->text == large);
    CHECK(place_of(wide.root.child("x")->child("c")->key_location) == "toy.toml:1:20024");
    CHECK(document_of("x = \"\"\n").root.child("x")->text.empty());
}

TEST_CASE("what is wrong behind a long string is reported at its place") {
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
