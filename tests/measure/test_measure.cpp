// Measuring on the fake device: order, faults, resuming and interruption.
#include <algorithm>

#include "hardware/error.h"
#include "measure/run/measure.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::h200_plan;
using ridge::test::question;
using ridge::test::TemporaryFolder;

namespace {

std::vector<Question> five_questions() {
    return {question("copy elements=1048576"), question("matmul m=512 n=512 k=512"),
            question("softmax rows=1024 cols=1024"), question("transpose rows=2048 cols=2048"),
            question("sum rows=4096 cols=512")};
}

FakePlan plan_with_fault(std::string_view operation, Fault fault) {
    FakePlan plan = h200_plan();
    plan.fault = [operation, fault](const Question& q) {
        return name_of(q.operation) == operation ? fault : Fault::none;
    };
    return plan;
}

const Record& record_of(const SuiteResult& result, std::string_view operation) {
    const auto found =
        std::find_if(result.records.begin(), result.records.end(),
                     [&](const Record& r) { return name_of(r.question.operation) == operation; });
    REQUIRE(found != result.records.end());
    return *found;
}

}  // namespace

TEST_CASE("a record holds the question, what ran and what was observed") {
    FakePlan plan = h200_plan();
    plan.bias = 1.25;
    FakeDevice device(plan);
    const std::optional<Record> record =
        measure_one(device, question("matmul m=4096 n=4096 k=4096"), {.tool = "ridge test"});
    REQUIRE(record);
    REQUIRE(record->measured());
    CHECK(record->question.execution.implementation == model::Implementation::library);
    CHECK(record->device.name == "NVIDIA H200");
    CHECK(record->tool == "ridge test");
    CHECK(record->verification->ok);
    CHECK(record->geometry->launches() == 1);
    CHECK(record->timing->method == Method::events);
    CHECK(std::holds_alternative<Counters>(record->counters));
    const auto predicted = std::get<model::Prediction>(
        model::predict(record->question.operation, record->question.execution, plan.machine));
    CHECK(record->time() / predicted.time == Approx(1.25).epsilon(0.01));
}

TEST_CASE("attention without an implementation runs the bundled kernel that suits it") {
    using model::Implementation;
    const auto chosen = [](const std::string& text, std::int32_t compute_capability) {
        return choose(question(text).operation, compute_capability);
    };
    const std::string prefill = "attention heads=8 seq=1024 head_dim=128";
    const std::string decode = "attention heads=8 seq_q=1 seq_kv=1024 head_dim=128";
    CHECK(chosen(prefill, 90) == Implementation::wgmma);
    CHECK(chosen(prefill, 80) == Implementation::mma);
    CHECK(chosen(decode, 90) == Implementation::mma);
    CHECK(chosen("attention heads=8 seq=1024 head_dim=96", 90) == Implementation::standard);
    CHECK(chosen(prefill + " dtype=fp32", 90) == Implementation::standard);

    FakeDevice device(h200_plan());
    const auto record = measure_one(device, question(prefill), {});
    REQUIRE(record);
    REQUIRE(record->measured());
    CHECK(record->question.execution.implementation == Implementation::wgmma);
}

TEST_CASE("a library's attention kernel is refused, with what to ask instead") {
    FakeDevice device(h200_plan());
    for (const std::string impl : {"flash1", "flash2", "flash3"}) {
        const auto record = measure_one(
            device, question("attention heads=8 seq=1024 head_dim=128 impl=" + impl), {});
        REQUIRE(record);
        CHECK_FALSE(record->measured());
        CHECK(record->failure->find("impl " + impl + " is a library's kernel") == 0);
        CHECK(record->failure->find("mma, wgmma (Hopper) or standard") != std::string::npos);
    }
}

TEST_CASE("an implementation that the operation does not have is refused, with those it has") {
    FakeDevice device(h200_plan());
    const auto record = measure_one(device, question("copy elements=4096 impl=library"), {});
    REQUIRE(record);
    CHECK_FALSE(record->measured());
    CHECK(record->failure->find("impl library is not an implementation of copy; it has bundled") ==
          0);
}

TEST_CASE("a wrong kernel is never timed") {
    int sampled = 0;
    FakePlan plan = plan_with_fault("copy", Fault::wrong_result);
    plan.on_sample = [&sampled] { ++sampled; };
    FakeDevice device(plan);
    const std::optional<Record> record = measure_one(device, question("copy elements=4096"), {});
    REQUIRE(record);
    CHECK_FALSE(record->measured());
    CHECK_FALSE(record->timing);
    CHECK(record->failure->find("wrong result") == 0);
    CHECK(sampled == 0);
}

TEST_CASE("one failing case becomes a record and the others are measured") {
    for (const auto& [fault, words] :
         {std::pair(Fault::unavailable, "no bundled kernel"), std::pair(Fault::failing, "700"),
          std::pair(Fault::wrong_result, "wrong result"),
          std::pair(Fault::all_throttled, "samples were throttled")}) {
        CAPTURE(words);
        FakeDevice device(plan_with_fault("softmax", fault));
        const SuiteResult result = measure_suite(device, five_questions(), {});
        CHECK(result.records.size() == 5);
        CHECK(result.remaining == 0);
        const Record& failed = record_of(result, "softmax");
        REQUIRE(failed.failure);
        CHECK(failed.failure->find(words) != std::string::npos);
        CHECK_FALSE(failed.measured());
        CHECK(record_of(result, "sum").measured());
        // A case that cannot be timed still makes a record that reads back.
        CHECK(parse_record(to_json_line(failed)).failure == failed.failure);
    }
}

TEST_CASE("throttled samples are discarded and reported") {
    FakeDevice device(plan_with_fault("copy", Fault::some_throttled));
    const std::optional<Record> record =
        measure_one(device, question("copy elements=67108864"), {});
    REQUIRE(record->measured());
    CHECK(record->timing->discarded > 0);
    FakeDevice quiet(h200_plan());
    const std::optional<Record> reference =
        measure_one(quiet, question("copy elements=67108864"), {});
    CHECK(record->time() / reference->time() == Approx(1.0).epsilon(0.01));
}

TEST_CASE("without counters there are times, and a reason for the missing counters") {
    FakePlan plan = h200_plan();
    remove_feature(plan, "counters", "the driver keeps counters to administrators");
    FakeDevice device(plan);
    const std::optional<Record> record = measure_one(device, question("copy elements=1048576"), {});
    REQUIRE(record->measured());
    CHECK(std::get<Unavailable>(record->counters).reason ==
          "the driver keeps counters to administrators");
    const std::optional<Record> unasked =
        measure_one(device, question("copy elements=1048576"), {.counters = {}});
    CHECK(std::get<Unavailable>(unasked->counters).reason == "not requested");
}

TEST_CASE("a fatal error stops the run; its record is kept and the rest is left for later") {
    const TemporaryFolder folder;
    FakeDevice device(plan_with_fault("softmax", Fault::fatal));
    const SuiteResult result = measure_suite(device, five_questions(), {.folder = folder.path()});
    REQUIRE(result.stopped);
    CHECK(result.records.size() == 3);
    CHECK(result.remaining == 2);
    FakeDevice second(h200_plan());
    const SuiteResult rest = measure_suite(second, five_questions(), {.folder = folder.path()});
    CHECK(rest.skipped == 3);
    CHECK(rest.records.size() == 2);
    FakeDevice third(h200_plan());
    const SuiteResult retried = measure_suite(
        third, five_questions(), {.folder = folder.path(), .failures = Failures::retry});
    CHECK(retried.skipped == 4);
    CHECK(record_of(retried, "softmax").measured());
}

TEST_CASE("a second run skips existing records, and an interrupted run can be continued") {
    const TemporaryFolder folder;
    bool stop = false;
    SuiteOptions options;
    options.folder = folder.path();
    options.measuring.hooks.interrupted = [&stop] { return stop; };
    options.progress = [&stop](const SuiteProgress& progress) { stop = progress.done == 2; };
    FakeDevice device(h200_plan());
    const SuiteResult first = measure_suite(device, five_questions(), options);
    CHECK(first.interrupted);
    CHECK(first.records.size() == 2);
    CHECK(first.remaining == 3);
    CHECK(read_all_records({folder.path()}).records.size() == 2);

    const SuiteResult second = measure_suite(device, five_questions(), {.folder = folder.path()});
    CHECK(second.skipped == 2);
    CHECK(second.records.size() == 3);
    const SuiteResult third = measure_suite(device, five_questions(), {.folder = folder.path()});
    CHECK(third.skipped == 5);
    CHECK(third.records.empty());
    const RecordFile all = read_all_records({folder.path()});
    CHECK(all.records.size() == 5);
    CHECK(all.damaged.empty());
}

TEST_CASE("a run continues despite damaged records") {
    const TemporaryFolder folder;
    FakeDevice device(h200_plan());
    const std::vector<Question> one{question("copy elements=4096")};
    static_cast<void>(measure_suite(device, one, {.folder = folder.path()}));
    const std::string path = record_path(folder.path(), one.front().operation);
    test::write_text(path, "garbage\n" + test::text_of(path) + "{\"schema\":1,\"op\":\"cop");
    const std::vector<Question> two{question("copy elements=4096"), question("copy elements=8192")};
    const SuiteResult result = measure_suite(device, two, {.folder = folder.path()});
    CHECK(result.damaged.size() == 2);
    CHECK(result.skipped == 1);
    const RecordFile after = read_records(path);
    CHECK(after.records.size() == 2);
    CHECK(after.damaged.size() == 1);  // the incomplete tail is removed, the damaged line is kept
}

TEST_CASE("two runs of the fake agree, and the progress counts to the end") {
    std::vector<SuiteProgress> seen;
    SuiteOptions options;
    options.progress = [&seen](const SuiteProgress& progress) { seen.push_back(progress); };
    FakeDevice a(h200_plan());
    FakeDevice b(h200_plan());
    const SuiteResult first = measure_suite(a, five_questions(), options);
    const SuiteResult second = measure_suite(b, five_questions(), {});
    REQUIRE(first.records.size() == second.records.size());
    for (std::size_t i = 0; i < first.records.size(); ++i) {
        CHECK(first.records[i].time() / second.records[i].time() == Approx(1.0).epsilon(0.01));
    }
    REQUIRE(seen.size() == 6);
    CHECK_FALSE(seen.front().seconds_left);
    CHECK(seen.back().done == 5);
    CHECK(seen.back().current.empty());
}
