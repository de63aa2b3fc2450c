// The example in docs/gpu-files.md loads. Its list of fields is tested in tests/model.
#include "hardware/catalogue.h"
#include "hardware/document.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

TEST_CASE("the example of a GPU file loads as it is") {
    const std::string page = read_text_file(RIDGE_DOCS "/gpu-files.md");
    const std::size_t begin = page.find("```toml\n") + 8;
    const std::string example = page.substr(begin, page.find("```", begin) - begin);
    Catalogue catalogue = Catalogue::embedded(device_schema());
    CHECK(catalogue.add_text(example, "example") == "toy-100");
    const Description& gpu = catalogue.at("ACME Toy 100 32GB");
    CHECK(gpu.count("limits.threads_per_sm") == 2048);
    CHECK(gpu.find("dram.bandwidth")->disputes.size() == 1);
}
