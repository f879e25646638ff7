// The binary interface of Intel's Instrumentation and Tracing Technology, as far as a collector and a client
// of ours need it. The part of ITT that is compiled into each client calls through pointers; a list of them
// is in its `Global`.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace kinetograph::itt {

struct Api {
    const char* name;
    void** function;
    void* initial_function;
    void* null_function;
    int group;
};

struct Domain {
    volatile int flags;  // 0: the client does not even call
    const char* name;
    const wchar_t* wide_name;
    int reserved;
    void* ours;  // free for the collector
    Domain* next;
};

struct String {
    const char* text;
    const wchar_t* wide_text;
    int reserved;
    void* ours;  // free for the collector
    String* next;
};

struct Id {
    unsigned long long parts[3];
};

struct Counter {
    const char* name;
    const wchar_t* wide_name;
    const char* domain;
    const wchar_t* wide_domain;
    int type;
    long index;
    int reserved;
    void* ours;  // free for the collector
    Counter* next;
};

struct Global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long is_initialized, is_mutex_initialized, counter;
    pthread_mutex_t mutex;
    void* library;
    void* error_handler;
    const char** library_path;
    Api* functions;  // up to one without a name
    Global* next;
    void* threads;
    Domain* domains;
    String* strings;
    // Of newer clients only, as `version_build` tells.
    int state;
    Counter* counters;
    unsigned pt_events;
    void* histograms;
};

// Types of metadata and counters.
enum class Number : int { unknown = 0, u64, s64, u32, s32, u16, s16, f32, f64 };

}  // namespace kinetograph::itt
