// Debug annotations back to the JSON that arguments are kept as.
#pragma once

#include <string>

#include "format/perfetto_sequence.h"

namespace kinetograph::format::perfetto {

struct Annotation {
    std::string name;
    std::string json;
    std::string text;  // the value, if it is a string
};

// Of a DebugAnnotation. Throws ParseError.
Annotation read_annotation(const ProtoField& message, const Sequence& sequence);

// As Python writes it, so that a number does not change its text from file to file.
std::string json_of(double value);

}  // namespace kinetograph::format::perfetto
