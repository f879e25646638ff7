#include "inject/nvtx_values.h"

#include <cstdio>
#include <string_view>

#include "base/json_members.h"
#include "inject/names.h"
#include "inject/narrow_float.h"
#include "inject/nvtx_domains.h"
#include "inject/nvtx_headers.h"
#include "inject/nvtx_schemas.h"
#include "inject/text.h"

namespace kinetograph::inject {

bool append_hex(std::string& out, Blob blob, size_t bytes) {
    if (blob.size < bytes) return false;
    out += "\"0x";
    char digits[3];
    for (size_t i = bytes; i-- > 0;) {
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(blob.data[i]));
        out += digits;
    }
    out += '"';
    return true;
}

namespace {

template <class T>
bool append_number(std::string& out, Blob blob) {
    T value;
    if (!blob.read(value)) return false;
    base::append_json_number(out, value);
    return true;
}

bool append_narrow_float(std::string& out, Blob blob, const NarrowFloat& type) {
    uint16_t bits;
    if (!blob.read(bits)) return false;
    base::append_json_number(out, type.value(bits));
    return true;
}

// Of later headers than ours.
constexpr uint64_t entry_type_range_id = 67;

bool append_character(std::string& out, char32_t c) {
    base::append_json_string(out, c ? utf8(std::u32string_view(&c, 1)) : "");
    return true;
}

bool append_category(std::string& out, const Domain& domain, Blob blob) {
    uint32_t category;
    if (!blob.read(category)) return false;
    const std::string_view name = domain.category_name(category);
    if (name.empty())
        base::append_json_number(out, category);
    else
        base::append_json_string(out, name);
    return true;
}

}  // namespace

bool append_simple_value(std::string& out, const Domain& domain, uint64_t type, Blob blob) {
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8: {
            unsigned char c;
            return blob.read(c) && append_character(out, c);
        }
        case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16: {
            char16_t c;
            return blob.read(c) && append_character(out, c);
        }
        case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32: {
            char32_t c;
            return blob.read(c) && append_character(out, c);
        }
        case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return append_number<uint8_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
            return append_number<int8_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
            return append_number<int16_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
            return append_number<uint16_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_INT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
            return append_number<int32_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
            return append_number<uint32_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
            return append_number<long>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
            return append_number<unsigned long>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
            return append_number<int64_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
        case entry_type_range_id:
        case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
            return append_number<uint64_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
            return append_number<size_t>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
            return append_number<float>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
            return append_number<double>(out, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE: {
            long double value;
            return blob.read(value) && (base::append_json_number(out, double(value)), true);
        }
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
            return append_narrow_float(out, blob, float16);
        case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
            return append_narrow_float(out, blob, bfloat16);
        case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
        case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
            return append_hex(out, blob, size_of_type(domain, type));
        case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
            return append_category(out, domain, blob);
        case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE: {
            nvtxStringHandle_t handle;
            if (!blob.read(handle)) return false;
            if (!handle) return out += "null", true;
            base::append_json_string(out, name_of(handle)->text());
            return true;
        }
        default:
            return false;
    }
}

}  // namespace kinetograph::inject
