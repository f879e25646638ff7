/* The C table of libkinetograph.so: how injection libraries, observers and foreign backends record.
 *
 * Ask `kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI)` once and keep the pointer. NULL means that this
 * library does not know the version you were built for: record nothing. All functions may be called from any
 * thread, with or without Python's GIL, never block for long, and never fail the caller: what cannot be kept
 * is counted.
 */
#ifndef KINETOGRAPH_RECORD_ABI_H
#define KINETOGRAPH_RECORD_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KINETOGRAPH_RECORD_ABI 1u

/* The category of what intern_annotation() names. */
#define KINETOGRAPH_ANNOTATION 32u
/* Flags of an event: it was not over, or it may cross its neighbours. */
#define KINETOGRAPH_UNFINISHED 1u
#define KINETOGRAPH_ASYNC 2u

/* Kinds of scope and category numbers are those of native/record/event.h; they are append-only. */
typedef struct kinetograph_event {
    uint32_t name; /* from intern() */
    uint8_t category;
    uint8_t scope;
    uint8_t flags;
    uint8_t reserved;
    uint64_t start_ticks;
    uint64_t end_ticks;
    uint32_t correlation; /* 0: none */
    uint32_t args_bytes;
    const char* args; /* members of a JSON object without braces, or NULL; copied */
} kinetograph_event;

typedef struct kinetograph_device_event {
    uint32_t name;
    uint8_t category;
    uint8_t device_type;
    uint8_t reserved[2];
    int32_t device_index;
    uint32_t correlation;
    int64_t resource; /* stream, queue or thread on the device */
    int64_t start_ns; /* wall time */
    int64_t end_ns;
    uint32_t args_bytes;
    const char* args;
} kinetograph_device_event;

/* In place of the number of a forward thread: that of the operator's own, told now and then. */
#define KINETOGRAPH_OWN_THREAD 0x80000000u

/* What a framework tells of an operator. `inputs` and `members` are 0 or from intern_text():
 * members of a JSON object without braces, spelled once for all operators that share them. Sessions that did
 * not ask for shapes leave `inputs` out, those that did not ask for FLOPs `flops`. */
typedef struct kinetograph_operator {
    int64_t sequence;        /* autograd's number, which links forward and backward; negative: none */
    uint64_t flops;          /* 0: not known */
    uint32_t forward_thread; /* of a backward operator, as the framework counts threads; else 0, or
                                its own thread's, with KINETOGRAPH_OWN_THREAD */
    uint32_t members;
    uint32_t inputs; /* not beside forward_thread, with which it is recorded in one word: to load both at
                        once, as a compiler would, takes until both stores have reached the cache */
    uint32_t inputs_bytes;
    const char* inputs_text; /* in place of `inputs`, where it is not likely to come again; copied */
    uint64_t number;         /* the framework's of this call, by which others may name it; 0: none */
} kinetograph_operator;

typedef struct kinetograph_session_options {
    uint32_t size; /* sizeof(kinetograph_session_options); later additions stand at the end, and 0 is their
                      default */
    uint32_t all_threads;
    uint64_t memory_limit_bytes; /* 0: 1 GiB */
    uint64_t ring_bytes;         /* 0: keep everything */
    int64_t ring_ns;
    const char* directory; /* session file that outlives the process, or NULL */
} kinetograph_session_options;

typedef struct kinetograph_record_table {
    uint32_t version;
    uint32_t size; /* of this table: later minor additions stand at the end */

    /* Nonzero while anything listens: the one load to pay before calling anything else. */
    const uint32_t* active;

    uint64_t (*ticks)(void);
    int64_t (*wall_ns)(void);
    /* The id is valid for ever: for the fixed names of a program, not for texts made up as it runs. */
    uint32_t (*intern)(const char* text, size_t bytes);

    /* Scopes of the calling thread. `category` and `scope` as in kinetograph_event. 0: nobody follows it. */
    int (*begin)(uint32_t name, uint8_t category, uint8_t scope);
    void (*end)(uint32_t name);
    void (*span)(const kinetograph_event* event);
    void (*instant)(const kinetograph_event* event);
    void (*counter)(uint32_t name, double value);
    void (*device_span)(const kinetograph_device_event* event);
    void (*name_thread)(const char* text, size_t bytes);

    /* Sessions. start returns 0 on failure. A session with a directory may be left to `kinetograph recover`;
     * discard ends one and throws its events away. */
    uint64_t (*session_start)(const kinetograph_session_options* options);
    int (*session_discard)(uint64_t session);

    /* Annotations of a library, whose domain becomes the category of its events. Texts may be made up as the
     * program runs: ids below *oldest_name were forgotten, so one that is kept is compared before its use.
     * The id is that of an event of KINETOGRAPH_ANNOTATION, and of nothing else. */
    uint32_t (*intern_annotation)(const char* domain, size_t domain_bytes, const char* name, size_t bytes);
    const uint32_t* oldest_name;
    /* As end(), with arguments as in kinetograph_event. */
    void (*end_with)(uint32_t name, const char* args, size_t args_bytes);
    void (*annotation_counter)(uint32_t name, uint64_t ticks, double value);
    /* A range that may cross others and end in any thread. The halves are joined by the id, which may be used
     * again after its end; begun twice without one, the first was a point in time. Of the event, start_ticks
     * is the time of the half, and the end has its name only where that replaces the first. */
    void (*range_begin)(uint64_t id, const kinetograph_event* event);
    void (*range_end)(uint64_t id, const kinetograph_event* event);
    /* As intern(), for texts made up as the program runs: forgotten as those of intern_annotation(). */
    uint32_t (*intern_text)(const char* text, size_t bytes);
    /* A sentence for the notes of the traces of all sessions that record this thread now. With a count, those
     * of the same text are summed up. */
    void (*note)(const char* kind, const char* text, uint32_t count);
    /* Of a process whose session is left to whoever started it: what it is called, and that it is about to
     * end in good order. */
    void (*name_process)(const char* text, size_t bytes);
    void (*process_ends)(void);
    /* Operators of a framework, which come by the million and are ended by the thread that began them. What
     * begin returns names this one until its end, so that the end of one that nobody follows any more (the
     * session it began in is over) is told from the end of another; 0: nobody follows it, and there is
     * nothing to end. end_operator is for most of them, of which kinetograph_operator would tell no more than
     * this. The flags are those of an event. One that another thread knows to have ended earlier has its
     * end_ticks, others 0. */
    uint64_t (*begin_operator)(uint32_t name, uint8_t category, uint8_t scope, uint8_t flags);
    void (*end_operator)(uint64_t begun, int64_t sequence, uint32_t forward_thread);
    void (*end_operator_with)(uint64_t begun, const kinetograph_operator* told, uint64_t end_ticks);
    /* As name_thread(), for any thread of this process, by its number in the kernel. It may have recorded
     * nothing yet. */
    void (*name_thread_by_id)(int32_t tid, const char* text, size_t bytes);
    /* What is known of an operator that has just begun, for sessions that end before it: of each before those
     * that begin after it. Not 0: it is kept, so that end_told_operator ends this one; 0: there was no room.
     */
    int (*tell_open_operator)(uint64_t begun, const kinetograph_operator* told);
    void (*end_told_operator)(uint64_t begun, uint64_t flops, uint64_t end_ticks);
    /* Whether the innermost scope of this thread is an operator of this name, as begin_operator() began it,
     * and this was not asked since: who has come to tell of it a second time leaves it at that. */
    int (*is_told_again)(uint32_t name);
} kinetograph_record_table;

__attribute__((visibility("default"))) const kinetograph_record_table* kinetograph_record_table_for(
    uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
