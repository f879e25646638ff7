// What libkinetograph.so shows to the extension module built with it. Strangers use record_abi.h instead.
#pragma once

#define KINETOGRAPH_API __attribute__((visibility("default")))
