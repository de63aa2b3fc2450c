#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hardware/error.h"
#include "plot/export.h"
#include "plot/process.h"
#include "plot/roofline.h"
#include "plot/svg.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

TEST_CASE("the ending chooses the format", "[export]") {
    CHECK(format_of("a.svg") == Format::svg);
    CHECK(format_of("dir.png/b.HTML") == Format::html);
    CHECK(format_of("c.PNG") == Format::png);
    CHECK(format_of("d.tar.pdf") == Format::pdf);
    CHECK_THROWS_AS(format_of("noending"), ridge::InputError);
    CHECK_THROWS_AS(format_of("dir.svg/file"), ridge::InputError);
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
    const auto path = std::filesystem::temp_directory_path() / "ridge_plot_test.svg";
    write_chart(path.string(), chart);
    std::ifstream file(path, std::ios::binary);
    const std::string written((std::istreambuf_iterator<char>(file)), {});
    CHECK(written == render_svg(chart));
    CHECK_FALSE(std::filesystem::exists(path.string() + ".part"));

    // If the new chart cannot be written, the old one is kept.
    std::filesystem::create_directory(path.string() + ".part");
    std::filesystem::create_directory(path.string() + ".part/full");
    CHECK_THROWS_AS(write_chart(path.string(), roofline_chart(samples::comparison())),
                    ridge::InputError);
    std::ifstream again(path, std::ios::binary);
    CHECK(std::string((std::istreambuf_iterator<char>(again)), {}) == written);
    std::filesystem::remove_all(path.string() + ".part");
    std::filesystem::remove(path);
    CHECK_THROWS_AS(write_chart("/no/such/folder/a.svg", chart), ridge::InputError);
}

TEST_CASE("an unwritable place is known in advance, and asking creates nothing", "[export]") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "ridge_plot_place";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string file = (folder / "a.svg").string();
    CHECK_NOTHROW(require_writable(file));
    CHECK_NOTHROW(require_writable("/dev/null"));
    CHECK_NOTHROW(require_writable_folder(folder.string(), "overlays"));
    CHECK(fs::is_empty(folder));
    std::ofstream(file) << "x";
    CHECK_NOTHROW(require_writable(file));
    CHECK_THROWS_WITH(require_writable(folder.string()),
                      folder.string() + ": cannot write the chart: Is a directory");
    CHECK_THROWS_WITH(
        require_writable((folder / "no/a.svg").string(), "report"),
        (folder / "no/a.svg").string() + ": cannot write the report: No such file or directory");
    CHECK_THROWS_WITH(require_writable_folder(file, "overlays"),
                      file + ": cannot write the overlays: Not a directory");
    fs::remove_all(folder);
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
