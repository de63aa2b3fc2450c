// Published configs of today's models (local, not part of the project): each is read right, or refused by
// the name of a field.
#include <filesystem>
#include <map>
#include <string>

#include "hardware/error.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::programs {
namespace {

struct Published {
    std::int64_t parameters;
    std::int64_t bytes = 0;  ///< of the checkpoint; 0: two per parameter
};

/// Counts of model cards and of the checkpoints' own indices.
const std::map<std::string, Published>& published() {
    static const std::map<std::string, Published> all{
        {"Qwen--Qwen3-0.6B", {596049920}},
        {"Qwen--Qwen3-32B", {32762123264}},
        {"Qwen--Qwen3-235B-A22B", {235093634560}},
        {"Qwen--Qwen3-VL-8B-Instruct", {8767123696}},
        {"MiniMaxAI--MiniMax-M2.5", {228689764864, -1}},
        {"deepseek-ai--DeepSeek-V3", {671026404352, -1}},
        {"meta-llama--Meta-Llama-3.1-8B", {8030261248}},
        {"mistralai--Mixtral-8x7B-v0.1", {46702792704}},
        {"moonshotai--Kimi-K2-Instruct", {1026408209408, -1}},
        {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {31577940288}},
        {"openai--gpt-oss-20b", {20914757184, 13761264768}},
        {"openai--gpt-oss-120b", {116829156672, 65248815744}},
    };
    return all;
}

TEST_CASE("published configs are read right or refused by the name of a field") {
    const auto reference = test::reference_folder();
    const std::string folder = reference ? *reference + "/configs" : "";
    if (!reference || !std::filesystem::exists(folder)) {
        WARN("skipped: no configs in " << folder);
        return;
    }
    std::size_t read = 0;
    std::size_t refused = 0;
    std::size_t judged = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        const std::string path = file.path().string();
        if (path.ends_with("hf_quant_config.json") || !path.ends_with("_config.json")) continue;
        std::string name = file.path().filename().string();
        name.erase(name.size() - std::string("_config.json").size());
        CAPTURE(name);
        try {
            const Architecture a = find_model(path);
            ++read;
            const auto known = published().find(name);
            if (known == published().end()) continue;
            ++judged;
            const auto [parameters, bytes] = known->second;
            CHECK(parameters_of(a) == parameters);
            const std::int64_t stored = stored_bytes(a, Quantisation::stored, 2);
            if (bytes >= 0) CHECK(stored == (bytes > 0 ? bytes : 2 * parameters));
            // Scales add up to 1 % to what is stored in a byte per weight.
            if (bytes < 0)
                CHECK(static_cast<double>(stored) < 1.01 * static_cast<double>(parameters));
        } catch (const InputError& error) {
            ++refused;
            const std::string what = error.what();
            CHECK((what.find("unknown family") != std::string::npos ||
                   what.find("may change the cost") != std::string::npos ||
                   what.find("is not known (known: ") != std::string::npos));
        }
    }
    CHECK(read >= 46);
    CHECK(refused <= 8);
    CHECK(judged == published().size());
}

}  // namespace
}  // namespace ridge::programs
