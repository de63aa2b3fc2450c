// Packed files of records: lines that hold differences, gzip, and what hostile files cannot do.
#include <zlib.h>

#include <string>

#include "measure/record/record.h"
#include "measure/record/record_lines.h"
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

const std::string header = "{\"schema\":2,\"records\":\"differences\"}\n";

/// The record's line without its schema: a difference that repeats everything.
std::string whole_line(const Record& record) {
    const std::string line = to_json_line(record);
    return "{" + line.substr(line.find(',') + 1);
}

/// The member of a line with its name: `"timing":{...}`, which stands last.
std::string timing_of(const Record& record) {
    const std::string line = to_json_line(record);
    const std::size_t begin = line.find("\"timing\":");
    return line.substr(begin, line.size() - begin - 1);
}

void write_gzip(const std::string& path, const std::string& text) {
    const gzFile file = gzopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
            static_cast<int>(text.size()));
    REQUIRE(gzclose(file) == Z_OK);
}

}  // namespace

TEST_CASE("a line holds what differs from the record before it") {
    Record first = example_record();
    first.question.seed = 7;
    const Record second = example_record("matmul m=64 n=64 k=64 dtype=bf16");
    const std::string text = header + whole_line(first) +
                             "\n{\"op\":\"matmul m=64 n=64 k=64\",\"seed\":null," +
                             timing_of(second) + "}\n";
    const RecordFile file = parse_records(text, "packed");
    CHECK(file.damaged.empty());
    REQUIRE(file.records.size() == 2);
    CHECK(to_json_line(file.records[0]) == to_json_line(first));
    CHECK(file.records[0].location.line == 2);
    CHECK(file.records[1].timing == second.timing);
    CHECK(file.records[1].device == first.device);
    CHECK_FALSE(file.records[1].question.seed);
    CHECK(key_of(file.records[1]) == key_of(second));
}

TEST_CASE("a record does not take over the timing of another") {
    const Record record = example_record();
    const RecordFile file = parse_records(header + whole_line(record) + "\n{}\n", "packed");
    CHECK(file.records.size() == 1);
    REQUIRE(file.damaged.size() == 1);
    CHECK(to_string(file.damaged[0].location) == "packed:3");
    CHECK(file.damaged[0].message == "failure must be there exactly when there is no time");
}

TEST_CASE("statistics that are left out follow from the samples") {
    const Record record = example_record();
    std::string line = to_json_line(record);
    const std::size_t begin = line.find("\"statistics\":");
    const std::size_t end = line.find('}', begin) + 1;
    const std::string without = line.substr(0, begin) + line.substr(end + 1);
    CHECK(to_json_line(parse_record(without)) == line);
    const std::string one =
        line.substr(0, begin) + "\"statistics\":{\"drift\":0.5}" + line.substr(end);
    CHECK(parse_record(one).timing->statistics->drift == 0.5);
    CHECK(parse_record(one).time() == record.time());
}

TEST_CASE("a record says what software ran; older ones follow from their tool") {
    const auto software = [](const std::string& text, const std::string& tool) {
        Record record = example_record(text);
        record.tool = tool;
        record.software.clear();
        return parse_record(to_json_line(record)).software;
    };
    CHECK(software("matmul m=64 n=64 k=64 impl=torch", "torch-kernels.py, PyTorch 2.11.0+cu130") ==
          "pytorch-2.11.0");
    CHECK(software("matmul m=64 n=64 k=64 impl=library", "ridge 0.1.0").starts_with("cublaslt-"));
    CHECK(software("matmul m=64 n=64 k=64 impl=mma", "ridge 0.1.0") == "bundled-0.1.0");
    CHECK(software("matmul m=64 n=64 k=64 impl=mma", "unknown").empty());

    Record collective = example_record("matmul m=64 n=64 k=64 impl=library");
    collective.question.operation = parse_question("all_reduce bytes=1024").operation;
    collective.tool = "ridge 0.2.0";
    CHECK(software_of(collective).empty());
    collective.geometry =
        Geometry{.collective = CollectiveChoice{
                     .library = "NCCL 2.28.3", .algorithm = "ring", .protocol = "ll"}};
    CHECK(software_of(collective) == "nccl-2.28.3");
}

TEST_CASE("a packed file reads as the plain one, and its damage has a line") {
    const TemporaryFolder folder;
    const std::string text = header + whole_line(example_record()) + "\n" +
                             whole_line(example_record("copy elements=4096")) + "\n";
    write_text(folder.file("plain.jsonl"), text);
    write_gzip(folder.file("packed.jsonl.gz"), text);
    const RecordFile all = read_all_records({folder.path()});
    REQUIRE(all.records.size() == 4);
    CHECK(all.damaged.empty());
    CHECK(to_json_line(all.records[1]) == to_json_line(all.records[3]));

    const std::string packed = text_of(folder.file("packed.jsonl.gz"));
    write_text(folder.file("cut.jsonl.gz"), packed.substr(0, packed.size() / 2));
    const RecordFile cut = read_records(folder.file("cut.jsonl.gz"));
    REQUIRE(cut.damaged.size() == 1);
    CHECK(cut.damaged[0].message == "the gzip stream ends too early");

    const RecordFile broken =
        parse_records(header + "{\"op\n" + whole_line(example_record()), "packed");
    CHECK(broken.records.empty());
    REQUIRE(broken.damaged.size() == 1);
    CHECK(to_string(broken.damaged[0].location) == "packed:2");
    CHECK(broken.damaged[0].message.find("are not read") != std::string::npos);
}

TEST_CASE("a small file cannot stand for a huge one") {
    const TemporaryFolder folder;
    const std::string path = folder.file("bomb.jsonl.gz");
    const auto complaint = [&](const std::string& text) {
        write_gzip(path, text);
        const RecordFile file = read_records(path);
        return file.damaged.empty() ? std::string() : file.damaged.back().message;
    };
    CHECK(complaint(std::string(std::size_t{1} << 20U, '\n')) == too_large_unpacked());
    CHECK(complaint(std::string(std::size_t{5} << 20U, ' ')) == too_large_unpacked());

    std::string lines = header + "{\"tool\":\"" + std::string(std::size_t{1} << 20U, 'x') + "\"}\n";
    for (int i = 0; i < 400; ++i) lines += "{}\n";
    const RecordFile repeated = parse_records(lines, "packed");
    CHECK(repeated.damaged.size() < 300);
    CHECK(repeated.damaged.back().message == too_large_unpacked());
}

TEST_CASE("nothing is added to a packed file") {
    const TemporaryFolder folder;
    const Record record = example_record();
    const std::string path = folder.file("matmul.jsonl.gz");
    write_gzip(path, header + whole_line(record) + "\n");
    const std::string before = text_of(path);
    CHECK_THROWS_WITH(append_record(path, record), contains_text("packed file of records"));
    CHECK(text_of(path) == before);
    write_text(path, header);
    CHECK_THROWS_WITH(append_record(path, record), contains_text("packed file of records"));
}
