// Floating-point numbers of 16 bits, which C++ has no type for.
#pragma once

#include <cmath>
#include <cstdint>

namespace kinetograph::inject {

struct NarrowFloat {
    int exponent_bits, fraction_bits;

    double value(uint16_t bits) const {
        const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
        const int exponent = bits >> fraction_bits & top, fraction = bits & ((1 << fraction_bits) - 1);
        const double part = std::ldexp(double(fraction), -fraction_bits);
        const double size = exponent == top ? (fraction ? NAN : INFINITY)
                            : exponent == 0 ? std::ldexp(part, 1 - bias)
                                            : std::ldexp(1 + part, exponent - bias);
        return bits >> 15 ? -size : size;
    }
};

inline constexpr NarrowFloat float16{5, 10}, bfloat16{8, 7};

}  // namespace kinetograph::inject
