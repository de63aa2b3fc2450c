// Places in the text of an effect, and how they are filled.
#include "effects/text.h"

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

namespace {

using namespace ridge;
using namespace ridge::effects;

Study small_study() {
    StudiedSeries times{.id = "time", .name = "time"};
    times.values = {{.x = 1.0, .predicted = 2e-6, .measured = 1e-6},
                    {.x = 32.0, .name = "full", .predicted = 8e-6}};
    StudiedSeries bytes{.id = "bytes", .name = "bytes", .quantity = effects::Quantity::traffic};
    bytes.values = {{.x = 1.0, .predicted = 3e9}};
    StudiedFigure figure;
    figure.series = {times, bytes};
    Study study;
    study.figures = {figure};
    return study;
}

}  // namespace

TEST_CASE("places take values, ratios, names and facts", "[effects]") {
    const model::Catalogue catalogue = model::catalogue();
    const hardware::Description& gpu = catalogue.at("a100-sxm-80gb");
    const model::Machine machine = model::make_machine(gpu);
    const Subject subject{.machine = machine, .gpu = gpu, .catalogue = catalogue};
    const Study study = small_study();
    const Places places(study, subject, {{"mean", "1.15"}});
    std::vector<std::string> unfilled;
    const auto filled = [&](const char* text) {
        const auto paragraphs = paragraphs_of(places.claims(text, unfilled));
        return paragraphs.empty() ? std::string() : paragraphs.front();
    };
    CHECK(filled("{if measured}The measured points lie above.") ==
          "The measured points lie above.");
    Study unmeasured = study;
    for (Value& value : unmeasured.figures[0].series[0].values) value.measured.reset();
    const Places nothing(unmeasured, subject, {});
    CHECK(nothing.claims("{if measured}The measured points lie above.", unfilled).empty());
    CHECK(filled("{time@1} and {time@32}, {bytes@1}.") == "2 us and 8 us, 3 GB.");
    CHECK(filled("{time@full/time@1} or {time@1/time@32:%}") == "4 or 25 %");
    CHECK(filled("{time@1:measured}, {time@first}, {time@last}") == "1 us, 2 us, 8 us");
    CHECK(filled("{mean} on {sms} SMs") == "1.15 on 108 SMs");
    CHECK(unfilled.empty());
    CHECK(filled("One.\nTwo {time@32:measured}.\nThree {nothing@1}.\nFour.") == "One. Four.");
    CHECK(unfilled == std::vector<std::string>{"time@32:measured", "nothing@1"});
    CHECK(places.claims("One.\n\nTwo.", unfilled).size() == 2);
    // Relations choose the sentence and are kept with it.
    CHECK(filled("[time@32/time@1 > 1.05] Slower.\n| As fast.") == "Slower.");
    CHECK(filled("[time@32/time@1 < 1] Faster.\n| [time@32 ~ time@1] Alike.\n| Other.") ==
          "Other.");
    CHECK(filled("[time@32/time@1 > 1; nothing@1 > 2] Unknown.\n| Known.") == "Known.");
    const auto claims = places.claims("[time@32/time@1 ~ 4.1] Four times.", unfilled);
    REQUIRE(claims.size() == 1);
    REQUIRE(claims[0][0].relations.size() == 1);
    CHECK(claims[0][0].relations[0].a == 4.0);
    CHECK(claims[0][0].relations[0].b == 4.1);
    CHECK_FALSE(places.ratio("time@32", "time@1", Taken::measured).has_value());
    CHECK_THROWS_AS(places.claims("{time@1", unfilled), ContractViolation);
}

TEST_CASE("ratios have a direction and a distance", "[effects]") {
    CHECK(apart(2.0, 2.4) == Approx(0.2));
    CHECK(apart(2.4, 2.0) == Approx(0.2));
    CHECK(same_direction(2.0, 1.2));
    CHECK_FALSE(same_direction(2.0, 0.8));
    CHECK(same_direction(1.01, 0.99));
}

TEST_CASE("a broken table of measured points names its line", "[effects]") {
    const std::string head = "question\ttime_s\tclock_hz\tdram_bytes\tl2_bytes\n";
    const Measured good = Measured::parse(head + "copy x\t1e-06\t1.9e+09\t\t\n", "a.tsv");
    REQUIRE(good.find("copy x") != nullptr);
    CHECK(good.find("copy x")->time->in(units::us) == Approx(1.0));
    CHECK(good.find("copy x")->clock.has_value());
    CHECK_FALSE(good.find("copy x")->dram.has_value());
    CHECK(good.find("copy y") == nullptr);
    CHECK_THROWS_AS(Measured::parse(head + "copy x\tsoon\t\t\t\n", "a.tsv"), InputError);
    CHECK_THROWS_AS(Measured::parse(head + "copy x\n", "a.tsv"), InputError);
    // A row with memory alone is a measurement too.
    const Measured memory = Measured::parse(head + "memory of x\t\t\t\t\t\t4096\n", "a.tsv");
    REQUIRE(memory.find("memory of x") != nullptr);
    CHECK_FALSE(memory.find("memory of x")->time.has_value());
    CHECK(memory.find("memory of x")->memory->in(units::B) == 4096.0);
    CHECK_THROWS_AS(Measured::parse(head + "memory of x\t\t\t\t\t\tmuch\n", "a.tsv"), InputError);
}
