// Ids that programs and libraries give to their calls by pushing them to CUPTI: which call has which.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace kinetograph::collect::cupti {

class ExternalIds {
public:
    // CUPTI tells of the ids of a call before it tells of the call.
    void see(const CUpti_ActivityExternalCorrelation& record);
    // JSON members; empty where nobody pushed any. Asked once per call.
    std::string take(uint32_t correlation);

private:
    std::unordered_map<uint32_t, std::string> members_;  // by correlation id
};

}  // namespace kinetograph::collect::cupti
