// What a function is called and whether it is wanted, by the address of its code: found by reading, and kept.
//
// Code objects die and others come to lie where they were, so what is kept is compared with what is there at
// each use. One sampler uses it, without the GIL.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "collect/python_names/filter.h"
#include "collect/python_names/places.h"
#include "collect/python_samples/layout.h"
#include "collect/python_samples/memory_reader.h"
#include "collect/python_samples/text.h"

namespace kinetograph::collect {

class CodeTable {
public:
    CodeTable(const MemoryReader& memory, NamePlaces places, CallFilter filter)
        : memory_(memory), places_(std::move(places)), filter_(std::move(filter)) {}

    // Name ids of the wanted ones, outermost first, of frames that come innermost first. False when they
    // cannot be frames of a stack. True means nothing before the frames are known to have stayed as they
    // were.
    bool name_frames(std::span<const FrameView> frames, std::vector<uint32_t>& names);
    void forget();

private:
    struct KnownText {
        RemoteText text;
        uint64_t looked_at = 0;  // these two are numbers of looks
        uint64_t loaded_at = 0;
        std::vector<std::byte> seen;
    };
    struct KnownCode {
        CodeView view;
        uint64_t looked_at = 0;
        uint64_t named_at = 0;
        uint32_t name = 0;
        bool is_wanted = false;
    };
    struct Look {
        uintptr_t address;
        KnownCode* known;
        CodeView view;
    };

    bool look_at(std::span<const FrameView> frames);
    bool look_at_texts();
    bool load_text(uintptr_t address, KnownText& known);
    bool name_code(KnownCode& code);

    const MemoryReader& memory_;
    NamePlaces places_;
    CallFilter filter_;
    uint64_t look_ = 0;
    std::unordered_map<uintptr_t, KnownCode> codes_;
    std::unordered_map<uintptr_t, KnownText> texts_;
    // Of the look at hand.
    std::vector<Look> looks_;
    std::vector<CodeBytes> bytes_;
    std::vector<Piece> pieces_;
    std::vector<KnownText*> compared_;
};

}  // namespace kinetograph::collect
