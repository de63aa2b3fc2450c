// Kernels of engines as data: what is chosen, refused and said, and what their law does.
#include <map>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/catalogue/kernel_rules.h"
#include "model/core/fields.h"
#include "model/machine/machine_software.h"
#include "model/machine/parameters.h"
#include "model/predict.h"
#include "model/software.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

const Machine& engine_gpu() {
    static const Catalogue all = Catalogue::embedded();
    static const Machine machine = all.machine("h200-sxm");
    return machine;
}

Outcome engine_outcome(const std::string& text) {
    const OperationText operation = parse_operation(text);
    return predict(make_operation(operation.kind, operation.parameters),
                   make_execution(operation.parameters), engine_gpu());
}

Prediction engine_prediction(const std::string& text) {
    CAPTURE(text);
    const Outcome outcome = engine_outcome(text);
    REQUIRE(std::holds_alternative<Prediction>(outcome));
    return std::get<Prediction>(outcome);
}

std::string engine_reason(const std::string& text) {
    const Outcome outcome = engine_outcome(text);
    REQUIRE(std::holds_alternative<NotModelled>(outcome));
    return std::get<NotModelled>(outcome).reason;
}

/// Rules of a made-up engine's file with one kernel.
std::vector<KernelRule> rules_of_text(const std::string& kernel) {
    const std::string text =
        "schema = 1\nkind = \"software\"\nname = \"made-1.0\"\n"
        "needs = [\"architecture.compute_capability\"]\n\n[[kernel]]\n" +
        kernel;
    const Software software = read_software(SharedText::copy_of(text), "made.toml", "made.toml");
    std::vector<hardware::Problem> problems;
    std::vector<KernelRule> rules = rules_in(software, problems);
    hardware::throw_problems(problems);
    return rules;
}

}  // namespace

TEST_CASE("an engine's kernel runs where its software says so, and the answer names it",
          "[engine]") {
    const std::string shape =
        "matmul m=64 n=4096 k=4096 dtype=fp8 launch=graph software=vllm-0.24.0";
    const Prediction p = engine_prediction(shape);
    CHECK(p.implementation == Implementation::engine);
    const auto* const named = noted<note::EngineKernel>(p);
    REQUIRE(named != nullptr);
    CHECK(named->kernel.name() == "CutlassFP8ScaledMMLinearKernel");
    REQUIRE(noted<note::QuantisedInput>(p) != nullptr);
    CHECK(noted<note::QuantisedInput>(p)->time < p.time);
    CHECK(p.tiling.tile == Tile{64, 64, 256});
    const Prediction asked = engine_prediction(shape + " kernel=CutlassFP8ScaledMMLinearKernel");
    CHECK(asked.time.base() == p.time.base());
    CHECK(p.low < p.time);
    CHECK(p.time < p.high);
    CHECK(p.footprint > Bytes{});
    CHECK(p.work.flop() == 2.0 * 64 * 4096 * 4096 * units::FLOP);
}

TEST_CASE("a value of a section reaches every kernel that shares it", "[engine]") {
    Machine machine = machine_with(engine_gpu(), SoftwareChoice::named("trtllm-1.3.0rc20"));
    std::map<std::string, std::vector<std::size_t>> kernels;
    for (std::size_t i = 0; i < machine.engine.size(); ++i) {
        kernels[machine.engine[i].recipe->section].push_back(i);
    }
    std::size_t shared = 0;
    for (const auto& [section, places] : kernels) {
        if (places.size() < 2) continue;
        ++shared;
        const ModelParameter& first = *engine_parameters(section).front();
        CAPTURE(first.field.path);
        REQUIRE(first.write(machine, 3e-6));
        for (const std::size_t i : places) CHECK(machine.engine[i].values.front() == 3e-6);
        CHECK(first.read(machine) == 3e-6);
    }
    CHECK(shared > 0);
}

TEST_CASE("a kernel that the engine does not have is refused with those that it has", "[engine]") {
    CHECK_THAT(engine_reason("matmul m=64 n=64 k=64 dtype=fp8 software=vllm-0.24.0 kernel=None"),
               contains_text("vllm-0.24.0 has no kernel None for matmul in fp8 that ridge knows") &&
                   contains_text("CutlassFP8ScaledMMLinearKernel"));
    CHECK_THAT(engine_reason("matmul m=64 n=64 k=64 dtype=fp8 kernel=None"),
               contains_text("belongs to an engine: name it in the field software"));
    CHECK_THROWS_WITH(parse_operation("matmul m=64 n=64 k=64 kernel=\"a b\""),
                      contains_text("kernel: 'a b' is not the name of a kernel"));
}

TEST_CASE("weights that stay in the L2 are not read again; those in DRAM are", "[engine]") {
    const std::string shape = "matmul m=8 n=2048 k=2048 dtype=fp8 software=vllm-0.24.0 ";
    const Prediction warm = engine_prediction(shape + "l2=warm");
    const Prediction cold = engine_prediction(shape + "l2=cold");
    CHECK(warm.work.dram_read < 0.2 * cold.work.dram_read);
    CHECK(warm.time < cold.time);
}

TEST_CASE("more rows, columns or depth take no less time; a correction bends that by a percent",
          "[engine][property]") {
    const Catalogue all = Catalogue::embedded();
    for (const View view : {View::analytic, View::calibrated}) {
        const Machine gpu = all.machine("h200-sxm", view);
        const auto time = [&gpu](int m, int n, int k) {
            const OperationText text =
                parse_operation("matmul m=" + std::to_string(m) + " n=" + std::to_string(n) +
                                " k=" + std::to_string(k) + " dtype=fp8 software=vllm-0.24.0");
            return std::get<Prediction>(predict(make_operation(text.kind, text.parameters),
                                                make_execution(text.parameters), gpu))
                .time;
        };
        const double share = view == View::analytic ? 1.0 : 0.99;
        for (const int size : {256, 1024, 4096, 16384}) {
            const auto less = share * time(size, size, size);
            CHECK(time(2 * size, size, size) >= less);
            CHECK(time(size, 2 * size, size) >= less);
            CHECK(time(size, size, 2 * size) >= less);
        }
    }
}

TEST_CASE("the first line of a dispatch that holds gives the attributes", "[engine]") {
    const std::vector<KernelRule> rules = rules_of_text(
        "name = \"K\"\nlaw = \"tiled_product\"\nparameters = \"k\"\nalways = \"copies = 3\"\n"
        "dispatch = [\"rows = 16, columns = min(n, 64), when m <= 16 and dtype == 'fp8'\", "
        "\"rows = 32, copies = 4\"]\nwhen = \"n % 16 == 0\"\n");
    REQUIRE(rules.size() == 1);
    REQUIRE(rules.front().recipe != nullptr);
    const EngineRecipe& recipe = *rules.front().recipe;
    CHECK(recipe.section == "model.engine.tiled_product.made.k");
    const std::span<const LawAttribute> names = law_table()[recipe.law].attributes;
    const auto value = [&](const std::string& shape, std::string_view name) {
        const OperationText text = parse_operation(shape);
        const EngineSymbols symbols(make_operation(text.kind, text.parameters), engine_gpu());
        LawAttributes all{};
        REQUIRE(recipe.attributes(symbols, all));
        return all[attribute_index(names, name)];
    };
    CHECK(value("matmul m=16 n=48 k=64 dtype=fp8", "rows") == 16);
    CHECK(value("matmul m=16 n=48 k=64 dtype=fp8", "columns") == 48);
    CHECK(value("matmul m=16 n=48 k=64 dtype=fp8", "copies") == 3);
    CHECK(value("matmul m=16 n=48 k=64 dtype=bf16", "rows") == 32);
    CHECK(value("matmul m=17 n=48 k=64 dtype=fp8", "copies") == 4);
    CHECK(value("matmul m=17 n=48 k=64 dtype=fp8", "depth") == 128);
}

TEST_CASE("what is wrong with a kernel of a file is said", "[engine]") {
    const auto fails = [](const std::string& kernel, const std::string& message) {
        CAPTURE(kernel);
        CHECK_THROWS_WITH(rules_of_text(kernel), contains_text(message));
    };
    const std::string start = "name = \"K\"\nparameters = \"k\"\n";
    fails(start + "law = \"tiled\"\ndispatch = [\"rows = 1\"]\n", "unknown law \"tiled\"");
    fails(start + "law = \"tiled_product\"\n", "a kernel with a law needs a dispatch");
    fails(start + "law = \"tiled_product\"\ndispatch = [\"row = 1\"]\n",
          "tiled_product has no attribute row");
    fails(start + "law = \"tiled_product\"\ndispatch = [\"rows = q\"]\n", "unknown name q");
    fails(start + "law = \"tiled_product\"\ndispatch = [\"rows = 1, rows = 2\"]\n", "stated twice");
    fails("law = \"tiled_product\"\nparameters = \"k\"\ndispatch = [\"rows = 1\"]\n",
          "needs a name");
    fails(start + "implementation = \"library\"\n", "parameters needs a law");
}

}  // namespace ridge::model
