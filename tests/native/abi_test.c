/* A plain C program that knows nothing but record_abi.h: it opens libkinetograph.so and records. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinetograph/record_abi.h"

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

typedef const kinetograph_record_table* (*table_function)(uint32_t);

/* Callers that know less of the options than the library, and callers that know more. */
static void check_sizes_of_options(const kinetograph_record_table* table) {
    struct {
        kinetograph_session_options known;
        uint64_t added;
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    CHECK(table->session_discard(table->session_start(&newer.known)) == 0);
    newer.added = 1;
    CHECK(table->session_start(&newer.known) == 0);

    const struct {
        uint32_t size, all_threads;
    } older = {8, 1};
    const kinetograph_session_options* in_disguise = (const void*)&older;
    CHECK(table->session_discard(table->session_start(in_disguise)) == 0);

    const uint32_t none = 0;
    CHECK(table->session_start((const void*)&none) == 0);
    CHECK(table->session_start(NULL) == 0);
}

/* A caller who has nothing to say is not punished for it, whether a session listens or not. */
static void check_that_nothing_is_taken_for_nothing(const kinetograph_record_table* table) {
    CHECK(table->intern(NULL, 0) == 0);
    CHECK(table->intern(NULL, 4) == 0);
    table->name_thread(NULL, 0);
    table->name_thread(NULL, 3);
    table->span(NULL);
    table->instant(NULL);
    table->device_span(NULL);
    table->range_begin(1, NULL);
    table->range_end(1, NULL);
    table->note(NULL, NULL, 0);
    table->note("kind", NULL, 1);
    table->name_process(NULL, 3);
    CHECK(table->intern_text(NULL, 4) == 0);
    CHECK(table->intern_annotation(NULL, 4, NULL, 4) >= *table->oldest_name);
}

int main(int argc, char** argv) {
    CHECK(argc == 3);
    void* library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    CHECK(dlsym(library, "Py_IsInitialized") == NULL);
    table_function table_for;
    *(void**)&table_for = dlsym(library, "kinetograph_record_table_for");
    CHECK(table_for != NULL);
    CHECK(table_for(KINETOGRAPH_RECORD_ABI + 1) == NULL);
    const kinetograph_record_table* table = table_for(KINETOGRAPH_RECORD_ABI);
    CHECK(table != NULL && table->version == KINETOGRAPH_RECORD_ABI && table->size >= sizeof *table);

    CHECK(dlclose(library) == 0); /* it stays: the table is for ever */
    CHECK(*table->active == 0);
    check_sizes_of_options(table);
    check_that_nothing_is_taken_for_nothing(table);
    CHECK(table->begin(1, 1, 7) == 0); /* nobody follows it */
    table->end_with(1, NULL, 4);
    CHECK(*table->active == 0);
    const kinetograph_session_options options = {sizeof options, 1, 0, 0, 0, argv[2]};
    CHECK(table->session_start(&options) != 0);
    CHECK(*table->active != 0);

    const uint32_t outer = table->intern("outer", 5), inner = table->intern("inner", 5);
    table->name_thread("C thread", 8);
    table->begin(outer, 1, 7);
    table->begin(inner, 1, 7);
    table->end(inner);
    const char* args = "\"bytes\":4096";
    kinetograph_event event = {table->intern("span", 4), 0,   0, 0, 0, table->ticks(), 0, 0,
                               (uint32_t)strlen(args),   args};
    event.end_ticks = table->ticks();
    table->span(&event);
    table->instant(&event);
    table->counter(table->intern("counter", 7), 2.5);
    const int64_t now = table->wall_ns();
    const kinetograph_device_event kernel = {
        table->intern("kernel", 6), 4, 1, {0, 0}, 0, 17, 7, now, now + 1000, 0, NULL};
    table->device_span(&kernel);
    check_that_nothing_is_taken_for_nothing(table);
    return 0; /* "outer" stays open, the session is left to recovery */
}
