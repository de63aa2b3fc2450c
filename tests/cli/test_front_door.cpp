// Input that the program accepts or corrects, and what it says: spellings, prefixes, aliases,
// defaults.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/input/settings.h"
#include "hardware/error.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using ridge::test::run_line;
using ridge::test::Transcript;
using ridge::test::Variable;

namespace {

/// A configuration folder with one file, in effect while the object lives.
class Configuration {
  public:
    explicit Configuration(const std::string& text) : variable_("XDG_CONFIG_HOME", folder_.path()) {
        folder_.write("ridge/config.toml", text);
    }

  private:
    ridge::test::TemporaryFolder folder_;
    Variable variable_;
};

const std::string product = "predict matmul --m 4096 --n 4096 --k 4096";

}  // namespace

TEST_CASE("other spellings give the same answer as the usual ones") {
    const std::string usual =
        run_line("predict attention --heads 32 --seq 4096 --head-dim 128 --causal --gpu h100-sxm")
            .out;
    REQUIRE_FALSE(usual.empty());
    for (const char* line :
         {"predict attn --heads 32 --seq 4Ki --head_dim 128 --causal --gpu h100",
          "predict sdpa --heads=32 --seq=4_096 --head_dim=128 --causal --gpu H100",
          "predict --gpu h100 ATTENTION --heads 32 --seq 4096 --head-dim 0.125Ki --causal",
          "predict --op \"attention heads=32 seq=4Ki head_dim=128 causal\" --gpu h100",
          "predict --op \"attn heads=32 seq=4096 head-dim=128 causal=yes\" --gpu h100-sxm5"}) {
        CAPTURE(line);
        const Transcript run = run_line(line);
        CHECK(run.out == usual);
        CHECK(run.err.empty());
    }
}

// Found by scripts/soak: --kv-write implies a page table, and --paged=0, which denies it, was
// ignored.
TEST_CASE("an option with a value means the same as the field in words") {
    const std::string words =
        run_line(
            "predict --op \"attention heads=32 seq_q=1 seq_kv=2913 head_dim=128 kv_write=1 "
            "paged=0 impl=flash3\" --gpu h200 --format csv")
            .out;
    const std::string options =
        "predict attention --heads 32 --seq-q 1 --seq-kv 2913 --head-dim 128 --kv-write --gpu h200 "
        "--impl flash3 --format csv";
    CHECK(run_line(options + " --paged=0").out == words);
    CHECK(run_line(options + " --paged=no").out == words);
    CHECK(run_line(options).out != words);
    const Transcript refused = run_line(options + " --paged=perhaps");
    CHECK(refused.code == 1);
    CHECK(refused.err.find("paged") != std::string::npos);
}

TEST_CASE("aliases name the usual variant of a GPU") {
    const std::vector<std::pair<std::string, std::string>> names{
        {"h100", "h100-sxm"}, {"a100", "a100-sxm-80gb"}, {"h200", "h200-sxm"},
        {"b200", "b200"},     {"v100", "v100-sxm"},      {"mi300", "mi300x"}};
    for (const auto& [alias, name] : names) {
        CAPTURE(alias);
        const Transcript run = run_line("predict copy --elements 1Mi --format json --gpu " + alias);
        REQUIRE(run.code == 0);
        CHECK(nlohmann::json::parse(run.out)["gpu"] == name);
    }
}

TEST_CASE("k is read as 1000, and a note says so once") {
    const Transcript run = run_line("predict matmul --m 4k --n 4k --k 4k --gpu h100");
    CHECK(run.code == 0);
    CHECK(run.err == "ridge: 4k is taken as 4000; write 4Ki for 4096\n");
    CHECK(run_line("predict --op \"copy elements=1M\" --gpu h100").err ==
          "ridge: 1M is taken as 1000000; write 1Mi for 1048576\n");
    CHECK(run_line("sweep copy --elements 1k:8k:*2 --gpu h100 --format csv").err ==
          "ridge: 1k is taken as 1000; write 1Ki for 1024\n");
    for (const char* line : {"predict copy --elements 1Mi --gpu h100",
                             "predict all_reduce --bytes 8MB --gpus 8 --gpu h100"}) {
        CHECK(run_line(line).err.empty());
    }
    const Transcript table =
        run_line("predict copy --from - --gpu h100", "elements\n1k\n2k\n4096\n");
    CHECK(table.code == 0);
    CHECK(table.err.find("k, M and G in the table are taken as powers of 1000") !=
          std::string::npos);
    CHECK(table.err.find('\n') + 1 == table.err.size());
}

TEST_CASE("counts are read the same on the command line, in ranges and in tables") {
    CHECK(run_line("sweep copy --elements 1Ki:4Ki:*2 --gpu h100 --format csv")
              .out.find("copy,h100-sxm,2048,") != std::string::npos);
    CHECK(run_line("predict copy --from - --gpu h100", "elements\n1e5\n").out.find("1e5,") !=
          std::string::npos);
    const Transcript fits =
        run_line("vram attention --heads 32 --seq 16Ki --head-dim 128 --capacity 80G");
    CHECK(fits.code == 0);
    CHECK(fits.out.find("seq=16384") != std::string::npos);
    CHECK(run_line("predict matmul --m 8MB --n 2 --k 2 --gpu h100")
              .err.find("m: \"8MB\" is a number of bytes") != std::string::npos);
}

TEST_CASE("unknown names get a suggestion") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"predict attention --heads 32 --seqlen 4 --head-dim 64 --gpu h100",
         "unknown option --seqlen; did you mean '--seq'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpuu h100", "did you mean '--gpu'?"},
        {"predict matmul m=4 n=4 k=4", "unexpected argument 'm=4'; did you mean '--m 4'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h1000", "did you mean h100"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h100 --impl libary", "did you mean 'library'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h100 --dtype bf61", "did you mean 'bf16'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h100 --epilogue bais", "did you mean 'bias'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h100 --format jsn", "did you mean 'json'?"},
        {"predict matmul --m 4 --n 4 --k 4 --gpu h100 --launch grahp", "did you mean 'graph'?"},
        {"predict matmull --m 4 --gpu h100", "did you mean 'matmul'?"},
        {"predict --op \"attention headdim=4\" --gpu h100", "did you mean 'head_dim'?"},
        {"predict attention --num_heads 32 --seq 4 --head-dim 64 --gpu h100",
         "did you mean '--heads'?"},
        {"predict attention --heads 32 --seq 4 --head-dim 64 --causal yes --gpu h100",
         "as in --causal=true"},
        {"predict relu --elements 4 --gpu h100",
         "a function of expressions: elementwise with expr=\"relu(x)\""},
        {"predict matmul --m 4 --n 4 --k 4 --gpu b200 --dtype fp4", "did you mean 'nvfp4'?"},
        {"vram attention --heads 32 --seq 4 --head-dim 64 --impl standard,flash2",
         "give one word, not several"},
        {"occupancy --thread 64", "did you mean '--threads'?"},
        {"predict --from", "--from: FILE is missing"},
        {"gpus h100", "unexpected argument 'h100'; did you mean 'show h100'?"},
        {"model meta-llama/Llama-3.9-8B --gpu h100", "closest presets: llama-3"},
        {"llama-70b", "a model? ridge plan llama-3.3-70b"},
        {"softmax", "ridge predict softmax"},
        {"help prdict", "did you mean 'predict'?"},
        {"plan matmul --gpu h100", "ridge predict matmul"},
        {"predict matmul 5 --m 4 --n 4 --k 4 --gpu h100", "unexpected argument '5'"}};
    for (const auto& [line, part] : cases) {
        CAPTURE(line);
        const Transcript run = run_line(line);
        CHECK(run.code != 0);
        CHECK(run.out.empty());
        CHECK_THAT(run.err, contains_text(part));
    }
}

TEST_CASE("all missing fields are named at once") {
    CHECK_THAT(run_line("predict matmul --n 4").err,
               contains_text("m, k and gpu are missing for matmul") &&
                   contains_text("`ridge ops matmul`"));
    CHECK_THAT(run_line("predict attention --gpu h100").err,
               contains_text("heads, head_dim and seq (or seq_q and seq_kv) are missing"));
    CHECK_THAT(run_line("predict gather").err,
               contains_text("rows, cols, table_rows and gpu are missing for gather"));
}

TEST_CASE("the header shows the defaults") {
    const std::string out = run_line(product + " --gpu h100").out;
    CHECK_THAT(out,
               contains_text("matmul dtype=bf16 m=4096 n=4096 k=4096 l2=warm launch=kernel on"));
    CHECK(out.find("from RIDGE_GPU") == std::string::npos);
}

TEST_CASE("RIDGE_GPU and the configuration name the default GPU") {
    {
        const Configuration configuration("gpu = \"a100\"  # at work\n");
        const Transcript run = run_line(product);
        CHECK(run.code == 0);
        CHECK_THAT(run.out, contains_text("NVIDIA A100") && contains_text("config.toml)"));
        const Variable variable("RIDGE_GPU", "h200");
        const Transcript nearer = run_line(product);
        CHECK_THAT(nearer.out, contains_text("H200") && contains_text("(from RIDGE_GPU)"));
        CHECK_THAT(run_line(product + " --gpu h100").out, contains_text("H100"));
    }
    CHECK_THAT(run_line(product).err, contains_text("gpu is missing"));
}

TEST_CASE("the configuration names the format of answers that would be tables") {
    const Configuration configuration("gpu = \"h100\"\nformat = \"csv\"\n");
    CHECK(run_line(product).out.rfind("op,", 0) == 0);
    CHECK(run_line("gpus").out.rfind("name,sm_count", 0) == 0);
    CHECK(run_line(product + " --format json").out.front() == '{');
    CHECK_THAT(run_line("roofline").out, contains_text("Arithmetic intensity"));
}

TEST_CASE("an error in a default names its place") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"gpu = h100\n", "config.toml:1"},
        {"gpu = 5\n", "config.toml:1:7: gpu: must be the name of a GPU in quotes"},
        {"gpu = \"h100\"\nformat = \"xml\"\n",
         "config.toml:2:10: format: must be \"table\", \"json\", \"csv\" or \"md\""},
        {"\ngpuu = \"h100\"\n", "config.toml:2:1: unknown key \"gpuu\""},
        {"gpu = \"h1oo\"\n", "config.toml:1:7: gpu: unknown GPU \"h1oo\""}};
    for (const auto& [text, part] : cases) {
        CAPTURE(text);
        const Configuration configuration(text);
        const Transcript run = run_line(product);
        CHECK(run.code == 2);
        CHECK_THAT(run.err, contains_text(part));
    }
    const Variable variable("RIDGE_GPU", "nothing-like-it");
    CHECK_THAT(run_line(product).err, contains_text("RIDGE_GPU: unknown GPU \"nothing-like-it\""));
    CHECK(run_line(product + " --gpu h100").code == 0);
}

TEST_CASE("ops lists operations, their fields and functions") {
    const Transcript all = run_line("ops");
    CHECK(all.code == 0);
    CHECK_THAT(all.out, contains_text("also called gemm, mm,"));
    const Transcript attention = run_line("ops attn");
    CHECK_THAT(attention.out, contains_text("attention: ") && contains_text("flash2") &&
                                  contains_text("head_dim") && contains_text("(required)"));
    const Transcript elementwise = run_line("ops elementwise");
    CHECK_THAT(elementwise.out, contains_text("softplus") && contains_text("clamp, clip"));
    CHECK_THAT(run_line("ops matmul --format md").out, contains_text("| field |"));
    CHECK_THAT(run_line("ops --format csv").out, contains_text("operation,what it is"));
    CHECK_THAT(run_line("ops matmull").err, contains_text("did you mean 'matmul'?"));
    const auto json = nlohmann::json::parse(run_line("ops --format json").out);
    REQUIRE(json.is_array());
    for (const auto& operation : json) {
        CAPTURE(operation["op"]);
        CHECK_FALSE(operation["implementations"].empty());
        for (const auto& field : operation["fields"]) {
            CAPTURE(field["field"]);
            CHECK((field["required"] == true || !field["default"].get<std::string>().empty() ||
                   field["field"] == "seq" || field["field"] == "seq_q"));
        }
    }
}

TEST_CASE("plan takes lists of weights and of batches, a row for each") {
    const auto plan = nlohmann::json::parse(
        run_line("plan llama-3.1-8b --gpu h100,b200 --gpus 1,2 --quantise bf16,fp8 --batch 1,8 "
                 "--format json")
            .out);
    REQUIRE(plan["rows"].size() == 2 * 2 * 2 * 2);
    std::size_t i = 0;
    for (const char* gpu : {"h100-sxm", "b200"}) {
        for (const int gpus : {1, 2}) {
            for (const char* weights : {"none", "fp8"}) {
                for (const int batch : {1, 8}) {
                    const auto& row = plan["rows"][i++];
                    CHECK(row["gpu"] == gpu);
                    CHECK(row["gpus"] == gpus);
                    CHECK(row["quantise"] == weights);
                    CHECK(row["batch"].get<int>() >= batch);
                    // The row of the list is the row of the value alone.
                    if (gpus != 1) continue;
                    const auto alone = nlohmann::json::parse(
                        run_line(std::string("plan llama-3.1-8b --gpus 1 --gpu ") + gpu +
                                 " --quantise " + weights + " --batch " + std::to_string(batch) +
                                 " --format json")
                            .out);
                    CHECK(alone["rows"][0] == row);
                }
            }
        }
    }
    CHECK(plan["question"]["batches"] == nlohmann::json{1, 8});
    const std::string text =
        run_line("plan llama-3.1-8b --gpu h100 --gpus 1 --quantise none,fp8").out;
    CHECK(text.find("1 x h100-sxm, fp8") != std::string::npos);
    CHECK(text.find("with fp8") != std::string::npos);
    CHECK(run_line("plan gpt2 --gpu h100 --quantise fp8,fp3").code == 1);
    CHECK(run_line("plan gpt2 --gpu h100 --batch 1,x").code == 1);
}

TEST_CASE("check compares both files of a run of JAX, of which one names its GPU") {
    const std::string folder = RIDGE_JSON_TRACES;
    const Transcript same =
        run_line("check " + folder + "/trace_jax.xplane.pb.gz " + folder + "/trace_jax.json.gz");
    CAPTURE(same.out, same.err);
    CHECK(same.code == 0);
    CHECK(same.out.find("none of 71 items is slower") != std::string::npos);
    CHECK(same.out.find("Measured on") == std::string::npos);
}

TEST_CASE("check writes JUnit with a failure for what is slower, and escapes names") {
    const ridge::test::TemporaryFolder folder;
    const auto table = [](const char* time) {
        std::string rows = "name,time_us\n";
        for (int sample = 0; sample < 9; ++sample) {
            rows += "\"a<b> & \"\"c\"\"\"," + std::string(time) + "\n";
            for (int other = 0; other < 40; ++other) {
                rows += "other " + std::to_string(other) + ",50\n";
            }
        }
        return rows;
    };
    const std::string before = folder.write("before.csv", table("100"));
    const std::string now = folder.write("now.csv", table("130"));
    const std::string file = folder.file("check.xml");
    const Transcript answer = run_line("check " + before + " " + now + " --junit " + file);
    CAPTURE(answer.out, answer.err);
    CHECK(answer.code == 4);
    const std::string xml = ridge::test::text_of(file);
    CHECK(xml.find("failures=\"1\"") != std::string::npos);
    CHECK(xml.find("name=\"a&lt;b&gt; &amp; &quot;c&quot;\"") != std::string::npos);
    CHECK(xml.find("<failure message=\"+") != std::string::npos);
}
