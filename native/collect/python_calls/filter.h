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
