// Invalid input gives a message that names the field, exit code 1 or 2, and no result.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>

#include "cli/commands/commands.h"
#include "cli/console/screen.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

using ridge::test::run_line;
using ridge::test::TemporaryFile;
using ridge::test::TemporaryFolder;
using ridge::test::Transcript;
using ridge::test::Variable;

namespace {

struct Nonsense {
    const char* line;
    const char* names;
};

constexpr Nonsense all_nonsense[] = {
    {"predict matmul --m -1 --n 2 --k 2 --gpu h100-sxm", "m"},
    {"predict matmul --m 0 --n 2 --k 2 --gpu h100-sxm", "m must be at least 1"},
    {"predict matmul --m 4611686018427387904 --n 2 --k 2 --gpu h100-sxm", "m must be at most"},
    {"predict matmul --m 281474976710656 --n 281474976710656 --k 2 --gpu h100-sxm", "m x n x k"},
    {"predict matmul --m 16777216 --n 16777216 --k 16777216 --gpu h100-sxm", "m x n x k"},
    {"predict matmul --m 99999999999999999999 --n 2 --k 2 --gpu h100-sxm", "m"},
    {"predict matmul --m 4.5 --n 2 --k 2 --gpu h100-sxm", "m"},
    {"predict matmul --m 1e-3 --n 2 --k 2 --gpu h100-sxm", "m: "},
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
    {"predict attention --heads 32 --head-dim 64 --gpu h100-sxm", "seq (or seq_q"},
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
    {"vram", "for example: ridge vram matmul"},
    {"plot", "name a subcommand: scatter, sweep"},
    {"roofline --gpu h100,a100", "`ridge compare` and `ridge sweep` take several"},
    {"predict --op \"matmul m=4 n=4 k=4 heads=3\" --gpu h100-sxm", "heads"},
    {"predict --op \"matmul m\" --gpu h100-sxm", "field=value"},
    {"predict --op \"matmul m=4 n=4 k=4 m=8\" --gpu h100-sxm", "'m' is given twice"},
    {"predict elementwise --expr x+1 --elements 5 --unfused --impl fused --gpu h100-sxm",
     "contradict"},
    {"vram copy --elements 5 --impl library", "it has bundled, torch"},
    {"vram attention --seq 4 --heads 2 --head-dim 64 --capacity -1GiB", "capacity"},
    {"vram attention --seq 4 --heads 2 --head-dim 64 --capacity \"0 GiB\"", "capacity"},
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

}  // namespace

TEST_CASE("invalid command lines name the field") {
    for (const Nonsense& nonsense : all_nonsense) {
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

TEST_CASE("calling ridge without arguments is a usage error with the help on the error stream") {
    const Transcript transcript = run_line("");
    CHECK(transcript.code == 1);
    CHECK(transcript.out.empty());
    CHECK(transcript.err.find("Subcommands") != std::string::npos);
}

TEST_CASE("every command has help with an example") {
    for (const ridge::cli::CommandInfo& info : ridge::cli::command_table()) {
        const std::string command(info.name);
        CAPTURE(command);
        const Transcript transcript = run_line(command + " --help");
        CHECK(transcript.code == 0);
        const std::size_t example = transcript.out.find("\nExample");
        REQUIRE(example != std::string::npos);
        CHECK(transcript.out.find("ridge " + command, example) != std::string::npos);
    }
    CHECK(run_line("--version").out.rfind("ridge ", 0) == 0);
}

TEST_CASE("control characters in files and arguments do not reach the terminal") {
    const std::string bad = "x\x1B[31m\x07\xE2\x80\xAEz";
    const auto is_plain = [](const std::string& text) {
        return text.find('\x1B') == std::string::npos && text.find('\x07') == std::string::npos &&
               text.find("\xE2\x80\xAE") == std::string::npos;
    };
    const std::vector<std::vector<std::string>> calls{
        {"predict", "copy", "--elements", "4", "--gpu", bad},
        {"predict", "copy", "--elements", bad, "--gpu", "h100-sxm"},
        {"predict", "--op", "copy elements=4 " + bad + "=1", "--gpu", "h100-sxm"},
        {"predict", "--from", bad, "--gpu", "h100-sxm"},
        {bad}};
    for (const auto& call : calls) {
        const Transcript transcript = ridge::test::run(call);
        CAPTURE(transcript.err);
        CHECK(transcript.code != 0);
        CHECK(is_plain(transcript.err));
        CHECK(is_plain(transcript.out));
    }
    const Transcript table =
        ridge::test::run({"predict", "--from", "-", "--gpu", "h100-sxm", "--format", "table"},
                         "op,elements,name\ncopy,4," + bad + "\ncopy," + bad + ",\n");
    CHECK_THAT(table.out, contains_text("x "));
    CHECK(is_plain(table.out));
}

TEST_CASE("a terminal gets bold letters and no other escapes, whatever is printed") {
    std::stringbuf terminal;
    {
        ridge::cli::Screen screen(terminal);
        std::ostream out(&screen);
        out << "\033[1mbold\033[0m \033]0;title\007 a\033[2Jb \033[31\n";
        out << "op,\xe2\x80\xae"
            << "name\xff" << std::flush;
        CHECK(terminal.str().find("\033[1mbold\033[0m") == 0);
        out << '\n' << "cut \033";
    }
    const std::string shown = terminal.str();
    CHECK(std::count(shown.begin(), shown.end(), '\033') == 2);
    CHECK(shown.find('\007') == std::string::npos);
    CHECK(shown.find("\xe2\x80\xae") == std::string::npos);
    CHECK(shown.find("cut") != std::string::npos);
    CHECK(std::count(shown.begin(), shown.end(), '\n') == 2);
}

TEST_CASE("a sweep without any prediction is an error, not an empty chart") {
    const Transcript sweep =
        run_line("sweep matmul --m 64:256:*2 --n 64 --k 64 --impl wgmma --gpu a100-sxm-80gb");
    CHECK(sweep.code == 2);
    CHECK(sweep.out.empty());
    CHECK(sweep.err.find("needs compute capability 9.0") != std::string::npos);
}

TEST_CASE(
    "an overlay without effect is refused, and a broken file in the user's folder is left out") {
    const TemporaryFolder folder;
    const auto write = [&folder](const std::string& name, const std::string& target) {
        return folder.write(name, "schema = 1\nkind = \"overlay\"\nname = \"mine\"\noverlay = \"" +
                                      target +
                                      "\"\n[sources.own]\nkind = \"estimate\"\ntitle = \"own\"\n");
    };
    const std::string call = "predict copy --elements 4096 --gpu h100-sxm --gpu-file ";
    const Transcript lost = run_line(call + write("lost.toml", "h101-sxm"));
    CHECK(lost.code == 2);
    CHECK_THAT(lost.err,
               contains_text("overlays \"h101-sxm\"") && contains_text("did you mean h100-sxm"));
    const Transcript unused = run_line(call + write("over.toml", "h100-sxm") + " --datasheet");
    CHECK(unused.code == 2);
    CHECK_THAT(unused.err, contains_text("no effect"));

    folder.write("ridge/gpus/broken.toml", "name = [\n");
    const Variable configuration("XDG_CONFIG_HOME", folder.path());
    const Transcript warned = run_line("predict copy --elements 4096 --gpu h100-sxm");
    CHECK(warned.code == 0);
    CHECK_THAT(warned.err, contains_text("left out: ") && contains_text("broken.toml"));
}

TEST_CASE("folders, devices and pipes are refused instead of waited for") {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("ridge/gpus"));
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const char* command : {"validate ", "plot scatter ", "roofline --gpu h100-sxm --records ",
                                "predict copy --elements 4 --gpu-file ", "gpus check "}) {
        for (const std::string& path : {std::string("/dev/zero"), folder.path()}) {
            CAPTURE(command, path);
            CHECK(run_line(command + path).code == 2);
        }
        const Transcript refused = run_line(command + pipe);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.out + refused.err, contains_text("is a pipe, not a file"));
    }
    CHECK_THAT(run_line("predict copy --gpu h100-sxm --from /dev/zero").err,
               contains_text("is a device"));
    // A pipe among the user's own descriptions does not block commands.
    REQUIRE(::mkfifo(folder.file("ridge/gpus/own.toml").c_str(), 0600) == 0);
    const Variable configuration("XDG_CONFIG_HOME", folder.path());
    const Transcript other = run_line("predict copy --elements 4 --gpu h100-sxm");
    CHECK(other.code == 0);
}

TEST_CASE("a broken GPU is an error of its file, however many rows name it") {
    const TemporaryFile file("schema = 1\nname = \"mine\"\ntitle = \"M\"\nvendor = \"A\"\n",
                             ".toml");
    const Transcript one = run_line("predict copy --elements 4096 --gpu-file " + file.path());
    CHECK(one.code == 2);
    const Transcript rows =
        run_line("predict copy --from - --gpu-file " + file.path(), "elements\n1\n2\n3\n");
    CHECK(rows.code == 2);
    CHECK_THAT(rows.err, contains_text("3 of 3 rows"));
}
