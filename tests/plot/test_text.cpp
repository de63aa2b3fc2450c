#include <string>

#include "plot/text.h"
#include "tests/catch.h"

using namespace ridge::plot;

TEST_CASE("invalid UTF-8 becomes replacement characters, and control characters become spaces",
          "[text]") {
    CHECK(clean_text("größe ✓ 🚀") == "größe ✓ 🚀");
    CHECK(clean_text("a\xff"
                     "b") == "a�b");
    CHECK(clean_text("cut \xe2\x82") == "cut ��");
    CHECK(clean_text("\xc0\xaf") == "��");       // overlong '/'
    CHECK(clean_text("\xed\xa0\x80") == "���");  // surrogate
    CHECK(clean_text(std::string("a\0b\x1b[31m\n", 9)) == "a b [31m ");
}

TEST_CASE("markup and script strings are escaped", "[text]") {
    CHECK(escape_markup("<a href=\"x\">'&'</a>") ==
          "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    CHECK(script_json_string("</script>\"\\&") == "\"\\u003c/script\\u003e\\\"\\\\\\u0026\"");
    CHECK(script_json_string("\u2028") == "\"\\u2028\"");
}

TEST_CASE("widths follow the metrics of Helvetica", "[text]") {
    // H 722, e 556, l 222, l 222, o 556 thousandths of 10 px, plus 13 % for wider fonts.
    CHECK(text_width("Hello", 10.0) == Approx(22.78 * 1.13));
    CHECK(text_width("", 10.0) == 0.0);
    CHECK(text_width("iii", 12.0) < text_width("WWW", 12.0));
    CHECK(text_width("Hello", 10.0, Weight::bold) > text_width("Hello", 10.0));
}

TEST_CASE("truncated text fits and ends in an ellipsis", "[text]") {
    const std::string longer = "attention with a rather long name and ümläute";
    for (int width = 20; width < 260; width += 7) {
        const std::string cut = truncate_to_width(longer, width, 12.0);
        CHECK(text_width(cut, 12.0) <= width);
        CHECK(clean_text(cut) == cut);
    }
    CHECK(truncate_to_width("short", 100.0, 12.0) == "short");
    CHECK(truncate_to_columns("matmul", 4) == "mat…");
    CHECK(truncate_to_columns("矩阵乘法", 5) == "矩阵…");
    CHECK(text_columns("矩阵") == 4);
}

TEST_CASE("numbers are readable over the whole range", "[text]") {
    CHECK(number_text(0.0) == "0");
    CHECK(number_text(295.3) == "295.3");
    CHECK(number_text(1365.33) == "1365");
    CHECK(number_text(0.25) == "0.25");
    CHECK(number_text(1.5e7) == "1.5×10⁷");
    CHECK(number_text(1e6) == "10⁶");
    CHECK(number_text(-2e-12) == "-2×10⁻¹²");
    CHECK(short_number_text(129.87) == "130");
    CHECK(short_number_text(29.62) == "29.6");
    CHECK(coordinate(1.005) == "1");
    CHECK(coordinate(-0.001) == "0");
    CHECK(coordinate(12.3456) == "12.35");
    CHECK(to_ascii("1.5×10⁷ µs, 4096³…") == "1.5x10^7 us, 4096^3~");
}

TEST_CASE("names with numbers are sorted by these numbers", "[text]") {
    const NaturalOrder before;
    CHECK(before("n = 512", "n = 1024"));
    CHECK_FALSE(before("n = 1024", "n = 512"));
    CHECK(before("matmul 64x128", "matmul 64x1024"));
    CHECK(before("a", "b"));
    CHECK(before("a", "a1"));
    CHECK_FALSE(before("n = 007", "n = 7"));
    CHECK_FALSE(before("same 12", "same 12"));
    CHECK(before("9", "99999999999999999999999999999999"));
}
