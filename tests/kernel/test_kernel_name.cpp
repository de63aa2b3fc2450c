#include "kernel/causes/kernel_name.h"
#include "tests/catch.h"

using ridge::kernel::short_kernel_name;

TEST_CASE("a kernel's name loses its return type, parameters and namespaces", "[kernel]") {
    CHECK(short_kernel_name("void copy<float>(float*, float const*)") == "copy<float>");
    CHECK(short_kernel_name("planted::(anonymous namespace)::k04a(float const*, float*)") ==
          "k04a");
    CHECK(short_kernel_name("planted::<unnamed>::k04a(const float *, float *)") == "k04a");
    CHECK(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, "
                            "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
                            "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)") ==
          "vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, array<...> >");
    CHECK(short_kernel_name("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT") ==
          "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT");
    CHECK(short_kernel_name("unnamed>::k04a(const float *, float *)") == "k04a");
    CHECK(
        short_kernel_name("void f<(int)4, (bool)1, g<int>(int){lambda(int)#1}::operator()() const, "
                          "h>(int)") == "f<4, 1, g<...>, h>");
    CHECK(short_kernel_name("") == "");
    CHECK(short_kernel_name("<<<((::") != "");
}
