// Tables of ROCm's rocprofv3: the columns that its versions write, the files beside that of the kernels, and damage.
#include "programs/traces/rocprofv3.h"

#include <string>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"
#include "tests/programs/operator_name.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;
using ridge::test::TemporaryFile;
using ridge::test::TemporaryFolder;

namespace {

// The columns of ROCm 7, 6.3 and 6.1, with rows made up for this test.
const std::string columns_of_7 =
    R"csv("Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z")csv";
const std::string columns_of_6_3 =
    R"csv("Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z")csv";
const std::string columns_of_6_1 =
    R"csv("Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z")csv";
const std::string two_kernels =
    R"csv("KERNEL_DISPATCH","Agent 2",1,0,77,1,5,"void scale<float, 4>(float*, int)",31,9000001000,9000004500,512,0,24,0,32,256,1,1,1000,3,1
"KERNEL_DISPATCH","Agent 2",1,0,77,2,6,"sum(float*)",33,9000006000,9000008000,0,0,8,0,16,64,1,1,64,1,1
)csv";

std::string error_of(const std::string& text) {
    const TemporaryFile file(text, ".csv");
    try {
        return "read: " + read_trace(file.path()).read.damage;
    } catch (const InputError& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("kernels of rocprofv3, with what lies beside their table", "[trace]") {
    const TemporaryFolder folder;
    folder.write("11_agent_info.csv",
                 R"csv("Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Name","Product_Name"
0,0,"CPU",0,"a CPU","a CPU"
4,2,"GPU",304,"gfx942","AMD Instinct MI300X"
)csv");
    folder.write(
        "11_hip_api_trace.csv",
        R"csv("Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API_EXT","hipLaunchKernel",11,77,31,9000000100,9000000900
"HIP_RUNTIME_API_EXT","hipMemcpyAsync",11,77,32,9000001000,9000001200
"HIP_RUNTIME_API_EXT","hipLaunchKernel",11,77,33,9000005100,9000005500
)csv");
    folder.write(
        "11_marker_api_trace.csv",
        R"csv("Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MARKER_CORE_API","second, half",11,77,40,9000005000,9000005600
"MARKER_CORE_API","mark",11,77,41,9000005000,9000005000
)csv");
    folder.write(
        "11_memory_copy_trace.csv",
        R"csv("Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",1,"Agent 0","Agent 2",32,9000004600,9000005000
)csv");
    const std::string file = folder.write("11_kernel_trace.csv", columns_of_7 + "\n" + two_kernels);
    const Trace trace = read_trace(file);
    CHECK(trace.recorder == TraceSource::rocprofv3);
    CHECK(trace.read.damage.empty());
    CHECK(trace.notes.empty());
    CHECK(trace.device_name() == "AMD Instinct MI300X");
    REQUIRE(trace.kernels.size() == 3);
    const Kernel& scale = trace.kernels[0];
    CHECK(trace.text(scale.name) == "void scale<float, 4>(float*, int)");
    CHECK(scale.start_ns == 9000001000);
    CHECK(scale.duration_ns == 3500);
    CHECK(scale.device == 2);
    CHECK(scale.grid == std::array<std::int64_t, 3>{4, 3, 1});  // work-items in whole groups
    CHECK(scale.block == std::array<std::int64_t, 3>{256, 1, 1});
    CHECK(scale.registers == 24);
    CHECK(scale.shared_bytes == 512);
    CHECK(trace.launches[static_cast<std::size_t>(scale.launch)].end_ns == 9000000900);
    CHECK(trace.kernels[1].kind == ActivityKind::copy);
    CHECK(trace.text(trace.kernels[1].name) == "Memcpy HtoD");
    CHECK(ridge::test::operator_name(trace, trace.kernels[2].range) == "second, half");

    const TraceReport report =
        report_of(trace, model::make_machine(model::catalogue().at("mi300x")));
    CHECK(report.operators.front().name == "void scale<float, 4>(float*, int)");
    CHECK(report.modelled_share == 0.0);
    CHECK(report.timeline.span_ns == 7000);
    // The second kernel waits for its launch until 9000005500, after the copy.
    CHECK(report.timeline.host_late_ns == 500);
}

TEST_CASE("columns of older versions, agents by number and GPUs by rank", "[trace]") {
    const TemporaryFile of_6_3(
        columns_of_6_3 +
            "\n\"KERNEL_DISPATCH\",8,2,77,1,5,\"k\",0,1000,3000,0,1024,128,1,1,16384,1,1\n",
        ".csv");
    const Trace newer = read_trace(of_6_3.path());
    REQUIRE(newer.kernels.size() == 1);
    CHECK(newer.kernels[0].device == 8);
    CHECK(newer.kernels[0].shared_bytes == 1024);
    CHECK(newer.kernels[0].grid[0] == 128);
    CHECK(newer.device_name().empty());

    const TemporaryFile of_6_1(
        columns_of_6_1 +
            "\n\"KERNEL_DISPATCH\",1,139690710949888,5,\"k\",0,10,30,0,0,4,4,1,64,64,1\n",
        ".csv");
    const Trace older = read_trace(of_6_1.path());
    REQUIRE(older.kernels.size() == 1);
    CHECK(older.kernels[0].duration_ns == 20);
    CHECK(older.kernels[0].stream == 139690710949888);

    const TemporaryFolder folder;
    folder.write("a_agent_info.csv",
                 R"csv("Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Product_Name"
0,0,"CPU",0,"a CPU"
1,1,"GPU",304,"one"
2,2,"GPU",304,"two"
)csv");
    std::string of_rank = columns_of_7 + "\n" + two_kernels;
    for (std::size_t at = of_rank.find("Agent 2"); at != std::string::npos;
         at = of_rank.find("Agent 2")) {
        of_rank.replace(at, 7, "GPU 1");
    }
    CHECK(read_trace(folder.write("a_kernel_trace.csv", of_rank)).device_name() == "two");
}

TEST_CASE("damage in rocprofv3's tables names the column or the row", "[trace]") {
    const std::string whole = columns_of_7 + "\n" + two_kernels;
    CHECK(error_of(whole) == "read: ");
    std::string wrong = whole;
    wrong.replace(wrong.find("9000006000"), 10, "yesterday!");
    CHECK(error_of(wrong).find("Start_Timestamp: 'yesterday!' is no number") != std::string::npos);
    std::string cut = whole;
    cut.resize(cut.size() - 12);
    CHECK(error_of(cut).find("read: a row whose columns do not match the header at byte") == 0);
    CHECK(error_of(columns_of_7 + "\n").find("no kernel") != std::string::npos);

    // A damaged file beside it leaves the kernels.
    const TemporaryFolder folder;
    folder.write("b_hip_api_trace.csv", "\"Function\",\"Start_Timestamp\"\n\"f\"\n");
    const Trace trace = read_trace(folder.write("b_kernel_trace.csv", whole));
    CHECK(trace.kernels.size() == 2);
    REQUIRE(trace.notes.size() == 1);
    CHECK(trace.notes[0].find("b_hip_api_trace.csv: a row") == 0);
}
