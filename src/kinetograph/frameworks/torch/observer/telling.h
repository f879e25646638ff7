// A tensor of a Python class may run operators to tell its sizes. Those are not the program's, and must not
// come back to us while we are in the middle of asking.
#pragma once

namespace kinetograph::torch_observer {

inline constinit thread_local bool is_telling __attribute__((tls_model("initial-exec"))) = false;

class Telling {
public:
    Telling() { is_telling = true; }
    ~Telling() { is_telling = was_telling_; }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

private:
    const bool was_telling_ = is_telling;
};

}  // namespace kinetograph::torch_observer
