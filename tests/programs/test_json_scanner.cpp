// JSON as a stream: what the scanner passes on, also across the borders of its window, and its
// damage.
#include "programs/traces/json_scanner.h"

#include <string>

#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

using namespace ridge::programs;
using ridge::test::TemporaryFile;

namespace {

/// Writes what it gets as JSON again, without blanks and words.
struct Echo {
    std::string out{};
    std::size_t depth = 0;

    bool start_object() { return open('{'); }
    bool start_array() { return open('['); }
    void end_object() { close('}'); }
    void end_array() { close(']'); }
    void key(std::string_view text) { out += "k(" + std::string(text) + ")"; }
    void string(std::string_view text) { out += "s(" + std::string(text) + ")"; }
    void number(std::string_view text) { out += "n(" + std::string(text) + ")"; }

  private:
    bool open(char bracket) {
        out += bracket;
        return ++depth <= 64;
    }
    void close(char bracket) {
        out += bracket;
        --depth;
    }
};

struct Scanned {
    std::string out;
    std::string damage;
    std::uint64_t bytes = 0;
};

Scanned scan(const std::string& text) {
    const TemporaryFile file(text);
    ridge::ByteSource source(file.path());
    JsonScanner scanner(source);
    Echo echo;
    std::string damage = scanner.run(echo);
    return {echo.out, std::move(damage), scanner.bytes()};
}

}  // namespace

TEST_CASE("a document gives its texts, numbers and brackets", "[json]") {
    const Scanned found =
        scan("\n{ \"a\" : [1, -2.5e+3,[ ] , {}], \"b\":\"x\",\t\"c\": true,\"d\":null}");
    CHECK(found.damage.empty());
    CHECK(found.out == "{k(a)[n(1)n(-2.5e+3)[]{}]k(b)s(x)k(c)k(d)}");
    CHECK(scan("7").out == "n(7)");
    CHECK(scan("\"only\" and what follows").bytes == 6);
}

TEST_CASE("escapes become the characters that they stand for", "[json]") {
    CHECK(scan(R"(["a\"b\\", "\/\b\f\n\r\t", "\u0041\u00e9\u20ac\ud83d\ude00", "\\\\"])").out ==
          "[s(a\"b\\)s(/\b\f\n\r\t)s(A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80)s(\\\\)]");
    for (const char* wrong : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud83d")",
                              R"("\ud83d\u0041")", R"("\ude00")"}) {
        INFO(wrong);
        CHECK(scan(wrong).damage == "an invalid escape sequence");
    }
}

TEST_CASE("values across the border of the window are whole", "[json]") {
    // A file is read in pieces of 32 KiB, so each place of these texts meets a border once.
    const std::string values = R"({"key":"te\"xt\\","number":-12.5e-7,"word":false})";
    const std::string expected = R"({k(key)s(te"xt\)k(number)n(-12.5e-7)k(word)})";
    for (std::size_t shift = 0; shift <= values.size(); ++shift) {
        const Scanned found = scan("[" + std::string(32766 - shift, ' ') + values + "]");
        INFO(shift);
        CHECK(found.damage.empty());
        CHECK(found.out == "[" + expected + "]");
    }
    const std::string longest(300000, 'x');
    CHECK(scan("[\"" + longest + "\", 1]").out == "[s(" + longest + ")n(1)]");
    CHECK(scan("[" + std::string(100000, '1') + "]").out.size() == 100005);
}

TEST_CASE("damage is named, and what precedes it is passed on", "[json]") {
    struct Case {
        const char* text;
        const char* damage;
        const char* out;
    };
    for (const Case& each :
         {Case{"", "the text ends too early", ""}, Case{"[1", "a comma or ] is missing", "[n(1)"},
          Case{"[1 2]", "a comma or ] is missing", "[n(1)"},
          Case{"[1,]", "a value is missing", "[n(1)"},
          Case{"{\"a\":1,}", "a name is missing", "{k(a)n(1)"},
          Case{"{\"a\" 1}", "a colon is missing", "{k(a)"},
          Case{"{\"a\":1]", "a comma or } is missing", "{k(a)n(1)"},
          Case{"[\"a", "a string is not closed", "["},
          Case{"[\"a\\\"", "a string is not closed", "["}, Case{"[tru", "a value is missing", "["},
          Case{"[x]", "a value is missing", "["}}) {
        INFO(each.text);
        const Scanned found = scan(each.text);
        CHECK(found.damage == each.damage);
        CHECK(found.out == each.out);
    }
    CHECK(scan(std::string(100000, '[')).damage == "nested too deeply");
    CHECK(scan("[1, 2, oops]").bytes == 7);
}
