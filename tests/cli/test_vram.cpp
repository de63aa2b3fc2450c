// `ridge vram`: attention's memory as JSON, refusals, what fits, timelines as files, the KV cache.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

using nlohmann::json;

TEST_CASE("vram attention answers in JSON for every implementation") {
    // H200, PyTorch 2.11, by hand with T = 33554432 and L = 524288.
    const std::string line = "vram attention --seq 4096 --heads 32 --head-dim 128 --pass training ";
    const json flash = json_of(line + "--impl torch-flash");
    CHECK(flash["inputs_bytes"] == 100663296);
    CHECK(flash["inference_peak_bytes"] == 34079744);
    CHECK(flash["forward_peak_bytes"] == 34079744);
    CHECK(flash["forward_saved_bytes"] == 34079744);
    CHECK(flash["backward_peak_bytes"] == 235405312);
    CHECK(flash["backward_after_bytes"] == 100137984);
    CHECK(flash["workspace_bytes"] == 0);
    const json transposed = json_of(line + "--impl torch-flash --layout bnhd");
    CHECK(transposed["backward_peak_bytes"] == 235405312 - 2 * 33554432);
    for (const char* impl : {"standard", "flash1", "flash2", "flash3", "torch-flash",
                             "torch-efficient", "torch-cudnn", "torch-math"}) {
        INFO(impl);
        const json each = json_of(line + "--impl " + impl);
        CHECK(each["impl"] == impl);
        CHECK(each["reserved_bytes"].get<double>() >= each["total_bytes"].get<double>());
        std::int64_t alive = 0;
        for (const json& allocation : each["allocations"]) {
            const auto step = each["peak"]["step"].get<std::int64_t>();
            if (allocation["taken"].get<std::int64_t>() > step) continue;
            if (!allocation["given"].is_null() && allocation["given"].get<std::int64_t>() <= step) {
                continue;
            }
            alive += allocation["allocated_bytes"].get<std::int64_t>();
        }
        CHECK(alive == each["total_bytes"].get<std::int64_t>());
    }
    CHECK(json_of(line + "--impl torch-math")["workspace_bytes"] == 2 * 33554432);
}

TEST_CASE("vram attention distinguishes inference, forward and backward") {
    const std::string line = "vram attention --seq 1024 --heads 4 --head-dim 64 --impl torch-math ";
    CHECK(json_of(line)["pass"] == "inference");
    CHECK(json_of(line + "--direction backward")["pass"] == "training");
    CHECK(json_of(line + "--pass training --direction forward")["pass"] == "forward");
    CHECK(json_of(line + "--pass training")["pass"] == "training");
    CHECK(run_line(line + "--pass inference --direction backward").code == 1);
    // PyTorch accepts a causal mask with more queries than keys.
    CHECK(json_of("vram attention --seq-q 64 --seq-kv 16 --heads 4 --head-dim 64 --causal "
                  "--impl torch-efficient")["causal"] == true);
}

TEST_CASE("vram attention takes masks, dropout and the allocator's settings") {
    // q, k and v take 2,048,000 bytes each. Masks take blocks of 512 bytes, or steps of 2 MiB.
    const std::string line =
        "vram attention --seq 1000 --heads 8 --batch 2 --head-dim 64 --impl torch-math "
        "--pass training ";
    const json plain = json_of(line);
    CHECK(plain["inputs_bytes"] == 6144000);
    const auto mask_of = [&](const std::string& options) {
        return json_of(line + options)["inputs_bytes"].get<std::int64_t>() - 6144000;
    };
    CHECK(mask_of("--mask none") == 0);
    CHECK(mask_of("--mask boolean") == 1954 * 512);
    CHECK(mask_of("--mask additive") == 3907 * 512);
    CHECK(mask_of("--mask boolean --mask-shape batch") == 3907 * 512);
    CHECK(mask_of("--mask boolean --mask-shape full") == 16777216);
    CHECK(run_line(line + "--mask grey").code == 1);
    CHECK(run_line(line + "--mask boolean --mask-shape round").code == 1);
    const json dropped = json_of(line + "--dropout 0.1");
    CHECK(dropped["inference_peak_bytes"] == plain["inference_peak_bytes"]);
    CHECK(dropped["forward_saved_bytes"].get<double>() >
          2.0 * plain["forward_saved_bytes"].get<double>());
    CHECK(json_of(line + "--roundup-power2 4")["inputs_bytes"] == 3 * 2097152);
    // No segment is handed out whole: the rest of a segment can always be split off.
    CHECK(json_of(line + "--expandable-segments")["total_bytes"].get<double>() <
          plain["total_bytes"].get<double>());
}

TEST_CASE("vram attention gives PyTorch's reason for a refusal") {
    const json grouped = json_of(
        "vram attention --seq 64 --heads 8 --kv-heads 2 --head-dim 64 --impl torch-efficient");
    CHECK(grouped["refused"].get<std::string>().find("same num_heads") != std::string::npos);
    const json single =
        json_of("vram attention --seq 64 --heads 8 --head-dim 64 --dtype fp32 --impl torch-cudnn");
    CHECK(single["refused"].get<std::string>().find("{Half, BFloat16}") != std::string::npos);
}

TEST_CASE("vram attention finds the largest that fits") {
    const json fit = json_of(
        "vram attention --heads 32 --head-dim 128 --impl torch-flash --pass training "
        "--fit seq --gpu h200-sxm");
    CHECK(fit["usable_measured"] == true);
    CHECK(fit["fits"] == true);
    const auto largest = fit["fit"]["largest"].get<std::int64_t>();
    CHECK(fit["seq_q"] == largest);
    const json beyond = json_of(
        "vram attention --heads 32 --head-dim 128 --impl torch-flash --pass "
        "training --gpu h200-sxm --seq " +
        std::to_string(largest + 1));
    CHECK(beyond["fits"] == false);
    CHECK(json_of("vram attention --seq 64 --heads 8 --head-dim 64 --gpu a100-sxm-80gb")
              ["usable_measured"] == false);
    CHECK(run_line("vram attention --heads 8 --head-dim 64 --fit seq").code != 0);
}

TEST_CASE("vram attention draws its timeline") {
    const TemporaryFolder folder;
    for (const char* name : {"vram.svg", "vram.html"}) {
        const std::string path = folder.file(name);
        const auto run = run_line(
            "vram attention --seq 512 --heads 4 --head-dim 64 --impl torch-math --pass training "
            "-o " +
            path);
        CHECK(run.code == 0);
        const std::string text = text_of(path);
        CHECK(text.find("peak") != std::string::npos);
        CHECK(text.find("reserved") != std::string::npos);
    }
}

TEST_CASE("vram kv-cache counts tokens, pages and sequences") {
    const json cache = json_of(
        "vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128 --block 16 --seq 4097 "
        "--weights 16GB --capacity 80GB");
    CHECK(cache["token_bytes"] == 131072);
    CHECK(cache["wasted_bytes"] == 15 * 131072);
    CHECK(cache["sequences"] == 118);  // 30517 blocks of 2 MiB, 257 a sequence
    CHECK(json_of("vram kv-cache --kind mqa --layers 2 --head-dim 64 --dtype fp8")["token_bytes"] ==
          2 * 2 * 64);
    CHECK(run_line("vram kv-cache --kind gqa --layers 2 --head-dim 64").code != 0);
}

TEST_CASE("vram of a model takes lists: a table, every combination in JSON, a chart") {
    const std::string line = "vram llama-3.2-1b --seq 1Ki:8Ki:*2 --batch 1,16 --gpu rtx-4090";
    const json all = json_of(line);
    REQUIRE(all.size() == 8);
    for (const json& each : all) {
        const auto one =
            json_of("vram llama-3.2-1b --seq " + std::to_string(each["seq"].get<int>()) +
                    " --batch " + std::to_string(each["batch"].get<int>()) + " --gpu rtx-4090");
        CHECK(each["reserved_bytes"] == one["reserved_bytes"]);
    }
    const Transcript table = run_line(line);
    CHECK(table.out.find("batch 1   batch 16") != std::string::npos);
    CHECK(table.out.find("batch 16 up to 8192") != std::string::npos);
    const TemporaryFolder folder;
    const std::string chart = folder.file("memory.svg");
    REQUIRE(run_line(line + " -o " + chart).code == 0);
    CHECK(text_of(chart).find("batch 16") != std::string::npos);
    CHECK(run_line("vram llama-3.2-1b -o " + chart).err.find("--seq 1Ki") != std::string::npos);
    // Lengths beyond the model's positions have no memory.
    CHECK(run_line("vram gpt2 --seq 512,2048 --gpu rtx-4090").out.find("refused") !=
          std::string::npos);
    CHECK(run_line("vram gpt2 --seq 2048,4096 --gpu rtx-4090").code != 0);
}

}  // namespace
}  // namespace ridge::test
