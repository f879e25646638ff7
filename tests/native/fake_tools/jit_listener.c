/* A listener for code that JIT compilers make, for tests. Clients load it by INTEL_JIT_PROFILER64. */
#include "log.h"

typedef struct line {
    unsigned offset, number;
} line;

typedef struct method {
    unsigned id;
    const char* name;
    void* address;
    unsigned size;
    unsigned line_count;
    const line* lines;
    unsigned class_id;
    const char* class_file;
    const char* source_file;
} method;

__attribute__((visibility("default"))) unsigned Initialize(void) {
    return getenv("FAKE_JIT_IDLE") ? 0 : 1;
}

__attribute__((visibility("default"))) int NotifyEvent(unsigned event, void* data) {
    const method* known = data;
    if (event == 14) log_call("unloaded", "\"method\":%u", *(unsigned*)data);
    if (event == 13)
        log_call("loaded",
                 "\"method\":%u,\"text\":\"%s\",\"address\":%llu,\"size\":%u,\"file\":\"%s\",\"lines\":%u,"
                 "\"last_line\":%u",
                 known->id, known->name, (unsigned long long)known->address, known->size,
                 known->source_file ? known->source_file : "", known->line_count,
                 known->line_count ? known->lines[known->line_count - 1].number : 0);
    return 1;
}
