// Which Python functions are wanted, by where their code comes from. Knows no Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::collect {

// Where code comes from: the file, and the module that the import system would call it.
struct Origin {
    std::string path;    // co_filename
    std::string shown;   // the same without the entry of sys.path it lies under
    std::string module;  // package.module
};

// `search_path` are the entries of sys.path, longest first.
Origin origin_of(std::string_view file, const std::vector<std::string>& search_path);

// The folder of this package: its functions are never shown.
inline bool is_our_own(const Origin& origin, std::string_view own_folder) {
    if (origin.path == "<kinetograph>") return true;  // what our .pth file runs
    return !own_folder.empty() && origin.path.starts_with(own_folder);
}

// What a function is recorded as: `path.py(line): name`, and behind a separator the qualified name where that
// says more.
std::string call_name(const Origin& origin, int line, const std::string& name, const std::string& qualified);

// A pattern with a slash, or one that ends in .py, is a path: a file, a folder with all below it, or a glob
// of either. Any other is a module with all its submodules, or a glob of one.
bool matches(std::string_view pattern, const Origin& origin);

struct CallFilter {
    std::vector<std::string> include;  // empty: everything
    std::vector<std::string> exclude;  // has the last word

    bool wants(const Origin& origin) const;
    bool operator==(const CallFilter&) const = default;
};

}  // namespace kinetograph::collect
