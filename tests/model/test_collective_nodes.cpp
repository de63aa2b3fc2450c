// Collectives over several nodes, worked by hand; and files of clusters.
#include "model/collectives/nodes.h"

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

constexpr const char* cluster_text = R"(schema = 1
kind = "cluster"
name = "pair"
domain = 8
nodes = 4
network = "50 GB/s"
efficiency = 0.5
latency = "10 us"
oversubscription = 2.0
)";

Collective across(CollectiveKind kind, std::int64_t gpus, std::int64_t bytes) {
    return {.kind = kind, .gpus = gpus, .bytes = bytes};
}

std::string cluster_complaint(const std::string& text) {
    try {
        static_cast<void>(parse_cluster(text, "c.toml"));
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

TEST_CASE("each GPU moves its share of what crosses between nodes", "[collective]") {
    const Cluster cluster = parse_cluster(cluster_text, "c.toml");
    CHECK(cluster.gpus() == 32);
    // 4 nodes: 2 x 3/4 of 800 MB, an eighth of it for each GPU, at 50 x 0.5 / 2 GB/s.
    const NetworkTime sum =
        network_time(cluster, across(CollectiveKind::all_reduce, 32, 800'000'000));
    CHECK(sum.wire.in(units::us) == Approx(12'000.0));
    CHECK(sum.steps.in(units::us) == Approx(40.0));
    const NetworkTime gather =
        network_time(cluster, across(CollectiveKind::all_gather, 16, 800'000'000));
    CHECK(gather.wire.in(units::us) == Approx(4'000.0));
    CHECK(gather.steps.in(units::us) == Approx(10.0));
    const NetworkTime exchange =
        network_time(cluster, across(CollectiveKind::all_to_all, 32, 32'000'000));
    CHECK(exchange.wire.in(units::us) == Approx(1'920.0));
    CHECK(within_node(cluster, across(CollectiveKind::all_to_all, 32, 32'000'000)).bytes ==
          8'000'000);
    CHECK(time_over_nodes(cluster, across(CollectiveKind::all_reduce, 32, 800'000'000),
                          50.0 * units::us)
              .in(units::us) == Approx(12'040.0));
}

TEST_CASE("a machine with a cluster predicts over nodes, and refuses what it lacks",
          "[collective]") {
    const auto catalogue = model::catalogue();
    Machine machine = make_machine(catalogue.at("h100-sxm"));
    const Collective op = across(CollectiveKind::all_reduce, 16, 1 << 30);
    machine.cluster = parse_cluster(cluster_text, "c.toml");
    const auto over = std::get<Prediction>(predict(op, Execution{}, machine));
    const auto inside = std::get<Prediction>(
        predict(across(CollectiveKind::all_reduce, 8, 1 << 30), Execution{}, machine));
    // 2 x 1/2 of 1 GiB, an eighth of it for each GPU, at 12.5 GB/s, and two steps.
    CHECK(over.time.in(units::us) == Approx(10'737.4 + 20.0));
    CHECK(over.time > 2.0 * inside.time);
    CHECK(over.low < 0.8 * over.time);
    CHECK(over.high > 1.25 * over.time);
    CHECK(over.lower_bound <= over.low);
    const auto refusal = [&](std::int64_t gpus) {
        return std::get<NotModelled>(
                   predict(across(CollectiveKind::all_reduce, gpus, 1024), Execution{}, machine))
            .reason;
    };
    CHECK(refusal(64) == "cluster pair has 32 GPUs");
    CHECK(refusal(12).find("multiple of the 8 GPUs") != std::string::npos);
}

TEST_CASE("files of clusters: the examples are read, mistakes are named", "[collective]") {
    for (const char* name : {"dgx-h100", "dgx-b200", "gb200-nvl72", "p5"}) {
        const Cluster cluster = read_cluster(std::string(RIDGE_CLUSTERS "/") + name + ".toml");
        CHECK(cluster.name == name);
        CHECK(cluster.network.in(units::GB / units::s) == Approx(50.0));
    }
    const std::string text = cluster_text;
    CHECK(cluster_complaint(text + "domian = 8\n") ==
          "c.toml:10:1: unknown field 'domian' (did you mean 'domain'?)");
    CHECK(cluster_complaint("schema = 1\nkind = \"gpu\"\n").find("kind must be") !=
          std::string::npos);
    CHECK(cluster_complaint("kind = \"cluster\"\nname = \"x\"\n").find("domain is missing") !=
          std::string::npos);
    CHECK(cluster_complaint("kind = \"cluster\"\nname = \"x\"\ndomain = 0\n").find("from 1 to") !=
          std::string::npos);
    CHECK_THROWS_AS(read_cluster("/nonexistent.toml"), InputError);
}

}  // namespace
}  // namespace ridge::model
