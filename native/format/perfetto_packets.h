// Packets on their way into the file, and the state that a sequence of them shares.
#pragma once

#include <cstdint>
#include <string_view>

#include "format/block.h"
#include "format/perfetto_annotations.h"
#include "format/perfetto_fields.h"
#include "format/perfetto_interning.h"
#include "format/proto_buffer.h"
#include "trace/trace.h"

namespace kinetograph::format::perfetto {

// Interned texts, defaults and the clock are of one sequence. A sequence holds the events of one track, in
// order of time, so that times are small differences.
class Packets {
public:
    Packets(const trace::Trace& trace, Sink& sink, int64_t first_ns)
        : trace_(trace), out_(sink), first_ns_(first_ns), annotations_(interned_) {}

    // The bytes of the message being filled.
    ProtoBuffer& message() { return message_; }
    Annotations& annotations() { return annotations_; }

    // Events that follow are on this track unless they name another.
    void start_sequence(uint64_t track_uuid);
    template <class Fill>
    void descriptor(Fill&& fill);
    // Not before the last one of the sequence.
    template <class Fill>
    void event(int64_t time_ns, Fill&& fill);

    void put_name(uint32_t name);
    void put_category(uint8_t category);

    void flush() { out_.flush(); }

private:
    template <class Fill>
    void packet(Fill&& fill);
    void put_clocks();

    const trace::Trace& trace_;
    Block out_;
    const int64_t first_ns_;
    ProtoBuffer message_, interned_;
    Annotations annotations_;
    SequenceIds names_, categories_;
    std::string scratch_;
    uint64_t sequence_ = 0;
    int64_t last_ns_ = 0;
};

template <class Fill>
void Packets::packet(Fill&& fill) {
    message_.clear();
    message_.message(trace_file::packet, [&] {
        message_.number(packet::sequence_id, sequence_);
        fill();
    });
    out_.put(message_.bytes());
}

template <class Fill>
void Packets::descriptor(Fill&& fill) {
    packet([&] { message_.message(packet::track_descriptor, fill); });
}

template <class Fill>
void Packets::event(int64_t time_ns, Fill&& fill) {
    packet([&] {
        message_.number(packet::timestamp, static_cast<uint64_t>(time_ns - last_ns_));
        message_.number(packet::sequence_flags, packet::needs_state);
        interned_.clear();
        message_.message(packet::track_event, fill);
        if (!interned_.empty()) message_.text(packet::interned_data, interned_.bytes());
    });
    last_ns_ = time_ns;
}

}  // namespace kinetograph::format::perfetto
