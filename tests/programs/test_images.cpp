// Convolutions, norms and pooling: their work by hand, and their times compared with a GPU.
// `image_calls_h200.tsv` holds calls that the PyTorch 2.11 profiler recorded on an H200: name,
// types, shapes, strides and values, then the microseconds of their kernels.
#include <fstream>
#include <sstream>

#include "programs/aten/operations.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/programs/understood.h"

using namespace ridge;
using namespace ridge::programs;
using namespace ridge::model;
using ridge::test::h200;
using ridge::test::understood;

namespace {

/// A convolution of images [8, channels, 16, 16] with filters of `taps` x `taps`.
Understood convolved(int channels, int filters, int taps, int groups, bool channels_last) {
    std::ostringstream text;
    text << R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar","Scalar"])"
         << "|[[8," << channels << ",16,16],[" << filters << ',' << channels / groups << ',' << taps
         << ',' << taps << "],[],[],[],[],[]]|";
    if (channels_last) {
        text << "[[" << 256 * channels << ",1," << 16 * channels << ',' << channels << "]]";
    } else {
        text << "[[" << 256 * channels << ",256,16,1]]";
    }
    text << R"(|["","","[)" << taps / 2 << R"(]","[1]","[1]",")" << groups << R"(","False"])";
    return understood("aten::cudnn_convolution", text.str());
}

}  // namespace

TEST_CASE("a convolution is the product of im2col", "[aten]") {
    // 224 x 224 by 7 x 7 with stride 2 and padding 3: 112 x 112 pixels, 3 x 49 taps.
    const Understood found =
        understood("aten::cudnn_convolution",
                   R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])"
                   "|[[8,3,224,224],[64,3,7,7],[],[],[],[]]||"
                   R"(["","","[3, 3]","[2, 2]","[1, 1]","1"])");
    REQUIRE(found.steps.size() == 1);
    const auto& op = std::get<Matmul>(found.steps[0].operation);
    CHECK(op.m == 8 * 112 * 112);
    CHECK(op.n == 64);
    CHECK(op.k == 3 * 49);
    // Each tap takes 32 channels, although there are three, in tiles of 128 pixels by 64 filters.
    const KernelWork& product = found.kernels.back();
    CHECK(product.useful_flop == 2.0 * 8 * 112 * 112 * 64 * 147);
    CHECK(product.tensor_flop == 2.0 * 8 * 112 * 112 * 64 * 49 * 32);
    CHECK(product.tiles == 8 * 112 * 112 / 128);
}

TEST_CASE("images with channels first are transposed around a convolution", "[aten]") {
    const Understood first = convolved(32, 64, 3, 1, false);
    const Understood last = convolved(32, 64, 3, 1, true);
    REQUIRE(first.kernels.size() == 4);
    REQUIRE(last.kernels.size() == 1);
    CHECK(first.kernels[0].moved == 2.0 * 8 * 256 * 32 * 2);
    CHECK(first.kernels[1].moved == 2.0 * 64 * 32 * 9 * 2);  // the filters
    CHECK(first.kernels[2].tensor_flop == last.kernels[0].tensor_flop);
    CHECK(first.kernels[3].moved == 2.0 * 8 * 256 * 64 * 2);
    // A convolution of single pixels is a product of cuBLAS in the given layout.
    CHECK(convolved(32, 64, 1, 1, false).kernels.empty());
}

TEST_CASE("a depthwise convolution is not a product", "[aten]") {
    const Understood found = convolved(96, 96, 7, 96, true);
    REQUIRE(found.steps.size() == 1);
    CHECK(std::get<Elementwise>(found.steps[0].operation).elements == 8 * 96 * 256);
    REQUIRE(found.kernels.size() == 1);
    CHECK(found.kernels[0].tensor_flop == 0.0);
    CHECK(found.kernels[0].moved == 2.0 * 8 * 96 * 256 * 2);
    CHECK(found.kernels[0].clocks > convolved(96, 96, 3, 96, true).kernels[0].clocks);
}

TEST_CASE("a convolution computes the gradients that the call asks for", "[aten]") {
    const auto gradients = [](const std::string& mask) {
        return understood("aten::convolution_backward",
                          R"(["float","float","float","","","","","","","",""])"
                          "|[[8,64,16,16],[8,32,16,16],[64,32,3,3],[],[],[],[],[],[],[],[]]||"
                          R"(["","","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1",")" +
                              mask + R"("])");
    };
    CHECK(gradients("[True, True, False]").steps.size() == 2);
    const Understood weights = gradients("[False, True, True]");
    REQUIRE(weights.steps.size() == 1);
    CHECK(std::get<Matmul>(weights.steps[0].operation).k == 8 * 256);
    const Understood input = gradients("[True, False, False]");
    REQUIRE(input.steps.size() == 1);
    CHECK(std::get<Matmul>(input.steps[0].operation).k == 64);
}

TEST_CASE("batch norm in training reads its input once more for the statistics", "[aten]") {
    const auto called = [](const std::string& training) {
        return understood(
            "aten::native_batch_norm",
            R"(["c10::Half","c10::Half","c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar"])"
            "|[[8,64,16,16],[64],[64],[64],[64],[],[],[]]||"
            R"(["","","","","",")" +
                training + R"(","0.1","1e-05"])");
    };
    const Understood plain = called("False");
    REQUIRE(plain.steps.size() == 1);
    CHECK(std::get<Elementwise>(plain.steps[0].operation).elements == 8 * 64 * 256);
    CHECK(plain.kernels.size() == 1);
    const Understood training = called("True");
    REQUIRE(training.steps.size() == 2);
    const auto& statistics = std::get<RowWise>(training.steps[0].operation);
    CHECK(statistics.axis == Axis::columns);
    CHECK(statistics.rows == 8 * 256);
    CHECK(statistics.cols == 64);
    // One block per channel: 64 blocks leave half of the multiprocessors idle.
    REQUIRE(training.kernels.size() == 3);
    CHECK(training.kernels[0].chains == 64);
}

TEST_CASE("group norm has a block for each group of an image", "[aten]") {
    const Understood found =
        understood("aten::native_group_norm",
                   R"(["float","float","float","Scalar","Scalar","Scalar","Scalar","Scalar"])"
                   "|[[8,64,16,16],[64],[64],[],[],[],[],[]]||"
                   R"(["","","","8","64","256","32","1e-05"])");
    CHECK(found.family == OperatorFamily::normalisation);
    REQUIRE(found.kernels.size() == 3);
    CHECK(found.kernels[0].chains == 8 * 32);
    const auto& rows = std::get<RowWise>(found.steps[0].operation);
    CHECK(rows.rows == 8 * 32);
    CHECK(rows.cols == 2 * 256);
}

TEST_CASE("sums over images follow the layout in memory", "[aten]") {
    const auto summed = [](const std::string& strides) {
        return understood("aten::sum", R"(["c10::BFloat16","ScalarList","Scalar","Scalar"])"
                                       "|[[8,64,16,16],[],[],[]]|[" +
                                           strides + R"(,[],[],[]]|["","[0, 2, 3]","False",""])");
    };
    const Understood last = summed("[16384,1,1024,64]");
    const auto& columns = std::get<RowWise>(last.steps[0].operation);
    CHECK(columns.axis == Axis::columns);
    CHECK(columns.rows == 8 * 256);
    CHECK(columns.cols == 64);
    CHECK(last.kernels.empty());
    // Channels first: the parts of each sum are in eight images.
    const Understood first = summed("[16384,256,16,1]");
    const auto& rows = std::get<RowWise>(first.steps[0].operation);
    CHECK(rows.axis == Axis::rows);
    CHECK(rows.rows == 64);
    CHECK(rows.cols == 8 * 256);
    REQUIRE(first.kernels.size() == 1);
    REQUIRE(first.kernels[0].sums);
    CHECK(first.kernels[0].sums->results == 64);
    CHECK(first.kernels[0].sums->parts == 8 * 256);
}

TEST_CASE("blocks share a sum until four are on each multiprocessor", "[aten]") {
    Machine machine = h200();
    const double clock = machine.boost_clock.base();
    const auto clocks = [&](std::int64_t multiprocessors, std::int64_t parts) {
        machine.sm_count = multiprocessors;
        const auto all = time_of({.sums = SplitSums{.results = 1, .parts = parts}}, machine)->time;
        const KernelWork nothing{};
        return (all - time_of(nothing, machine)->time).base() * clock;
    };
    const auto expected = [](std::string_view start, double rounds, double parts) {
        return cost(start) +
               rounds * (cost("rows.apart_busy") + cost("rows.apart_element") * parts);
    };
    constexpr std::int64_t parts = 512 * 256;
    // At most one block for 16 parts of each of its 512 threads, and none for fewer than 256.
    CHECK(clocks(132, parts) == Approx(expected("rows.apart_start_shared", 1.0, parts / 16.0)));
    CHECK(clocks(2, parts) == Approx(expected("rows.apart_start_shared", 4.0, parts / 8.0)));
    CHECK(clocks(132, parts / 2) == Approx(expected("rows.apart_start", 1.0, parts / 2.0)));
}

TEST_CASE("a kernel takes the longest of its bytes, its tiles and its chains", "[aten]") {
    const Machine& machine = h200();
    const auto time = [&](const KernelWork& kernel) { return time_of(kernel, machine)->time; };
    const Time nothing = time({});
    const double second = machine.dram_bandwidth.base();
    const auto streamed = time_of({.moved = second}, machine);
    CHECK(streamed->memory_bound);
    CHECK(streamed->streams);
    CHECK(streamed->lower_bound.base() == Approx(1.0));
    CHECK((streamed->time - nothing).base() > 1.0);
    // As many tiles as multiprocessors, and one more.
    const double flop = machine.tensor_peak(DataType::bf16)->base();
    const KernelWork full{.tensor_flop = flop, .useful_flop = flop, .tiles = machine.sm_count};
    KernelWork more = full;
    more.tiles = machine.sm_count + 1;
    CHECK((time(full) - nothing).base() == Approx(1.0));
    CHECK_FALSE(time_of(full, machine)->memory_bound);
    // A kernel that streams slowly is still bound by its bytes.
    const auto slow = time_of({.moved = second, .clocks = 1e18}, machine);
    CHECK(slow->memory_bound);
    CHECK_FALSE(slow->streams);
    CHECK(time(more) > 1.3 * time(full));
    // Chains on the same multiprocessor share it; chains on different ones run side by side.
    const double clock = machine.boost_clock.base();
    const KernelWork chain{.chains = 1, .chain_clocks = clock, .block_clocks = clock};
    KernelWork two_rounds = chain;
    two_rounds.chains = machine.sm_count + 1;
    CHECK((time(chain) - nothing).base() == Approx(2.0));
    CHECK((time(two_rounds) - nothing).base() == Approx(3.0));
    Machine unknown = machine;
    unknown.sm_count = 0;
    CHECK_FALSE(time_of(chain, unknown));
}

TEST_CASE("times of calls on images are close to those of an H200", "[aten]") {
    std::ifstream file(RIDGE_IMAGE_CALLS);
    REQUIRE(file);
    double off = 0.0;
    double all = 0.0;
    int rows = 0;
    for (std::string line; std::getline(file, line); ++rows) {
        std::istringstream fields(line);
        std::string name;
        std::string inputs;
        double measured = 0.0;
        std::getline(fields, name, '\t');
        std::getline(fields, inputs, '\t');
        fields >> measured;
        INFO(name << ' ' << inputs << ' ' << measured);
        const CallPrediction one = predict(understood(name, inputs), h200());
        REQUIRE(one.reason.empty());
        const double predicted = one.answer.time.in(units::us);
        CHECK(one.lower_bound <= one.answer.time);
        CHECK(one.answer.low <= one.answer.time);
        CHECK(predicted < 2.0 * measured);  // 1.95 at most
        CHECK(predicted > 0.6 * measured);  // 0.62 at least
        off += std::abs(predicted - measured);
        all += measured;
    }
    CHECK(rows > 90);
    CHECK(off < 0.08 * all);  // 6.7 %
}

TEST_CASE("groups of long filters run one after another", "[aten]") {
    const auto found = [](int taps) {
        std::ostringstream text;
        text << R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])"
             << "|[[8,768,1,499],[768,48,1," << taps << "],[],[],[],[]]|[[383232,499,499,1]]|"
             << R"(["","","[0, )" << taps / 2 << R"(]","[1, 1]","[1, 1]","16"])";
        return understood("aten::cudnn_convolution", text.str()).kernels;
    };
    const auto kernels = found(128);
    REQUIRE(kernels.size() == std::size_t{16 * 3});
    // 500 pixels per image in tiles of 64: one kernel takes six images, two more take one image
    // each.
    CHECK(kernels.front().chains == 47);
    CHECK(kernels.back().chains == 8);
    const auto time = time_of(kernels, h200());
    REQUIRE(time);
    CHECK(time->time.in(units::us) == Approx(34457.0).epsilon(0.1));  // measured
    CHECK(found(16).size() < 10);
}

TEST_CASE("sums whose results are not contiguous vectors take one result per thread", "[aten]") {
    const auto kernels = [](const char* inputs) {
        return understood("aten::sum", R"(["c10::BFloat16","ScalarList","Scalar",""]|)" +
                                           std::string(inputs) + R"(|["","[0]","False",""])")
            .kernels;
    };
    struct Case {
        const char* inputs;
        std::int64_t blocks;
        double measured_us;
    };
    // Neighbours 512 elements apart; rows of 49 padded to 64; an odd number of results, 16 threads
    // each.
    for (const Case& each :
         {Case{"[[16,12,512,64],[],[],[]]|[[393216,32768,1,512],[],[],[]]", 768, 32.8},
          Case{"[[192,12,49,49],[],[],[]]|[[37632,3136,64,1],[],[],[]]", 57, 22.0},
          Case{"[[3072,3,49,49],[],[],[]]|[[9408,3136,64,1],[],[],[]]", 226, 34.6}}) {
        INFO(each.inputs);
        const auto found = kernels(each.inputs);
        REQUIRE(found.size() == 1);
        CHECK(found.front().chains == each.blocks);
        const auto time = time_of(found.front(), h200());
        REQUIRE(time);
        CHECK(time->time.in(units::us) == Approx(each.measured_us).epsilon(0.12));
    }
    CHECK(kernels("[[192,12,49,49],[],[],[]]|[[28812,2401,49,1],[],[],[]]").empty());
    CHECK(kernels("[[4096,768],[],[],[]]|[[768,1],[],[],[]]").empty());
}

TEST_CASE("a few rows by index, sums at an index and a growing cache", "[aten]") {
    const auto rows = [](const std::string& count) {
        return understood("aten::index_select",
                          R"(["c10::BFloat16","Scalar","long int"]|[[151936,1536],[],[)" + count +
                              R"(]]|[[1536,1],[],[1]]|["","0",""])")
            .kernels;
    };
    REQUIRE(rows("16").size() == 1);
    CHECK(rows("16").front().chain_clocks == 2.0 * rows("8").front().chain_clocks);
    CHECK(rows("17").empty());

    const auto scattered = [](const std::string& strides) {
        return understood("aten::scatter_add_",
                          R"(["c10::BFloat16","Scalar","long int","c10::BFloat16"]|)"
                          "[[192,256,512],[],[192,256,256],[192,256,256]]|"
                          "[[131072,512,1],[],[0,256,1]," +
                              strides + R"(]|["","-1","",""])")
            .kernels.front()
            .clocks;
    };
    CHECK(scattered("[65536,1,256]") > 3.0 * scattered("[65536,256,1]"));

    const auto l2 = [](const std::string& dims) {
        const Understood found =
            understood("aten::cat", R"(["TensorList","Scalar"]|[[)" + dims + R"(],[]]||["","-2"])");
        REQUIRE(found.entries.size() == 1);
        return found.entries.front().execution.l2;
    };
    CHECK(l2("[16,2,2050,128],[16,2,1,128]") == L2State::cold);
    CHECK(l2("[16,2,20,128],[16,2,1,128]") == L2State::warm);
    CHECK(l2("[16,1,128],[16,2050,128]") == L2State::warm);
}

TEST_CASE(
    "times of max pooling with channels last and of embedding bags are close to those of an H200",
    "[aten]") {
    const auto time = [](const std::string& name, const std::string& inputs) {
        const CallPrediction one = predict(understood(name, inputs), h200());
        REQUIRE(one.reason.empty());
        return one.answer.time.in(units::us);
    };
    const auto pooled = [&](const std::string& dims, const std::string& strides,
                            const std::string& window) {
        return time(
            "aten::max_pool2d_with_indices",
            R"(["c10::BFloat16","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"]|[)" +
                dims + ",[],[],[],[],[]]|[" + strides + R"(,[],[],[],[],[]]|["",")" + window +
                R"(","[2, 2]","[0, 0]","[1, 1]","False"])");
    };
    CHECK(pooled("[48,64,224,224]", "[3211264,1,14336,64]", "[2, 2]") ==
          Approx(464.9).epsilon(0.08));
    CHECK(pooled("[64,256,54,54]", "[746496,1,13824,256]", "[3, 3]") == Approx(198.4).epsilon(0.1));
    CHECK(
        time(
            "aten::_embedding_bag",
            R"(["float","long int","long int"]|[[200000,128],[65536],[8192]]|[[128,1],[1],[1]]|)") ==
        Approx(27.6).epsilon(0.08));
}
