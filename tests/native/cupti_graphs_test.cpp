// CUDA graphs: an event for each node, or one for each launch.
#include <string>
#include <vector>

#include <cupti.h>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

trace::BuildOptions whole_graphs() {
    trace::BuildOptions options;
    options.wanted.whole_graphs = true;
    return options;
}

void launch_graph(uint32_t graph = 5) {
    cuda().call<decltype(fake_launch_graph)>("fake_launch_graph", graph, 3, 7);
}

}  // namespace

TEST(a_launch_is_one_event_over_its_nodes_tied_to_the_scope_around_it) {
    CudaSession session;
    scope("replay", [] { launch_graph(); });
    const Trace trace = session.stop(true, whole_graphs());
    const std::vector<size_t> graphs = rows_of(trace, Category::kernel);
    CHECK(graphs.size() == 1 && name_of(trace, graphs[0]) == "CUDA Graph");
    CHECK(row_args(trace, graphs[0]) ==
          "\"device\":0,\"context\":1,\"stream\":7,\"graph id\":5,\"graph nodes\":3");
    CHECK(trace.tracks[trace.track[graphs[0]]].tid == "7");
    CHECK(trace.link[graphs[0]] == int32_t(rows_of(trace, Category::user_annotation).at(0)));
    const size_t call = rows_of(trace, Category::cuda_runtime).at(0);
    CHECK(trace.correlation[graphs[0]] == trace.correlation[call]);
    CHECK(trace.start_ns[graphs[0]] >= trace.start_ns[call] && trace.duration_ns[graphs[0]] > 0);
}

TEST(each_launch_is_an_event_of_its_own_and_other_work_stays_as_it_is) {
    CudaSession session;
    launch_graph(5);
    cuda().launch("k");
    launch_graph(5);
    launch_graph(6);
    const Trace trace = session.stop(true, whole_graphs());
    std::vector<std::string> names;
    for (const size_t row : rows_of(trace, Category::kernel)) names.push_back(name_of(trace, row));
    CHECK((names == std::vector<std::string>{"CUDA Graph", "k", "CUDA Graph", "CUDA Graph"}));
}

TEST(a_copy_between_devices_is_a_node_like_any_other) {
    const auto play = [] {
        cuda().call<decltype(fake_launch_graph_of_peer_copy)>("fake_launch_graph_of_peer_copy", 5, 0, 1, 7);
    };
    CudaSession nodes;
    play();
    Trace trace = nodes.stop();
    const std::string copy = row_args(trace, rows_of(trace, Category::gpu_memcpy).at(0));
    CHECK(copy.find("\"graph id\":5,\"graph node id\":" + std::to_string(uint64_t(5) << 32)) !=
          std::string::npos);
    CudaSession launches;
    play();
    trace = launches.stop(true, whole_graphs());
    CHECK(count(trace, Category::gpu_memcpy) == 0);
    CHECK(row_args(trace, rows_of(trace, Category::kernel).at(0)) ==
          "\"device\":0,\"context\":1,\"stream\":7,\"graph id\":5,\"graph nodes\":2");
}

TEST(sessions_at_once_each_get_what_they_want) {
    CudaSession launches, nodes;
    launch_graph();
    CHECK(count(nodes.stop(), Category::kernel) == 3);
    CHECK(count(launches.stop(true, whole_graphs()), Category::kernel) == 1);
}

CHECK_MAIN
