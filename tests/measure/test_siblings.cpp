// A slow, a hot and a throttled GPU, and a slow link, planted in made records, are named; others are not.
#include <fstream>

#include "measure/judge/siblings.h"
#include "measure/ranks/link_standing.h"
#include "measure/ranks/link_survey_json.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/measure/run_on.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::catalogue;
using ridge::test::h200_plan;
using ridge::test::holds;
using ridge::test::question;

namespace {

const std::vector<std::string> asked{
    "matmul m=4096 n=4096 k=4096", "matmul m=8192 n=8192 k=8192",
    "matmul m=8192 n=4096 k=4096", "copy elements=268435456",
    "copy elements=536870912",     "softmax rows=16384 cols=8192",
    "copy elements=4096",          "elementwise elements=4096 expr=exp(x)",
    "copy elements=8192"};

/// Records of one GPU of four, whose times are `bias` times the usual ones.
std::vector<Record> records_of(int number, double bias = 1.0) {
    FakePlan plan = h200_plan();
    plan.bias = bias;
    plan.seed = static_cast<std::uint64_t>(number);
    plan.info.serial = "GPU-0000000" + std::to_string(number) + "-aaaa";
    plan.info.host = number < 2 ? "node1" : "node2";
    FakeDevice device(plan);
    std::vector<Record> records;
    for (const std::string& text : asked) {
        records.push_back(*measure_one(device, question(text), {}));
    }
    return records;
}

std::vector<GpuStanding> standings_of(const std::vector<Record>& records) {
    return compare_siblings(records, validate(records, catalogue(), model::View::calibrated));
}

void add(std::vector<Record>& all, std::vector<Record> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
}

/// Four GPUs of two hosts; `change` plants a fault in the records of the last one.
template <class Change>
std::vector<GpuStanding> fleet(Change change) {
    std::vector<Record> all;
    for (int number = 0; number < 3; ++number) add(all, records_of(number));
    std::vector<Record> last = records_of(3);
    for (Record& record : last) change(record);
    add(all, std::move(last));
    return standings_of(all);
}

void slow_down(Record& record, double factor) {
    for (Sample& sample : record.timing->samples) sample.time = sample.time * factor;
    record.timing->statistics->median *= factor;
}

}  // namespace

TEST_CASE("GPUs that are alike have no fault") {
    for (const GpuStanding& gpu : fleet([](Record&) {})) {
        CAPTURE(gpu.label, gpu.worst());
        CHECK(gpu.faults.empty());
        CHECK(gpu.shared == static_cast<std::int64_t>(asked.size()));
        CHECK(gpu.worst() < 1.02);
    }
}

TEST_CASE("a GPU whose kernels bound by DRAM are slow is named first, with what is slow") {
    const auto standings = fleet([](Record& record) {
        const bool streams = name_of(record.question.operation) == "copy" ||
                             name_of(record.question.operation) == "softmax";
        if (streams) slow_down(record, 1.06);
    });
    const GpuStanding& first = standings.front();
    CHECK(first.label == "GPU-00000003 on node2");
    REQUIRE(first.faults.size() == 1);
    CHECK(holds(first.faults[0], "kernels bound by DRAM take 6."));
    CHECK(first.work[static_cast<std::size_t>(WorkKind::compute)]->ratio ==
          Approx(1.0).epsilon(0.02));
    for (std::size_t i = 1; i < standings.size(); ++i) CHECK(standings[i].faults.empty());
}

TEST_CASE("a hot and throttled GPU is named with the reasons of its clocks") {
    const auto standings = fleet([](Record& record) {
        record.after.temperature_celsius = *record.after.temperature_celsius + 20.0;
        record.after.clock_reasons = {"idle", "sw_thermal"};
        record.timing->discarded = static_cast<std::int64_t>(record.timing->samples.size()) / 2;
    });
    int named = 0;
    for (const GpuStanding& gpu : standings) {
        if (gpu.faults.empty()) continue;
        ++named;
        CHECK(gpu.label == "GPU-00000003 on node2");
        REQUIRE(gpu.faults.size() == 2);
        CHECK(holds(gpu.faults[0], "hot: "));
        CHECK(holds(gpu.faults[1], "throttled: 50 % of its samples"));
        CHECK(holds(gpu.faults[1], "(sw_thermal)"));
    }
    CHECK(named == 1);
}

TEST_CASE("records without a serial stand for the GPU of their folder") {
    std::vector<Record> all = records_of(0);
    add(all, records_of(1, 1.2));
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].device.serial.clear();
        all[i].location.file = i < asked.size() ? "fleet/a/copy.jsonl" : "fleet/b/copy.jsonl";
    }
    const auto standings = standings_of(all);
    REQUIRE(standings.size() == 2);
    CHECK(standings[0].label == "b");
    CHECK(standings[0].faults.size() == 3);
    CHECK(standings[1].label == "a");
    CHECK(standings[1].faults.empty());
}

TEST_CASE("serial and host are kept in a record, and absent in older ones") {
    const Record record = records_of(2).front();
    const Record read = parse_record(to_json_line(record));
    CHECK(read.device.serial == "GPU-00000002-aaaa");
    CHECK(read.device.host == "node2");
    Record older = record;
    older.device.serial.clear();
    older.device.host.clear();
    CHECK_FALSE(holds(to_json_line(older), "serial"));
    CHECK(parse_record(to_json_line(older)).device.serial.empty());
}

TEST_CASE("a folder of another GPU's records does not answer for this one") {
    const test::TemporaryFolder folder;
    const std::string line = "measure copy --elements 4096 -o " + folder.path();
    FakePlan plan = h200_plan();
    plan.info.serial = "GPU-1";
    CHECK(test::run_on(plan, line).code == 0);
    CHECK(holds(test::run_on(plan, line).err, "1 already there"));
    plan.info.serial = "GPU-2";
    CHECK_FALSE(holds(test::run_on(plan, line).err, "1 already there"));
    CHECK(read_all_records({folder.path()}).records.size() == 2);
    const test::Transcript fleet = test::run_on(plan, "validate " + folder.path() + " --by gpu");
    CAPTURE(fleet.out, fleet.err);
    CHECK(fleet.code == 0);
    CHECK(holds(fleet.out, "GPU-1"));
    CHECK(holds(fleet.out, "nothing stands out"));
}

namespace {

LinkSurvey survey_of_four(const std::string& host) {
    const auto rate = [](double gigabytes) { return gigabytes * units::GB / units::s; };
    LinkSurvey survey{
        .gpus = std::vector<std::string>(4, "NVIDIA H200"),
        .host_name = host,
        .one_way = PairTable<Bandwidth>(4, {4, rate(393.0)}),
        .both_ways = PairTable<Bandwidth>(4, {4, rate(778.0)}),
        .load = PairTable<Time>(4, {4, 0.85 * units::us}),
        .host = std::vector<HostLink>(4, {.to_device = rate(55.0), .to_host = rate(55.2)})};
    return survey;
}

}  // namespace

TEST_CASE("a slow link is named first; surveys read back as they were written") {
    const test::TemporaryFolder folder;
    LinkSurvey slow = survey_of_four("node7");
    slow.one_way[2][3] = *slow.one_way[2][3] * 0.7;
    int number = 0;
    for (const LinkSurvey& survey : {survey_of_four("node6"), slow}) {
        Json json = json_of(survey);
        json["schema"] = link_survey_schema;
        std::ofstream(folder.path() + "/links" + std::to_string(++number) + ".json") << json.text();
    }
    std::ofstream(folder.path() + "/other.json") << "{\"schema\": \"ridge/plan/1\"}";
    const std::vector<LinkSurvey> read = surveys_in({folder.path()});
    REQUIRE(read.size() == 2);
    CHECK(read[1].host_name == "node7");
    CHECK(read[1].one_way[2][3]->base() == slow.one_way[2][3]->base());
    const std::vector<LinkStanding> standings = compare_links(read);
    CHECK(standings[0].link == "GPU 2 to GPU 3 on node7");
    CHECK(standings[0].slow);
    CHECK(standings[0].ratio == Approx(0.7));
    for (std::size_t i = 1; i < standings.size(); ++i) CHECK_FALSE(standings[i].slow);
}

TEST_CASE("a survey whose tables do not fit its GPUs is refused by name") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/broken.json";
    Json json = json_of(survey_of_four("node1"));
    json["schema"] = link_survey_schema;
    json["gpus"] = Json::array({"NVIDIA H200"});
    std::ofstream(path) << json.text();
    CHECK_THROWS_AS(surveys_in({path}), InputError);
}
