// Files, readers and texts that were once wrong: one test for each line of the list in docs/reliability.md ("Found by
// use"), under the words of that line.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/cli/once.h"
#include "tests/measure/run_on.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

using nlohmann::json;

/// A report on a GPU of compute capability 9.0 that has no name.
const char* const ncu_report =
    R"csv("ID","Kernel Name","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","sm__ops_path_tensor_src_bf16_dst_fp32.sum"
"","","","","","","","Mbyte","usecond","%","%","%","%","inst",""
"0","stream","7","(128, 1, 1)","(1024, 1, 1)","0","9.0","200","64","20","92","91","0","1,000,000","0"
"1","product","7","(128, 1, 1)","(132, 1, 1)","0","9.0","50","180","88","40","15","86","0","137,438,953,472"
"2","cached","7","(128, 1, 1)","(512, 1, 1)","0","9.0","1","50","30","85","1","0","100","0"
)csv";

TEST_CASE("once wrong: a report of Nsight Compute", "[once]") {
    const TemporaryFolder folder;
    const std::string file = folder.write("report.csv", ncu_report);
    const json here = asked("trace " + file + " --gpu h100-sxm");
    std::set<std::string> bounds;
    for (const json& row : here.at("operators")) {
        CAPTURE(row.dump());
        bounds.insert(row.at("bound").get<std::string>());
        // No limit above the measured time, and no prediction below its own limit.
        CHECK(row.at("lower_bound_us").get<double>() <= row.at("measured_us").get<double>());
        CHECK(row.at("predicted_us").get<double>() >= row.at("lower_bound_us").get<double>());
        if (row.at("name") == "stream") {
            // 200 MB counted at the DRAM come from there: 59.7 us.
            CHECK(row.at("lower_bound_us").get<double>() >= 200e6 / 3.35e12 * 1e6);
        }
    }
    CHECK(bounds == std::set<std::string>{"compute", "memory"});
    const json there = asked("trace " + file + " --gpu b200");
    for (const json& row : there.at("operators")) CHECK(row.at("evidence") != "measured");
    // The page has a roofline with a point for each kernel.
    const std::string page = folder.file("report.html");
    REQUIRE(run_line("trace " + file + " --gpu h100-sxm -o " + page).code == 0);
    CHECK(says(text_of(page), "Roofline of"));
    for (const char* kernel : {"stream", "product", "cached"}) CHECK(says(text_of(page), kernel));
}

TEST_CASE("once wrong: memory of `torch-math` with grouped heads", "[once]") {
    const json memory = asked(
        "vram attention --impl torch-math --batch 4 --heads 16 --kv-heads 8 "
        "--seq 200 --head-dim 96 --gpu h200-sxm");
    // Without cuBLAS's workspace, which the answer names apart.
    CHECK(memory.at("inference_peak_bytes") == 48120832);
    CHECK(memory.at("workspace_bytes") == 32 * 1024 * 1024);
}

TEST_CASE("once wrong: `calibrate --rows` says nothing, writes without a fit, takes other units",
          "[once]") {
    const TemporaryFolder folder;
    std::string same = "op,m,n,k,dtype,measured_us\n";
    std::string milliseconds = same;
    for (int i = 1; i <= 40; ++i) {
        const std::string shape = "matmul," + std::to_string(256 * i) + ",4096,4096,bf16,";
        same += shape + "7\n";
        milliseconds += shape + std::to_string(0.013 * i) + "\n";
    }
    for (const std::string& table : {same, milliseconds}) {
        const std::string overlay = folder.file("mine.toml");
        const Transcript answer = run({"calibrate", "--rows", folder.write("t.csv", table), "--gpu",
                                       "h100-sxm", "-o", overlay});
        CAPTURE(answer.out, answer.err);
        CHECK((answer.code == 0) == std::filesystem::exists(overlay));
        if (answer.code == 0) {
            CHECK(says(answer.err, "wrote " + overlay));
            // A later answer that rests on the file names it.
            const Transcript later = run({"predict", "matmul", "--m", "512", "--n", "512", "--k",
                                          "512", "--gpu-file", overlay, "--gpu", "h100-sxm"});
            CHECK(says(later.out + later.err, "mine.toml"));
        } else {
            CHECK((says(answer.err, "milliseconds") || says(answer.err, "nothing was fitted")));
        }
        const std::string text = answer.out + answer.err;
        // "because" is followed by a reason.
        for (std::size_t at = text.find("because\n"); at != std::string::npos;
             at = text.find("because\n", at + 1)) {
            CHECK(text.substr(at, 40).find(": ") != std::string::npos);
        }
        CHECK_FALSE(text.ends_with("because"));
        std::filesystem::remove(overlay);
    }
}

TEST_CASE("once wrong: `ridge measure all_reduce` without a blank", "[once]") {
    const Transcript answer = run_on(h200_plan(), "measure all_reduce --bytes 1000000 --gpus 8");
    CAPTURE(answer.out, answer.err);
    CHECK_FALSE(says(answer.out + answer.err, "measuredcollectives"));
    const Transcript ours = run_on(h200_plan(), "measure all_reduce --bytes 1000000 --gpus 2");
    CHECK_FALSE(says(ours.out + ours.err, "measuredcollectives"));
    CHECK((ours.code == 0 || !ours.err.empty()));
}

TEST_CASE("once wrong: terms that the glossary lacks", "[once]") {
    std::ifstream file(RIDGE_GLOSSARY);
    std::ostringstream all;
    all << file.rdbuf();
    const std::string text = all.str();
    for (const char* term : {"MFU", "MBU", "TTFT", "TPOT", "dominated", "wall", "reserved", "basis",
                             "coalescing", "fusion", "divergence", "bank", "CTA", "grid"}) {
        CAPTURE(term);
        // Defined, not merely used: in bold, alone or within a longer term.
        bool defined = false;
        for (std::size_t at = text.find("**"); at != std::string::npos; at = text.find("**", at)) {
            const std::size_t end = text.find("**", at + 2);
            if (end == std::string::npos) break;
            defined = defined || text.substr(at, end - at).find(term) != std::string::npos;
            at = end + 2;
        }
        CHECK(defined);
    }
}

TEST_CASE("once wrong: accuracy weighted by our own kernels", "[once]") {
    const std::string page = text_of(RIDGE_ACCURACY);
    const std::size_t first = page.find("\n## ");
    REQUIRE(first != std::string::npos);
    const std::string opening = page.substr(0, page.find("\n## ", first + 1));
    const std::size_t libraries = opening.find("cuBLASLt");
    const std::size_t framework = opening.find("PyTorch");
    const std::size_t own = opening.find("ridge's own");
    CHECK(libraries != std::string::npos);
    CHECK(framework != std::string::npos);
    CHECK(std::min(libraries, framework) < own);
}

TEST_CASE("once wrong: two writers of one file, links, modes, FIFOs", "[once]") {
    namespace fs = std::filesystem;
    const TemporaryFolder folder;
    const auto draw = [](const std::string& file) {
        return run({"roofline", "--gpu", "h100-sxm", "-o", file});
    };
    // A file beside it is the user's, also under the name that was once taken.
    const std::string part = folder.write("chart.svg.part", "mine");
    REQUIRE(draw(folder.file("chart.svg")).code == 0);
    CHECK(text_of(part) == "mine");
    const std::string target = folder.write("target.svg", "old");
    fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("target.svg", folder.file("link.svg"));
    REQUIRE(draw(folder.file("link.svg")).code == 0);
    CHECK(fs::is_symlink(folder.file("link.svg")));
    CHECK(says(text_of(target), "<svg"));
    CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    // Nothing else stays behind.
    for (const auto& entry : fs::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        CHECK((name == "chart.svg" || name == "chart.svg.part" || name == "target.svg" ||
               name == "link.svg"));
    }
}

TEST_CASE("once wrong: hangs, aborts and endless memory on odd input", "[once]") {
    CHECK(is_refused("occupancy --gpu a100-sxm-80gb --threads 256 --registers 1e18"));
    const TemporaryFolder folder;
    const std::string name(20000, 'x');
    CHECK(run({"roofline", "--gpu", "h100-sxm", "--op", "copy elements=8 name=" + name, "-o",
               folder.file("page.html")})
              .code <= 1);
    std::filesystem::create_symlink("b.jsonl", folder.file("a.jsonl"));
    std::filesystem::create_symlink("a.jsonl", folder.file("b.jsonl"));
    for (const std::string& path : {folder.file("a.jsonl"), folder.file(std::string(5000, 'n'))}) {
        for (const std::string command : {"validate", "trace", "diagnose"}) {
            const Transcript answer = run({command, path, "--gpu", "h100-sxm"});
            CAPTURE(command, answer.code);
            CHECK((answer.code == 1 || answer.code == 2));
            CHECK_FALSE(answer.err.empty());
        }
    }
}

TEST_CASE(
    "once wrong: milliseconds in a column of microseconds, escape sequences, Markdown and CSV",
    "[once]") {
    const TemporaryFolder folder;
    const std::string rows = folder.write(
        "rows.csv", "op,elements,name\ncopy,8,=cmd\ncopy,8,<script>x</script>\ncopy,8,\033[2J\n");
    const std::string csv =
        run({"predict", "--from", rows, "--gpu", "h100-sxm", "--keep", "all"}).out;
    CHECK_FALSE(says(csv, ",=cmd"));
    const std::string page =
        run({"predict", "--from", rows, "--gpu", "h100-sxm", "--keep", "all", "--format", "md"})
            .out;
    CHECK_FALSE(says(page, "<script>"));
    CHECK_FALSE(says(page, "javascript:"));
    // A time needs its unit, or its column says it.
    const std::string times = folder.write("times.csv", "op,elements,time\ncopy,100000000,0.1\n");
    const Transcript unitless = run({"diagnose", times, "--gpu", "h100-sxm"});
    CHECK(unitless.code != 0);
    CHECK(says(unitless.err, "unit"));
}

}  // namespace
}  // namespace ridge::test
