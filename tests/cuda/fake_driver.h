// What a test says to the fake driver (fake_driver.cpp), and what that has seen.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <utility>
#include <vector>

/// Its address is a CUfunction.
struct FakeKernel {
    void (*run)(void** arguments) = nullptr;
    std::vector<std::pair<std::size_t, std::size_t>> arguments{};  ///< offset and size of each
    bool is_kernel_handle = false;                                 ///< a CUkernel
};

struct FakeDriver {
    bool refuses_memory = false;
    bool refuses_launches = false;
    std::size_t free_bytes = std::size_t{8} << 30U;
    int allocations = 0;
    std::vector<unsigned> grids{};
    std::vector<CUstream> streams{};
    unsigned attributes = 0;
};
