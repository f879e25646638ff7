// The functions of an ITT collector, as it has set them: nullptr where it has none.
#pragma once

#include <cstddef>

#include "base/itt_types.h"

namespace kinetograph::emit::ittapi {

struct Functions {
    itt::Domain* (*domain_create)(const char* name);
    itt::String* (*string_handle_create)(const char* text);
    void (*task_begin)(const itt::Domain*, itt::Id task, itt::Id parent, itt::String* name);
    void (*task_end)(const itt::Domain*);
    void (*task_begin_overlapped)(const itt::Domain*, itt::Id task, itt::Id parent, itt::String* name);
    void (*task_end_overlapped)(const itt::Domain*, itt::Id task);
    void (*marker)(const itt::Domain*, itt::Id, itt::String* name, int scope);
    void (*metadata_add)(const itt::Domain*, itt::Id, itt::String* key, itt::Number type, size_t count,
                         void* data);
    itt::Counter* (*counter_create_typed)(const char* name, const char* domain, itt::Number type);
    void (*counter_set_value)(itt::Counter*, void* value);
    void (*counter_set_value_v3)(itt::Counter*, void* value);
    void (*thread_set_name)(const char* name);
    void (*pause)();
    void (*resume)();
    void (*detach)();
};

// nullptr without a collector. The first call loads it.
const Functions* collector() noexcept;

}  // namespace kinetograph::emit::ittapi
