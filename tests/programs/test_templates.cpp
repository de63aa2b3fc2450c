// Counts of calls and the laws of kernel templates, by hand.
#include "programs/aten/templates.h"

#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "programs/aten/counts.h"
#include "programs/aten/operations.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using namespace programs;

Call counted_call(const char* name, const std::string& inputs) {
    return parse_call(name, inputs);
}

}  // namespace

TEST_CASE("counts follow from shapes, strides and types", "[templates]") {
    const Counts added = counts_of(
        counted_call("aten::index_add_",
                     R"(["float","Scalar","long int","float"]|[[100,8],[],[1600],[1600,8]]|)"
                     R"([[8,1],[],[1],[8,1]]|["","0","",""])"),
        ElementType::unknown);
    CHECK(added[Count::index] == 1600);
    CHECK(added[Count::values] == 12800);
    CHECK(added[Count::table] == 800);
    CHECK(added[Count::collisions] == 12800 * 4);  // sixteen meet in one place
    CHECK(added[Count::meetings] == 16);
    CHECK(added[Count::wide] == 12800);
    CHECK(added[Count::narrow] == 0);

    const Counts turned =
        counts_of(counted_call("aten::neg", R"(["c10::Half"]|[[64,32]]|[[1,64]]|[""])"),
                  ElementType::unknown);
    CHECK(turned[Count::strided] == 0);  // dense, in another order
    const Counts part =
        counts_of(counted_call("aten::neg", R"(["c10::Half"]|[[64,32]]|[[64,1]]|[""])"),
                  ElementType::unknown);
    CHECK(part[Count::strided] == 2048);

    const Counts images =
        counts_of(counted_call("aten::upsample_bilinear2d",
                               R"(["float","ScalarList","Scalar","",""]|[[2,3,8,8],[],[],[],[]]|)"
                               R"([[192,64,8,1],[],[],[],[]]|["","[16, 16]","False","",""])"),
                  ElementType::unknown);
    CHECK(images[Count::results] == 2 * 3 * 256);
    CHECK(images[Count::planes] == 128);
}

TEST_CASE("an index is computed for each dimension of the loop over all tensors", "[templates]") {
    const auto indexed = [](const char* name, const char* inputs) {
        return counts_of(counted_call(name, inputs), ElementType::unknown)[Count::indexed];
    };
    CHECK(indexed("aten::mul", R"(["float","float"]|[[64,32],[64,32]]|[[32,1],[32,1]]|["",""])") ==
          0);
    // Alike in another order, and along one dimension of the other tensor.
    CHECK(indexed("aten::mul", R"(["float","float"]|[[64,32],[64,32]]|[[1,64],[1,64]]|["",""])") ==
          0);
    CHECK(indexed("aten::mul", R"(["float","float"]|[[64,32],[32]]|[[32,1],[1]]|["",""])") ==
          2 * 2048);
    // Heads before tokens: [2, 3, 4, 8] into [2, 4, 3, 8]; the first two dimensions of either side do not join.
    CHECK(indexed("aten::copy_",
                  R"(["float","float"]|[[2,3,4,8],[2,3,4,8]]|[[96,32,8,1],[96,8,24,1]]|["",""])") ==
          4 * 192);
    // Every second element: one dimension with gaps.
    CHECK(indexed("aten::neg", R"(["float"]|[[100]]|[[2]]|[""])") == 100);
    // Neighbours of the result lie apart in what is copied; what is written is not read.
    const Counts turned = counts_of(
        counted_call("aten::copy_",
                     R"(["float","c10::Half"]|[[64,32],[64,32]]|[[32,1],[1,64]]|["",""])"),
        ElementType::unknown);
    CHECK(turned[Count::across] == 2048);
    CHECK(turned[Count::bytes] == 2048 * (4 + 2));
    // A sum over rows has what remains and what goes.
    CHECK(
        indexed(
            "aten::sum",
            R"(["float","ScalarList","Scalar",""]|[[64,32],[],[],[]]|[[32,1],[],[],[]]|["","[0]","False",""])") ==
        2 * 2048);
}

TEST_CASE("a kernel's name tells templates apart", "[templates]") {
    CHECK(kernel_key("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned "
                     "int, 4, 64, 64>(float*)") == "CatArrayBatchedCopy");
    CHECK(kernel_key("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)") ==
          "reduce_kernel<512, 1");
    CHECK(kernel_key("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT") == "nvjet_sm90_tst");
    CHECK(kernel_key("Memcpy DtoD (Device -> Device)") == "Memcpy DtoD");
    CHECK(kernel_key("") == "");
    CHECK(kernel_key("::<") == "");
    // The one that moves rows of vectors has a law of its own; no other kernel takes it.
    REQUIRE(template_of_kernel("index", "vectorized_gather_kernel<16") != nullptr);
    CHECK(template_of_kernel("index", "vectorized_gather_kernel<16") !=
          template_of("index", LawOf::launches));
    CHECK(template_of_kernel("index", "nobody") == nullptr);
}

TEST_CASE("a convolution's law is named by direction, form, width and layout", "[templates]") {
    const Call call =
        counted_call("aten::cudnn_convolution",
                     R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"]|)"
                     R"([[4,16,8,8],[16,1,3,3],[],[],[],[]]|[[1024,64,8,1],[9,9,3,1],[],[],[],[]]|)"
                     R"(["","","[1, 1]","[1, 1]","[1, 1]","16"])");
    CHECK(law_name(call, "cudnn_convolution", ElementType::unknown) ==
          "convolution.depthwise.16.first");
    const Counts counts = counts_of(call, ElementType::unknown);
    CHECK(counts[Count::results] == 4 * 16 * 64);
    CHECK(counts[Count::window] == 4 * 16 * 64 * 9);
    CHECK(law_name(call, "triton_red_fused_add_3", ElementType::unknown) == "triton_red");
}

TEST_CASE("kernels of their own have laws of their own", "[templates]") {
    const auto named = [](const char* name, const std::string& inputs) {
        const Call call = counted_call(name, inputs);
        return law_name(call, bare_operator(call.name), ElementType::unknown);
    };
    // Rows in memory or across them, short or long.
    const std::string softmax = R"(["float","Scalar","Scalar"]|[[8,600,40],[],[]]||)";
    CHECK(named("aten::_softmax", softmax + R"(["","1","False"])") == "_softmax.across");
    CHECK(named("aten::_softmax", softmax + R"(["","-1","False"])") == "_softmax.short");
    CHECK(named("aten::_softmax", R"(["float","Scalar","Scalar"]|[[8,5000],[],[]]||["","1",""])") ==
          "_softmax");
    CHECK(named("aten::cumsum", R"(["float","Scalar",""]|[[8,600],[],[]]||["","0",""])") ==
          "cumsum.across");
    // Interpolation takes 16 channels or more as vectors where they are last in memory.
    const auto enlarged = [&named](const std::string& strides) {
        return named("aten::upsample_bilinear2d",
                     R"(["c10::Half","ScalarList","Scalar","",""]|[[2,16,8,8],[],[],[],[]]|[)" +
                         strides + R"(,[],[],[],[]]|["","[16, 16]","False","",""])");
    };
    CHECK(enlarged("[1024,64,8,1]") == "upsample_bilinear2d.16.first");
    CHECK(enlarged("[1024,1,128,16]") == "upsample_bilinear2d.16.last");
    // Generated kernels that add into places; one that fills the result first, and one that gathers, do not.
    const std::string three = R"(["float","float","float"]|[[64],[64,8],[16,8]]|||)";
    CHECK(named("triton_poi_fused__unsafe_index_put_new_zeros_7", three) == "triton_poi.adds");
    CHECK(named("triton_poi_fused__unsafe_index_put_new_zeros_6", R"(["float"]|[[16,8]]||)") ==
          "triton_poi");
    CHECK(named("triton_poi_fused__unsafe_index_add_mul_3", three) == "triton_poi");
    CHECK(named("triton_poi_fused_index_add_mul_3", three) == "triton_poi.adds");
    // Images with channels last, added into places with channels first.
    CHECK(
        named(
            "triton_poi_fused__unsafe_index_put_7",
            R"(["float","long int","float"]|[[2,8,16,16],[16],[2,8,8,8]]|[[2048,1,128,8],[1],[512,64,8,1]]|["","",""])") ==
        "triton_poi.adds.apart");
    // Several filters a channel, and convolutions of few channels.
    const auto convolved = [&named](const char* images, const char* filters, const char* groups) {
        return named(
            "aten::cudnn_convolution",
            R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"]|[)" +
                std::string(images) + "," + filters +
                R"(,[],[],[],[]]||["","","[1, 1]","[1, 1]","[1, 1]",")" + groups + "\"]");
    };
    CHECK(convolved("[4,16,8,8]", "[32,1,3,3]", "16") == "convolution.multiplied.16.first");
    CHECK(convolved("[4,16,8,8]", "[64,16,3,3]", "1") == "convolution.narrow.16.first");
    CHECK(convolved("[4,64,8,8]", "[64,64,3,3]", "1") == "convolution.full.16.first");
}

TEST_CASE("a recurrent layer's law says whether a kernel holds the weights", "[templates]") {
    const auto layer = [](const std::string& type, int hidden) {
        const std::string size = std::to_string(hidden);
        return counted_call(
            "aten::_cudnn_rnn",
            "[\"" + type + R"(","TensorList","Scalar","",")" + type +
                R"(","","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar",)"
                R"("Scalar"]|[[50,8,64],[],[],[],[1,8,)" +
                size + R"(],[],[],[],[],[],[],[],[],[]]||["","","4","","","","2",")" + size +
                R"(","0","1","False","0","True","False"])");
    };
    const auto named = [&layer](const std::string& type, int hidden) {
        return law_name(layer(type, hidden), "_cudnn_rnn", ElementType::unknown);
    };
    CHECK(named("float", 192) == "_cudnn_rnn.held.32");
    CHECK(named("float", 512) == "_cudnn_rnn.steps.32");
    CHECK(named("float", 650) == "_cudnn_rnn.unaligned.32");  // rows of 2600 bytes
    CHECK(named("c10::BFloat16", 64) == "_cudnn_rnn.steps.16");
    const Counts counts = counts_of(layer("float", 512), ElementType::unknown);
    CHECK(counts[Count::rows] == 50);
    CHECK(counts[Count::window] == 50.0 * 8 * 4 * 512 * (512 + 64));
}

TEST_CASE("weights that registers do not hold are loaded in each step", "[templates]") {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    const auto rule_of_layer = [](int hidden) {
        const std::string size = std::to_string(hidden);
        const auto found = operations_of(counted_call(
            "aten::_cudnn_rnn",
            R"(["float","TensorList","Scalar","","float","","Scalar","Scalar","Scalar","Scalar",)"
            R"("Scalar","Scalar","Scalar","Scalar"]|[[200,2,64],[],[],[],[1,2,)" +
                size + R"(],[],[],[],[],[],[],[],[],[]]||["","","4","","","","2",")" + size +
                R"(","0","1","False","0","True","False"])"));
        REQUIRE(found);
        return predict(*found, machine).rule;
    };
    // Measured on an H200: 1270, 3993 and 10337 clocks a step of an LSTM of 96, 128 and 160.
    CHECK(rule_of_layer(128) / rule_of_layer(96) > 2.5);
    CHECK(rule_of_layer(160) / rule_of_layer(96) > 6.0);
    CHECK(rule_of_layer(160) / rule_of_layer(96) < 10.0);
}

TEST_CASE("rows lie along the dimensions that a call names", "[templates]") {
    const Counts scanned =
        counts_of(counted_call("aten::cumsum", R"(["float","Scalar",""]|[[4,16,64,1536],[],[]]|)"
                                               R"([[1572864,98304,1536,1],[],[]]|["","2",""])"),
                  ElementType::unknown);
    CHECK(scanned[Count::columns] == 64);
    CHECK(scanned[Count::rows] == 4 * 16 * 1536);
    CHECK(scanned[Count::across] == 4 * 16 * 64 * 1536);  // neighbours are of different rows
    const Counts summed = counts_of(
        counted_call("aten::sum", R"(["float","ScalarList","Scalar",""]|[[8,32,100],[],[],[]]|)"
                                  R"([[3200,100,1],[],[],[]]|["","[1, 2]","False",""])"),
        ElementType::unknown);
    CHECK(summed[Count::columns] == 3200);
    CHECK(summed[Count::results] == 8);
    CHECK(summed[Count::across] == 0);
    CHECK(summed[Count::unaligned] == 0);
    const Counts odd = counts_of(
        counted_call("aten::_softmax", R"(["c10::BFloat16","Scalar","Scalar"]|[[6,3137],[],[]]|)"
                                       R"([[3137,1],[],[]]|["","-1","False"])"),
        ElementType::unknown);
    CHECK(odd[Count::unaligned] == 6 * 3137);
}

TEST_CASE("a generated kernel reads of a table what it has elements for", "[templates]") {
    const Counts counts =
        counts_of(counted_call("triton_red_fused_embedding_0",
                               R"(["c10::BFloat16","c10::BFloat16","Scalar","Scalar"]|)"
                               R"([[128256,2048],[2048,2048],[],[]]|[[2048,1],[2048,1],[],[]]|)"
                               R"(["","","16","2048"])"),
                  ElementType::unknown);
    CHECK(counts[Count::elements] == 16 * 2048);
    CHECK(counts[Count::bytes] == 2 * 2 * 16 * 2048);
}

TEST_CASE("batch norms, solves of one vector and places of a mask have laws of their own",
          "[templates]") {
    const auto named = [](const char* name, const char* inputs) {
        const Call call = counted_call(name, inputs);
        return law_name(call, bare_operator(call.name), ElementType::unknown);
    };
    CHECK(named("aten::cudnn_batch_norm",
                R"(["float","float","float","float","float","Scalar"]|)"
                R"([[4,8,6,6],[8],[8],[8],[8],[]]|[[288,36,6,1],[1],[1],[1],[1],[]]|)"
                R"(["","","","","","True"])") == "cudnn_batch_norm.first");
    CHECK(named("aten::native_batch_norm",
                R"(["float","float","float","float","float","Scalar"]|)"
                R"([[4,8,6,6],[8],[8],[8],[8],[]]|[[288,1,48,8],[1],[1],[1],[1],[]]|)"
                R"(["","","","","","True"])") == "native_batch_norm.last");
    CHECK(named("aten::cudnn_batch_norm",
                R"(["float","float","float","float","float","Scalar"]|)"
                R"([[4,8,6,6],[8],[8],[8],[8],[]]|[[288,36,6,1],[1],[1],[1],[1],[]]|)"
                R"(["","","","","","False"])") == "cudnn_batch_norm.fixed");
    CHECK(
        named(
            "aten::linalg_solve_triangular",
            R"(["float","float","Scalar"]|[[64,64],[64,1],[]]|[[64,1],[1,1],[]]|["","","True"])") ==
        "linalg_solve_triangular.vector");
    CHECK(named("aten::where", R"(["bool"]|[[64,2]]|[[2,1]]|[""])") == "nonzero");
}

TEST_CASE("turns count one block for each channel on all multiprocessors", "[templates]") {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Template law;
    law.turns[static_cast<std::size_t>(Count::planes)] = 2.0;
    Counts counts;
    counts[Count::planes] = 1e6;
    counts[Count::channels] = 1.0;
    const Time one = time_of(law, counts, machine).time;
    counts[Count::channels] = static_cast<double>(machine.sm_count);
    CHECK(time_of(law, counts, machine).time.base() == Approx(one.base()));
    counts[Count::channels] += 1.0;
    CHECK(time_of(law, counts, machine).time.base() == Approx(2.0 * one.base()));
}

TEST_CASE("a law knows the share of the bytes that the L2 cannot hold", "[templates]") {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Template law;
    law.missed[static_cast<std::size_t>(Count::planes)] = 2.0;
    Counts counts;
    counts[Count::planes] = 1e6;
    counts[Count::bytes] = machine.l2.size.base() / 4.0;
    const Time quarter = time_of(law, counts, machine).time;
    CHECK(quarter.base() == Approx(0.25 * 2e6 / machine.boost_clock.base()));
    counts[Count::bytes] = machine.l2.size.base() * 3.0;
    CHECK(time_of(law, counts, machine).time.base() == Approx(4.0 * quarter.base()));
    law = {.bytes = 0.5, .bytes_missed = 0.75};
    const TemplateTime streamed = time_of(law, counts, machine);
    CHECK(streamed.time.base() ==
          Approx(1.25 * counts[Count::bytes] / machine.dram_bandwidth.base()));
    CHECK(streamed.streams);
}

TEST_CASE("a scan of many short rows has a block for each", "[templates]") {
    const auto named = [](const char* size) {
        const Call call =
            counted_call("aten::cumsum", R"(["float","Scalar",""]|[[)" + std::string(size) +
                                             R"(],[],[]]||["","-1",""])");
        return law_name(call, "cumsum", ElementType::unknown);
    };
    // Seen on an H200: as many blocks as rows from 4097 rows of eight on, else one for each 32 rows.
    CHECK(named("16384,16,8") == "cumsum.single");
    CHECK(named("4097,8") == "cumsum.single");
    CHECK(named("4096,8") == "cumsum");
    CHECK(named("8") == "cumsum");
}

TEST_CASE("the blocks of the longest kernel share the elements", "[templates]") {
    Counts counts;
    counts[Count::elements] = 4096;
    add_launches(counts, {.launches = 3, .threads = 0, .blocks = 72, .longest_blocks = 64});
    CHECK(counts[Count::share] == 64);
    CHECK(counts[Count::turned] == 0);
    add_launches(counts, {.launches = 1, .blocks = 64, .longest_blocks = 64, .plane = true});
    CHECK(counts[Count::turned] == 4096);
}

TEST_CASE("a law adds its fixed time, bytes, clocks and chains", "[templates]") {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    Template law{.fixed = 2.0 * units::us, .bytes = 1.5, .low = 0.8, .high = 1.3};
    law.clocks[static_cast<std::size_t>(Count::elements)] = 2.0;
    law.chain[static_cast<std::size_t>(Count::columns)] = 3.0;
    Counts counts;
    counts[Count::bytes] = 4.8e6;
    counts[Count::elements] = 1e6;
    counts[Count::columns] = 100;
    const TemplateTime time = time_of(law, counts, machine);
    const double clock = machine.boost_clock.base();
    const double seconds = 2e-6 + 1.5 * 4.8e6 / machine.dram_bandwidth.base() +
                           (2e6 / static_cast<double>(machine.sm_count) + 300.0) / clock;
    CHECK(time.time.base() == Approx(seconds));
    CHECK(time.low.base() == Approx(0.8 * seconds));
    CHECK(time.high.base() == Approx(1.3 * seconds));
}

TEST_CASE("every law of the data has a band around it and takes longer for more", "[templates]") {
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    for (const char* name :
         {"fill", "upsample_bilinear2d_backward.16.first", "glu", "triton_red"}) {
        INFO(name);
        const Template* const law = template_of(name);
        REQUIRE(law != nullptr);
        CHECK(law->low < 1.0);
        CHECK(law->high > 1.0);
        CHECK(law->rows >= 8);
        Counts few;
        Counts many;
        for (std::size_t i = 0; i < count_count; ++i) {
            few[static_cast<Count>(i)] = 1e4;
            many[static_cast<Count>(i)] = 1e6;
        }
        CHECK(time_of(*law, many, machine).time > time_of(*law, few, machine).time);
    }
    CHECK(template_of("no_such_operator") == nullptr);
}

}  // namespace ridge::test
