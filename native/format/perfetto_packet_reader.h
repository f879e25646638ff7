// Cuts a Perfetto trace into its packets.
#pragma once

#include <string_view>

#include "format/input_window.h"

namespace kinetograph::format::perfetto {

class PacketReader {
public:
    explicit PacketReader(const Source& source) : window_(source), at_(window_.begin()) {}

    // Has the whole next packet in memory. False at the end of the file, also where that is within a packet.
    // Throws ParseError where there is something else.
    bool next();
    std::string_view packet() const { return {at_, size_}; }
    // Of the packet, in the file; of the head of the one that is cut.
    size_t offset() const { return window_.offset() + static_cast<size_t>(at_ - window_.begin()); }
    bool is_cut() const { return is_cut_; }

private:
    bool take_packet(std::string_view rest);

    InputWindow window_;
    const char* at_;
    size_t size_ = 0;
    bool is_cut_ = false;
};

}  // namespace kinetograph::format::perfetto
