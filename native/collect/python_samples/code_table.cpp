#include "collect/python_samples/code_table.h"

#include <algorithm>
#include <utility>

#include "collect/python_names/origins.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

// Programs that make code all the time must not fill memory with what is gone.
constexpr size_t most_codes = 50'000;

}  // namespace

void CodeTable::forget() {
    codes_.clear();
    texts_.clear();
}

bool CodeTable::name_frames(std::span<const FrameView> frames, std::vector<uint32_t>& names) {
    names.clear();
    if (codes_.size() > most_codes || texts_.size() > most_codes) forget();
    if (!look_at(frames) || !look_at_texts()) return false;
    for (const FrameView& frame : frames) {
        if (frame.is_from_c) continue;
        const KnownCode& code = codes_[frame.code];
        if (!belongs_to(frame, code.view)) return false;
        // It has not called anybody yet: its callee is what remains of another call.
        if (frame.has_direct_callee && is_being_entered(frame) && !is_trampoline(code.view)) return false;
        if (code.is_wanted && is_complete(frame, code.view)) names.push_back(code.name);
    }
    std::reverse(names.begin(), names.end());
    return true;
}

// Reads each code object once, all in one go.
bool CodeTable::look_at(std::span<const FrameView> frames) {
    ++look_;
    looks_.clear();
    for (const FrameView& frame : frames) {
        if (frame.is_from_c) continue;
        KnownCode& known = codes_[frame.code];
        if (std::exchange(known.looked_at, look_) != look_) looks_.push_back({frame.code, &known, {}});
    }
    bytes_.resize(looks_.size());
    pieces_.clear();
    for (size_t i = 0; i < looks_.size(); ++i)
        pieces_.push_back({looks_[i].address, bytes_[i].bytes, sizeof bytes_[i].bytes});
    if (!memory_.read(pieces_)) return false;
    for (size_t i = 0; i < looks_.size(); ++i) looks_[i].view = bytes_[i].view();
    return std::all_of(looks_.begin(), looks_.end(), [](const Look& look) { return look.view.is_code(); });
}

// Names of code without a version are compared letter by letter: a new object may have taken the place of
// each of its strings, too.
bool CodeTable::look_at_texts() {
    pieces_.clear();
    compared_.clear();
    for (const Look& look : looks_) {
        const bool is_same = look.known->named_at != 0 && look.known->view == look.view;
        if (is_same && look.view.version != 0) continue;
        if (!is_same) look.known->named_at = 0;
        look.known->view = look.view;
        for (const uintptr_t address : {look.view.file, look.view.name, look.view.qualified_name}) {
            KnownText& known = texts_[address];
            if (std::exchange(known.looked_at, look_) == look_) continue;
            const Piece piece = known.loaded_at != 0 ? known.text.piece(known.seen) : Piece{};
            if (piece.bytes == 0 && !load_text(address, known)) return false;
            if (piece.bytes == 0) continue;
            pieces_.push_back(piece);
            compared_.push_back(&known);
        }
    }
    const bool is_readable = memory_.read(pieces_);
    for (size_t i = 0; i < compared_.size(); ++i)
        if ((!is_readable || !compared_[i]->text.is_same(compared_[i]->seen)) &&
            !load_text(pieces_[i].address, *compared_[i]))
            return false;
    return std::all_of(looks_.begin(), looks_.end(),
                       [&](const Look& look) { return name_code(*look.known); });
}

bool CodeTable::load_text(uintptr_t address, KnownText& known) {
    known.loaded_at = 0;  // unless it is whole
    if (!known.text.load(memory_, address)) {
        texts_.erase(address);
        return false;
    }
    known.loaded_at = look_;
    return true;
}

// Unless it has its name, and that was made of the strings that are there now.
bool CodeTable::name_code(KnownCode& code) {
    if (code.named_at != 0 && code.view.version != 0) return true;
    const KnownText &file = texts_[code.view.file], &name = texts_[code.view.name],
                    &qualified = texts_[code.view.qualified_name];
    const uint64_t newest = std::max({file.loaded_at, name.loaded_at, qualified.loaded_at});
    if (code.named_at != 0 && newest < code.named_at) return true;
    const Origin origin = origin_of(file.text.utf8(), places_.search_path);
    code.is_wanted = !is_our_own(origin, places_.own_folder) && filter_.wants(origin);
    code.name = !code.is_wanted ? 0
                                : record::Recorder::instance().intern(call_name(
                                      origin, code.view.line, name.text.utf8(), qualified.text.utf8()));
    if (code.is_wanted) remember_origin(code.name, origin);
    code.named_at = look_ + 1;
    return true;
}

}  // namespace kinetograph::collect
