#include <filesystem>
#include <iterator>
#include <string>

#include "hardware/error.h"
#include "plot/export.h"
#include "plot/process.h"
#include "plot/roofline.h"
#include "plot/svg.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge::plot;
using ridge::test::text_of;

TEST_CASE("the ending chooses the format", "[export]") {
    CHECK(format_of("a.svg") == Format::svg);
    CHECK(format_of("dir.png/b.HTML") == Format::html);
    CHECK(format_of("c.PNG") == Format::png);
    CHECK(format_of("d.tar.pdf") == Format::pdf);
    CHECK(format_of("e.json") == Format::data);
    CHECK_THROWS_AS(format_of("noending"), ridge::InputError);
    CHECK_THROWS_AS(format_of("dir.svg/file"), ridge::InputError);
}

TEST_CASE("the data of a chart is what its page draws", "[export]") {
    const Chart chart = roofline_chart(samples::predictions());
    const std::string data = render(std::span(&chart, 1), Format::data);
    REQUIRE(data.substr(0, 12) == "{\"charts\":[{");
    const std::string page = render(std::span(&chart, 1), Format::html);
    CHECK(page.find(data.substr(0, data.size() - 1)) != std::string::npos);
}

TEST_CASE("a missing converter is named with its remedy", "[export]") {
    try {
        const auto bytes =
            rasterise("<svg/>", Format::png, {.converter = "no-such-converter-here"});
        FAIL("no error, " << bytes.size() << " bytes");
    } catch (const ridge::InputError& error) {
        CHECK(error.message().find("no-such-converter-here") != std::string::npos);
        CHECK(error.hint().find("librsvg2-bin") != std::string::npos);
    }
}

TEST_CASE("the converter makes PNG and PDF", "[export]") {
    const std::string svg = render_svg(roofline_chart(samples::comparison()));
    try {
        const std::string png = rasterise(svg, Format::png, {.width = 400});
        CHECK(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
        CHECK(png.size() > 5000);
        CHECK(rasterise(svg, Format::pdf).substr(0, 5) == "%PDF-");
        CHECK_THROWS_AS(rasterise("this is no SVG", Format::png), ridge::InputError);
    } catch (const ridge::InputError& error) {
        if (error.hint().find("install") == std::string::npos) throw;
        WARN("skipped: rsvg-convert is not installed");
    }
}

TEST_CASE("files are written completely or the error says why", "[export]") {
    const Chart chart = roofline_chart(samples::predictions());
    const ridge::test::TemporaryFolder folder;
    const std::string path = folder.file("chart.svg");
    write_chart(path, chart);
    const std::string written = text_of(path);
    CHECK(written == render_svg(chart));
    // No other file is left beside it.
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()),
                        std::filesystem::directory_iterator()) == 1);
    CHECK_THROWS_AS(write_chart("/no/such/folder/a.svg", chart), ridge::InputError);
}

TEST_CASE("an unwritable place is known in advance, and asking creates nothing", "[export]") {
    namespace fs = std::filesystem;
    const ridge::test::TemporaryFolder folder;
    const std::string file = folder.file("a.svg");
    CHECK_NOTHROW(require_writable(file));
    CHECK_NOTHROW(require_writable("/dev/null"));
    CHECK_NOTHROW(require_writable_folder(folder.path(), "overlays"));
    CHECK(fs::is_empty(folder.path()));
    folder.write("a.svg", "x");
    CHECK_NOTHROW(require_writable(file));
    CHECK_THROWS_WITH(require_writable(folder.path()),
                      folder.path() + ": cannot write the chart: Is a directory");
    CHECK_THROWS_WITH(
        require_writable(folder.file("no/a.svg"), "report"),
        folder.file("no/a.svg") + ": cannot write the report: No such file or directory");
    CHECK_THROWS_WITH(require_writable_folder(file, "overlays"),
                      file + ": cannot write the overlays: Not a directory");
}

TEST_CASE("processes get their input and return their output", "[process]") {
    const std::string large(3'000'000, 'x');
    const ProcessResult echoed = run_process({"cat"}, large);
    CHECK(echoed.started);
    CHECK(echoed.exit_code == 0);
    CHECK(echoed.output == large);
    // A process that ends without reading causes neither SIGPIPE nor a deadlock.
    const ProcessResult deaf = run_process({"sh", "-c", "echo oops >&2; exit 3"}, large);
    CHECK(deaf.exit_code == 3);
    CHECK(deaf.errors == "oops\n");
    const ProcessResult literal = run_process({"printf", "%s", "$HOME; `id`"}, "");
    CHECK(literal.output == "$HOME; `id`");
}
