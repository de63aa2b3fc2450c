// One call for each rule of ATen operators that no recorded trace of the tests covers: its
// operation, its results and the bytes that its kernel moves, counted by hand.
#include <string>
#include <variant>

#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "programs/aten/operations.h"
#include "tests/catch.h"
#include "tests/programs/understood.h"

using namespace ridge;
using namespace ridge::programs;
using namespace ridge::model;
using ridge::test::only;
using ridge::test::understood;

TEST_CASE("a matrix-vector product has one column", "[aten]") {
    const auto mv = only<Matmul>(
        understood("aten::mv", R"(["c10::BFloat16","c10::BFloat16"]|[[8,4],[4]]|[[4,1],[1]]|)"));
    CHECK(mv.m == 8);
    CHECK(mv.n == 1);
    CHECK(mv.k == 4);
    const auto added = only<Matmul>(
        understood("aten::addmv", R"(["float","float","float"]|[[8],[8,4],[4]]|[[1],[1,8],[1]]|)"));
    CHECK(added.m == 8);
    CHECK(added.a_layout == Layout::column_major);
}

TEST_CASE("average pooling over windows of two by two leaves a fourth", "[aten]") {
    const std::string sizes = R"("[2, 2]","[2, 2]","[0, 0]","False","True",""])";
    const Understood forward =
        understood("aten::avg_pool2d",
                   R"(["c10::Half","ScalarList","ScalarList","ScalarList","Scalar","Scalar",""])"
                   R"(|[[2,8,16,16],[],[],[],[],[],[]]|[[2048,256,16,1],[],[],[],[],[],[]]|["",)" +
                       sizes);
    CHECK(forward.result_elements == 2 * 8 * 8 * 8);
    REQUIRE(forward.kernels.size() == 1);
    CHECK(forward.kernels[0].moved == (4096.0 + 1024.0) * 2.0);
    const Understood backward = understood(
        "aten::avg_pool2d_backward",
        R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar","Scalar",""])"
        R"(|[[2,8,8,8],[2,8,16,16],[],[],[],[],[],[]]|)"
        R"([[512,64,8,1],[2048,256,16,1],[],[],[],[],[],[]]|["","",)" +
            sizes);
    CHECK(backward.result_elements == 4096);
    CHECK(backward.kernels[0].moved == forward.kernels[0].moved);
}

TEST_CASE("enlarging an image twofold gives four results per input", "[aten]") {
    const Understood forward =
        understood("aten::upsample_nearest2d",
                   R"(["float","ScalarList","",""]|[[2,8,16,16],[],[],[]]||["","[32, 32]","",""])");
    CHECK(forward.result_elements == 4 * 4096);
    REQUIRE(forward.kernels.size() == 1);
    CHECK(forward.kernels[0].moved == 5.0 * 4096 * 4.0);
    const Understood backward =
        understood("aten::upsample_nearest2d_backward",
                   R"(["float","ScalarList","ScalarList","",""]|[[2,8,32,32],[],[],[],[]]||)"
                   R"(["","[32, 32]","[2, 8, 16, 16]","",""])");
    CHECK(backward.result_elements == 4096);
    REQUIRE(backward.kernels.size() == 1);
    CHECK(backward.kernels[0].moved == 5.0 * 4096 * 4.0);
}

TEST_CASE("rows are taken, added and moved by an index", "[aten]") {
    const auto taken = only<Gather>(understood(
        "aten::index", R"(["float","TensorList"]|[[1000,64],[[256]]]|[[64,1],[[1]]]|["",""])"));
    CHECK(taken.rows == 256);
    CHECK(taken.cols == 64);
    CHECK(taken.table_rows == 1000);
    const auto added = only<Gather>(understood(
        "aten::index_add",
        R"(["float","Scalar","long int","float"]|[[1000,64],[],[256],[256,64]]||["","0","",""])"));
    CHECK(added.rows == 256);
    CHECK(added.cols == 64);
    const Understood rolled = understood(
        "aten::roll",
        R"(["c10::Half","ScalarList","ScalarList"]|[[8,64,64],[],[]]|[[4096,64,1],[],[]]|["","[4]","[1]"])");
    CHECK(only<Copy>(rolled).elements == 8 * 64 * 64);
    CHECK(rolled.kernels[0].moved == 2.0 * 8 * 64 * 64 * 2.0);
}

TEST_CASE("the maximum of each row, its place, and the length of a vector", "[aten]") {
    const auto largest = only<RowWise>(understood(
        "aten::amax",
        R"(["float","ScalarList","Scalar"]|[[128,4096],[],[]]|[[4096,1],[],[]]|["","[-1]","False"])"));
    CHECK(largest.kind == RowKind::max);
    CHECK(largest.rows == 128);
    CHECK(largest.cols == 4096);
    const Understood place = understood(
        "aten::argmax",
        R"(["float","Scalar","Scalar"]|[[128,4096],[],[]]|[[4096,1],[],[]]|["","-1","False"])");
    CHECK(only<RowWise>(place).kind == RowKind::argmax);
    CHECK(place.result_elements == 128);
    const auto length = only<RowWise>(
        understood("aten::linalg_vector_norm", R"(["float","Scalar"]|[[4096]]|[[1]]|["","2."])"));
    CHECK(length.rows * length.cols == 4096);
}

TEST_CASE("RMS norm by rows, forward and backward", "[aten]") {
    const auto forward = only<RowWise>(understood(
        "aten::_fused_rms_norm",
        R"(["c10::BFloat16","ScalarList","c10::BFloat16"]|[[2,128,1024],[],[1024]]||["","[1024]","","1e-05"])"));
    CHECK(forward.kind == RowKind::rmsnorm);
    CHECK(forward.rows == 256);
    CHECK(forward.cols == 1024);
    const auto backward = only<RowWise>(understood(
        "aten::_fused_rms_norm_backward",
        R"(["c10::BFloat16","c10::BFloat16","ScalarList"]|[[2,128,1024],[2,128,1024],[]]||["","","[1024]"])"));
    CHECK(backward.direction == Direction::backward);
}

TEST_CASE("convolutions under their general names", "[aten]") {
    const auto call = [](const std::string& more, const std::string& values) {
        return R"(["c10::Half","c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar")" +
               more + "]|[[8,32,16,16],[64,32,3,3],[64],[],[],[],[],[],[]]||" +
               R"(["","","","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1")" + values + "]";
    };
    const auto plain = only<Matmul>(understood("aten::convolution", call("", "")));
    CHECK(plain.m == 8 * 8 * 8);
    CHECK(plain.n == 64);
    CHECK(plain.k == 32 * 9);
    const auto flags = only<Matmul>(understood(
        "aten::_convolution",
        call(R"(,"Scalar","Scalar","Scalar","Scalar")", R"(,"False","False","True","True")")));
    CHECK(flags.m == plain.m);
    CHECK(flags.k == plain.k);
}

TEST_CASE("batch norm that updates its statistics, and its gradient by cuDNN", "[aten]") {
    const std::string x = "[8,32,16,16]";
    const Understood update =
        understood("aten::_batch_norm_with_update",
                   R"(["c10::Half","float","float","float","float"]|[)" + x +
                       ",[32],[32],[32],[32]]|[[8192,256,16,1],[1],[1],[1],[1]]|");
    REQUIRE(update.steps.size() == 2);  // the statistics, then the pass
    CHECK(std::get<RowWise>(update.steps[0].operation).axis == Axis::columns);
    const Understood gradient = understood("aten::cudnn_batch_norm_backward",
                                           R"(["c10::Half","c10::Half","float"]|[)" + x + "," + x +
                                               ",[32]]|[[8192,256,16,1],[8192,256,16,1],[1]]|");
    REQUIRE(gradient.steps.size() == 3);  // two sums, then the pass
    CHECK(gradient.result_elements == 8 * 32 * 16 * 16);
}

TEST_CASE("the gradients of a recurrent network are four products, gates and a sum", "[aten]") {
    std::string types = R"(["float","TensorList")";
    std::string dims = "[[64,128,1024],[[4096,1024]]";
    std::string values = R"(["","")";
    for (int i = 2; i < 10; ++i) {
        types += R"(,"float")";
        dims += ",[]";
        values += R"(,"")";
    }
    for (int i = 10; i < 18; ++i) {
        types += R"(,"Scalar")";
        dims += ",[]";
    }
    values += R"(,"2","1024","0","2","True","0.","True","False"])";
    const Understood lstm =
        understood("aten::_cudnn_rnn_backward", types + "]|" + dims + "]||" + values);
    REQUIRE(lstm.entries.size() == 6);
    CHECK(std::get<Matmul>(lstm.entries[0].operation).k == 4 * 1024);
    CHECK(std::get<Matmul>(lstm.entries[3].operation).k == 64 * 128);
}

TEST_CASE("an optimizer step covers every element of its tensors", "[aten]") {
    const Understood step = understood(
        "aten::_fused_adamw_", R"(["TensorList"]|[[[1024,1024],[1024]]]||[""])", ElementType::fp32);
    CHECK(only<AdamW>(step).elements == 1024 * 1024 + 1024);
    CHECK(step.family == OperatorFamily::optimizer);
}

TEST_CASE("writing into a cache of pages moves the new keys and values, not the cache", "[aten]") {
    const std::string inputs =
        R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","c10::BFloat16","long int","","float","float"])"
        R"(|[[16,8,128],[16,8,128],[4000,16,8,128],[4000,16,8,128],[16],[],[],[]])"
        R"(|[[1024,128,1],[1024,128,1],[16384,1024,128,1],[16384,1024,128,1],[1],[],[],[]]|)";
    for (const char* name :
         {"_C_cache_ops::reshape_and_cache_flash", "_C_cache_ops::reshape_and_cache"}) {
        const auto op = only<Elementwise>(understood(name, inputs));
        // 16 x 8 x 128 keys and as many values of 2 bytes, read and written.
        CHECK(op.elements * 2 * size_of(op.type) == 2 * 2 * 16 * 8 * 128 * 2);
    }
}

TEST_CASE("where reads its mask as well as both tensors", "[aten]") {
    const Understood found = understood(
        "aten::where",
        R"(["bool","c10::BFloat16","c10::BFloat16"]|[[2,1,4096,4096],[2,1,4096,4096],[2,1,4096,4096]])"
        R"(|[[16777216,16777216,4096,1],[16777216,16777216,4096,1],[16777216,16777216,4096,1]]|)");
    const auto op = only<Elementwise>(found);
    CHECK(op.elements == 2 * 4096 * 4096);
    const auto gpus = model::catalogue();
    const auto outcome =
        model::predict(op, found.steps.front().execution, model::make_machine(gpus.at("h200-sxm")));
    // The mask's byte, two operands and the result of two bytes each.
    REQUIRE(std::holds_alternative<model::Prediction>(outcome));
    CHECK(std::get<model::Prediction>(outcome).work.compulsory().in(units::B) ==
          7.0 * 2 * 4096 * 4096);
}

TEST_CASE("calls that only a damaged trace can give are unknown or a sum of bytes", "[aten]") {
    const auto found = [](const char* name, const char* inputs) {
        return operations_of(parse_call(name, inputs), ElementType::fp32);
    };
    // Two tensors of different ranks cannot be joined: only their bytes count.
    const auto joined = found("aten::cat", R"(["float","float"]|[[8,4],[8]]|[]|["",""])");
    REQUIRE(joined);
    CHECK_FALSE(joined->ruled);
    // 2^60 elements, also beside a dimension of size 0.
    CHECK_FALSE(found("aten::relu", R"(["float"]|[[1099511627776,1048576]]|[]|[""])"));
    CHECK_FALSE(found("aten::relu", R"(["float"]|[[0,1099511627776,1048576]]|[]|[""])"));
    // No elements to scan.
    CHECK_FALSE(found("aten::cumsum", R"(["float","Scalar"]|[[8,0],[]]|[]|["","1"])"));
    // A gradient of a batch norm without the gradient of its result.
    const auto norm = found("aten::native_batch_norm_backward",
                            R"(["","float","float"]|[[],[4,8,6,6],[8]]|[]|["","",""])");
    REQUIRE(norm);
    CHECK(norm->result_elements == 4 * 8 * 6 * 6);
}
