// Opens pages in headless Chromium: everything is drawn, no script error, names stay text, tooltips
// appear on focus. Each page gets a probe script that writes what it finds into the document.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plot/html.h"
#include "plot/process.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

namespace {

constexpr const char* listener = R"(<script>
window.problems = [];
window.addEventListener('error', (e) => window.problems.push(String(e.message)));
document.addEventListener('securitypolicyviolation', (e) => window.problems.push('policy ' + e.violatedDirective));
</script>)";

constexpr const char* probe = R"(<script>
(() => {
  const count = (s) => document.querySelectorAll('svg ' + s).length;
  const tip = document.getElementById('tip');
  const result = {points: count('.point'), roofs: count('.roof'), ridges: count('.ridge'),
                  rows: document.querySelectorAll('tbody tr').length,
                  scripts: document.querySelectorAll('script').length,
                  hidden_before: tip.hidden};
  const point = document.querySelector('svg [data-i="0"]');
  if (point) {
    point.focus();
    // A window in the background moves the focus without saying so.
    if (!document.hasFocus()) point.dispatchEvent(new FocusEvent('focusin', {bubbles: true}));
    result.hidden_focus = tip.hidden;
    result.tip_name = tip.querySelector('strong').textContent;
    result.tip_terms = [...tip.querySelectorAll('dt')].map((n) => n.textContent);
    result.tip_children = tip.querySelectorAll('script, b').length;
    point.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
    result.next = document.activeElement.dataset.i;
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    result.hidden_escape = tip.hidden;
  }
  let outside = 0;
  const page = document.querySelector('svg .page').getBoundingClientRect();
  let overlaps = 0;
  const labels = [...document.querySelectorAll('svg text.label')].filter((n) => !n.hasAttribute('transform'));
  const boxes = labels.map((n) => n.getBoundingClientRect());
  boxes.forEach((a, i) => {
    if (a.left < page.left || a.right > page.right || a.top < page.top || a.bottom > page.bottom) ++outside;
    boxes.slice(i + 1).forEach((b) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 3) ++overlaps;
    });
  });
  result.outside = outside;
  result.overlaps = overlaps;
  result.problems = window.problems;
  document.body.setAttribute('data-result', encodeURIComponent(JSON.stringify(result)));
})();
</script></body>)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.rfind(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

std::string percent_decoded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

/// The browser's name, or empty.
std::string browser() {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
        const ProcessResult result = run_process({name, "--version"}, "");
        if (result.started && result.exit_code == 0) return name;
    }
    return "";
}

nlohmann::json probed(const std::string& program, const Chart& chart, const std::string& name) {
    const std::string html =
        replaced(replaced(render_html(chart), "</body>", probe), "<meta charset=\"utf-8\">",
                 std::string("<meta charset=\"utf-8\">") + listener);
    // A profile of its own: browsers that share one wait for each other or refuse to start.
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("ridge_browser_{}_{}", ::getpid(), name);
    std::filesystem::create_directories(folder);
    const auto path = folder / "page.html";
    std::ofstream(path, std::ios::binary) << html;
    const ProcessResult page =
        run_process({program, "--headless", "--no-sandbox", "--disable-gpu",
                     "--window-size=1100,900", "--user-data-dir=" + (folder / "profile").string(),
                     "--virtual-time-budget=2000", "--dump-dom", "file://" + path.string()},
                    "");
    std::filesystem::remove_all(folder);
    const std::string attribute = "data-result=\"";
    const std::size_t from = page.output.find(attribute);
    INFO("exit code " << page.exit_code << ", " << page.output.size()
                      << " bytes: " << page.output.substr(0, 400) << page.errors);
    REQUIRE(from != std::string::npos);
    const std::size_t begin = from + attribute.size();
    return nlohmann::json::parse(
        percent_decoded(page.output.substr(begin, page.output.find('"', begin) - begin)));
}

int roofs_of(const Chart& chart) {
    int count = 0;
    for (const Curve& curve : chart.curves) count += curve.role == CurveRole::roof ? 1 : 0;
    return count;
}

}  // namespace

TEST_CASE("pages work in a browser", "[browser]") {
    const std::string program = browser();
    if (program.empty()) {
        std::cout << "skipped: no chromium, chromium-browser or google-chrome on PATH\n";
        return;
    }
    const std::vector<std::pair<std::string, Chart>> charts = {
        {"comparison", roofline_chart(samples::comparison())},
        {"hostile", roofline_chart(samples::hostile())},
        {"sawtooth", sweep_chart(samples::sawtooth())},
        {"accuracy", scatter_chart(samples::accuracy())}};
    for (const auto& [name, chart] : charts) {
        const nlohmann::json result = probed(program, chart, name);
        INFO(name << ": " << result.dump());
        CHECK(result["problems"].empty());
        CHECK(result["points"] == chart.marks.size());
        CHECK(result["roofs"] == roofs_of(chart));
        CHECK(result["ridges"] == chart.annotations.size());
        CHECK(result["rows"].get<std::size_t>() >= chart.marks.size());
        CHECK(result["scripts"] == 4);
        CHECK(result["hidden_before"] == true);
        CHECK(result["hidden_focus"] == false);
        CHECK(result["tip_name"] == chart.marks[0].name);
        CHECK(result["tip_terms"][0] == chart.x.title);
        CHECK(result["tip_children"] == 0);
        CHECK(result["next"] == "1");
        CHECK(result["hidden_escape"] == true);
        CHECK(result["outside"] == 0);
        CHECK(result["overlaps"] == 0);
    }
}
