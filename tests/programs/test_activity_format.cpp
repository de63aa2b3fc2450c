// The format of activity files: files that are cut, hostile, newer or already there, and the
// options of a recording as text.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "programs/recording/activity_writer.h"
#include "programs/recording/recording_options.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"
#include "tests/programs/activity_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::programs;
using namespace ridge::test;

TEST_CASE("A file that is cut anywhere gives what precedes the cut and says where it ends") {
    const TemporaryFolder folder;
    write_process(folder.file("whole"), {});
    const std::string whole = text_of(folder.file("whole"));
    std::size_t kernels = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string file = folder.file("cut");
        write_text(file, whole.substr(0, size));
        if (size < activity_magic.size()) {
            CHECK_FALSE(is_activity_file(file));
            continue;
        }
        const Trace trace = read_trace(file);
        REQUIRE(trace.kernels.size() >= kernels);
        REQUIRE(trace.kernels.size() <= kernels + 1);
        kernels = trace.kernels.size();
        // A file cut between two records is undamaged; only its end is missing.
        if (trace.read.damage.empty()) {
            CHECK(trace.read.bytes == size);
        } else {
            CHECK(trace.read.bytes < size);
        }
    }
    CHECK(kernels == 3);
}

TEST_CASE("A hostile record ends the reading at its place") {
    const TemporaryFolder folder;
    const auto damage_of = [&folder](const auto& write) {
        const std::string file = folder.file("hostile");
        std::filesystem::remove(file);
        {
            ActivityWriter writer;
            REQUIRE(writer.open(file));
            writer.write(ProcessActivity{});
            write(writer);
            writer.write(FinishActivity{});
        }
        return read_trace(file).read.damage;
    };
    constexpr std::uint64_t never = ~std::uint64_t{0};
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(KernelActivity{});
          }).find("names shape 0 of 0") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              static_cast<void>(writer.shape({.name = 7}));
          }).find("names text 7 of 0") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.copy({.start_ns = never, .duration_ns = never});
          }).find("out of range") != std::string::npos);
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(SampleActivity{.duration_ns = never});
          }).find("out of range") != std::string::npos);
    // An extra pop, a stop without a start and an absurd count of lost records are not damage.
    CHECK(damage_of([](ActivityWriter& writer) {
              writer.write(PopActivity{});
              writer.write(StopActivity{.time_ns = never, .id = 5});
              writer.write(LostActivity{.records = never});
              writer.write(LostActivity{.records = never});
          }).empty());
}

TEST_CASE("A reader skips records and fields that it does not know") {
    const TemporaryFolder folder;
    write_process(folder.file("a"), {});
    std::string bytes = text_of(folder.file("a"));
    const auto record = [](std::uint32_t tag, const std::string& payload) {
        const std::uint32_t head = tag | static_cast<std::uint32_t>(payload.size()) << 8U;
        std::string text(sizeof head, '\0');
        std::memcpy(text.data(), &head, sizeof head);
        return text + payload;
    };
    bytes += record(200, "something of the future");
    std::string longer;
    KernelActivity kernel{.start_ns = 2 * second, .duration_ns = 9, .correlation = 99};
    FieldWriter writer(longer);
    describe(writer, kernel);
    bytes += record(static_cast<std::uint32_t>(ActivityTag::kernel), longer + "more");
    bytes += record(static_cast<std::uint32_t>(ActivityTag::kernel), longer.substr(0, 20));
    write_text(folder.file("b"), bytes);
    const Trace trace = read_trace(folder.file("b"));
    CHECK(trace.read.damage.empty());
    REQUIRE(trace.kernels.size() == 5);
    CHECK(trace.kernels[3].duration_ns == 9);
    CHECK(trace.kernels[4].duration_ns == 9);
}

TEST_CASE("The first record names every field of every record") {
    const std::string schema = activity_schema();
    CHECK(schema.find("6 kernel start_ns:u64 duration_ns:u64 shape:u32") != std::string::npos);
    CHECK(schema.find("18 finish time_ns:u64\n") != std::string::npos);
    const TemporaryFolder folder;
    write_process(folder.file("a"), {});
    CHECK(text_of(folder.file("a")).find(schema) == activity_magic.size() + 4);
}

TEST_CASE("An existing file is not overwritten, and the folder must exist") {
    const TemporaryFolder folder;
    write_process(folder.file("a"), {});
    ActivityWriter again;
    CHECK_FALSE(again.open(folder.file("a")));
    ActivityWriter nowhere;
    CHECK_FALSE(nowhere.open(folder.file("no/such/folder")));
}

TEST_CASE("Options are passed to the library as text") {
    const RecordingOptions options{.prefix = "/tmp/a=b\nc",
                                   .run = 18446744073709551615U,
                                   .wait_for_start = true,
                                   .whole_graphs = true,
                                   .delay_ms = 5,
                                   .duration_ms = 6,
                                   .counted = 2,
                                   .sample_ns = 100000,
                                   .once = true,
                                   .repeats = true,
                                   .stalls = true,
                                   .continued = true};
    const auto back = recording_options_of(to_text(options));
    REQUIRE(back);
    CHECK(back->prefix == options.prefix);
    CHECK(back->run == options.run);
    CHECK(back->wait_for_start);
    CHECK(back->whole_graphs);
    CHECK(back->delay_ms == 5);
    CHECK(back->duration_ms == 6);
    CHECK(back->counted == 2);
    CHECK(back->sample_ns == 100000);
    CHECK(back->once);
    CHECK(back->repeats);
    CHECK(back->continued);
    CHECK(back->stalls);
    CHECK_FALSE(recording_options_of(""));
    CHECK_FALSE(recording_options_of("run=5\n"));
}
