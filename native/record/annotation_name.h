// How annotations are recorded: under one text, of their domain and their name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kinetograph::record {

inline constexpr char domain_separator = '\x1f';

// Stands in a domain before a digit, and both for a character that has a meaning here.
inline constexpr char domain_escape = '\x1d';

inline std::string annotation_name(std::string_view domain, std::string_view name) {
    std::string text;
    text.reserve(domain.size() + 1 + name.size());
    for (const char c : domain) {
        if (c == domain_escape || c == domain_separator) text += domain_escape;
        text += c == domain_escape ? '0' : c == domain_separator ? '1' : c;
    }
    return text.append(1, domain_separator).append(name);
}

inline std::string domain_in(std::string_view escaped) {
    std::string domain;
    for (size_t i = 0; i < escaped.size(); ++i) {
        const bool is_escaped = escaped[i] == domain_escape && i + 1 < escaped.size();
        domain += !is_escaped ? escaped[i] : escaped[++i] == '0' ? domain_escape : domain_separator;
    }
    return domain;
}

}  // namespace kinetograph::record
