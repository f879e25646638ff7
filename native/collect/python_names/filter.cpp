#include "collect/python_names/filter.h"

#include <fnmatch.h>

#include <algorithm>

#include "record/event.h"

namespace kinetograph::collect {

namespace {

bool is_glob(std::string_view pattern) {
    return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool is_below(std::string_view text, std::string_view parent, char separator) {
    if (!text.starts_with(parent)) return false;
    return text.size() == parent.size() || parent.ends_with(separator) || text[parent.size()] == separator;
}

// A glob is for the whole, or for what lies above it.
bool fits(std::string_view pattern, const std::string& text, char separator) {
    if (!is_glob(pattern)) return is_below(text, pattern, separator);
    const std::string whole(pattern), above = whole + separator + '*';
    return fnmatch(whole.c_str(), text.c_str(), 0) == 0 || fnmatch(above.c_str(), text.c_str(), 0) == 0;
}

bool is_path(std::string_view pattern) {
    return pattern.find('/') != std::string_view::npos || pattern.ends_with(".py");
}

std::string without_suffix(std::string text, std::string_view suffix) {
    if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
    return text;
}

// `<frozen importlib._bootstrap>` names its module itself; other code without a file is a module of that
// name.
std::string module_of(std::string shown) {
    constexpr std::string_view frozen = "<frozen ";
    if (shown.starts_with(frozen) && shown.ends_with('>'))
        return shown.substr(frozen.size(), shown.size() - frozen.size() - 1);
    shown = without_suffix(without_suffix(std::move(shown), ".py"), "/__init__");
    std::replace(shown.begin(), shown.end(), '/', '.');
    return shown;
}

}  // namespace

Origin origin_of(std::string_view file, const std::vector<std::string>& search_path) {
    for (const std::string& entry : search_path) {
        if (entry.empty() || entry.size() + 1 >= file.size() || !is_below(file, entry, '/')) continue;
        const std::string shown(file.substr(entry.size() + (entry.ends_with('/') ? 0 : 1)));
        return {std::string(file), shown, module_of(shown)};
    }
    return {std::string(file), std::string(file), module_of(std::string(file))};
}

std::string call_name(const Origin& origin, int line, const std::string& name, const std::string& qualified) {
    std::string text = origin.shown + "(" + std::to_string(line) + "): " + name;
    if (!qualified.empty() && qualified != name) text += record::qualified_name_separator + qualified;
    return text;
}

bool matches(std::string_view pattern, const Origin& origin) {
    if (is_path(pattern)) return fits(pattern, origin.path, '/') || fits(pattern, origin.shown, '/');
    return fits(pattern, origin.module, '.');
}

bool CallFilter::wants(const Origin& origin) const {
    const auto match = [&](const std::string& pattern) { return matches(pattern, origin); };
    if (std::any_of(exclude.begin(), exclude.end(), match)) return false;
    return include.empty() || std::any_of(include.begin(), include.end(), match);
}

}  // namespace kinetograph::collect
