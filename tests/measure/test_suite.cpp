// The suites expand to valid questions that suit the GPU, and random ones repeat for a seed.
#include <algorithm>
#include <map>
#include <set>

#include "hardware/error.h"
#include "measure/run/suite.h"
#include "model/machine/machine.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

using namespace ridge;
using namespace ridge::measure;

TEST_CASE("rows expand to all combinations and follow references") {
    CHECK(expand("copy elements=1") == std::vector<std::string>{"copy elements=1"});
    CHECK(expand("x m={1,2} n=@m k={3,4}") ==
          std::vector<std::string>{"x m=1 n=1 k=3", "x m=1 n=1 k=4", "x m=2 n=2 k=3",
                                   "x m=2 n=2 k=4"});
    CHECK_THROWS_AS(expand("x m={1,2"), InputError);
    CHECK_THROWS_AS(expand("x m=1}"), InputError);
    CHECK_THROWS_AS(expand("x m=@q"), InputError);
    CHECK_THROWS_AS(expand("x m=@m"), InputError);
}

TEST_CASE("the suites are valid and without repetitions, and the full one includes the quick one") {
    for (const std::int32_t capability : {80, 86, 89, 90, 100}) {
        CAPTURE(capability);
        std::set<std::string> quick;
        for (const Question& q : suite(Suite::quick, capability)) {
            CHECK_NOTHROW(model::validate(q.operation));
            CHECK(q.execution.implementation != model::Implementation::automatic);
            CHECK(quick.insert(canonical_text(q)).second);
        }
        std::set<std::string> full;
        for (const Question& q : suite(Suite::full, capability)) full.insert(canonical_text(q));
        CHECK(std::includes(full.begin(), full.end(), quick.begin(), quick.end()));
        CHECK(quick.size() > 40);
        CHECK(quick.size() < 100);
        CHECK(full.size() > 200);
        CHECK(full.size() < 500);
    }
}

TEST_CASE("every question of the suites has a prediction on the H200") {
    const model::Machine machine = model::make_machine(test::catalogue().at("h200-sxm"));
    Time total;
    for (const Question& q : suite(Suite::full, 90)) {
        CAPTURE(canonical_text(q));
        const model::Outcome outcome = model::predict(q.operation, q.execution, machine);
        REQUIRE(std::holds_alternative<model::Prediction>(outcome));
        total += std::get<model::Prediction>(outcome).time;
        CHECK(std::get<model::Prediction>(outcome).footprint < 0.5 * machine.dram_capacity);
    }
    // Twenty samples of everything take less than half of the suite's time.
    CHECK(20.0 * total < seconds_of(Suite::full) * 0.5 * units::s);
}

TEST_CASE("wgmma is asked only of Hopper, and Ampere is not asked for fp8") {
    for (const Question& q : suite(Suite::full, 80)) {
        CHECK(q.execution.implementation != model::Implementation::wgmma);
        CHECK(type_of(q.operation) != model::DataType::fp8);
    }
    std::map<std::string_view, int> kinds;
    for (const Question& q : suite(Suite::quick, 90)) ++kinds[name_of(q.operation)];
    CHECK(kinds.size() == 11);
}

TEST_CASE("random shapes repeat for a seed and differ between seeds") {
    const auto texts = [](std::uint64_t seed) {
        std::vector<std::string> list;
        for (const Question& q : random_questions(seed, 50, 90)) {
            model::validate(q.operation);
            list.push_back(canonical_text(q));
        }
        return list;
    };
    CHECK(texts(7) == texts(7));
    CHECK(texts(7) != texts(8));
    CHECK(texts(7).size() == 50);
    CHECK(texts(7).front() == canonical_text(random_questions(7, 1, 90).front()));
    for (const Question& q : random_questions(7, 20, 90)) CHECK(q.seed == 7U);
}

constexpr const char* kinds_within_reach[] = {"matmul library",
                                              "matmul naive",
                                              "matmul coalesced",
                                              "matmul tiled",
                                              "matmul register_tiled",
                                              "matmul mma",
                                              "matmul wgmma",
                                              "attention standard",
                                              "elementwise fused",
                                              "elementwise unfused",
                                              "softmax fused",
                                              "softmax manual",
                                              "layernorm fused",
                                              "rmsnorm fused",
                                              "sum fused",
                                              "transpose naive",
                                              "transpose tiled",
                                              "copy bundled",
                                              "gather bundled",
                                              "access bundled strided",
                                              "access bundled misaligned",
                                              "access bundled divergent",
                                              "access bundled bank_conflict",
                                              "matmul l2=cold",
                                              "attention l2=cold",
                                              "elementwise launch=graph",
                                              "copy launch=stream",
                                              "softmax launch=graph"};

TEST_CASE("random shapes reach every bundled kernel, pattern and launch, within bounds") {
    const model::Machine machine = model::make_machine(test::catalogue().at("h200-sxm"));
    std::set<std::string> reached;
    for (const Question& q : random_questions(3, 2000, 90)) {
        CAPTURE(canonical_text(q));
        const std::string operation(name_of(q.operation));
        std::string kind = operation + " " + std::string(name_of(q.execution.implementation));
        if (const auto* access = std::get_if<model::Access>(&q.operation)) {
            kind += " " + std::string(name_of(access->pattern));
        }
        const auto* attention = std::get_if<model::Attention>(&q.operation);
        if (attention != nullptr && attention->seq_q == 1) kind += " decode";
        reached.insert(kind);
        reached.insert(operation + " l2=" + std::string(name_of(q.execution.l2)));
        reached.insert(operation + " launch=" + std::string(name_of(q.execution.launch)));
        const model::Outcome outcome = model::predict(q.operation, q.execution, machine);
        REQUIRE(std::holds_alternative<model::Prediction>(outcome));
        CHECK(std::get<model::Prediction>(outcome).time < 80.0 * units::ms);
        CHECK(std::get<model::Prediction>(outcome).footprint < 17.0 * units::GB);
    }
    for (const char* kind : kinds_within_reach) {
        INFO(kind);
        CHECK(reached.count(kind) == 1);
    }
    const auto count_of = [&reached](const std::string& part) {
        return std::count_if(reached.begin(), reached.end(), [&part](const std::string& kind) {
            return kind.find(part) != std::string::npos;
        });
    };
    CHECK(count_of("decode") == 1);
    for (const Question& q : random_questions(3, 300, 80)) {
        CHECK(q.execution.implementation != model::Implementation::wgmma);
        CHECK(type_of(q.operation) != model::DataType::fp8);
    }
}
