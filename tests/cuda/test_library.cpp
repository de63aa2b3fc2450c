// Finding libraries at run time. None of CUDA's libraries is needed.
#include "measure/cuda/libraries/driver.h"
#include "measure/cuda/libraries/shared_library.h"
#include "tests/catch.h"

using namespace ridge::measure;
using namespace ridge::measure::cuda;

TEST_CASE("A missing library gives a reason and a remedy") {
    const auto found = SharedLibrary::open({.label = "Nothing",
                                            .sonames = {"libridge-no-such-library.so.1"},
                                            .variable = "RIDGE_TEST_NOTHING_PATH",
                                            .companions = {},
                                            .remedy = "install nothing"});
    const auto* missing = std::get_if<Unavailable>(&found);
    REQUIRE(missing != nullptr);
    CHECK(missing->reason.find("Nothing was not found (libridge-no-such-library.so.1") !=
          std::string::npos);
    CHECK(missing->remedy ==
          "install nothing, or set RIDGE_TEST_NOTHING_PATH to the folder that holds it");
}

TEST_CASE("A library that is found gives its functions and lists the missing ones") {
    const auto found =
        SharedLibrary::open({.label = "the maths library", .sonames = {"libm.so.6"}});
    const auto* library = std::get_if<SharedLibrary>(&found);
    REQUIRE(library != nullptr);
    SymbolReader reader(*library);
    double (*cosine)(double) = nullptr;
    double (*nonsense)(double) = nullptr;
    reader.read("cos", cosine);
    REQUIRE(cosine != nullptr);
    CHECK(cosine(0.0) == Approx(1.0));
    reader.read("ridge_no_such_function", nonsense);
    CHECK(nonsense == nullptr);
    CHECK(reader.missing() == "ridge_no_such_function");
}

TEST_CASE("Kernel names are readable") {
    CHECK(readable_name("_ZN5ridge7measure4cuda51_GLOBAL__N__f0a1b2c3_9_stream_cu_12345678_"
                        "4231123copy_kernelEPKvPv")
              .find("copy_kernel") != std::string::npos);
    CHECK(readable_name("nvjet_sm90_tst_256x128") == "nvjet_sm90_tst_256x128");
    CHECK(readable_name("_Z6kernelILi4EEvPf") == "kernel<4>");
}
