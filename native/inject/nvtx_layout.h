// Where the entries of a payload lie, as NVTX has it: where they say, else one behind the other, each at a
// multiple of its alignment. What follows an array of variable length is found by reading the length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "inject/domain.h"
#include "inject/nvtx_blob.h"
#include "inject/nvtx_headers.h"
#include "inject/nvtx_schemas.h"

namespace kinetograph::inject {

// As far as the schema alone tells it: offsets, size and alignment. Called when it is registered, and again
// for one that was late.
void lay_out(const Domain& domain, Schema& schema);
// Whether it holds what is not registered yet, or something that is late itself.
bool is_late(const Domain& domain, const SchemaEntry& entry);

inline constexpr size_t nowhere = SIZE_MAX;

// A struct in a payload.
struct Placed {
    const Schema& schema;
    Blob bytes;
    std::vector<size_t> offsets;  // by entry, where the schema does not know them all
    std::optional<size_t> size;   // none where something in it cannot be measured

    // Nothing for an entry that lies behind what cannot be measured.
    Blob at(const SchemaEntry& entry) const;
};

// For the payloads of one event.
class Layout {
public:
    Layout(const Domain& domain, std::span<const nvtxPayloadData_t> event) : domain_(domain), event_(event) {}

    Placed place(const Schema& schema, Blob bytes);

    // How many elements an array has in each of its dimensions, the outermost first; none where that cannot
    // be read.
    std::vector<size_t> lengths(const Placed& in, const SchemaEntry& array);
    // Where the element behind the one at `at` lies in an array; nowhere if this one cannot be measured.
    size_t next(uint64_t type, Blob array, size_t at);

    bool read_integer(const Placed& in, uint64_t entry, size_t& value) const;

private:
    std::vector<size_t> lengths_in(const Placed& in, uint64_t entry) const;
    std::vector<size_t> lengths_in_payload(uint64_t index);
    std::optional<size_t> measure(const Placed& in, const SchemaEntry& entry);
    std::optional<size_t> measure_string(const Placed& in, const SchemaEntry& entry);
    std::optional<size_t> measure_array(const Placed& in, const SchemaEntry& entry);
    std::optional<size_t> measure_value(uint64_t type, Blob blob);

    const Domain& domain_;
    const std::span<const nvtxPayloadData_t> event_;
    int depth_ = 0;
    size_t placed_ = 0;
};

// Elements before the one that is zero, as far as they are there.
size_t length_to_zero(Blob array, size_t element_bytes);

}  // namespace kinetograph::inject
