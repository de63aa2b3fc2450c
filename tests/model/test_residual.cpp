// The residual correction: its text, its trees by hand, where it fades, and what it leaves as is.
#include <cmath>
#include <memory>
#include <optional>
#include <random>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/residual_parameters.h"
#include "model/predict.h"
#include "model/residual/correction.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

using test::analytic_machine;

const double largest = largest_correction(ResidualClass::product_16);

const char* const product_range =
    "m 0 10, n 5 15, k 5 15, tiles -7 5, wave 0 1, wave_square 0 1, wave_narrow 0 1, last 0 1, "
    "compute 0 1, memory 0 1, bytes 10 30, align_n 0 8, align_k 0 8, flat -15 15, deep -10 15, l2 "
    "0 0";
const char* const product_splits = "m 50000 20000, n 115000 10000";

/// A tree with one value everywhere, in ten-thousandths.
std::string constant(int value) {
    std::string text = "0 1 1 1";
    for (int leaf = 0; leaf < 16; ++leaf) text += ' ' + std::to_string(value);
    return text;
}

/// A tree that rises from `below` to `above` over two doublings around m = 32, in ten-thousandths.
/// From n = 2^12 on it adds `wide`.
std::string rising(int below, int above, int wide = 0) {
    std::string text = "0 1 1 1";
    for (int leaf = 0; leaf < 16; ++leaf) {
        const int value = (leaf < 8 ? below : above) + (leaf % 8 == 7 ? wide : 0);
        text += ' ' + std::to_string(value);
    }
    return text;
}

std::string overlay(const std::string& range, const std::string& trees,
                    const std::string& splits = product_splits) {
    return "schema = 1\nkind = \"overlay\"\nname = \"x\"\noverlay = \"h100-sxm\"\ntitle = \"x\"\n"
           "[sources]\nFIT = { kind = \"derived\", text = \"x\" }\n[model.residual.product_16]\n"
           "implementation = { value = \"library\", source = \"FIT\" }\n"
           "spread = { value = 0.5, source = \"FIT\" }\nrange = { value = \"" +
           range + "\", source = \"FIT\" }\nsplits = { value = \"" + splits +
           "\", source = \"FIT\" }\ntrees = { value = \"" + trees + "\", source = \"FIT\" }\n";
}

Machine machine_with(const std::string& range, const std::string& trees,
                     const std::string& splits = product_splits) {
    model::Catalogue gpus = catalogue();
    hardware::Description gpu = gpus.at("h100-sxm", model::View::analytic);
    gpus.add_text(overlay(range, trees, splits), "test.toml");
    for (const auto& [path, datum] : gpus.at("h100-sxm").data) {
        if (path.starts_with("model.residual.product_16.")) gpu.data[path] = datum;
    }
    return make_machine(gpu);
}

Prediction predicted(const Operation& operation, const Machine& machine, Execution execution = {}) {
    return std::get<Prediction>(predict(operation, execution, machine));
}

std::string refusal_of(const std::string& range, const std::string& trees,
                       const std::string& splits = product_splits) {
    try {
        // Every lookup of the class is refused.
        const Machine machine = machine_with(range, trees, splits);
        CHECK_THROWS_AS(machine.residuals->find(ResidualClass::product_16), InputError);
        (void)predicted(Matmul{.m = 32, .n = 1024, .k = 1024}, machine);
    } catch (const InputError& error) {
        return error.message();
    }
    return {};
}

}  // namespace

TEST_CASE("a forest is the sum of its trees, each a weighted mean of its leaves", "[residual]") {
    std::mt19937 random(47);  // NOLINT(cert-msc32-c,cert-msc51-cpp): forests must repeat
    const auto uniform = [&random] { return static_cast<double>(random()) / 4294967296.0; };
    for (const std::size_t count : {1U, 4U, 7U, 64U}) {
        std::vector<ResidualSplit> splits;
        for (std::uint8_t feature = 0; feature < most_residual_features; feature += 2) {
            for (int i = 0; i < 5; ++i)
                splits.push_back({feature, uniform(), 0.3 * uniform() + 0.01});
        }
        std::vector<ResidualTree> trees(count);
        for (ResidualTree& tree : trees) {
            for (auto& split : tree.splits)
                split = static_cast<std::uint8_t>(random() % splits.size());
            for (double& value : tree.values) value = 0.02 * uniform() - 0.01;
        }
        const ResidualForest forest(splits, trees);
        for (int shape = 0; shape < 50; ++shape) {
            FeatureValues features{};
            for (double& value : features) value = 1.4 * uniform() - 0.2;
            double expected = 0.0;
            for (const ResidualTree& tree : trees) {
                for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
                    double weight = 1.0;
                    for (std::size_t level = 0; level < residual_levels; ++level) {
                        const ResidualSplit& split = splits[tree.splits[level]];
                        const double side = side_of(features[split.feature], split);
                        weight *=
                            (leaf >> (residual_levels - 1 - level)) % 2 == 1 ? side : 1.0 - side;
                    }
                    expected += weight * tree.values[leaf];
                }
            }
            CHECK(forest.at(features) == Approx(expected).margin(1e-6));
            CHECK(forest.at(features) == forest.at_anywhere(features));
        }
    }
}

TEST_CASE("a split is a ramp around its threshold", "[residual]") {
    const ResidualSplit split{.feature = 0, .threshold = 5.0, .width = 0.5};
    CHECK(side_of(4.0, split) == 0.0);
    CHECK(side_of(4.75, split) == 0.0);
    CHECK(side_of(4.875, split) == Approx(0.25));
    CHECK(side_of(5.0, split) == Approx(0.5));
    CHECK(side_of(6.0, split) == 1.0);
}

TEST_CASE("a correction is a factor on the analytic time and leaves the terms unchanged",
          "[residual]") {
    const Matmul op{.m = 32, .n = 1024, .k = 1024};
    const Prediction before = predicted(op, analytic_machine("h100-sxm"));
    // m = 32 is the middle of its ramp, n is below its own: ln f = (0.01 + 0.03) / 2 + 0.015.
    const Prediction after =
        predicted(op, machine_with(product_range, rising(100, 300, 900) + ", " + constant(150)));
    CHECK(before.correction == 1.0);
    CHECK(after.correction == Approx(std::exp(0.035)));
    CHECK(after.time / before.time == Approx(std::exp(0.035)));
    // The band is scaled by the factor and narrowed to the spread, half of its width.
    CHECK(after.high / after.time - 1.0 == Approx(0.5 * (before.high / before.time - 1.0)));
    CHECK(1.0 - after.low / after.time == Approx(0.5 * (1.0 - before.low / before.time)));
    CHECK(after.lower_bound == before.lower_bound);
    REQUIRE(after.terms.size() == before.terms.size());
    for (std::size_t i = 0; i < after.terms.size(); ++i) {
        CHECK(after.terms[i].time == before.terms[i].time);
    }
}

TEST_CASE("a correction never exceeds its largest factor or passes the lower bound", "[residual]") {
    const Matmul small{.m = 32, .n = 1024, .k = 1024};
    const Prediction before = predicted(small, analytic_machine("h100-sxm"));
    CHECK(predicted(small, machine_with(product_range, constant(9000))).time / before.time ==
          Approx(largest));
    CHECK(predicted(small, machine_with(product_range, constant(-9000))).time / before.time ==
          Approx(1.0 / largest));
    const Machine faster = machine_with(product_range, constant(-9000));
    std::mt19937 random(41);  // NOLINT(cert-msc32-c,cert-msc51-cpp): shapes must repeat
    for (int i = 0; i < 2000; ++i) {
        const auto extent = [&random] { return std::int64_t{16} << (random() % 9); };
        const Matmul op{.m = extent(), .n = extent(), .k = extent()};
        const Prediction p = predicted(op, faster);
        CAPTURE(op.m, op.n, op.k);
        REQUIRE(p.time >= p.lower_bound * (1.0 - 1e-12));
        REQUIRE(p.time >= faster.kernel_floor);
        REQUIRE(p.work.dram() / p.time <= p.bandwidth * (1.0 + 1e-9));
    }
}

TEST_CASE("a correction fades outside the range of the data", "[residual]") {
    const Machine machine = machine_with(product_range, constant(1000));
    const ResidualFit& fit = *machine.residuals->find(ResidualClass::product_16);
    ResidualFeatures features{ResidualClass::product_16,
                              {5, 10, 10, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 20, 4, 4, 0, 0, 0}};
    CHECK(fade_of(features, fit) == 1.0);
    features.values[0] = 10.0;
    CHECK(fade_of(features, fit) == 1.0);
    features.values[0] = 11.25;  // a quarter of the half-width outside
    CHECK(fade_of(features, fit) == Approx(0.5));
    CHECK(correction_of(features, fit).log_factor == Approx(0.05));
    features.values[0] = 14.0;
    CHECK(fade_of(features, fit) == 0.0);
    CHECK(correction_of(features, fit).log_factor == 0.0);
}

TEST_CASE("a feature that does not vary in the data has a range of half a unit", "[residual]") {
    ResidualFit fit;
    fit.range.least[0] = fit.range.most[0] = 7.0;
    ResidualFeatures features{ResidualClass::product_16, {}};
    features.values[0] = 7.25;
    CHECK(fade_of(features, fit) == 1.0);
    features.values[0] = 6.6875;  // a quarter of the half-width outside
    CHECK(fade_of(features, fit) == Approx(0.5));
}

TEST_CASE("an L2 state that does not vary in the data causes no fading", "[residual]") {
    ResidualFit fit =
        *machine_with(product_range, constant(1000)).residuals->find(ResidualClass::product_16);
    ResidualFeatures features{ResidualClass::product_16,
                              {5, 10, 10, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 20, 4, 4, 0, 0, 1}};
    CHECK(fade_of(features, fit) == 1.0);
    fit.range.most[15] = 0.5;  // more than half a half-width outside
    CHECK(fade_of(features, fit) == 0.0);
}

TEST_CASE("shapes and kernels that a fit did not see are not corrected", "[residual]") {
    const Machine machine = machine_with(product_range, constant(1000));
    const Matmul op{.m = 32, .n = 1024, .k = 1024};
    CHECK(predicted(op, machine).correction > 1.0);
    Matmul other = op;
    other.batch = 2;
    CHECK(predicted(other, machine).correction == 1.0);
    other = op;
    other.k = 1025;
    CHECK(predicted(other, machine).correction == 1.0);
    other = op;
    other.type = DataType::fp8;
    CHECK(predicted(other, machine).correction == 1.0);
    CHECK(predicted(op, machine, {.tile = Tile{128, 128, 32}}).correction == 1.0);
    CHECK(predicted(op, machine, {.implementation = Implementation::torch}).correction == 1.0);
    other = op;
    other.type = DataType::fp32;
    CHECK(predicted(other, machine, {.implementation = Implementation::tiled}).correction == 1.0);
}

TEST_CASE("data of a warm L2 correct every L2 state and launch mode equally", "[residual]") {
    const Machine machine = machine_with(product_range, rising(100, 300, -40));
    const Matmul product{.m = 500, .n = 4096, .k = 1024};
    const double usual = predicted(product, machine).correction;
    CHECK(usual != 1.0);
    for (const L2State l2 : {L2State::warm, L2State::cold, L2State::dirty}) {
        for (const LaunchMode launch : {LaunchMode::kernel, LaunchMode::graph}) {
            const Execution execution{.l2 = l2, .launch = launch};
            CHECK(predicted(product, machine, execution).correction ==
                  Approx(usual).epsilon(1e-12));
        }
    }
}

TEST_CASE("a correction leaves the host's part of a call in a stream as it is", "[residual]") {
    const Machine& corrected = test::machine("h200-sxm");
    const Machine& analytic = test::analytic_machine("h200-sxm");
    const Matmul product{.m = 500, .n = 4096, .k = 1024};
    const RowWise rows{.kind = RowKind::softmax, .rows = 512, .cols = 777};
    const auto added = [&](const Operation& operation, Execution execution, LaunchMode launch) {
        execution.launch = launch;
        return (predicted(operation, corrected, execution).time -
                predicted(operation, analytic, execution).time)
            .base();
    };
    for (const auto& [operation, implementation] :
         {std::pair<Operation, Implementation>{product, Implementation::library},
          {product, Implementation::torch},
          {rows, Implementation::fused},
          {rows, Implementation::torch}}) {
        const Execution execution{.implementation = implementation};
        const double kernel = added(operation, execution, LaunchMode::kernel);
        CHECK(kernel != 0.0);
        CHECK(added(operation, execution, LaunchMode::stream) == Approx(kernel).epsilon(1e-6));
    }
    // Without a name, a call in a stream is PyTorch's.
    CHECK(added(rows, {}, LaunchMode::stream) ==
          Approx(added(rows, {.implementation = Implementation::torch}, LaunchMode::kernel))
              .epsilon(1e-6));
}

TEST_CASE("corrections are read back as written", "[residual]") {
    const std::string splits = "m 50000 20000 72500 1000, k 95000 2500, bytes 201250 5000";
    const std::string trees = rising(-121, 342, 7) + ", 3 2 1 0" + constant(-40).substr(7);
    const Machine machine = machine_with(product_range, trees, splits);
    const ResidualFit& fit = *machine.residuals->find(ResidualClass::product_16);
    CHECK(range_text(residual_features(ResidualClass::product_16), fit.range) == product_range);
    CHECK(splits_text(residual_features(ResidualClass::product_16), fit.forest) == splits);
    CHECK(trees_text(fit.forest) == trees);
    REQUIRE(fit.forest.splits().size() == 4);
    CHECK(fit.forest.splits()[3].feature == 10);
    CHECK(fit.forest.trees()[0].values[15] == Approx(0.0349));
    CHECK(machine.residuals->find(ResidualClass::experts) == nullptr);
}

TEST_CASE("a broken correction is refused with its field's name", "[residual]") {
    const std::string path = "model.residual.product_16.";
    const std::string tree = constant(10);
    CHECK(refusal_of(product_range, "0 1 1 1 10") ==
          path + "trees: '0' begins a tree that does not have four splits and 16 values");
    CHECK(refusal_of(product_range, "2" + tree.substr(1)) ==
          path + "trees: '2' is not the number of a split");
    CHECK(refusal_of(product_range, "0.5" + tree.substr(1)) ==
          path + "trees: '0.5' is not the number of a split");
    CHECK(refusal_of(product_range, "-1" + tree.substr(1)) ==
          path + "trees: '-1' is not the number of a split");
    CHECK(refusal_of(product_range, tree + "x") == path + "trees: '10x' is not a number");
    CHECK(refusal_of(product_range, constant(10001)) ==
          path + "trees: '10001' is larger than 10000");
    CHECK(refusal_of(product_range, tree + ",") ==
          path + "trees: '" + tree + ",' has an empty part");
    std::string many = tree;
    for (int i = 0; i < 64; ++i) many += ", " + tree;
    CHECK(refusal_of(product_range, many) == path + "trees: '0' is one tree too many");
    CHECK(refusal_of(product_range, tree, "depth 50000 1000") ==
          path + "splits: 'depth' is not a feature of this correction");
    CHECK(refusal_of(product_range, tree, "m 50000") ==
          path + "splits: 'm' needs thresholds, each with a width");
    CHECK(refusal_of(product_range, tree, "m 50000 0") ==
          path + "splits: '0' is not a positive width");
    CHECK(refusal_of(product_range, tree, "n 50000 1000, m 50000 1000") ==
          path + "splits: 'm' is not in the order of the features");
    CHECK(refusal_of("m 0 1", tree) == path + "range: 'range' does not name every feature once");
    CHECK(refusal_of("m 1 0", tree) == path + "range: 'm' has a largest value below its least");
}

TEST_CASE("with corrections, a mask never adds time and twice the tokens take longer",
          "[residual][property]") {
    std::mt19937 random(43);  // NOLINT(cert-msc32-c,cert-msc51-cpp): shapes must repeat
    const model::Catalogue gpus = catalogue();
    for (const char* const name : {"h100-sxm", "h200-sxm", "b200", "a100-sxm-80gb"}) {
        const Machine machine = make_machine(gpus.at(name));
        REQUIRE(machine.residuals != nullptr);
        for (int i = 0; i < 1000; ++i) {
            const std::int64_t tokens = 2048 + static_cast<std::int64_t>(random() % 16384);
            const std::int64_t kv_heads = std::int64_t{1} << (random() % 4);
            Attention op{.batch = std::int64_t{1} << (random() % 6),
                         .heads = kv_heads << (random() % 4),
                         .kv_heads = kv_heads,
                         .seq_q = i % 2 == 0 ? 1 : tokens,
                         .seq_kv = tokens,
                         .head_dim = 128,
                         .causal = true,
                         .paged = true};
            CAPTURE(name, op.batch, op.heads, op.kv_heads, op.seq_q, op.seq_kv);
            const Prediction p = predicted(op, machine);
            REQUIRE(p.correction <= largest * (1.0 + 1e-12));
            REQUIRE(p.correction >= 1.0 / largest * (1.0 - 1e-12));
            Attention full = op;
            full.causal = false;
            REQUIRE(p.time <= predicted(full, machine).time * (1.0 + 1e-12));
            Attention twice = op;
            twice.seq_kv *= 2;
            if (op.seq_q > 1) twice.seq_q *= 2;
            REQUIRE(predicted(twice, machine).time > p.time);
        }
    }
}

TEST_CASE("PyTorch's kernels have their own corrections", "[residual]") {
    Machine machine = analytic_machine("h100-sxm");
    const Machine plain = machine;
    ResidualFit fit{
        .implementation = Implementation::torch, .spread = 1.0, .range = {}, .forest = {}};
    const auto names = residual_features(ResidualClass::torch_rows);
    for (std::size_t i = 0; i < names.size(); ++i) fit.range.most[i] = 30.0;
    ResidualTree tree;
    for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
        tree.values[leaf] = leaf < residual_leaves / 2 ? 0.03 : 0.9;
    }
    fit.forest = ResidualForest({{.feature = 4, .threshold = 10.0, .width = 0.1}}, {tree});
    auto residuals = std::make_shared<Residuals>();
    residuals->set(ResidualClass::torch_rows, fit);
    machine.residuals = residuals;
    const RowWise softmax{.rows = 4096, .cols = 4096};
    for (const L2State l2 : {L2State::warm, L2State::cold, L2State::dirty}) {
        const auto factor = [&](Implementation implementation, const Operation& op) {
            const Execution execution{.implementation = implementation, .l2 = l2};
            const Prediction p = predicted(op, machine, execution);
            CHECK(p.time / predicted(op, plain, execution).time == Approx(p.correction));
            return p.correction;
        };
        CHECK(factor(Implementation::torch, softmax) ==
              Approx(largest_correction(ResidualClass::torch_rows)));
        CHECK(factor(Implementation::compiled, softmax) == 1.0);
        CHECK(factor(Implementation::torch, RowWise{.rows = 4096, .cols = 256}) ==
              Approx(std::exp(0.03)));
        CHECK(factor(Implementation::fused, softmax) == 1.0);
        CHECK(factor(Implementation::torch, Copy{.elements = 1 << 20}) == 1.0);
    }
}

TEST_CASE("PyTorch's calls have a class by their operation", "[residual]") {
    const Machine machine = make_machine(catalogue().at("h200-sxm"));
    const auto class_of = [&](const Operation& op, Implementation implementation) {
        const Execution execution{.implementation = implementation};
        const Prediction p = predicted(op, machine, execution);
        const auto found = residual_features_of(op, execution, p, machine);
        return found ? std::optional(found->residual_class) : std::nullopt;
    };
    const auto torch = Implementation::torch;
    CHECK(class_of(Matmul{.m = 64, .n = 64, .k = 64}, torch) == ResidualClass::torch_product_16);
    CHECK(class_of(Matmul{.m = 64, .n = 64, .k = 64, .type = DataType::tf32}, torch) ==
          ResidualClass::torch_product_tf32_rows);
    const Matmul single{.m = 16, .n = 64, .k = 64, .type = DataType::fp32};
    Matmul columns = single;
    columns.b_layout = Layout::column_major;
    CHECK(class_of(single, torch) == ResidualClass::torch_product_fp32_thin_rows);
    CHECK(class_of(columns, torch) == ResidualClass::torch_product_fp32_thin);
    columns.m = 17;
    CHECK(class_of(columns, torch) == ResidualClass::torch_product_fp32);
    CHECK(class_of(Matmul{.m = 64, .n = 63, .k = 64}, torch) == ResidualClass::torch_product_odd);
    CHECK(class_of(Matmul{.m = 16, .n = 63, .k = 64}, torch) ==
          ResidualClass::torch_product_odd_thin);
    for (const Matmul& op : {Matmul{.m = 64, .n = 64, .k = 64}, single}) {
        const auto values = [&](L2State l2) {
            const Execution execution{.implementation = torch, .l2 = l2};
            return residual_features_of(op, execution, predicted(op, machine, execution), machine)
                ->values;
        };
        const FeatureValues warm = values(L2State::warm);
        CHECK(warm != values(L2State::cold));
        CHECK(values(L2State::cold) != values(L2State::dirty));
    }
    Attention attention{
        .batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
    for (const auto backend : {Implementation::torch_flash, Implementation::torch_efficient,
                               Implementation::torch_cudnn, Implementation::torch_math}) {
        attention.direction = Direction::forward;
        CHECK(class_of(attention, backend) == ResidualClass::torch_forward);
        attention.direction = Direction::backward;
        CHECK(class_of(attention, backend) == ResidualClass::torch_backward);
    }
    CHECK(class_of(AdamW{.elements = 1 << 20}, Implementation::fused) ==
          ResidualClass::torch_streams);
    CHECK(class_of(Transpose{.rows = 512, .cols = 512}, torch) == ResidualClass::torch_streams);
    CHECK(class_of(Transpose{.rows = 512, .cols = 512}, Implementation::tiled) ==
          ResidualClass::bundled_movement);
}

TEST_CASE("the analytic and datasheet views have no corrections", "[residual]") {
    model::Catalogue gpus = catalogue();
    gpus.add_text(overlay(product_range, constant(1000)), "test.toml");
    const auto residuals = [&gpus](model::View view) {
        return make_machine(gpus.at("h100-sxm", view)).residuals;
    };
    CHECK(residuals(model::View::calibrated) != nullptr);
    CHECK(residuals(model::View::analytic) == nullptr);
    CHECK(residuals(model::View::datasheet) == nullptr);
    // The other overlays remain.
    CHECK(gpus.at("h200-sxm", model::View::analytic).find("measured.dram.read") != nullptr);
}

TEST_CASE("a GPU without measurements uses its relative's corrections", "[residual]") {
    model::Catalogue gpus = catalogue();
    const auto residuals = [&gpus](const char* name, model::View view) {
        return make_machine(gpus.at(name, view)).residuals;
    };
    const auto own = residuals("b200", model::View::calibrated);
    const auto carried = residuals("gb200", model::View::calibrated);
    REQUIRE(carried != nullptr);
    for (const ResidualClass each : {ResidualClass::product_16, ResidualClass::decode}) {
        const ResidualFit* const theirs = own->find(each);
        const ResidualFit* const taken = carried->find(each);
        REQUIRE(theirs != nullptr);
        REQUIRE(taken != nullptr);
        CHECK(taken->forest.trees().size() == theirs->forest.trees().size());
        CHECK(taken->spread == theirs->spread);
    }
    // One GPU's records leave larger errors on another GPU (K5).
    const ResidualFit* const theirs =
        residuals("h200-sxm", model::View::calibrated)->find(ResidualClass::bundled_rows);
    const ResidualFit* const taken =
        residuals("gh200-144gb", model::View::calibrated)->find(ResidualClass::bundled_rows);
    REQUIRE(theirs != nullptr);
    REQUIRE(taken != nullptr);
    CHECK(taken->spread == Approx(std::sqrt(theirs->spread)));
    CHECK(residuals("gb200", model::View::analytic) == nullptr);
    CHECK(residuals("l40s", model::View::calibrated) == nullptr);

    // A user's fit to a GPU applies to that GPU only.
    gpus.add_text(overlay(product_range, constant(1000)), "test.toml");
    const auto user = residuals("h100-sxm", model::View::calibrated);
    const auto other = residuals("h100-pcie", model::View::calibrated);
    CHECK(user->find(ResidualClass::product_16)->forest.trees().size() == 1);
    CHECK(other->find(ResidualClass::product_16)->forest.trees().size() > 1);
}

}  // namespace ridge::model
