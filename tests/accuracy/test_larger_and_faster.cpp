// Calls of PyTorch that take less time although they are larger: measured, and predicted alike. They are
// why docs/reliability.md does not say that more work is never faster.
//
// Each pair is two records of one GPU's folders (records/GPU, GPU-judge, GPU-torch, GPU-torch-judge) that
// differ only in their sizes, or in their type and sizes; no size of the second is smaller or aligned better.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/catalogue/catalogue.h"
#include "tests/accuracy/reference.h"
#include "tests/catch.h"

namespace ridge::measure {
namespace {

struct Pair {
    const char* smaller;
    const char* larger;
    double factor;  ///< how many times as long the smaller one takes
};

constexpr std::array h200{
    Pair{"scan dtype=fp32 rows=8192 cols=8 impl=torch l2=cold launch=kernel",
         "scan dtype=fp32 rows=8192 cols=32 impl=torch l2=cold launch=kernel", 19.8},
    Pair{"matmul dtype=fp32 m=16 n=192 k=128 impl=torch l2=cold launch=kernel",
         "matmul dtype=fp32 m=24 n=315 k=128 impl=torch l2=cold launch=kernel", 11.1},
    Pair{"argmax dtype=fp32 rows=64 cols=7616 impl=torch l2=cold launch=kernel",
         "argmax dtype=fp32 rows=64 cols=16384 impl=torch l2=cold launch=kernel", 4.6},
    Pair{"max dtype=fp16 rows=64 cols=7857 impl=torch l2=cold launch=kernel",
         "max dtype=fp16 rows=64 cols=14067 impl=torch l2=cold launch=kernel", 4.9},
    Pair{"max dtype=fp32 rows=192 cols=16 axis=columns impl=torch l2=cold launch=kernel",
         "max dtype=fp32 rows=512 cols=16 axis=columns impl=torch l2=cold launch=kernel", 4.5},
    Pair{"mean dtype=fp32 rows=64 cols=6592 impl=torch l2=cold launch=kernel",
         "mean dtype=fp32 rows=256 cols=9563 impl=torch l2=cold launch=kernel", 3.9},
    Pair{"sum dtype=fp32 rows=34 cols=6792 impl=torch l2=cold launch=kernel",
         "sum dtype=fp32 rows=47 cols=20316 impl=torch l2=cold launch=kernel", 3.5},
    Pair{"softmax dtype=bf16 rows=2 cols=2048 impl=torch l2=cold launch=kernel",
         "softmax dtype=bf16 rows=2 cols=3255 impl=torch l2=cold launch=kernel", 3.9},
    Pair{"gather dtype=bf16 rows=25928 cols=16 table_rows=331 impl=torch l2=cold launch=kernel",
         "gather dtype=bf16 rows=55431 cols=19 table_rows=459 impl=torch l2=cold launch=kernel",
         2.7},
    Pair{"adamw dtype=fp32 inputs=2 elements=111418 impl=fused l2=cold launch=kernel",
         "adamw dtype=fp32 inputs=6 elements=125010 impl=fused l2=cold launch=kernel", 2.2}};
constexpr std::array h100{Pair{
    "rmsnorm dtype=bf16 rows=65536 cols=24 direction=backward impl=torch l2=cold launch=kernel",
    "rmsnorm dtype=bf16 rows=74736 cols=24 direction=backward impl=torch l2=cold launch=kernel",
    3.2}};

/// Calls with a narrower type, no size of which is larger, that take longer.
constexpr std::array narrower_h200{
    Pair{"adamw dtype=bf16 inputs=2 elements=104248 impl=fused l2=cold launch=kernel",
         "adamw dtype=fp32 inputs=18 elements=137484 impl=fused l2=cold launch=kernel", 3.19},
    Pair{"argmax dtype=bf16 rows=256 cols=428 axis=columns impl=torch l2=cold launch=kernel",
         "argmax dtype=fp32 rows=256 cols=6385 axis=columns impl=torch l2=cold launch=kernel",
         3.28},
    Pair{"cross_entropy dtype=bf16 rows=4 cols=2048 impl=torch l2=cold launch=kernel",
         "cross_entropy dtype=fp32 rows=4 cols=2480 impl=torch l2=cold launch=kernel", 2.22},
    Pair{"matmul dtype=fp16 m=13 n=16 k=8193 b_layout=column impl=torch l2=cold launch=kernel",
         "matmul dtype=fp32 m=81 n=45 k=11425 b_layout=column impl=torch l2=cold launch=kernel",
         5.73},
    Pair{"max dtype=bf16 rows=3872 cols=40 axis=columns impl=torch l2=cold launch=kernel",
         "max dtype=fp32 rows=5016 cols=402 axis=columns impl=torch l2=cold launch=kernel", 7.52},
    Pair{"mean dtype=fp16 rows=4032 cols=32 axis=columns impl=torch l2=cold launch=kernel",
         "mean dtype=fp32 rows=4096 cols=70 axis=columns impl=torch l2=cold launch=kernel", 3.99},
    Pair{"softmax dtype=bf16 rows=2 cols=2048 impl=torch l2=cold launch=kernel",
         "softmax dtype=fp32 rows=2 cols=2295 impl=torch l2=cold launch=kernel", 4.36},
    Pair{"sum dtype=fp16 rows=192 cols=24 axis=columns impl=torch l2=cold launch=kernel",
         "sum dtype=fp32 rows=256 cols=24 axis=columns impl=torch l2=cold launch=kernel", 5.95},
    Pair{"transpose dtype=bf16 rows=512 cols=8 impl=torch l2=cold launch=kernel",
         "transpose dtype=fp32 rows=688 cols=8 impl=torch l2=cold launch=kernel", 1.69},
    Pair{"scan dtype=bf16 rows=1 cols=4 impl=torch l2=cold launch=kernel",
         "scan dtype=fp32 rows=13 cols=11 impl=torch l2=cold launch=kernel", 1.84},
    Pair{"sum dtype=bf16 rows=128 cols=3968 impl=fused l2=warm launch=kernel",
         "sum dtype=fp32 rows=128 cols=4096 impl=fused l2=warm launch=kernel", 1.89},
    Pair{"transpose dtype=bf16 rows=384 cols=448 impl=tiled l2=warm launch=kernel",
         "transpose dtype=fp32 rows=640 cols=640 impl=tiled l2=warm launch=kernel", 1.52},
    Pair{"softmax dtype=bf16 rows=65536 cols=128 impl=manual l2=warm launch=kernel",
         "softmax dtype=fp32 rows=65536 cols=128 impl=manual l2=warm launch=kernel", 1.28},
    Pair{"matmul dtype=fp32 m=1024 n=1024 k=1024 impl=library l2=warm launch=kernel",
         "matmul dtype=fp64 m=1024 n=1024 k=1024 impl=library l2=warm launch=kernel", 1.38}};

struct Times {
    double measured = 0.0;
    double predicted = 0.0;
};

std::map<std::string, Times> times_of(const std::string& gpu) {
    const std::string folder = std::string(RIDGE_RECORDS) + "/" + gpu;
    const auto records =
        read_all_records({folder, folder + "-judge", folder + "-torch", folder + "-torch-judge"})
            .records;
    const Validation validation = validate(records, model::catalogue(), model::View::calibrated);
    std::map<std::string, Times> times;
    for (const Comparison& each : validation.comparisons) {
        const Record& record = records[each.record];
        times[canonical_text(record.question)] = {record.time().in(units::us),
                                                  each.prediction.time.in(units::us)};
    }
    return times;
}

template <class Pairs>
void check_pairs(const std::string& gpu, const Pairs& pairs) {
    const auto times = times_of(gpu);
    for (const Pair& pair : pairs) {
        CAPTURE(gpu, pair.smaller, pair.larger);
        REQUIRE(times.count(pair.smaller) == 1);
        REQUIRE(times.count(pair.larger) == 1);
        const Times& smaller = times.at(pair.smaller);
        const Times& larger = times.at(pair.larger);
        CHECK(smaller.measured / larger.measured == Approx(pair.factor).epsilon(0.03));
        const double predicted = smaller.predicted / larger.predicted;
        CHECK(predicted > pair.factor / 1.5);
        CHECK(predicted < pair.factor * 1.5);
    }
}

TEST_CASE("larger calls that are faster were measured so, and are predicted so", "[torch]") {
    check_pairs("h200-sxm", h200);
    check_pairs("h200-sxm", narrower_h200);
    check_pairs("h100-sxm", h100);
}

}  // namespace
}  // namespace ridge::measure
