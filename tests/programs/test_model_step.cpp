// Kernels of a step compared with the operators that transformers 5.17 calls, and memory by hand.
#include <algorithm>
#include <ctime>
#include <string>
#include <variant>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "programs/advice.h"
#include "programs/configs/presets.h"
#include "programs/model_step.h"
#include "programs/serving.h"
#include "tests/catch.h"

namespace ridge::programs {
namespace {

Architecture shortened(const std::string& name, std::size_t layers) {
    Architecture a = find_model(name);
    a.layer_kinds.resize(layers);
    return a;
}

std::int64_t kernels_of(const std::string& name, std::size_t layers, Phase phase) {
    const Request request{.phase = phase, .batch = 8, .seq = 16, .optimizer = Optimizer::none};
    return make_step(shortened(name, layers), request).program.kernels();
}

// LlamaDecoderLayer by hand: 2 norms of 8 kernels, 7 products, 2 rotations of 5 kernels, 2 appends
// to the cache, attention, silu and its product, 2 residuals.
TEST_CASE("kernels of a layer") {
    const auto layer = [](const std::string& name) {
        return kernels_of(name, 3, Phase::prefill) - kernels_of(name, 2, Phase::prefill);
    };
    CHECK(layer("llama-3.2-1b") == 2 * 8 + 7 + 2 * 5 + 2 + 1 + 2 + 2);
    CHECK(layer("qwen3-0.6b") == 4 * 8 + 7 + 2 * 5 + 2 + 1 + 2 + 2);  // norms of q and k
    CHECK(layer("gemma-2b") == 2 * 10 + 7 + 2 * 5 + 2 + 1 + 2 + 2);   // weight + 1, in fp32
    CHECK(layer("gpt2") == 2 + 4 + 2 + 1 + 8 + 2);                    // gelu in separate kernels
}

TEST_CASE("identical layers are counted instead of repeated") {
    const std::int64_t two = kernels_of("llama-3.1-8b", 2, Phase::decode);
    const std::int64_t three = kernels_of("llama-3.1-8b", 3, Phase::decode);
    CHECK(kernels_of("llama-3.1-8b", 32, Phase::decode) == two + 30 * (three - two));
}

TEST_CASE("kernels of the layers are distinguished from those after the last layer") {
    const ModelStep step =
        make_step(find_model("llama-3.2-1b"), {.phase = Phase::train, .seq = 64});
    std::int64_t inside = 0;
    std::int64_t outside = 0;
    for (const Entry& entry : step.program.entries) {
        if (entry.name != "norm: square" || entry.pass != Pass::forward) continue;
        (entry.first_layer < 16 ? inside : outside) += entry.count;
    }
    CHECK(inside == 32);
    CHECK(outside == 1);
}

TEST_CASE("a gate in one kernel has the model's own activation") {
    const auto gate_of = [](const std::string& name, Software software) {
        const ModelStep step = make_step(find_model(name), {.software = software, .seq = 64});
        for (const Entry& entry : step.program.entries) {
            const auto* const kernel = std::get_if<model::Elementwise>(&entry.operation);
            if (kernel != nullptr && entry.name == "gate") return kernel->expression.text();
        }
        return std::string();
    };
    for (const Software software : {Software::compiled, Software::serving}) {
        CHECK(gate_of("llama-3.2-1b", software) == "silu(x) * y");
        CHECK(gate_of("gemma-2b", software) == "gelu_tanh(x) * y");
    }
}

TEST_CASE("a prefill keeps its cache and the logits") {
    const Architecture a = find_model("llama-3.2-1b");
    const ModelStep step = make_step(a, {.batch = 2, .seq = 1024});
    const StepMemory memory = memory_of(step);
    CHECK(step.kv_cache_bytes == 2 * 1024 * 16 * 2 * 512 * 2);
    // Gate and up of the MLP beside the residual, its norm in two types, and the cache.
    const std::int64_t tokens = 2 * 1024;
    const std::int64_t mlp = tokens * (2 * 8192 + 2 * 2048) * 2;
    CHECK(memory.extra() >= step.kv_cache_bytes + mlp);
    CHECK(memory.extra() <= step.kv_cache_bytes + mlp + tokens * (8192 + 2 * 2048) * 2 + (4 << 20));
    CHECK(memory.resident >= step.weights_bytes);
    std::int64_t parts = 0;
    for (const StepMemory::Part& part : memory.parts) parts += part.bytes;
    CHECK(parts == memory.peak);
}

TEST_CASE("memory of a training step at its peak") {
    const Architecture a = shortened("llama-3.2-1b", 4);
    const StepMemory memory =
        memory_of(make_step(a, {.phase = Phase::train, .batch = 4, .seq = 512}));
    std::int64_t sum = 0;
    const auto bytes = [&](std::string_view name) {
        for (const StepMemory::Part& part : memory.parts) {
            if (part.name == name) return part.bytes;
        }
        return std::int64_t{0};
    };
    for (const StepMemory::Part& part : memory.parts) sum += part.bytes;
    CHECK(sum == memory.peak);
    // The softmax of the logits, the gradient of its picks and that of the logits, in 32 bits each.
    const std::int64_t logits = std::int64_t{4} * 512 * 128256;
    CHECK(bytes("logits and loss") >= 3 * 4 * logits);
    CHECK(bytes("logits and loss") <= 4 * 4 * logits);
    CHECK(bytes("optimizer states") >= 2 * bytes("weights") - (std::int64_t{1} << 20));
    CHECK(bytes("activations and workspace") > 0);
}

TEST_CASE("layers that are recomputed keep only their inputs") {
    const Architecture a = shortened("llama-3.2-1b", 8);
    const Request plain{.phase = Phase::train, .batch = 2, .seq = 1024};
    Request again = plain;
    again.checkpoint = Checkpoint::full;
    const ModelStep all = make_step(a, plain);
    const ModelStep few = make_step(a, again);
    CHECK(memory_of(few).extra() < memory_of(all).extra());
    // The forward pass of every layer runs once more.
    const std::int64_t layer = 2 * 8 + 7 + 2 * 5 + 2 + 1 + 2 + 2;
    CHECK(few.program.kernels() == all.program.kernels() + 8 * layer);
}

TEST_CASE("selective checkpointing keeps products and attention and recomputes the rest") {
    const Architecture a = shortened("llama-3.2-1b", 8);
    Request request{.phase = Phase::train, .batch = 2, .seq = 1024};
    const ModelStep all = make_step(a, request);
    request.checkpoint = Checkpoint::selective;
    const ModelStep some = make_step(a, request);
    request.checkpoint = Checkpoint::full;
    const ModelStep few = make_step(a, request);
    const std::int64_t between = 2 * 8 + 2 * 5 + 2 + 2 + 2;
    CHECK(some.program.kernels() == all.program.kernels() + 8 * between);
    CHECK(memory_of(few).extra() < memory_of(some).extra());
    CHECK(memory_of(some).extra() < memory_of(all).extra());
}

/// Bytes of the step's collectives of this kind.
double bytes_of(const ModelStep& step, model::CollectiveKind kind) {
    double bytes = 0.0;
    for (const Entry& entry : step.program.entries) {
        const auto* op = std::get_if<model::Collective>(&entry.operation);
        if (op == nullptr || op->kind != kind) continue;
        bytes += static_cast<double>(op->bytes) * static_cast<double>(entry.count);
    }
    return bytes;
}

// Rajbhandari et al. 2020: 16-bit weights and gradients, two moments; here the moments are 16-bit
// too.
TEST_CASE("ZeRO shards states, gradients and weights") {
    using model::CollectiveKind;
    const Architecture a = shortened("llama-3.2-1b", 8);
    Request request{.phase = Phase::train, .batch = 1, .seq = 256, .data_parallel = 8};
    std::vector<ModelStep> stages;
    for (request.zero = 0; request.zero <= 3; ++request.zero) {
        stages.push_back(make_step(a, request));
    }
    const auto weights = static_cast<double>(stages[0].weights_bytes);
    const auto resident = [&](std::size_t stage) {
        return static_cast<double>(memory_of(stages[stage]).resident) / weights;
    };
    // Whole gradients are reduced in permanent buckets that are as large as the weights.
    CHECK(resident(0) == Approx(1.0 + 3.0).epsilon(0.01));
    CHECK(resident(1) == Approx(1.0 + 1.0 + 2.0 / 8.0).epsilon(0.01));
    // Beside the gathered weights lies the share from which they are gathered.
    CHECK(resident(2) == Approx(1.0 + 1.0 / 8.0 + 2.0 / 8.0).epsilon(0.01));
    CHECK(resident(3) == Approx(3.0 / 8.0).epsilon(0.01));
    CHECK(memory_of(stages[2]).peak < memory_of(stages[1]).peak);
    CHECK(memory_of(stages[3]).peak < memory_of(stages[2]).peak);
    const auto share = [&](std::size_t stage, CollectiveKind kind) {
        return bytes_of(stages[stage], kind) / weights;
    };
    for (const std::size_t stage : {0U, 1U}) {
        CHECK(share(stage, CollectiveKind::all_reduce) == Approx(1.0).epsilon(0.01));
    }
    CHECK(share(1, CollectiveKind::broadcast) == Approx(1.0).epsilon(0.01));
    CHECK(share(2, CollectiveKind::reduce_scatter) == Approx(1.0).epsilon(0.01));
    CHECK(share(2, CollectiveKind::all_gather) == Approx(1.0).epsilon(0.01));
    CHECK(share(3, CollectiveKind::reduce_scatter) == Approx(1.0).epsilon(0.01));
    CHECK(share(3, CollectiveKind::all_gather) >
          1.2);  // the layers are gathered again for the backward pass
    CHECK(share(3, CollectiveKind::all_gather) <= 2.0);
}

TEST_CASE("training with weights split over GPUs") {
    const Architecture a = shortened("llama-3.2-1b", 8);
    Request request{.phase = Phase::train, .batch = 1, .seq = 256};
    const ModelStep alone = make_step(a, request);
    request.tensor_parallel = 2;
    const ModelStep two = make_step(a, request);
    CHECK(static_cast<double>(two.weights_bytes) ==
          Approx(0.5 * static_cast<double>(alone.weights_bytes)).epsilon(0.01));
    // Forward: the embedding, and attention and MLP of each layer. Backward: the inputs of both,
    // and of the head.
    std::int64_t reduces = 0;
    for (const Entry& entry : two.program.entries) {
        const auto* op = std::get_if<model::Collective>(&entry.operation);
        if (op != nullptr && op->kind == model::CollectiveKind::all_reduce) reduces += entry.count;
    }
    CHECK(reduces == (1 + 2 * 8) + (1 + 2 * 8));
    const Architecture experts = shortened("olmoe-1b-7b", 2);
    request = {.phase = Phase::train, .batch = 1, .seq = 64, .expert_parallel = 8};
    const ModelStep eighth = make_step(experts, request);
    request.expert_parallel = 1;
    CHECK(eighth.weights_bytes < make_step(experts, request).weights_bytes / 2);
}

TEST_CASE("experts and latent attention of a serving engine are single operations") {
    const Architecture a = find_model("deepseek-v3");
    for (const Phase phase : {Phase::prefill, Phase::decode}) {
        const Request request{.phase = phase,
                              .software = Software::serving,
                              .batch = 4,
                              .seq = 1024,
                              .tensor_parallel = 8};
        const ModelStep step = make_step(a, request, false);
        int latent = 0;
        int blocks = 0;
        for (const Entry& entry : step.program.entries) {
            CHECK_FALSE(std::holds_alternative<model::Attention>(entry.operation));
            if (const auto* op = std::get_if<model::Mla>(&entry.operation)) {
                ++latent;
                CHECK(op->heads == 128 / 8);
                CHECK(op->head_dim == 128);
                CHECK(op->seq_q == (phase == Phase::decode ? 1 : 1024));
            }
            if (const auto* op = std::get_if<model::Moe>(&entry.operation)) {
                ++blocks;
                CHECK(op->experts == 256);
                CHECK(op->topk == 8);
                CHECK(op->intermediate == 2048);
                CHECK(op->tp == 8);
            }
        }
        CHECK(latent == 1);
        CHECK(blocks == 1);
    }
}

TEST_CASE("serving more sequences gives more tokens per second and a longer time per token") {
    const Architecture a = find_model("llama-3.1-8b");
    const model::Machine machine = model::make_machine(model::catalogue().at("h100-sxm"));
    const Load load{.request = {.software = Software::serving}, .batches = {1, 8, 64}};
    const auto points = serve(a, load, machine, 0);
    REQUIRE(points.size() == 3);
    CHECK(points[0].tpot < points[1].tpot);
    CHECK(points[1].tokens_per_s < points[2].tokens_per_s);
    const auto best = best_within(points, {.tpot = 0.5 * (points[1].tpot + points[2].tpot)});
    REQUIRE(best.has_value());
    CHECK(best->batch == 8);
    CHECK_FALSE(best_within(points, {.tpot = 0.5 * points[0].tpot}).has_value());
}

// Targets are 50 ms and 1 ms (scripts/bench); sanitizers take five times as long as this build.
#if defined(__SANITIZE_ADDRESS__)
constexpr double most_front = 2.0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr double most_front = 2.0;
#else
constexpr double most_front = 0.6;
#endif
#else
constexpr double most_front = 0.6;
#endif

TEST_CASE("a front over 64 batches and 4 degrees of parallelism is quick") {
    const Architecture a = find_model("llama-3.3-70b");
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Load load{.request = {.software = Software::serving}, .gpus = {1, 2, 4, 8}};
    for (std::int64_t batch = 1; batch <= 64; ++batch) load.batches.push_back(batch);
    const std::clock_t begin = std::clock();
    CHECK(serve(a, load, machine, 0).size() == 256);
    const double front = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(front < most_front);
    for (int i = 0; i < 10; ++i) {
        const ModelStep step = make_step(a, {.phase = Phase::decode, .batch = 8, .seq = 2048});
        CHECK(memory_of(step).peak > 0);
        CHECK(predict(step, machine, host_beside(machine.name)).wall > Time{});
    }
    const double steps = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC - front;
    CHECK(steps < 10 * 0.05);
}

TEST_CASE("host time and GPU time run side by side") {
    const model::Machine machine = model::make_machine(model::catalogue().at("h100-sxm"));
    const Architecture a = find_model("gpt2");
    Host host = host_beside(machine.name);
    const ModelStep decode = make_step(a, {.phase = Phase::decode, .batch = 1, .seq = 512});
    const StepTime slow = predict(decode, machine, host);
    CHECK(slow.host_bound());
    CHECK(slow.wall >= slow.host);  // the last kernels run after the host is done
    const Time dispatched = static_cast<double>(decode.program.kernels()) * host.per_kernel() +
                            12.0 * host.per_layer() + host.per_step();
    CHECK(slow.host / dispatched == Approx(1.0));
    CHECK(predict(decode, machine, at_launch(host, 2.0 * host.launch)).host / slow.host ==
          Approx(2.0));
    host.launch = Time{};
    const StepTime fast = predict(decode, machine, host);
    const double gaps =
        static_cast<double>(decode.program.kernels()) * gap_of_stream().in(units::us);
    CHECK(fast.wall.in(units::us) == Approx(fast.gpu.total.time.in(units::us) + gaps));
    // The forward pass takes longer to dispatch than to run, the update does not, so the update's
    // time comes on top.
    const ModelStep train = make_step(a, {.phase = Phase::train, .batch = 1, .seq = 512});
    const StepTime step = predict(train, machine, at_launch(host, 10.0 * units::us));
    CHECK(step.wall > step.host);
    CHECK(step.wall > step.gpu.total.time);
    CHECK(step.wall < step.host + step.gpu.total.time);
    CHECK_THROWS_WITH(find_host("abacus"), contains_text("xeon-h200, xeon-h100"));
}

TEST_CASE("the slowest of the ranks that wait for each other counts") {
    Host host = host_beside("h200-sxm");
    host.slow = 1.5;
    host.slow_share = 0.2;
    const auto factor = [&host](std::int64_t ranks) {
        return among(host, ranks).launch / host.launch;
    };
    CHECK(factor(1) == Approx(1.0));
    CHECK(factor(2) == Approx((1.0 + 0.5 * (1.0 - 0.64)) / 1.1));
    CHECK(factor(4) > factor(2));
    CHECK(factor(100000) == Approx(1.5 / 1.1));
    // A step of copies takes the host more than one that waits for nobody; the kernels take the same.
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    ModelStep step = make_step(find_model("gpt2"),
                               {.phase = Phase::train, .batch = 1, .seq = 64, .data_parallel = 4});
    CHECK(step.ranks == 4);
    const StepTime together = predict(step, machine, host);
    step.ranks = 1;
    const StepTime alone = predict(step, machine, host);
    CHECK(together.host / alone.host == Approx(factor(4)));
    CHECK(together.gpu.total.time == alone.gpu.total.time);
}

TEST_CASE("GPUs that share experts are counted, and each holds a part of the experts") {
    const Architecture a = find_model("mixtral-8x7b");
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Load load{.request = {.software = Software::serving}, .batches = {8}};
    const ServingPoint one = serve(a, load, machine, 0).front();
    load.request.expert_parallel = 8;
    const ServingPoint eight = serve(a, load, machine, 0).front();
    CHECK(one.gpus == 1);
    CHECK(eight.gpus == 8);
    CHECK(eight.tpot < one.tpot);
    CHECK(eight.bytes < one.bytes / 4);
    CHECK(eight.bytes > one.bytes / 8);  // attention and embeddings are on each GPU
}

TEST_CASE("advice is a prediction that gains") {
    const model::Machine machine = model::make_machine(model::catalogue().at("h100-sxm"));
    const auto found = advise(find_model("gpt2"), {.phase = Phase::decode, .seq = 512}, machine,
                              {.host = host_beside(machine.name)});
    REQUIRE_FALSE(found.empty());
    CHECK(found.front().factor > 2.0);  // a graph, because the host takes longer than the kernels
}

TEST_CASE("an impossible request is refused by name") {
    const Architecture a = find_model("gpt2");
    CHECK_THROWS_WITH(make_step(a, {.seq = 2000}), contains_text("gpt2 has 1024 positions"));
    CHECK_THROWS_WITH(make_step(a, {.batch = 0}), contains_text("batch must be"));
    CHECK_THROWS_WITH(make_step(a, {.seq = 128, .tensor_parallel = 5}),
                      contains_text("tp must divide the 12 heads"));
}

}  // namespace
}  // namespace ridge::programs
