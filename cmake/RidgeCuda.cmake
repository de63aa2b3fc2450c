# Decides whether the CUDA measuring machine is built and sets RIDGE_HAVE_CUDA. Without a toolkit
# everything else still builds; measure/CMakeLists.txt then links a replacement that reports a build
# without CUDA. CUDA 13.0 is the oldest version whose CUPTI has the activity records and the range
# profiler that ridge uses.

set(RIDGE_HAVE_CUDA OFF)
if(NOT RIDGE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc supports C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
      list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    endif()
    find_package(CUDAToolkit 13.0)
    if(CUDAToolkit_FOUND)
      set(RIDGE_HAVE_CUDA ON)
    endif()
  endif()
  if(RIDGE_CUDA STREQUAL "ON" AND NOT RIDGE_HAVE_CUDA)
    message(FATAL_ERROR "RIDGE_CUDA=ON, but no CUDA Toolkit (13.0 or newer) was found; set CUDACXX or use RIDGE_CUDA=OFF")
  endif()
endif()
message(STATUS "CUDA measuring machine: ${RIDGE_HAVE_CUDA}")
