// Nonsense in: a message that names the field, exit code 1 or 2, and nothing printed as a result.
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"

using ridge::test::run_line;
using ridge::test::Transcript;

namespace {

struct Nonsense {
    const char* line;
    const char* names;
};

}  // namespace

TEST_CASE("nonsense on the command line names the field") {
    const Nonsense cases[] = {
        {"predict matmul --m -1 --n 2 --k 2 --gpu h100-sxm", "m"},
        {"predict matmul --m 0 --n 2 --k 2 --gpu h100-sxm", "m must be at least 1"},
        {"predict matmul --m 4611686018427387904 --n 2 --k 2 --gpu h100-sxm", "m must be at most"},
        {"predict matmul --m 281474976710656 --n 281474976710656 --k 2 --gpu h100-sxm",
         "m x n x k"},
        {"predict matmul --m 16777216 --n 16777216 --k 16777216 --gpu h100-sxm", "m x n x k"},
        {"predict matmul --m 99999999999999999999 --n 2 --k 2 --gpu h100-sxm", "m"},
        {"predict matmul --m 4.5 --n 2 --k 2 --gpu h100-sxm", "m"},
        {"predict matmul --m 1e3 --n 2 --k 2 --gpu h100-sxm", "m"},
        {"predict matmul --m nan --n 2 --k 2 --gpu h100-sxm", "m"},
        {"predict matmul --n 2 --k 2 --gpu h100-sxm", "m is missing"},
        {"predict matmul --m 4 --n 2 --k 2 --dtype fp7 --gpu h100-sxm", "dtype"},
        {"predict matmul --m 4 --n 2 --k 2 --dtype fp16 --accumulate int8 --gpu h100-sxm",
         "accumulate"},
        {"predict matmul --m 4 --n 2 --k 2 --batch 0 --gpu h100-sxm", "batch"},
        {"predict matmul --m 4 --n 2 --k 2 --epilogue swish --gpu h100-sxm", "epilogue"},
        {"predict matmul --m 4 --n 2 --k 2 --tile 0x5 --gpu h100-sxm", "tile"},
        {"predict matmul --m 4 --n 2 --k 2 --l2 hot --gpu h100-sxm", "l2"},
        {"predict matmul --m 4 --n 2 --k 2 --launch rocket --gpu h100-sxm", "launch"},
        {"predict matmul --m 4 --n 2 --k 2 --impl magic --gpu h100-sxm", "impl"},
        {"predict matmul --m 4 --n 2 --k 2", "gpu is missing"},
        {"predict matmul --m 4 --n 2 --k 2 --gpu h1000000", "h1000000"},
        {"predict attention --heads 32 --kv-heads 5 --seq 128 --head-dim 64 --gpu h100-sxm",
         "kv_heads"},
        {"predict attention --heads 32 --kv-heads 64 --seq 128 --head-dim 64 --gpu h100-sxm",
         "kv_heads"},
        {"predict attention --heads 32 --head-dim 64 --gpu h100-sxm", "seq_q"},
        {"predict attention --heads 32 --seq 128 --head-dim 0 --gpu h100-sxm", "head_dim"},
        {"predict attention --heads 1 --seq-q 9 --seq-kv 8 --head-dim 64 --causal --gpu h100-sxm",
         "seq_q"},
        {"predict attention --heads 1 --seq 4 --head-dim 64 --window -3 --gpu h100-sxm", "window"},
        {"predict attention --heads 1 --seq 4 --head-dim 64 --direction sideways --gpu h100-sxm",
         "direction"},
        {"predict elementwise --expr x+ --elements 5 --gpu h100-sxm", "expression:1:3"},
        {"predict elementwise --expr gelo(x) --elements 5 --gpu h100-sxm", "gelu"},
        {"predict elementwise --elements 5 --gpu h100-sxm", "expr is missing"},
        {"predict softmax --rows 5 --gpu h100-sxm", "cols is missing"},
        {"predict softmax --rows 5 --cols -2 --gpu h100-sxm", "cols"},
        {"predict gather --rows 5 --cols 2 --gpu h100-sxm", "table_rows"},
        {"predict all_reduce --gpus 1 --bytes 5 --gpu h100-sxm", "gpus"},
        {"predict all_reduce --gpus 8 --bytes 0 --gpu h100-sxm", "bytes"},
        {"predict matmull --m 4", "did you mean 'matmul'"},
        {"predict", "op is missing"},
        {"predict --op \"matmul m=4 n=4 k=4 heads=3\" --gpu h100-sxm", "heads"},
        {"predict --op \"matmul m\" --gpu h100-sxm", "field=value"},
        {"vram attention --seq 4 --heads 2 --head-dim 64 --pass both", "pass"},
        {"vram attention --seq 4 --heads 2 --head-dim 64 --capacity 80GB/s", "80GB/s"},
        {"sweep matmul --m 8 --n 8 --k 8 --gpu h100-sxm", "no field is a range"},
        {"sweep matmul --m 8:1 --n 8 --k 8 --gpu h100-sxm", "m: range"},
        {"sweep matmul --m 1:9:0 --n 8 --k 8 --gpu h100-sxm", "m: range"},
        {"sweep matmul --m 1:9 --n @q --k 8 --gpu h100-sxm", "n"},
        {"gpus show nothing-like-it", "nothing-like-it"},
        {"roofline --gpu h100-sxm --dtype fp5", "dtype"},
        {"compare matmul --m 4 --n 4 --k 4 --gpu h100-sxm,nope", "nope"},
        {"nonsense", "unknown command 'nonsense'"},
        {"predikt", "did you mean 'predict'"},
        {"completions tcsh", "tcsh"}};
    for (const Nonsense& nonsense : cases) {
        CAPTURE(nonsense.line);
        const Transcript transcript = run_line(nonsense.line);
        CHECK((transcript.code == 1 || transcript.code == 2));
        CHECK(transcript.out.empty());
        CHECK(transcript.err.find(nonsense.names) != std::string::npos);
    }
}

TEST_CASE("a question without an answer says why and exits with 2") {
    for (const char* line : {"predict matmul --m 4 --n 4 --k 4 --dtype fp8 --gpu a100-sxm-80gb",
                             "predict matmul --m 4 --n 4 --k 4 --dtype bf16 --gpu v100-sxm",
                             "predict matmul --m 4 --n 4 --k 4 --impl flash2 --gpu h100-sxm",
                             "predict attention --heads 2 --seq 64 --head-dim 64 --impl flash3 "
                             "--gpu a100-sxm-80gb",
                             "predict softmax --rows 4 --cols 4 --impl flash1 --gpu h100-sxm",
                             "predict all_reduce --bytes 1024 --gpu tpu-v6e"}) {
        CAPTURE(line);
        const Transcript transcript = run_line(line);
        CHECK(transcript.code == 2);
        CHECK(transcript.out.find("not modelled") != std::string::npos);
        CHECK(transcript.out.find("time ") == std::string::npos);
    }
}

TEST_CASE("no arguments is a usage error with the help on the error stream") {
    const Transcript transcript = run_line("");
    CHECK(transcript.code == 1);
    CHECK(transcript.out.empty());
    CHECK(transcript.err.find("Subcommands") != std::string::npos);
}

TEST_CASE("every command has help with an example") {
    for (const char* command :
         {"predict", "vram", "roofline", "sweep", "compare", "gpus", "completions"}) {
        CAPTURE(command);
        const Transcript transcript = run_line(std::string(command) + " --help");
        CHECK(transcript.code == 0);
        CHECK(transcript.out.find("Example") != std::string::npos);
        CHECK(transcript.out.find("ridge " + std::string(command)) != std::string::npos);
    }
    CHECK(run_line("--version").out.rfind("ridge ", 0) == 0);
}
