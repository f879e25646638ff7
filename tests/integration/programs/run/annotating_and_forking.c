/* A server that forks its workers, and knows nothing of us. */
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

static void annotate(const char* name) {
    nvtxRangePushA(name);
    nvtxRangePop();
}

int main(void) {
    annotate("before");
    if (fork() == 0) {
        annotate("in a child");
        if (fork() == 0) {
            annotate("in a child's child");
            return 0;
        }
        wait(0);
        return 0;
    }
    if (fork() == 0) return 0; /* one that says nothing */
    while (wait(0) > 0) {
    }
    annotate("behind");
    return 0;
}
