/* The least that writing a Chrome trace takes: records in memory, one buffer, numbers printed by hand.
 *
 * usage: json_writer COUNT PATH; prints the CPU seconds of writing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    uint64_t start_ns, end_ns;
    uint32_t name;
    uint32_t rest[3];
} Record;

enum { buffer_bytes = 1 << 20, longest_event = 256 };
static char buffer[buffer_bytes];

static char* put_text(char* at, const char* text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char* put_number(char* at, uint64_t number) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count > 0) *at++ = digits[--count];
    return at;
}

/* Microseconds with three decimals, as the format wants them. */
static char* put_us(char* at, uint64_t ns) {
    at = put_number(at, ns / 1000);
    *at++ = '.';
    *at++ = (char)('0' + ns / 100 % 10);
    *at++ = (char)('0' + ns / 10 % 10);
    *at++ = (char)('0' + ns % 10);
    return at;
}

static char* put_event(char* at, const Record* record) {
    at = put_text(at, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"step ");
    at = put_number(at, record->name);
    at = put_text(at, "\",\"pid\":4711,\"tid\":4711,\"ts\":");
    at = put_us(at, record->start_ns);
    at = put_text(at, ",\"dur\":");
    at = put_us(at, record->end_ns - record->start_ns);
    return put_text(at, "},\n");
}

static void write_events(const Record* records, size_t count, FILE* file) {
    char* at = put_text(buffer, "{\"traceEvents\":[\n");
    for (size_t i = 0; i < count; ++i) {
        at = put_event(at, &records[i]);
        if (at > buffer + buffer_bytes - longest_event) {
            fwrite(buffer, 1, (size_t)(at - buffer), file);
            at = buffer;
        }
    }
    at = put_text(at, "{}]}\n");
    fwrite(buffer, 1, (size_t)(at - buffer), file);
}

int main(int argument_count, char** arguments) {
    if (argument_count != 3) return 2;
    size_t count = strtoull(arguments[1], NULL, 10);
    Record* records = malloc(count * sizeof(Record));
    FILE* file = fopen(arguments[2], "wb");
    if (records == NULL || file == NULL) return 1;
    for (size_t i = 0; i < count; ++i) {
        uint64_t start = 1700000000000000 + i * 250;
        records[i] = (Record){start, start + 120, (uint32_t)(i % 100), {0, 0, 0}};
    }
    clock_t begin = clock();
    write_events(records, count, file);
    fclose(file);
    printf("%f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    return 0;
}
