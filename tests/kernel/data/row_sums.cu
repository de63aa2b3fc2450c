// Row sums: each block adds up rows of n floats, warps divide the columns.
extern "C" __global__ void __launch_bounds__(128)
    row_sums(const float* in, float* out, int rows, int n) {
    __shared__ float parts[128];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0F;
#pragma unroll 1
        for (int i = threadIdx.x; i < n; i += 128) sum += in[row * n + i];
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < 32) {
            float all = parts[threadIdx.x] + parts[threadIdx.x + 32] + parts[threadIdx.x + 64] +
                        parts[threadIdx.x + 96];
            out[row * 32 + threadIdx.x] = all;
        }
        __syncthreads();
    }
}
