// The fields `software` and `mode`: what they choose, and what is said where data is missing.
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

const Catalogue& all_gpus() {
    static const Catalogue all = Catalogue::embedded();
    return all;
}

Outcome outcome_of(const std::string& text, const Machine& machine) {
    const OperationText operation = parse_operation(text);
    return predict(make_operation(operation.kind, operation.parameters),
                   make_execution(operation.parameters), machine);
}

Prediction prediction_of(const std::string& text, const Machine& machine) {
    CAPTURE(text);
    const Outcome outcome = outcome_of(text, machine);
    REQUIRE(std::holds_alternative<Prediction>(outcome));
    return std::get<Prediction>(outcome);
}

double time_of(const std::string& text, const Machine& machine) {
    return prediction_of(text, machine).time.base();
}

}  // namespace

TEST_CASE("software and mode choose implementation, launch and parameters", "[software]") {
    const Machine machine = all_gpus().machine("h200-sxm");
    const auto same = [&machine](const std::string& operation, const std::string& a,
                                 const std::string& b) {
        CAPTURE(operation, a, b);
        CHECK(time_of(operation + " " + a, machine) == time_of(operation + " " + b, machine));
    };
    for (const std::string operation : {"matmul m=512 n=4096 k=4096", "softmax rows=4096 cols=1000",
                                        "gather rows=9999 cols=512 table_rows=50000"}) {
        same(operation, "software=pytorch-2.11", "impl=torch");
        same(operation, "software=pytorch", "impl=torch");
        same(operation, "mode=eager", "impl=torch");
        same(operation, "software=transformers", "impl=torch");
        same(operation, "software=serving", "impl=torch launch=graph");
        same(operation, "software=pytorch mode=graph", "impl=torch launch=graph");
    }
    same("softmax rows=4096 cols=1000", "software=pytorch mode=compiled", "impl=compiled");
    same("softmax rows=4096 cols=1000", "software=compiled", "impl=compiled");
    same("matmul m=512 n=4096 k=4096", "software=cublaslt-13.0", "impl=library");
    same("matmul m=512 n=4096 k=4096", "software=ridge", "impl=wgmma");
    same("matmul m=512 n=4096 k=4096", "software=pytorch impl=mma", "impl=mma");
    same("gather rows=9999 cols=512 table_rows=50000", "software=ridge-0.1", "impl=bundled");
    same("attention heads=32 seq=4096 head_dim=128 causal", "software=vllm-0.24.0", "impl=auto");
    same("all_reduce bytes=1Mi gpus=8", "software=nccl-2.29.2 mode=graph", "launch=graph");
}

TEST_CASE("PyTorch's attention is the backend that it picks", "[software]") {
    const auto picked = [](const std::string& gpu, const std::string& text) {
        CAPTURE(gpu);
        const Prediction found =
            prediction_of("attention batch=2 seq=1024 " + text, all_gpus().machine(gpu));
        const auto* const note = noted<note::PickedImplementation>(found);
        return std::string(note == nullptr ? "-" : name_of(note->implementation));
    };
    // As measured on an H200 (records/torch-models/h200-sdpa.csv).
    for (const std::string software : {"software=pytorch ", "software=transformers "}) {
        CHECK(picked("h200-sxm", software + "heads=16 head_dim=128 dtype=bf16") == "torch-cudnn");
        CHECK(picked("h200-sxm", software + "heads=16 head_dim=72 dtype=fp16") == "torch-cudnn");
        CHECK(
            picked("h200-sxm", software + "heads=16 head_dim=256 dtype=bf16 direction=backward") ==
            "torch-cudnn");
        CHECK(picked("h200-sxm", software + "heads=16 head_dim=100 dtype=bf16") == "torch-flash");
        CHECK(picked("h200-sxm", software + "heads=16 head_dim=64 dtype=fp32") ==
              "torch-efficient");
        CHECK(picked("h200-sxm", software + "heads=16 head_dim=320 dtype=bf16") ==
              "torch-efficient");
    }
    // From PyTorch's code: grouped heads in fp32 suit no fused backend; other GPUs prefer flash.
    CHECK(picked("h200-sxm", "heads=16 kv_heads=4 head_dim=64 dtype=fp32 software=pytorch") ==
          "torch-math");
    CHECK(picked("b200", "heads=16 head_dim=128 software=pytorch") == "torch-cudnn");
    CHECK(picked("a100-sxm-80gb", "heads=16 head_dim=128 software=pytorch mode=compiled") ==
          "torch-flash");
    // It has no sliding window, which a mask would stand for; and impl decides where it is given.
    CHECK(picked("h200-sxm", "heads=16 head_dim=128 causal window=64 software=pytorch") == "-");
    CHECK(picked("h200-sxm", "heads=16 head_dim=128 software=pytorch impl=torch-flash") == "-");
    CHECK(picked("h200-sxm", "heads=16 head_dim=128") == "-");
    const Machine h200 = all_gpus().machine("h200-sxm");
    const std::string call = "attention batch=2 heads=16 seq=1024 head_dim=128 ";
    CHECK(time_of(call + "software=pytorch", h200) == time_of(call + "impl=torch-cudnn", h200));
    CHECK(time_of(call + "mode=eager", h200) == time_of(call + "impl=torch-cudnn", h200));
}

TEST_CASE("both fields unset change nothing", "[software]") {
    const Machine machine = all_gpus().machine("h200-sxm");
    const Machine alone = make_machine(all_gpus().at("h200-sxm"));
    for (const std::string text : {"matmul m=512 n=4096 k=4096", "softmax rows=4096 cols=1000"}) {
        CHECK(time_of(text, machine) == time_of(text, alone));
    }
}

TEST_CASE("kernels of other software are named, and none are made up", "[software]") {
    const Machine machine = all_gpus().machine("h200-sxm");
    const Prediction product =
        prediction_of("matmul m=512 n=4096 k=4096 dtype=fp32 software=vllm", machine);
    const auto* const other = noted<note::OtherSoftware>(product);
    REQUIRE(other != nullptr);
    CHECK(other->asked.name() == "vllm-0.24.0");
    CHECK(other->used.name() == "pytorch-2.11");
    const Prediction own =
        prediction_of("attention heads=8 seq=512 head_dim=128 causal software=vllm", machine);
    CHECK(noted<note::OtherSoftware>(own) == nullptr);
    const Outcome none = outcome_of("softmax rows=64 cols=64 software=nccl", machine);
    REQUIRE(std::holds_alternative<NotModelled>(none));
    CHECK_THAT(std::get<NotModelled>(none).reason,
               contains_text("nccl-2.29.2 has no kernels for softmax"));
}

TEST_CASE("a fit to another version is said", "[software]") {
    const Machine machine = all_gpus().machine("a100-sxm-80gb");
    const Prediction newer = prediction_of(
        "attention heads=8 seq=512 head_dim=128 causal software=vllm-0.24.0", machine);
    const auto* const version = noted<note::OtherVersion>(newer);
    REQUIRE(version != nullptr);
    CHECK(version->fitted.name() == "vllm-0.14.0");
    const Prediction same = prediction_of(
        "attention heads=8 seq=512 head_dim=128 causal software=vllm-0.14.0", machine);
    CHECK(noted<note::OtherVersion>(same) == nullptr);
    CHECK(same.time.base() == newer.time.base());
}

TEST_CASE("each kernel says whose calls gave its values", "[software]") {
    const Machine machine = all_gpus().machine("h200-sxm");
    const auto width = [](const Prediction& p) { return p.high / p.low; };
    const std::string product = "matmul m=512 n=4096 k=4096 dtype=bf16 launch=graph software=";
    const Prediction library = prediction_of(product + "vllm-0.24.0", machine);
    const Prediction measured = prediction_of(product + "trtllm-1.3.0rc20", machine);
    REQUIRE(noted<note::OtherVersion>(library) != nullptr);
    CHECK(noted<note::OtherVersion>(library)->fitted.name() == "trtllm-1.3.0rc20");
    CHECK(noted<note::OtherVersion>(measured) == nullptr);
    CHECK(library.evidence.kernel == KernelEvidence::other);
    CHECK(library.time.base() == measured.time.base());
    CHECK(width(library) > width(measured));
    // Of one file, some kernels were measured in another version: asked for that one, they are its own.
    const std::string step =
        "kda part=scan phase=generation seq=1 batch=64 k_heads=32 launch=graph software=sglang-";
    const Prediction newer = prediction_of(step + "0.5.14", machine);
    const Prediction own = prediction_of(step + "0.5.16", machine);
    REQUIRE(noted<note::OtherVersion>(newer) != nullptr);
    CHECK(noted<note::OtherVersion>(newer)->fitted.name() == "sglang-0.5.16");
    CHECK(noted<note::OtherVersion>(own) == nullptr);
    CHECK(width(newer) > width(own));
    const Prediction third = prediction_of(step + "0.5.15", machine);
    REQUIRE(noted<note::OtherVersion>(third) != nullptr);
    CHECK(noted<note::OtherVersion>(third)->asked.name() == "sglang-0.5.15");
    CHECK(noted<note::OtherVersion>(third)->fitted.name() == "sglang-0.5.16");
}

TEST_CASE("unknown software is named with the nearest; a description alone has no software",
          "[software]") {
    const Machine machine = all_gpus().machine("h200-sxm");
    CHECK_THROWS_WITH(outcome_of("softmax rows=64 cols=64 software=pytroch-2.10", machine),
                      contains_text("unknown software \"pytroch-2.10\"") &&
                          contains_text("did you mean pytorch-2.1"));
    CHECK_THROWS_WITH(parse_operation("softmax rows=64 cols=64 software=\"a b\""),
                      contains_text("software: 'a b' is not a name"));
    CHECK_THROWS_WITH(parse_operation("softmax rows=64 cols=64 mode=fast"),
                      contains_text("mode: 'fast' is not auto, eager, compiled or graph"));
    const Machine alone = make_machine(all_gpus().at("h200-sxm"));
    CHECK(std::holds_alternative<NotModelled>(
        outcome_of("softmax rows=64 cols=64 software=pytorch", alone)));
}

TEST_CASE("software and mode are fields like others", "[software]") {
    const std::string text = "softmax dtype=bf16 rows=64 cols=64 software=pytorch-2.11 mode=graph";
    const OperationText read = parse_operation(text);
    CHECK(text_of(read.kind, read.parameters) == text);
    const Execution execution = make_execution(read.parameters);
    CHECK(execution.software.name() == "pytorch-2.11");
    CHECK(execution.mode == RunMode::graph);
    CHECK(make_execution({}).software.is_usual());
}

TEST_CASE("a new version of software changes the times of its kernels alone", "[software]") {
    Catalogue all = Catalogue::embedded();
    CHECK(all.add_text(
                 "schema = 1\nkind = \"software\"\nname = \"pytorch-2.12\"\ninherits = "
                 "\"pytorch-2.11\"\n[sources]\nRUN = { kind = \"measured\", text = \"a run\" }\n"
                 "[model.torch.gather]\nsingle = { value = \"4000 clk\", source = \"RUN\" }\n"
                 "step = { value = 5, source = \"RUN\" }\nslots = { value = 300, source = \"RUN\" "
                 "}\n",
                 "new.toml")
              .empty());
    const Machine machine = all.machine("h200-sxm", View::analytic);
    const std::string gather = "gather rows=100000 cols=333 table_rows=500000 software=";
    CHECK(time_of(gather + "pytorch", machine) == time_of(gather + "pytorch-2.12", machine));
    CHECK(time_of(gather + "pytorch-2.12", machine) > time_of(gather + "pytorch-2.11", machine));
    const std::string softmax = "softmax rows=4096 cols=1000 software=";
    CHECK(time_of(softmax + "pytorch-2.12", machine) == time_of(softmax + "pytorch-2.11", machine));
}

TEST_CASE("machines know other software after the catalogue is gone", "[software]") {
    Machine machine;
    {
        const Catalogue all = Catalogue::embedded();
        machine = all.machine("h200-sxm");
    }
    CHECK(time_of("softmax rows=4096 cols=1000 software=pytorch", machine) > 0.0);
}

}  // namespace ridge::model
