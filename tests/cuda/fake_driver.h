// What a test tells the fake driver (fake_driver.cpp), and what the driver has seen.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <utility>
#include <vector>

/// A kernel of the fake driver. Its address serves as the CUfunction.
struct FakeKernel {
    void (*run)(void** arguments) = nullptr;
    std::vector<std::pair<std::size_t, std::size_t>> arguments{};  ///< offset and size of each one
    bool is_kernel_handle = false;  ///< whether it stands for a CUkernel
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
