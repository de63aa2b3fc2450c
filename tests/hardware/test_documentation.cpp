// docs/gpu-files.md names every field with its meaning, and its examples load.
#include "hardware/catalogue.h"
#include "hardware/document.h"
#include "hardware/schema.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::hardware;

TEST_CASE("every field is documented") {
    const std::string page = read_text_file(RIDGE_DOCS "/gpu-files.md");
    for (const Field& field : schema()) {
        CAPTURE(field.path);
        CHECK(page.find("| `" + std::string(field.path) + "` |") != std::string::npos);
        CHECK(page.find("| " + std::string(field.meaning)) != std::string::npos);
    }
}

TEST_CASE("the example of a file works as it stands") {
    const std::string page = read_text_file(RIDGE_DOCS "/gpu-files.md");
    const std::size_t begin = page.find("```toml\n") + 8;
    const std::string example = page.substr(begin, page.find("```", begin) - begin);
    Catalogue catalogue = Catalogue::embedded();
    CHECK(catalogue.add_text(example, "example") == "toy-100");
    const Description& gpu = catalogue.at("ACME Toy 100 32GB");
    CHECK(gpu.count("limits.threads_per_sm") == 2048);
    CHECK(gpu.find("dram.bandwidth")->disputes.size() == 1);
}
