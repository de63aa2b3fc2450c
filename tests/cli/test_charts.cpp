// Charts of predictions and records: where points are, which are joined, and which are marked.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/charts/record_charts.h"
#include "cli/charts/record_labels.h"
#include "cli/charts/roofline_charts.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/machine/machine.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/model/machines.h"

using namespace ridge;
using cli::Levels;
using cli::RooflineCharts;
using test::catalogue;
using test::h200;
using test::run_line;
using test::Transcript;

namespace {

measure::Record record_of(const std::string& text, double microseconds) {
    const model::OperationText parsed = model::parse_operation(text);
    measure::Record record;
    record.question.operation = model::make_operation(parsed.kind, parsed.parameters);
    record.question.execution = model::make_execution(parsed.parameters);
    record.device.name = "NVIDIA H200";
    const std::vector<double> times(7, microseconds * 1e-6);
    record.timing = measure::Timing{.statistics = measure::summarise(times)};
    return record;
}

measure::Validation judged(const std::vector<measure::Record>& records) {
    return measure::validate(records, catalogue(), model::View::calibrated);
}

std::vector<plot::Chart> rooflines(const std::vector<measure::Record>& records,
                                   Levels levels = Levels::dram) {
    const measure::Validation validation = judged(records);
    RooflineCharts charts(h200(), catalogue().at("h200-sxm", model::View::calibrated), levels);
    for (const measure::Comparison& comparison : validation.comparisons) {
        charts.add(comparison, records[comparison.record]);
    }
    return charts.finish(model::DataType::bf16);
}

const plot::Mark& mark_of(const plot::Chart& chart, plot::Origin origin) {
    const auto found = std::ranges::find_if(
        chart.marks, [origin](const plot::Mark& m) { return m.origin == origin; });
    REQUIRE(found != chart.marks.end());
    return *found;
}

}  // namespace

TEST_CASE("a measured point is drawn at counted bytes, its prediction at predicted bytes") {
    std::vector<measure::Record> records = {
        record_of("matmul m=8192 n=8192 k=8192 impl=wgmma", 1400)};
    const auto prediction = judged(records).comparisons.at(0).prediction;
    const Bytes counted = 1.25 * prediction.work.dram();
    records[0].counters = measure::Counters{.dram_read = counted, .dram_write = Bytes{}};
    const plot::Chart chart = rooflines(records).at(0);
    const double flop = prediction.work.flop().base();
    CHECK(mark_of(chart, plot::Origin::calibrated).x ==
          Approx(flop / prediction.work.dram().base()));
    CHECK(mark_of(chart, plot::Origin::measured).x == Approx(flop / counted.base()));
    CHECK(mark_of(chart, plot::Origin::measured).y == Approx(flop / 1400e-6 / 1e12));
    REQUIRE(chart.links.size() == 1);
    std::set<std::string> names;
    for (const plot::Term& term : chart.marks[0].terms) names.insert(term.name);
    for (const char* name : {"predicted", "measured", "attainable", "algorithmic intensity",
                             "DRAM intensity, predicted", "DRAM intensity, counted"}) {
        INFO(name);
        CHECK(names.count(name) == 1);
    }

    records[0].counters = measure::Unavailable{.reason = "none"};
    const plot::Chart uncounted = rooflines(records).at(0);
    CHECK(uncounted.marks[0].x == uncounted.marks[1].x);
    REQUIRE_FALSE(uncounted.notes.empty());
    CHECK(uncounted.notes[0].find("1 of 1 measured points are drawn at the predicted bytes") == 0);
}

TEST_CASE("what a warm L2 serves is marked and drawn at its algorithmic intensity") {
    const std::string warm = "elementwise dtype=fp32 elements=1048576 expr=x+y";
    const plot::Chart chart =
        rooflines({record_of(warm, 3), record_of(warm + " l2=cold", 6)}).at(0);
    std::map<bool, std::set<std::string>> levels;
    for (const plot::Mark& mark : chart.marks) {
        const bool from_l2 = mark.name.find("(from L2)") != std::string::npos;
        levels[from_l2].insert(mark.level);
        const auto resource = from_l2 ? plot::Resource::l2 : plot::Resource::dram;
        CHECK(mark.style.color == plot::color_of(resource));
        if (from_l2) CHECK(mark.x == Approx(1.0 / 12.0));
    }
    CHECK(levels[true] == std::set<std::string>{"L2"});
    CHECK(levels[false] == std::set<std::string>{"DRAM"});
    CHECK(chart.subtitle.find("from L2: per algorithmic byte") != std::string::npos);
}

TEST_CASE("the levels of a hierarchical roofline differ in colour") {
    std::vector<measure::Record> records = {
        record_of("matmul m=8192 n=8192 k=8192 impl=wgmma", 1400)};
    const plot::Chart chart = rooflines(records, Levels::all).at(0);
    std::set<std::string> levels;
    std::set<plot::Color> colors;
    for (const plot::Mark& mark : chart.marks) {
        levels.insert(mark.level);
        colors.insert(mark.style.color);
    }
    CHECK(levels.size() >= 2);
    CHECK(colors.size() == levels.size());
    const auto labelled = std::ranges::count_if(chart.marks, &plot::Mark::labelled);
    CHECK(labelled == 1);
}

TEST_CASE("the full suite has a chart for each operation and lists every operation in a key") {
    const auto file = measure::read_all_records({std::string(RIDGE_RECORDS) + "/h200-sxm"});
    const std::vector<plot::Chart> charts = rooflines(file.records);
    CHECK(charts.size() > 6);
    std::size_t in_keys = 0;
    std::size_t names = 0;
    for (const plot::Chart& chart : charts) {
        INFO(chart.title);
        CHECK_FALSE(chart.subtitle.empty());
        CHECK_FALSE(chart.samples.empty());
        CHECK(chart.y.title == "Performance");
        in_keys += chart.key.rows.size();
        std::set<std::string> distinct;
        for (const plot::Mark& mark : chart.marks) distinct.insert(mark.name);
        if (distinct.size() > plot::most_named) names += distinct.size();
    }
    CHECK(in_keys == names);
    CHECK(in_keys > 250);
    REQUIRE_FALSE(charts.back().notes.empty());
    CHECK(charts.back().notes.back().find("without arithmetic are not drawn") != std::string::npos);
}

TEST_CASE("a roofline has the roofs of every type present, labelled by type") {
    const Transcript run = run_line(
        "roofline --gpu h100-sxm --op \"matmul m=4096 n=4096 k=4096 dtype=fp8\" "
        "--op \"matmul m=4096 n=4096 k=4096\"");
    REQUIRE(run.code == 0);
    CHECK(run.out.find("bf16 tensor 989 TFLOP/s, datasheet") != std::string::npos);
    CHECK(run.out.find("fp8 tensor 1979 TFLOP/s, datasheet") != std::string::npos);
}

TEST_CASE("a sweep of records joins records that differ only in x, or in the edge of squares") {
    std::vector<measure::Record> records;
    for (const char* shape : {"m=512 n=512 k=512", "m=1024 n=1024 k=1024", "m=2048 n=2048 k=2048",
                              "m=512 n=8192 k=4096", "m=1024 n=8192 k=4096", "m=1024 n=96 k=96"}) {
        records.push_back(record_of(std::string("matmul impl=wgmma ") + shape, 100));
    }
    const plot::Chart chart = plot::sweep_chart(
        cli::record_sweep(judged(records), records, model::Field::m, cli::Ordinate::rate));
    std::multiset<std::size_t> lengths;
    for (const plot::Curve& curve : chart.curves) {
        lengths.insert(curve.vertices.size());
        for (std::size_t i = 1; i < curve.vertices.size(); ++i) {
            CHECK(curve.vertices[i].x > curve.vertices[i - 1].x);
        }
    }
    CHECK(lengths == std::multiset<std::size_t>{2, 3});
    CHECK(chart.legend.size() == 1);
    CHECK_FALSE(chart.subtitle.empty());
}

TEST_CASE("a scatter chart gives errors the sign that validate prints") {
    std::vector<measure::Record> records = {
        record_of("matmul m=8192 n=8192 k=8192 impl=wgmma", 1400)};
    const measure::Validation validation = judged(records);
    const plot::Scatter scatter = cli::record_scatter(validation, records);
    const plot::SeriesPoint& point = scatter.groups.at(0).points.at(0);
    CHECK(point.y == Approx(1.0 + validation.comparisons[0].error));
    CHECK(point.x == Approx(1400.0));
    CHECK(*point.low < point.y);
    CHECK(point.y < *point.high);
    CHECK_FALSE(scatter.subtitle.empty());
}

TEST_CASE("series of a sweep are sorted by their numbers") {
    const Transcript run =
        run_line("sweep matmul --m 1024:4096:1024 --n 4096,512,1024 --k 4096 --gpu h200-sxm");
    REQUIRE(run.code == 0);
    const std::size_t first = run.out.find("n = 512");
    const std::size_t second = run.out.find("n = 1024");
    const std::size_t third = run.out.find("n = 4096");
    CHECK(first < second);
    CHECK(second < third);
    CHECK(third != std::string::npos);
}
