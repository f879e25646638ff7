// What abi_test.c recorded and left behind is there.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "check.h"
#include "record/session_file.h"
#include "trace/builder.h"

using namespace kinetograph;

int main(int, char** arguments) {
    char name[] = "/tmp/kinetograph-abi-XXXXXX";
    const std::string directory = mkdtemp(name);
    const std::string command = std::string(arguments[1]) + " " + arguments[2] + " " + directory;
    CHECK(std::system(command.c_str()) == 0);
    std::string file;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) file = entry.path();
    const trace::Trace trace = trace::build_trace(record::recover_session_file(file));
    std::filesystem::remove_all(directory);

    CHECK(trace.size() == 6);
    std::string names;
    for (size_t i = 0; i < trace.size(); ++i) names += std::string(trace.strings[trace.name[i]]) + " ";
    CHECK(names == "outer inner span span counter kernel ");
    CHECK(trace.flags[0] & trace::event_unfinished);
    CHECK(trace.args_of(2) == "\"bytes\":4096");
    CHECK(trace.args_of(4) == "\"value\":2.5");
    CHECK(trace.tracks[trace.track[5]].device_type == 1);
    CHECK(trace.correlation[5] == 17);
    CHECK(trace.tracks[0].name.find("C thread") != std::string::npos);
}
