// Records are read as they were written; damage is named and does not spread.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <limits>
#include <thread>

#include "hardware/error.h"
#include "measure/record/record.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::example_record;
using ridge::test::TemporaryFolder;
using ridge::test::text_of;
using ridge::test::write_text;

namespace {

void check_same(const Record& a, const Record& b) {
    CHECK(key_of(a) == key_of(b));
    CHECK(a.device == b.device);
    CHECK(a.tool == b.tool);
    CHECK(a.date == b.date);
    CHECK(a.geometry == b.geometry);
    CHECK(a.verification == b.verification);
    CHECK(a.timing == b.timing);
    CHECK(a.failure == b.failure);
    CHECK(a.counters == b.counters);
    CHECK(a.before == b.before);
    CHECK(a.after == b.after);
    CHECK(a.mean_power == b.mean_power);
    CHECK(a.reference == b.reference);
    CHECK(to_json_line(a) == to_json_line(b));
}

std::string complaint_of(const std::string& line) {
    try {
        static_cast<void>(parse_record(line));
    } catch (const InputError& error) {
        return error.message();
    }
    return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a record reads back exactly") {
    const Record record = example_record();
    REQUIRE(record.measured());
    check_same(parse_record(to_json_line(record)), record);
}

TEST_CASE("early records that name the usual kernel `library` are read as that kernel") {
    const auto read_back = [](const std::string& text, const std::string& now) {
        const std::string line = to_json_line(example_record(text));
        const std::string early =
            replaced(line, "\"implementation\":\"" + now, "\"implementation\":\"library");
        CHECK(parse_record(early).question.execution.implementation ==
              model::parse_implementation(now));
        CHECK(key_of(parse_record(early)) == key_of(parse_record(line)));
    };
    read_back("copy elements=4096 impl=bundled", "bundled");
    read_back("gather rows=4 cols=8 table_rows=16 impl=bundled", "bundled");
    read_back("access pattern=strided elements=64 stride=2 impl=bundled", "bundled");
    read_back("softmax rows=4 cols=8 impl=fused", "fused");
    read_back("transpose rows=4 cols=8 impl=tiled", "tiled");
    read_back("matmul m=4 n=8 k=16 impl=library", "library");
}

TEST_CASE("every member survives, even the rare ones") {
    Record record = example_record("matmul m=64 n=64 k=64 dtype=fp16 impl=mma tile=64x64x32");
    record.device.mig = true;
    record.question.seed = 9;
    record.timing->samples[1].throttled = true;
    record.timing->samples[2].clock.reset();
    record.timing->statistics = summarise(steady_times(record.timing->samples));
    record.timing->discarded = 1;
    record.counters =
        Unavailable{.reason = "the driver keeps \"counters\" to\nadmins", .remedy = "µ: ask"};
    record.after.temperature_celsius = 1.0 / 3.0;
    record.mean_power = Power::from_base(0.1 + 0.2);
    record.reference = {.empty_kernel = 1.44 * units::us, .copy = 2.9 * units::TB / units::s};
    record.before = {};
    check_same(parse_record(to_json_line(record)), record);
}

TEST_CASE("reasons for a clock have names, unknown ones their bits") {
    CHECK(measure::clock_reason_words(0).empty());
    CHECK(measure::clock_reason_words(0x44) ==
          std::vector<std::string>{"sw_power_cap", "hw_thermal"});
    CHECK(measure::clock_reason_words(std::uint64_t{1} << 40U) ==
          std::vector<std::string>{"0x10000000000"});
}

TEST_CASE("an unknown word in a record is refused with the nearest known one") {
    try {
        static_cast<void>(measure::parse_method("activty"));
        FAIL("it is none of the words");
    } catch (const InputError& error) {
        CHECK(error.message() == "method: unknown word 'activty'");
        CHECK(error.hint() == "did you mean 'activity'?");
    }
    CHECK(measure::parse_data_pattern("zeros") == measure::DataPattern::zeros);
}

TEST_CASE("a failure and a result that is not finite survive") {
    Record record = example_record();
    record.timing.reset();
    record.failure = "wrong result";
    record.verification = Verification{.max_error = std::numeric_limits<double>::infinity(),
                                       .frobenius_error = 0.5,
                                       .tolerance = 1e-2,
                                       .checked = 4,
                                       .ok = false};
    check_same(parse_record(to_json_line(record)), record);
    record.verification->frobenius_error = std::nan("");
    CHECK(std::isnan(parse_record(to_json_line(record)).verification->frobenius_error));
}

TEST_CASE("errors in a record name the member") {
    const std::string line = to_json_line(example_record());
    CHECK(complaint_of("") == "not a line of JSON, or cut short");
    CHECK(complaint_of(line.substr(0, line.size() / 2)) == "not a line of JSON, or cut short");
    CHECK(complaint_of("[]") == "the record must be an object");
    CHECK(complaint_of("{}") == "schema is missing");
    CHECK(complaint_of(replaced(line, "\"schema\":1", "\"schema\":2")).find("another version") !=
          std::string::npos);
    CHECK(complaint_of(replaced(line, "m=1024", "m=-1")).find("m") != std::string::npos);
    CHECK(complaint_of(replaced(line, "\"sm_count\":132", "\"sm_count\":\"many\"")) ==
          "device.sm_count must be a whole number");
    CHECK(complaint_of(replaced(line, "\"l2\":\"warm\"", "\"l2\":\"hot\""))
              .find("unknown word 'hot'") != std::string::npos);
    CHECK(complaint_of(replaced(line, "\"times_s\":[", "\"times_s\":[-1.0,"))
              .find("positive times") != std::string::npos);
    CHECK(complaint_of(replaced(line, "\"times_s\":[", "\"times_s\":[0.5,")).find("as many") !=
          std::string::npos);
    CHECK(complaint_of(replaced(line, "\"median_s\":", "\"median_s\":1")).find("do not follow") !=
          std::string::npos);
    CHECK(complaint_of(replaced(line, "\"ok\":true", "\"ok\":false")) ==
          "verification must be ok when there is a time");
}

TEST_CASE("damaged and cut lines are reported with file and line, and the others are read") {
    const std::string good = to_json_line(example_record());
    const std::string text =
        good + "\n\n{\"schema\": 1\n" + good + "\nno json\n" + good.substr(0, 99);
    const RecordFile file = parse_records(text, "h200.jsonl");
    REQUIRE(file.records.size() == 2);
    CHECK(to_string(file.records[0].location) == "h200.jsonl:1");
    CHECK(to_string(file.records[1].location) == "h200.jsonl:4");
    REQUIRE(file.damaged.size() == 3);
    CHECK(to_string(file.damaged[0].location) == "h200.jsonl:3");
    CHECK(to_string(file.damaged[1].location) == "h200.jsonl:5");
    CHECK(to_string(file.damaged[2].location) == "h200.jsonl:6");
}

TEST_CASE("a file that is cut anywhere loses at most one record") {
    const std::string line = to_json_line(example_record("copy elements=4096")) + "\n";
    const std::string text = line + line;
    for (std::size_t length = 0; length <= text.size(); length += 7) {
        CAPTURE(length);
        const RecordFile file = parse_records(text.substr(0, length), "cut.jsonl");
        const std::size_t complete = (length + 1) / line.size();
        CHECK(file.records.size() == complete);
        CHECK(file.damaged.size() <= 1);
    }
}

TEST_CASE("appending removes an incomplete line and keeps a complete one") {
    const TemporaryFolder folder;
    const std::string path = folder.file("records.jsonl");
    const Record record = example_record();
    const std::string line = to_json_line(record);
    append_record(path, record);
    CHECK(text_of(path) == line + "\n");
    write_text(path, line + "\n" + line.substr(0, 200));
    append_record(path, record);
    CHECK(text_of(path) == line + "\n" + line + "\n");
    write_text(path, line);
    append_record(path, record);
    CHECK(text_of(path) == line + "\n" + line + "\n");
}

TEST_CASE("a file that is not ridge's is refused and left as it is") {
    const TemporaryFolder folder;
    const std::string path = folder.file("matmul.jsonl");
    const Record record = example_record();
    for (const std::string& foreign :
         {std::string("my notes without a line break"), std::string("{\"name\":1}\n"),
          to_json_line(record) + "\nkeep this"}) {
        CAPTURE(foreign.substr(0, 40));
        write_text(path, foreign);
        CHECK_THROWS_WITH(append_record(path, record), contains_text("not a file of records"));
        CHECK(text_of(path) == foreign);
    }
}

TEST_CASE("a signal while another program holds the file loses no record") {
    const TemporaryFolder folder;
    const std::string path = folder.file("records.jsonl");
    const Record record = example_record();
    append_record(path, record);
    const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(other >= 0);
    REQUIRE(::flock(other, LOCK_EX) == 0);

    struct sigaction quiet {};  // without SA_RESTART, so system calls return EINTR
    quiet.sa_handler = [](int) {};
    struct sigaction before {};
    REQUIRE(::sigaction(SIGUSR1, &quiet, &before) == 0);
    std::string failure;
    std::thread writer([&] {
        try {
            append_record(path, record);
        } catch (const std::exception& error) {
            failure = error.what();
        }
    });
    for (int i = 0; i < 10; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ::pthread_kill(writer.native_handle(), SIGUSR1);
    }
    ::close(other);
    writer.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    CHECK(failure.empty());
    CHECK(read_records(path).records.size() == 2);
}

TEST_CASE("a record that cannot be written is an error with the reason") {
    const Record record = example_record();
    CHECK_THROWS_WITH(append_record("/nonexistent/records.jsonl", record),
                      contains_text("cannot be opened"));
    CHECK_THROWS_WITH(append_record("/dev/full", record), contains_text("regular file"));
}

TEST_CASE("folders are read in order, and a missing path is an error") {
    const TemporaryFolder folder;
    append_record(folder.file("b.jsonl"), example_record("copy elements=4096"));
    append_record(folder.file("a.jsonl"), example_record("transpose rows=64 cols=64"));
    write_text(folder.file("notes.txt"), "not records");
    const RecordFile all = read_all_records({folder.path()});
    REQUIRE(all.records.size() == 2);
    CHECK(name_of(all.records[0].question.operation) == "transpose");
    CHECK(all.damaged.empty());
    CHECK_THROWS_AS(read_all_records({folder.file("none.jsonl")}), InputError);
}

TEST_CASE("the date is UTC in ISO 8601") {
    const std::string now = utc_now();
    REQUIRE(now.size() == 20);
    CHECK(now[4] == '-');
    CHECK(now[10] == 'T');
    CHECK(now.back() == 'Z');
}
