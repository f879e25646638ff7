// How long the records of a running libcupti are. The library decides that, not the headers we were built
// with.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kinetograph::collect::cupti {

class RecordSizes {
public:
    static constexpr uint32_t kinds = 64;

    explicit RecordSizes(uint32_t version);

    // 0 where only the library knows.
    size_t of(uint32_t kind) const { return kind < kinds ? sizes_[kind] : 0; }

private:
    std::array<uint16_t, kinds> sizes_{};
};

// Whether a record of this length has the field: newer versions only append.
#define KINETOGRAPH_HAS_FIELD(bytes, Struct, field) \
    ((bytes) >= offsetof(Struct, field) + sizeof(static_cast<Struct*>(nullptr)->field))

}  // namespace kinetograph::collect::cupti
