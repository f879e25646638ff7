// A session's memory as a file, so that nothing is lost when the process is killed.
//
// The running process maps the file and appends to it like to any other memory; nothing has to happen at
// exit. `recover_session_file` reads what is there, however the process ended.
#pragma once

#include <string>

#include "base/temporary_file.h"
#include "base/visibility.h"
#include "record/extent.h"
#include "record/recording.h"

namespace kinetograph::record {

inline constexpr const char* session_file_suffix = ".kgsession";

class SessionFile {
public:
    // Creates `directory` (one level) if needed. Throws std::system_error.
    SessionFile(const std::string& directory, const base::MeasuredAnchor& start);
    ~SessionFile();
    SessionFile(const SessionFile&) = delete;

    int descriptor() const { return descriptor_; }
    const std::string& path() const { return path_; }
    const std::string& directory() const { return directory_; }
    SessionFileHeader& header() { return *header_; }
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

// Throws std::runtime_error naming what is wrong with the file. A file cut short or half written gives what
// is whole.
KINETOGRAPH_API Recording recover_session_file(const std::string& path);

}  // namespace kinetograph::record
