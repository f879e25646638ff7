// What names of NCCL's kernels say, and what they only seem to say.
#include "collect/cupti/collectives.h"

#include "check.h"
#include "cuda_session.h"
#include "record_table.h"

using namespace kinetograph;
using namespace kinetograph::test;
using collect::cupti::collective_members;

TEST(a_reduction_has_its_name_and_type) {
    CHECK(collective_members("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
          "\"Collective name\":\"allreduce\",\"dtype\":\"Float\"");
    CHECK(collective_members("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgs)") ==
          "\"Collective name\":\"reduce_scatter\",\"dtype\":\"BFloat16\"");
    CHECK(
        collective_members("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)") ==
        "\"Collective name\":\"allreduce\",\"dtype\":\"Half\"");
    CHECK(collective_members("ncclKernel_Reduce_RING_LL_Sum___nv_bfloat16(ncclDevComm*)") ==
          "\"Collective name\":\"reduce\",\"dtype\":\"BFloat16\"");
}

TEST(of_integers_the_kernel_does_not_tell_the_sign) {
    CHECK(collective_members("ncclDevKernel_AllReduce_Sum_u32_TREE_LL(ncclDevKernelArgs)") ==
          "\"Collective name\":\"allreduce\"");
}

TEST(what_only_moves_bytes_has_no_type) {
    CHECK(collective_members("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
          "\"Collective name\":\"allgather\"");
    CHECK(collective_members("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)") ==
          "\"Collective name\":\"broadcast\"");
    CHECK(collective_members("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)") ==
          "\"Collective name\":\"send_recv\"");
}

TEST(kernels_that_serve_all_and_other_kernels_say_nothing) {
    CHECK(collective_members("ncclDevKernel_Generic(ncclDevKernelArgs)").empty());
    CHECK(collective_members("ncclDevKernel_").empty());
    CHECK(collective_members("my_ncclDevKernel_AllReduce_Sum_f32").empty());
    CHECK(collective_members("").empty());
}

TEST(the_kernel_in_the_trace_has_it_and_others_do_not) {
    CudaSession session;
    cuda().launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    cuda().launch("other");
    cuda().launch("ncclDevKernel_AllGather_RING_LL");
    cuda().launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    const Trace trace = session.stop();
    const std::vector<size_t> kernels = rows_of(trace, Category::kernel);
    const auto ends_with = [&](size_t number, std::string_view end) {
        return row_args(trace, kernels.at(number)).ends_with(end);
    };
    CHECK(ends_with(0, "\"channel_type\":0,\"Collective name\":\"allreduce\",\"dtype\":\"Float\""));
    CHECK(ends_with(1, "\"channel_type\":0"));
    CHECK(ends_with(2, "\"channel_type\":0,\"Collective name\":\"allgather\""));
    CHECK(row_args(trace, kernels.at(3)) == row_args(trace, kernels.at(0)));
}

TEST(in_an_operator_that_knows_more_the_kernel_says_that) {
    CudaSession session;
    const uint64_t begun = table().begin_operator(text("record_param_comms"), 0, 0, 0);
    cuda().launch("ncclDevKernel_Generic");
    kinetograph_operator told{};
    told.members = text("\"Collective name\":\"alltoall\",\"Group size\":4");
    table().end_operator_with(begun, &told, 0);
    const Trace trace = session.stop();
    const std::vector<size_t> kernels = rows_of(trace, Category::kernel);
    CHECK(row_args(trace, kernels.at(0)).ends_with(",\"Collective name\":\"alltoall\",\"Group size\":4"));
}

CHECK_MAIN
