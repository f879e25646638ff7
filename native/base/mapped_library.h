// Libraries that somebody has loaded into this process.
#pragma once

#include <link.h>

#include <cstring>
#include <string>

namespace kinetograph::base {

// The path under which a library was mapped whose file name begins so, whoever did that; "" where there is
// none.
inline std::string mapped_library(const char* name) {
    struct Search {
        const char* name;
        std::string path;
    } search{name, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            const char* slash = std::strrchr(info->dlpi_name, '/');
            const char* file = slash ? slash + 1 : info->dlpi_name;
            if (std::strncmp(file, wanted.name, std::strlen(wanted.name)) != 0) return 0;
            wanted.path = info->dlpi_name;
            return 1;
        },
        &search);
    return search.path;
}

}  // namespace kinetograph::base
