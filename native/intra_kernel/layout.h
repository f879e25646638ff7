// What kernels leave in a profiler buffer. Every front end writes it, `decode.cpp` reads it.
//
// Plain C without includes, so that device compilers take it, too; `layout.py` holds the same numbers for
// front ends in Python. They reach buffers of other versions: explicit, and a change is a new version.
//
// A buffer is slots of 16 bytes, four words each, in the byte order of the machine:
//
//   slot 0      magic, version, slots per segment, number of segments
//   slot 1      slot of the first segment, 0, segments claimed (64 bits, the only word that is shared)
//   slot 2      kilohertz of the SMs' clock, as the device tells it, 0: unknown (64 bits); nothing
//   slot 3      nothing
//   ...         segments
//
// Who finds no free segment writes nothing, and is counted in what was claimed.
//
// A segment belongs to one block, or one group of threads in it, during one launch:
//
//   slot 0      magic, block, number of blocks, group | groups << 8 | SM << 16
//   slot 1      sum, clock, globaltimer (64 bits), as of the moment it was claimed
//   slots 2..   records, in the order of time
//   tail        as well, in four slots; what comes when all is full is written over these again and again
//   last        nothing: the low word of an address may not wrap when it is counted one further
//
// A kernel looks once in up to four records whether it has come to the tail, and then goes back to where
// that starts: there the sum is too large. One that looks each time may write over its last slot only.
//
// A record is {sum, clock, globaltimer (64 bits)}. The sum is that of the slot before, plus
// `KG_SUM_STEP + tag`; so the tag costs no instruction of its own, garbage shows, and a slot that was
// written over tells how many were lost. The end of a range needs no globaltimer, and has 0: its clock and
// that of the start tell how long it took. A payload stands before its record: {sum, 0, value (64 bits)}.
#pragma once

#define KG_BUFFER_MAGIC 0x3149474Bu  // "KGI1"
#define KG_SEGMENT_MAGIC 0x5347474Bu
#define KG_LAYOUT_VERSION 1u

#define KG_SLOT_BYTES 16u
#define KG_HEADER_SLOTS 4u
#define KG_CLAIMED_OFFSET 24u  // bytes from the start of the buffer
#define KG_SEGMENT_HEADER_SLOTS 2u
#define KG_LEAST_SEGMENT_SLOTS 8u
#define KG_TAIL_SLOTS 4u

// tag = kind | task << 2; of a payload, its type stands where others have the task.
#define KG_KIND_START 0u
#define KG_KIND_END 1u
#define KG_KIND_INSTANT 2u
#define KG_KIND_PAYLOAD 3u
#define KG_TASKS 2048u
#define KG_SUM_STEP 8192u

#define KG_PAYLOAD_NONE 0u   // only waited for
#define KG_PAYLOAD_INT 1u    // 64 bits, signed
#define KG_PAYLOAD_FLOAT 2u  // 32 bits
