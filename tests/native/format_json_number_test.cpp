#include "format/json_number.h"

#include <string>

#include "check.h"

using namespace kinetograph::format;

TEST(microseconds_become_nanoseconds_exactly) {
    CHECK(to_nanoseconds("0") == 0);
    CHECK(to_nanoseconds("12") == 12000);
    CHECK(to_nanoseconds("12.3") == 12300);
    CHECK(to_nanoseconds("12.345") == 12345);
    CHECK(to_nanoseconds("-12.345") == -12345);
    CHECK(to_nanoseconds("3844645728243.347") == 3844645728243347);
    CHECK(to_nanoseconds("1682725898236567") == 1682725898236567000);
}

TEST(more_decimals_are_rounded) {
    CHECK(to_nanoseconds("0.0004") == 0);
    CHECK(to_nanoseconds("0.0005") == 1);
    CHECK(to_nanoseconds("0.8970000000000001") == 897);
    CHECK(to_nanoseconds("1.23456789012345678901234567890") == 1235);
}

TEST(exponents_are_understood) {
    CHECK(to_nanoseconds("1e3") == 1000000);
    CHECK(to_nanoseconds("1.5E+2") == 150000);
    CHECK(to_nanoseconds("15e-1") == 1500);
    CHECK(to_nanoseconds("1e-99999999999999999999") == 0);
    CHECK(to_nanoseconds("0e99999999999999999999") == 0);
}

TEST(times_out_of_range_are_refused) {
    CHECK(!to_nanoseconds("1e30"));
    CHECK(!to_nanoseconds("99999999999999999999999999"));
    CHECK(!to_nanoseconds("-1e18"));
    CHECK(!to_nanoseconds(std::string(400, '9')));
}

TEST(integers_are_integers_only) {
    CHECK(to_int64("-5") == -5);
    CHECK(to_int64("9223372036854775807") == INT64_MAX);
    CHECK(!to_int64("9223372036854775808"));
    CHECK(!to_int64("1.0"));
    CHECK(!to_int64("1e3"));
}

CHECK_MAIN
