/* A collector of ITT for tests, written apart from our client: writes down what programs tell it. Clients
 * load it by INTEL_LIBITTNOTIFY64. Built with LEGACY it is one of the old kind, which only exports functions;
 * built with SPARSE it leaves domains, strings and counters to the client. */
#include "log.h"

#include <string.h>

typedef struct domain {
    volatile int flags;
    const char* name;
    void* wide_name;
    int extra1;
    void* extra2;
    struct domain* next;
} domain;

typedef struct string {
    const char* text;
    void* wide_text;
    int extra1;
    void* extra2;
    struct string* next;
} string;

typedef struct id {
    unsigned long long d1, d2, d3;
} id;

typedef struct counter {
    const char* name;
    void* wide_name;
    const char* domain;
    void* wide_domain;
    int type;
    long index;
    int extra1;
    void* extra2;
    struct counter* next;
} counter;

typedef struct api {
    const char* name;
    void** function;
    void* init_function;
    void* null_function;
    int group;
} api;

typedef struct global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void* library;
    void* error_handler;
    const char** path;
    api* functions;
} global;

#define EXPORT __attribute__((visibility("default")))

#ifndef SPARSE
/* A collector keeps what it made. */
static domain* domains;
static string* strings;
static counter* counters;
static pthread_mutex_t made_mutex = PTHREAD_MUTEX_INITIALIZER;

#define KEEP(list, made)             \
    pthread_mutex_lock(&made_mutex); \
    (made)->next = (list);           \
    (list) = (made);                 \
    pthread_mutex_unlock(&made_mutex);

EXPORT domain* __itt_domain_create(const char* name) {
    domain* made = calloc(1, sizeof *made);
    made->flags = strcmp(name, "switched off") != 0;
    made->name = strdup(name);
    KEEP(domains, made)
    log_call("domain", "\"text\":\"%s\"", name);
    return made;
}

EXPORT string* __itt_string_handle_create(const char* text) {
    string* made = calloc(1, sizeof *made);
    made->text = strdup(text);
    KEEP(strings, made)
    log_call("register", "\"text\":\"%s\"", text);
    return made;
}

EXPORT counter* __itt_counter_create_typed(const char* name, const char* domain, int type) {
    counter* made = calloc(1, sizeof *made);
    made->name = strdup(name);
    made->domain = strdup(domain);
    made->type = type;
    KEEP(counters, made)
    return made;
}
#endif

EXPORT void __itt_task_begin(const domain* where, id task, id parent, string* name) {
    (void)task, (void)parent;
    log_call("push", "\"domain\":\"%s\",\"text\":\"%s\"", where->name, name->text);
}

EXPORT void __itt_task_end(const domain* where) {
    log_call("pop", "\"domain\":\"%s\"", where->name);
}

EXPORT void __itt_task_begin_overlapped(const domain* where, id task, id parent, string* name) {
    (void)parent;
    log_call("start", "\"domain\":\"%s\",\"text\":\"%s\",\"range\":%llu", where->name, name->text, task.d1);
}

EXPORT void __itt_task_end_overlapped(const domain* where, id task) {
    log_call("end", "\"domain\":\"%s\",\"range\":%llu", where->name, task.d1);
}

EXPORT void __itt_marker(const domain* where, id marker, string* name, int scope) {
    (void)marker;
    log_call("mark", "\"domain\":\"%s\",\"text\":\"%s\",\"scope\":%d", where->name, name->text, scope);
}

EXPORT void __itt_metadata_add(const domain* where, id task, string* key, int type, size_t count,
                               void* data) {
    char value[64] = "null";
    if (type == 1) snprintf(value, sizeof value, "%llu", *(unsigned long long*)data);
    if (type == 2) snprintf(value, sizeof value, "%lld", *(long long*)data);
    if (type == 8) snprintf(value, sizeof value, "%.17g", *(double*)data);
    log_call("metadata", "\"domain\":\"%s\",\"text\":\"%s\",\"range\":%llu,\"count\":%zu,\"payload\":%s",
             where->name, key->text, task.d1, count, value);
}

EXPORT void __itt_counter_set_value(counter* which, void* value) {
    log_call("sample", "\"domain\":\"%s\",\"text\":\"%s\",\"value\":%.17g", which->domain, which->name,
             which->type == 8 ? *(double*)value : -1.0);
}

EXPORT void __itt_thread_set_name(const char* name) {
    log_call("name_thread", "\"text\":\"%s\"", name);
}

EXPORT void __itt_pause(void) {
    log_call("pause", "");
}
EXPORT void __itt_resume(void) {
    log_call("resume", "");
}
EXPORT void __itt_detach(void) {
    log_call("detach", "");
}

#ifndef LEGACY
#include <dlfcn.h>

EXPORT void __itt_api_init(global* client, int groups) {
    static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
    (void)groups;
    log_call("initialize", "\"is_client\":%d", memcmp(client->magic, magic, sizeof magic) == 0);
    for (api* each = client->functions; each->name; ++each) {
        void* found = dlsym(client->library, each->name);
        *each->function = found ? found : each->null_function;
    }
}
#endif
