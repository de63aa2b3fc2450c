// Source text of a fused elementwise kernel, for run-time compilation.
//
// Method: a text with placeholders `{{...}}` is filled from the operands and one expression. The
// result needs no header, because PTX converts the 16-bit types, so NVRTC compiles it as it is for
// sm_80 and later. A thread loads `unroll` vectors of every operand (16 bytes of the narrowest
// type; wider types take several), computes in float (in double for float64) and stores. The first
// block processes the elements after the last whole vector one by one. Operands may be broadcast
// along rows, along columns, or be one scalar.
//
// Example, gelu(x + bias) for bfloat16 x [rows, columns] and bias [columns]:
//   elementwise_source({.name = "gelu_bias",
//                       .operands = {{.name = "x"},
//                                    {.name = "bias", .broadcast = Broadcast::along_rows}},
//                       .result = ElementType::bfloat16,
//                       .expression = "gelu(x + bias)"})
// Kernel parameters: one pointer per operand, the result pointer, `elements` and `columns` (both of
// the index type). The expression is C++ over the operands' names, each a `Real`, and over exp,
// exp2_of, log, sine, cosine, sqrt, rsqrt, tanh, erf, sigmoid, relu, silu, gelu, gelu_tanh,
// softplus, abs, minimum, maximum, power, square, cube.
// Launch: 1-D grid of elementwise_blocks(...) blocks of `threads`. erf is formula 7.1.26 of
// Abramowitz and Stegun (absolute error 1.5e-7), with a third of the instructions of erff, which
// alone would bound gelu on a 16-bit type. tanh is tanhf. In double every function is the
// compiler's own.
// Limits: only float64, or any mix of float32, float16 and bfloat16. A width above 1 needs 16-byte
// aligned arrays and, with broadcasts, columns that are a multiple of the width (elementwise_width
// chooses it). 32-bit indices work below 2^31 elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "measure/cuda/kernels/launch.h"
#include "model/bundled/streams.h"

namespace ridge::measure::cuda {

enum class Broadcast {
    none,           // [rows, columns]
    along_rows,     // [columns], the same for every row
    along_columns,  // [rows], the same for every column
    scalar,         // [1]
};

struct ElementwiseOperand {
    std::string name;
    ElementType type = ElementType::bfloat16;
    Broadcast broadcast = Broadcast::none;
};

struct ElementwiseSource {
    std::string name = "elementwise";
    std::vector<ElementwiseOperand> operands;
    ElementType result = ElementType::bfloat16;
    std::string expression;
    int width = 8;                             // elements per access: elementwise_width(...)
    int unroll = bundled::elementwise_unroll;  // vectors of each operand in flight per thread
    int threads = bundled::elementwise_threads;
    bool wide_index = false;  // true from 2^31 elements on
};

// Functions of an expression, in float (using the special-function unit) and in double.
inline constexpr std::string_view float_functions =
    R"kernel(__device__ __forceinline__ float exp2_of(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ float exp(float x) { return exp2_of(x * 1.44269504f); }
__device__ __forceinline__ float log(float x) { return logf(x); }
__device__ __forceinline__ float sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }
__device__ __forceinline__ float tanh(float x) { return tanhf(x); }
__device__ __forceinline__ float abs(float x) { return fabsf(x); }
__device__ __forceinline__ float minimum(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float maximum(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ float power(float x, float y) { return powf(x, y); }
__device__ __forceinline__ float square(float x) { return x * x; }
__device__ __forceinline__ float cube(float x) { return x * x * x; }
__device__ __forceinline__ float sigmoid(float x) { return reciprocal(1.0f + exp(-x)); }
__device__ __forceinline__ float relu(float x) { return fmaxf(x, 0.0f); }
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }
__device__ __forceinline__ float erf(float x) {
  const float t = reciprocal(fmaf(0.3275911f, fabsf(x), 1.0f));
  const float series =
      t * fmaf(t, fmaf(t, fmaf(t, fmaf(t, 1.061405429f, -1.453152027f), 1.421413741f), -0.284496736f), 0.254829592f);
  return copysignf(fmaf(-series, exp2_of(x * x * -1.44269504f), 1.0f), x);
}
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.0f + erf(x * 0.70710678f)); }
// 0.5 x (1 + tanh u) is x sigmoid(2 u), a third of the work.
__device__ __forceinline__ float gelu_tanh(float x) {
  return x * sigmoid(1.59576912f * x * (1.0f + 0.044715f * x * x));
}
__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(exp(-fabsf(x))); }
__device__ __forceinline__ float sine(float x) { return sinf(x); }
__device__ __forceinline__ float cosine(float x) { return cosf(x); }
)kernel";

inline constexpr std::string_view double_functions =
    R"kernel(__device__ __forceinline__ double exp2_of(double x) { return ::exp2(x); }
__device__ __forceinline__ double exp(double x) { return ::exp(x); }
__device__ __forceinline__ double log(double x) { return ::log(x); }
__device__ __forceinline__ double sqrt(double x) { return ::sqrt(x); }
__device__ __forceinline__ double rsqrt(double x) { return ::rsqrt(x); }
__device__ __forceinline__ double tanh(double x) { return ::tanh(x); }
__device__ __forceinline__ double abs(double x) { return ::fabs(x); }
__device__ __forceinline__ double minimum(double x, double y) { return ::fmin(x, y); }
__device__ __forceinline__ double maximum(double x, double y) { return ::fmax(x, y); }
__device__ __forceinline__ double power(double x, double y) { return ::pow(x, y); }
__device__ __forceinline__ double square(double x) { return x * x; }
__device__ __forceinline__ double cube(double x) { return x * x * x; }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
__device__ __forceinline__ double relu(double x) { return ::fmax(x, 0.0); }
__device__ __forceinline__ double silu(double x) { return x * sigmoid(x); }
__device__ __forceinline__ double erf(double x) { return ::erf(x); }
__device__ __forceinline__ double gelu(double x) { return 0.5 * x * (1.0 + ::erf(x * 0.70710678118654752)); }
__device__ __forceinline__ double gelu_tanh(double x) {
  return x * sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * x * x));
}
__device__ __forceinline__ double softplus(double x) { return ::fmax(x, 0.0) + ::log1p(::exp(-::fabs(x))); }
__device__ __forceinline__ double sine(double x) { return ::sin(x); }
__device__ __forceinline__ double cosine(double x) { return ::cos(x); }
)kernel";

inline constexpr std::string_view elementwise_template = R"kernel(
typedef {{REAL}} Real;
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
struct alignas(16) chunk { unsigned int word[4]; };

__device__ __forceinline__ double widen(double value) { return value; }
__device__ __forceinline__ float widen(float value) { return value; }
__device__ __forceinline__ float widen(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
__device__ __forceinline__ float widen(bf16 value) { return __uint_as_float((unsigned int)value.bits << 16); }

template <typename T> __device__ __forceinline__ T narrow(Real value);
template <> __device__ __forceinline__ double narrow<double>(Real value) { return value; }
template <> __device__ __forceinline__ float narrow<float>(Real value) { return value; }
template <> __device__ __forceinline__ f16 narrow<f16>(Real value) {
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"((float)value));
  return result;
}
template <> __device__ __forceinline__ bf16 narrow<bf16>(Real value) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"((float)value));
  return result;
}

template <typename T, int width>
__device__ __forceinline__ void load(Real (&values)[width], const T* address) {
  if constexpr (width == 1) {
    values[0] = widen(*address);
  } else {
    constexpr int per_chunk = 16 / (int)sizeof(T);
#pragma unroll
    for (int c = 0; c < width / per_chunk; ++c) {
      union { chunk whole; T element[per_chunk]; } held;
      held.whole = *(reinterpret_cast<const chunk*>(address) + c);
#pragma unroll
      for (int k = 0; k < per_chunk; ++k) values[c * per_chunk + k] = widen(held.element[k]);
    }
  }
}

template <typename T, int width>
__device__ __forceinline__ void repeat(Real (&values)[width], const T* address) {
  const Real value = widen(*address);
#pragma unroll
  for (int k = 0; k < width; ++k) values[k] = value;
}

template <typename T, int width>
__device__ __forceinline__ void store(T* address, const Real (&values)[width]) {
  if constexpr (width == 1) {
    *address = narrow<T>(values[0]);
  } else {
    constexpr int per_chunk = 16 / (int)sizeof(T);
#pragma unroll
    for (int c = 0; c < width / per_chunk; ++c) {
      union { chunk whole; T element[per_chunk]; } held;
#pragma unroll
      for (int k = 0; k < per_chunk; ++k) held.element[k] = narrow<T>(values[c * per_chunk + k]);
      *(reinterpret_cast<chunk*>(address) + c) = held.whole;
    }
  }
}

namespace expression {
{{FUNCTIONS}}__device__ __forceinline__ Real evaluate({{ARGUMENTS}}) { return {{EXPRESSION}}; }
}  // namespace expression

typedef {{INDEX}} Index;

template <int width, int unroll>
__device__ __forceinline__ void compute({{PARAMETERS}}, Index first, Index step, Index elements, Index columns) {
{{DECLARATIONS}}
#pragma unroll
  for (int i = 0; i < unroll; ++i) {
    const Index index = first + i * step;
    if (index + width > elements) continue;
{{LOADS}}
  }
#pragma unroll
  for (int i = 0; i < unroll; ++i) {
    const Index index = first + i * step;
    if (index + width > elements) continue;
    Real values[width];
#pragma unroll
    for (int k = 0; k < width; ++k) values[k] = expression::evaluate({{VALUES}});
    store(result_pointer + index, values);
  }
}

extern "C" __global__ void __launch_bounds__({{THREADS}}) {{NAME}}({{PARAMETERS}}, Index elements, Index columns) {
  constexpr int width = {{WIDTH}};
  constexpr int unroll = {{UNROLL}};
  const Index step = {{THREADS}} * width;
  const Index first = (Index)blockIdx.x * (step * unroll) + (Index)threadIdx.x * width;
  compute<width, unroll>({{POINTERS}}, first, step, elements, columns);
  const Index tail = elements / width * width + threadIdx.x;
  if (width > 1 && blockIdx.x == 0 && tail < elements) compute<1, 1>({{POINTERS}}, tail, 1, elements, columns);
}
)kernel";

// Elements per access that the shapes allow: 16 bytes of the narrowest type, or 1 element.
[[nodiscard]] inline int elementwise_width(const ElementwiseSource& source, std::int64_t columns) {
    int narrowest = bytes_per_element(source.result);
    bool broadcasts = false;
    for (const ElementwiseOperand& operand : source.operands) {
        narrowest = std::min(narrowest, bytes_per_element(operand.type));
        broadcasts |= operand.broadcast == Broadcast::along_rows ||
                      operand.broadcast == Broadcast::along_columns;
    }
    return static_cast<int>(broadcasts ? bundled::elementwise_width(narrowest, columns)
                                       : bundled::elementwise_width(narrowest));
}

[[nodiscard]] inline std::int64_t elementwise_blocks(const ElementwiseSource& source,
                                                     std::int64_t elements) {
    return bundled::elementwise_grid(elements, source.width).blocks();
}

namespace elementwise_text {

[[nodiscard]] inline std::string type_name(ElementType type) {
    switch (type) {
        case ElementType::float64:
            return "double";
        case ElementType::float32:
            return "float";
        case ElementType::float16:
            return "f16";
        case ElementType::bfloat16:
            return "bf16";
        default:
            throw std::invalid_argument(
                "elementwise kernel: elements are float64, float32, float16 or bfloat16");
    }
}

[[nodiscard]] inline std::string load_of(const ElementwiseOperand& operand) {
    const std::string pointer = operand.name + "_pointer";
    const std::string values = operand.name + "[i], ";
    switch (operand.broadcast) {
        case Broadcast::none:
            return "    load(" + values + pointer + " + index);\n";
        case Broadcast::along_rows:
            return "    load(" + values + pointer + " + index % columns);\n";
        case Broadcast::along_columns:
            return "    repeat(" + values + pointer + " + index / columns);\n";
        case Broadcast::scalar:
            return "    repeat(" + values + pointer + ");\n";
    }
    throw std::invalid_argument("elementwise kernel: unknown broadcast");
}

[[nodiscard]] inline std::string replaced(std::string text, std::string_view placeholder,
                                          std::string_view value) {
    for (std::size_t at = text.find(placeholder); at != std::string::npos;
         at = text.find(placeholder, at + value.size())) {
        text.replace(at, placeholder.size(), value);
    }
    return text;
}

}  // namespace elementwise_text

// The complete source. Throws std::invalid_argument for an unsupported type.
[[nodiscard]] inline std::string elementwise_source(const ElementwiseSource& source) {
    std::string arguments, parameters, pointers, declarations, loads, values;
    for (const ElementwiseOperand& operand : source.operands) {
        const std::string comma = arguments.empty() ? "" : ", ";
        arguments += comma + "Real " + operand.name;
        values += comma + operand.name + "[i][k]";
        parameters += "const " + elementwise_text::type_name(operand.type) + "* __restrict__ " +
                      operand.name + "_pointer, ";
        pointers += operand.name + "_pointer, ";
        declarations += "  Real " + operand.name + "[unroll][width];\n";
        loads += elementwise_text::load_of(operand);
    }
    parameters += elementwise_text::type_name(source.result) + "* __restrict__ result_pointer";
    pointers += "result_pointer";
    std::string text(elementwise_template);
    const auto fill = [&text](std::string_view placeholder, const std::string& value) {
        text = elementwise_text::replaced(std::move(text), placeholder, value);
    };
    const bool wide = source.result == ElementType::float64;
    fill("{{REAL}}", wide ? "double" : "float");
    fill("{{FUNCTIONS}}", std::string(wide ? double_functions : float_functions));
    fill("{{NAME}}", source.name);
    fill("{{ARGUMENTS}}", arguments);
    fill("{{EXPRESSION}}", source.expression);
    fill("{{PARAMETERS}}", parameters);
    fill("{{POINTERS}}", pointers);
    fill("{{DECLARATIONS}}", declarations);
    fill("{{LOADS}}", loads);
    fill("{{VALUES}}", values);
    fill("{{INDEX}}", source.wide_index ? "long long" : "unsigned int");
    fill("{{THREADS}}", std::to_string(source.threads));
    fill("{{WIDTH}}", std::to_string(source.width));
    fill("{{UNROLL}}", std::to_string(source.unroll));
    return text;
}

}  // namespace ridge::measure::cuda
