// Operators that torch tells of by NVTX, as its emit_nvtx does.
#include <dlfcn.h>

#include <cstdlib>
#include <iterator>

#include "nvtx_events.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

struct FakeTorch {
    void* library = dlopen(FAKE_TORCH, RTLD_NOW | RTLD_LOCAL);
    int (*push)(const char*) = reinterpret_cast<int (*)(const char*)>(dlsym(library, "push_operator"));
    int (*pop)() = reinterpret_cast<int (*)()>(dlsym(library, "pop_operator"));
};

TEST(operators_of_torch_are_named_without_their_numbers) {
    const FakeTorch torch;
    const struct {
        const char *told, *name;
    } operators[] = {
        {"aten::mm, seq = 3, op_id = 7", "aten::mm"},
        {"aten::t, op_id = 8", "aten::t"},
        {"aten::add, seq = 4, op_id = 9, sizes = [[2, 3], []], input_op_ids = [(7,0)]", "aten::add"},
        {"aten::sub, op_id = 9, input_op_ids = []", "aten::sub"},
        {"epoch, seq = 3 of 4, op_id = 10", "epoch, seq = 3 of 4"},
        {"a, op_id = 1, op_id = 11", "a, op_id = 1"},
        {"plain", "plain"},
        {"b, op_id = ", "b, op_id = "},
        {"c, op_id = 3rd", "c, op_id = 3rd"},
        {"d, seq = , op_id = 12", "d, seq = "},
        {", op_id = 13", ""},
    };
    const auto session = start();
    for (const auto& one : operators) torch.push(one.told);
    for (size_t left = std::size(operators); left != 0; --left) CHECK(torch.pop() == int(left) - 1);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == std::size(operators));
    for (const auto& one : operators) CHECK(category(trace, one.name) == "cpu_op");
}

TEST(operators_of_torch_have_the_sizes_of_their_inputs_where_torch_tells_them) {
    const FakeTorch torch;
    const struct {
        const char *told, *name, *args;
    } operators[] = {
        {"aten::add, seq = 4, op_id = 9, sizes = [[2, 3], [], [12]], input_op_ids = [(7,0)]", "aten::add",
         R"("Input Dims":[[2,3],[],[12]])"},
        {"aten::ones, op_id = 1, sizes = []", "aten::ones", R"("Input Dims":[])"},
        {"aten::mm, op_id = 7", "aten::mm", ""},
        // Nothing becomes JSON that might break it.
        {"open, op_id = 7, sizes = [[2, 3]", "open", ""},
        {"quoted, op_id = 7, sizes = [\"]", "quoted", ""},
        {"deep, op_id = 7, sizes = [[[2]]]", "deep", ""},
        {"comma, op_id = 7, sizes = [[2], ]", "comma", ""},
    };
    const auto session = start();
    for (const auto& one : operators) {
        torch.push(one.told);
        CHECK(torch.pop() == 0);
    }
    const trace::Trace trace = stop(session);
    for (const auto& one : operators) CHECK(args(trace, one.name) == one.args);
}

TEST(operators_that_the_observer_tells_of_do_not_come_twice) {
    const FakeTorch torch;
    void* library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
    const auto leave =
        reinterpret_cast<void (*)(int)>(dlsym(library, "kinetograph_leave_operators_to_observer"));
    const auto session = start();
    torch.push("before, op_id = 1");
    leave(1);
    CHECK(torch.push("meanwhile, op_id = 2") == 1);
    nvtxRangePushA("of the program");
    nvtxRangePop();
    CHECK(torch.pop() == 1);
    leave(0);
    CHECK(torch.pop() == 0);
    torch.push("after, op_id = 3");
    torch.pop();
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    for (const char* name : {"before", "after"}) CHECK(category(trace, name) == "cpu_op");
    CHECK(category(trace, "of the program") == "user_annotation");
}

TEST(ranges_of_others_that_look_like_operators_keep_their_names) {
    const FakeTorch torch;
    const auto session = start();
    torch.push("aten::mm, op_id = 7");
    CHECK(nvtxRangePushA("aten::mm, op_id = 7") == 0);
    CHECK(torch.pop() == 0);
    CHECK(nvtxRangePop() == 0);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(category(trace, "aten::mm") == "cpu_op");
    CHECK(category(trace, "aten::mm, op_id = 7") == "user_annotation");
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
