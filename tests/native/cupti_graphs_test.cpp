// CUDA graphs: an event for each node, or one for each launch.
#include <cupti.h>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

collect::CudaOptions whole_graphs() {
    collect::CudaOptions options;
    options.whole_graphs = true;
    return options;
}

void launch_graph() {
    cuda().call<decltype(fake_launch_graph)>("fake_launch_graph", 5, 3, 7);
}

bool tells_of_both(const Trace& trace) {
    return has_note(trace, "both got nodes");
}

}  // namespace

TEST(a_launch_is_one_event_tied_to_the_scope_around_it) {
    CudaSession session(whole_graphs());
    scope("replay", [] { launch_graph(); });
    const Trace trace = session.stop();
    const std::vector<size_t> graphs = rows_of(trace, Category::kernel);
    CHECK(graphs.size() == 1 && name_of(trace, graphs[0]) == "CUDA Graph");
    CHECK(row_args(trace, graphs[0]).find("\"graph id\":5,") != std::string::npos);
    CHECK(trace.link[graphs[0]] == int32_t(rows_of(trace, Category::user_annotation).at(0)));
    CHECK(!tells_of_both(trace));
}

TEST(one_session_that_wants_nodes_gives_them_to_all_and_all_are_told) {
    CudaSession launches(whole_graphs());
    launch_graph();
    CudaSession nodes;
    launch_graph();
    const Trace with_nodes = nodes.stop(), with_launches = launches.stop();
    CHECK(count(with_nodes, Category::kernel) == 3);
    CHECK(count(with_launches, Category::kernel) == 1 + 3);
    CHECK(tells_of_both(with_nodes) && tells_of_both(with_launches));
}

TEST(one_that_asks_for_launches_takes_no_nodes_from_another) {
    CudaSession nodes;
    CudaSession launches(whole_graphs());
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    launch_graph();
    CHECK(count(launches.stop(), Category::kernel) == 3);
    CHECK(count(nodes.stop(), Category::kernel) == 3);
}

TEST(sessions_one_after_the_other_get_what_each_wants) {
    for (const bool whole : {true, false, true}) {
        CudaSession session(whole ? whole_graphs() : collect::CudaOptions{});
        launch_graph();
        const Trace trace = session.stop();
        CHECK(count(trace, Category::kernel) == (whole ? 1 : 3));
        CHECK(!tells_of_both(trace));
    }
}

CHECK_MAIN
