// An answer in JSON that is one object begins with its schema, and docs/json.md lists it.
#include <string>
#include <utility>
#include <vector>

#include "hardware/json.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/whole_file.h"

using ridge::Json;
using ridge::test::run_line;

TEST_CASE("an object begins with its schema, which the documentation lists") {
    const std::string page = ridge::test::text_of(RIDGE_JSON_PAGE);
    const std::string traces = RIDGE_JSON_TRACES;
    const std::vector<std::pair<std::string, std::string>> answers{
        {"prediction", "predict matmul --m 64 --n 64 --k 64 --gpu h100-sxm"},
        {"sequence",
         "predict --op \"softmax rows=8 cols=8\" --op \"copy elements=64\" --gpu h100-sxm"},
        {"step", "model llama-3.2-1b --gpu h100-sxm"},
        {"training", "model llama-3.2-1b --phase train --pp 4 --micro-batches 4 --gpu h200-sxm"},
        {"stages", "model smollm2-135m --phase decode --pp 3 --gpu h200-sxm"},
        {"scaling", "model smollm2-135m --phase train --gpus 1:4 --gpu h200-sxm"},
        {"trace", "trace " + traces + "/trace_llama_prefill.json.gz"},
        {"check",
         "check " + traces + "/trace_gpt2_train.json.gz " + traces + "/trace_gpt2_train.json.gz"},
        {"validation", "validate " + std::string(RIDGE_RECORDS) + "/h200-sxm/copy.jsonl.gz"},
        {"fleet", "validate " + std::string(RIDGE_RECORDS) + "/h200-sxm-collectives " +
                      RIDGE_RECORDS + "/h200-sxm-collectives-again --by gpu"},
        {"memory", "vram matmul --m 64 --n 64 --k 64"},
        {"attention-memory", "vram attention --heads 8 --seq 1024 --head-dim 64"},
        {"kv-cache",
         "vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128 --seq 8192 --block 16"},
        {"occupancy", "occupancy --threads 256 --registers 64 --gpu h100-sxm"},
        {"gpu", "gpus show h100-sxm"},
        {"operation", "ops matmul"}};
    for (const auto& [kind, line] : answers) {
        CAPTURE(line);
        const auto answer = run_line(line + " --format json");
        REQUIRE(answer.code == 0);
        const auto json = Json::parse(answer.out);
        REQUIRE(json);
        REQUIRE_FALSE(json->members().empty());
        CHECK(json->members().front().name == "schema");
        const std::string* const schema = json->members().front().value.if_text();
        REQUIRE(schema != nullptr);
        CHECK(*schema == "ridge/" + kind + "/1");
        CHECK(page.find("| `" + *schema + "` |") != std::string::npos);
    }
}

TEST_CASE("a validation says which software each record measured") {
    const std::string folder = RIDGE_RECORDS;
    for (const auto& [file, software] :
         {std::pair{"/h200-sxm/copy.jsonl.gz", "bundled-0.1.0"},
          std::pair{"/h100-sxm-calls/matmul.jsonl.gz", "cublaslt-13.0"},
          std::pair{"/h100-sxm-torch/scan.jsonl.gz", "pytorch-2.11.0"}}) {
        const auto json = Json::parse(run_line("validate " + folder + file + " --format json").out);
        REQUIRE(json);
        const auto& records = json->find("records")->items();
        REQUIRE_FALSE(records.empty());
        CHECK(*records.front().find("software")->if_text() == software);
    }
}
