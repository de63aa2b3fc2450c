// docs/glossary.md defines every term that the program prints: resources, bounds, states, and the
// labels of its blocks of text.
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "model/core/data_type.h"
#include "model/core/implementation.h"
#include "model/core/prediction.h"
#include "model/machine/occupancy.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/whole_file.h"

using namespace ridge::model;
using ridge::test::run_line;

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
