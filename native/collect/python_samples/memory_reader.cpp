#include "collect/python_samples/memory_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace kinetograph::collect {

namespace {

constexpr size_t pieces_per_call = 64;

std::string reason(int error) {
    return std::generic_category().message(error);
}

}  // namespace

MemoryReader::MemoryReader() : pid_(getpid()) {
    const uint64_t expected = 0x6b696e65746f;
    uint64_t found = 0;
    if (read(reinterpret_cast<uintptr_t>(&expected), found) && found == expected) return;
    const int call_error = errno;
    file_ = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    const int open_error = errno;
    if (file_ >= 0 && read(reinterpret_cast<uintptr_t>(&expected), found) && found == expected) return;
    if (file_ >= 0) close(file_);
    throw std::runtime_error("process_vm_readv: " + reason(call_error) +
                             "; /proc/self/mem: " + reason(file_ < 0 ? open_error : errno));
}

MemoryReader::~MemoryReader() {
    if (file_ >= 0) close(file_);
}

bool MemoryReader::read(uintptr_t address, void* into, size_t bytes) const noexcept {
    const Piece piece{address, into, bytes};
    return read(std::span(&piece, 1));
}

bool MemoryReader::read(std::span<const Piece> pieces) const noexcept {
    return file_ < 0 ? read_with_call(pieces) : read_from_file(pieces);
}

bool MemoryReader::read_with_call(std::span<const Piece> pieces) const noexcept {
    std::array<iovec, pieces_per_call> here, there;
    for (size_t done = 0; done < pieces.size();) {
        const size_t count = std::min(pieces.size() - done, pieces_per_call);
        size_t bytes = 0;
        for (size_t i = 0; i < count; ++i) {
            const Piece& piece = pieces[done + i];
            here[i] = {piece.into, piece.bytes};
            there[i] = {reinterpret_cast<void*>(piece.address), piece.bytes};
            bytes += piece.bytes;
        }
        if (process_vm_readv(pid_, here.data(), count, there.data(), count, 0) != ssize_t(bytes))
            return false;
        done += count;
    }
    return true;
}

bool MemoryReader::read_from_file(std::span<const Piece> pieces) const noexcept {
    return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
        return pread(file_, piece.into, piece.bytes, off_t(piece.address)) == ssize_t(piece.bytes);
    });
}

}  // namespace kinetograph::collect
