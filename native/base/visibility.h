// What libkinetograph.so shows to the extension module built with it. Strangers use record_abi.h instead.
#pragma once

#define KINETOGRAPH_API __attribute__((visibility("default")))

// For variables that the hot path reads: a declaration alone does not tell the compiler that they are near.
#define KINETOGRAPH_INTERNAL __attribute__((visibility("hidden")))
