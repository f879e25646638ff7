/* What the stand-ins for tools write: a line of JSON for each call, to the file that FAKE_TOOL_LOG names. */
#ifndef FAKE_TOOLS_LOG_H
#define FAKE_TOOLS_LOG_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Appended in one piece, so that processes may share the file. Texts of the tests need no escapes but these.
 */
static void log_call(const char* call, const char* format, ...) {
    char members[4096];
    va_list values;
    va_start(values, format);
    vsnprintf(members, sizeof members, format, values);
    va_end(values);
    pthread_mutex_lock(&log_mutex);
    const char* path = getenv("FAKE_TOOL_LOG");
    FILE* file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "{\"call\":\"%s\",\"pid\":%d,\"tid\":%d%s%s}\n", call, getpid(), gettid(),
                *members ? "," : "", members);
        fclose(file);
    }
    pthread_mutex_unlock(&log_mutex);
}

#endif
