// docs/glossary.md defines every term that the program prints: resources, bounds, states, and the
// labels of its blocks of text.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/core/data_type.h"
#include "model/core/implementation.h"
#include "model/core/prediction.h"
#include "model/machine/occupancy.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/whole_file.h"

using namespace ridge::model;
using ridge::test::run_line;
using ridge::test::Transcript;

namespace {

std::string glossary() {
    return ridge::test::text_of(RIDGE_GLOSSARY);
}

/// Labels of the lines such as "  lower bound   139 us": the words before the column of values.
std::set<std::string> labels_of(const std::string& output) {
    std::set<std::string> labels;
    std::istringstream stream(output);
    for (std::string line; std::getline(stream, line);) {
        if (line.size() < 17 || line.rfind("  ", 0) != 0 || line[2] == ' ' || line[15] != ' ' ||
            line[14] != ' ' || line[16] == ' ') {
            continue;
        }
        std::string label = line.substr(2, 12);
        label.erase(label.find_last_not_of(' ') + 1);
        if (label.find("  ") == std::string::npos) labels.insert(label);
    }
    return labels;
}

}  // namespace

TEST_CASE("the glossary defines every resource, bound, state and type") {
    const std::string page = glossary();
    const auto defined = [&page](std::string_view term) {
        INFO("'" << term << "' is not in docs/glossary.md");
        CHECK(page.find("**" + std::string(term) + "**") != std::string::npos);
    };
    for (int i = 0; i <= static_cast<int>(Resource::parallelism); ++i) {
        defined(name_of(static_cast<Resource>(i)));
    }
    for (const Bound bound : {Bound::memory, Bound::compute}) {
        CHECK(page.find('`' + std::string(name_of(bound)) + '`') != std::string::npos);
    }
    for (const Confidence confidence :
         {Confidence::roofline, Confidence::family, Confidence::calibrated}) {
        defined(name_of(confidence));
    }
    for (std::size_t i = 0; i < occupancy_limiter_count; ++i) {
        defined(name_of(static_cast<OccupancyLimiter>(i)));
    }
    for (const L2State state : {L2State::warm, L2State::cold, L2State::dirty}) {
        defined(name_of(state));
    }
    for (const LaunchMode mode : {LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream}) {
        defined(name_of(mode));
    }
    for (const char* term : {"MFU", "MBU", "TTFT", "TPOT", "dominated", "wall", "reserved",
                             "allocated", "basis", "coalescing", "fusion", "divergence", "bank",
                             "CTA", "grid", "at least", "host late", "avoidable"}) {
        defined(term);
    }
    for (const DataType type : all_data_types) {
        CHECK(page.find(name_of(type)) != std::string::npos);
    }
}

TEST_CASE("the glossary defines the labels of every block of text") {
    const std::string page = glossary();
    std::set<std::string> labels;
    for (const char* line :
         {"predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm --explain",
          "predict matmul --m 4096 --n 4096 --k 4095 --gpu h100-sxm --explain",
          "predict attention --heads 32 --seq 4096 --head-dim 128 --impl flash3 --gpu "
          "a100-sxm-80gb",
          "predict softmax --rows 4096 --cols 4096 --gpu l40s",
          "predict --op \"copy elements=4096\" --op \"sum rows=64 cols=64\" --gpu h100-sxm",
          "occupancy --threads 256 --registers 64 --shared 48KiB --gpu a100-sxm-80gb"}) {
        const std::set<std::string> found = labels_of(run_line(line).out);
        INFO(line);
        CHECK_FALSE(found.empty());
        labels.insert(found.begin(), found.end());
    }
    CHECK(labels.contains("lower bound"));
    for (const std::string& label : labels) {
        INFO("'" << label << "' is not in docs/glossary.md");
        CHECK(page.find("**" + label + "**") != std::string::npos);
    }
}

namespace {

/// The titles of the columns of every table in an output: the words above a line of dashes, each
/// as wide as its dashes.
std::set<std::string> columns_of(const std::string& output) {
    std::set<std::string> titles;
    std::istringstream stream(output);
    std::string above;
    for (std::string line; std::getline(stream, line); above = line) {
        const bool rule = line.find("---") != std::string::npos &&
                          line.find_first_not_of("- ") == std::string::npos;
        if (!rule) continue;
        for (std::size_t at = line.find('-'); at != std::string::npos;
             at = line.find('-', line.find(' ', at))) {
            const std::size_t end = std::min(line.find(' ', at), line.size());
            std::string title = at < above.size() ? above.substr(at, end - at) : "";
            title.erase(0, std::min(title.find_first_not_of(' '), title.size()));
            title.erase(title.find_last_not_of(' ') + 1);
            if (!title.empty()) titles.insert(title);
            if (end == line.size()) break;
        }
    }
    return titles;
}

}  // namespace

TEST_CASE("the glossary defines the columns of every table") {
    const std::string page = glossary();
    std::set<std::string> titles;
    for (const std::string& line : std::vector<std::string>{
             "predict matmul --m 512 --n 512 --k 512 --dtype bf16,fp8 --gpu h100",
             "predict --op \"copy elements=4096\" --op \"sum rows=64 cols=64\" --gpu h100",
             "predict softmax --rows 512 --cols 512 --gpu h100 --explain",
             "compare softmax --rows 64 --cols 64 --gpu h100,l40s",
             "compare model gpt2 --gpu h100,a100",
             "sweep copy --elements 1000:100000:*10 --gpu h100 --format table",
             "roofline --op \"matmul m=512 n=512 k=512\" --gpu h100 --format table",
             "vram softmax --rows 64 --cols 64 --gpu h100",
             "vram attention --heads 8 --seq 512 --head-dim 64 --impl torch-flash --gpu h100",
             "vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128 --gpu h100",
             "vram gpt2 --gpu h100",

             "model gpt2 --gpu h100 --serve --seq 512",
             "model gpt2 --gpu h100 --advise",
             "plan gpt2 --gpu h100 --price 2",
             "effect bank-conflicts --gpu h200 --format table",
             "occupancy --threads 256 --gpu h100",
             "gpus",
             "ops",
             "ops matmul",
             "effect list"}) {
        const Transcript answer = run_line(line);
        INFO(line << answer.err);
        CHECK(answer.code == 0);
        titles.merge(columns_of(answer.out));
    }
    CHECK(titles.size() > 40);
    for (const std::string& title : titles) {
        INFO("the column '" << title << "' is not in docs/glossary.md");
        CHECK(page.find("**" + title + "**") != std::string::npos);
    }
}
