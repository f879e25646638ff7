#include "bind/agent.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "bind/gil.h"
#include "bind/os_errors.h"
#include "format/json_text.h"
#include "record/recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

using agent::Agent;

// Never released: requests may come until the process ends.
PyObject* capture_function = nullptr;

// In a thread of its own, for the GIL may be held for long and the agent goes on answering meanwhile.
void hand_to_python(uint64_t peer, const std::string& request) {
    const WithGil locked;
    const nb::handle function(capture_function);
    try {
        function(peer, nb::bytes(request.data(), request.size()));
    } catch (nb::python_error& error) {
        error.discard_as_unraisable(function);
        Agent::instance().end_capture(R"({"answer":"failed","reason":"the agent is at fault"})");
    }
}

bool on_capture(uint64_t peer, std::string request) {
    try {
        base::start_quietly("kg-capture", [peer, request = std::move(request)] {
            hand_to_python(peer, request);
        }).detach();
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

std::string start_agent(const std::string& directory, nb::callable on_request) {
    if (!capture_function) capture_function = on_request.release().ptr();
    return with_os_errors(directory, [&] { return Agent::instance().start(directory, &on_capture); });
}

// What waits for the agent's lock, or its thread, waits without the GIL: who has that lock never wants the
// GIL, but may be slow.
template <class Work>
auto without_gil(Work&& work) {
    const WithoutGil unlocked;
    return work(Agent::instance());
}

std::chrono::nanoseconds nanoseconds(int64_t count) {
    return std::chrono::nanoseconds(count);
}

// A thread that is woken runs once there is a core for it, which takes longer than processes of many hosts
// may be apart.
constexpr std::chrono::milliseconds most_wake_latency(50);

// Records from a little before the right time on, whether or not the program holds the GIL. What wakes the
// capture before that is given, and else the wall time that the trace shall begin at: the right one, or now.
std::pair<uint32_t, int64_t> resume_in_capture(int64_t wait_ns, uint64_t session) {
    return without_gil([&](Agent& agent) -> std::pair<uint32_t, int64_t> {
        const auto begin = Agent::Clock::now() + nanoseconds(wait_ns);
        const auto awake = begin - most_wake_latency;
        // Where it is due at once, too: whoever asked may be gone by now.
        uint32_t why = agent.wait(nanoseconds(0)) & ~uint32_t(agent::wake_poked);
        while (why == 0 && Agent::Clock::now() < awake)
            why = agent.wait(awake - Agent::Clock::now()) & ~uint32_t(agent::wake_poked);
        if (why != 0 || !record::Recorder::instance().resume(session)) return {why, 0};
        const auto early = std::max(Agent::Clock::duration(0), begin - Agent::Clock::now());
        return {0, base::read_clock_ns(CLOCK_REALTIME) + std::chrono::nanoseconds(early).count()};
    });
}

}  // namespace

void bind_agent(nb::module_& module) {
    module.def("start_agent", &start_agent, "directory"_a, "on_request"_a,
               nb::sig("def start_agent(directory: str, on_request: Callable[[int, bytes], None]) -> str"));
    module.def("stop_agent", [] { without_gil([](Agent& agent) { agent.stop(); }); });
    module.def("agent_path", [] { return Agent::instance().path(); });
    module.def(
        "describe_agent", [](std::string members) { Agent::instance().describe(std::move(members)); },
        "members"_a);
    // What Python has for it takes longer to import than an agent to start.
    module.def("quoted_json", [](std::string_view text) { return format::quoted(text); }, "text"_a);
    module.def("set_agent_step", [](int64_t step) { Agent::instance().set_step(step); }, "step"_a);
    module.def(
        "set_agent_state", [](std::string_view state) { Agent::instance().set_state(state); }, "state"_a);
    module.def(
        "agent_answer",
        [](uint64_t peer, std::string_view json) { return Agent::instance().answer(peer, json); }, "peer"_a,
        "json"_a);
    module.def("take_capture", [] { return Agent::instance().take_capture(); });
    module.def(
        "wait_in_capture",
        [](int64_t most_ns) {
            return without_gil([&](Agent& agent) { return agent.wait(nanoseconds(most_ns)); });
        },
        "most_ns"_a);
    module.def("resume_in_capture", &resume_in_capture, "wait_ns"_a, "session"_a);
    module.def("poke_capture", [] { Agent::instance().poke(); });
    module.def(
        "end_capture", [](std::string_view last_answer) { Agent::instance().end_capture(last_answer); },
        "last_answer"_a);
    module.def(
        "end_captures",
        [](int64_t most_ns) {
            return without_gil([&](Agent& agent) { return agent.end_captures(nanoseconds(most_ns)); });
        },
        "most_ns"_a);
    module.def("agent_expects_fork", [] { Agent::instance().expect_fork(); });
    module.def("agent_goes_on", [] { without_gil([](Agent& agent) { agent.go_on(); }); });
    module.attr("WAKE_POKED") = int(agent::wake_poked);
    module.attr("WAKE_CANCELLED") = int(agent::wake_cancelled);
    module.attr("WAKE_PEER_GONE") = int(agent::wake_peer_gone);
    module.attr("WAKE_ENDING") = int(agent::wake_ending);
}

}  // namespace kinetograph::bind
