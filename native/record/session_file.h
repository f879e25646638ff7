// A session's memory as a file, so that nothing is lost when the process is killed.
//
// The running process maps the file and appends to it like to any other memory; nothing has to happen at
// exit. `recover_session_file` reads what is there, however the process ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/temporary_file.h"
#include "base/visibility.h"
#include "record/extent.h"
#include "record/recording.h"

namespace kinetograph::record {

inline constexpr const char* session_file_suffix = ".kgsession";

// Which boot of the machine this is, as text; empty where the kernel does not tell.
void read_boot_id(char (&into)[40]);

class SessionFile {
public:
    // Creates `directory` (one level) if needed. Throws std::system_error.
    SessionFile(const std::string& directory, const base::MeasuredAnchor& start,
                std::string_view process_name);
    ~SessionFile();
    SessionFile(const SessionFile&) = delete;

    int descriptor() const { return descriptor_; }
    const std::string& path() const { return path_; }
    const std::string& directory() const { return directory_; }
    SessionFileHeader& header() { return *header_; }
    void set_process_name(std::string_view name);
    // The recording was handed over: the file has done its work.
    void remove();
    // In a forked child the file belongs to the parent.
    void abandon();

private:
    std::string directory_;
    std::string path_;
    int descriptor_ = -1;
    base::FileIdentity identity_{};
    SessionFileHeader* header_ = nullptr;
};

// What a session file says of its process, and whether that still writes to it.
struct SessionFileInfo {
    int64_t pid = 0;
    int64_t parent_pid = 0;  // 0: not known
    std::string process_name;
    std::string command;
    std::string boot_id;
    int64_t start_ns = 0;        // wall time
    int64_t wall_offset_ns = 0;  // of wall time from CLOCK_MONOTONIC_RAW when the session started
    uint64_t bytes = 0;
    bool has_ended = false;  // in good order: the interpreter came to its end
    bool is_in_use = false;  // the process has it open
};

struct RecoverOptions {
    // Nothing was to stop the session, so that only scopes left open are worth a note.
    bool is_never_stopped = false;
    // Processes of one boot share a clock, but each took the wall time when it started: time to count from
    // one of them, so that a step of the wall clock does not move them against each other.
    std::string boot_id;
    int64_t wall_offset_ns = 0;
    // When the process ended, by CLOCK_MONOTONIC_RAW; 0: not known, and it ends with its last sign of life.
    int64_t ended_raw_ns = 0;
    // Of a ring of seconds: a file holds a little more than the newest that was asked for. 0: all there is.
    int64_t keep_ns = 0;
    size_t memory_limit_bytes = size_t(1) << 30;
    std::string spill_directory;
};

// Both throw std::runtime_error naming what is wrong with the file, std::system_error when it cannot be read.
// A file cut short or half written gives what is whole.
KINETOGRAPH_API SessionFileInfo read_session_file_info(const std::string& path);
KINETOGRAPH_API Recording recover_session_file(const std::string& path, const RecoverOptions& options = {});
// Gives the disk space of slabs that hold nothing back, once the process has ended. Bytes given back.
KINETOGRAPH_API uint64_t trim_session_file(const std::string& path);

}  // namespace kinetograph::record
