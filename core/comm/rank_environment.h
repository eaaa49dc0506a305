/// Environment variables by which launch_ranks() tells a rank of the others.
#pragma once

namespace rodeo::comm {

inline constexpr const char* kRankVariable = "RODEO_RANK";
inline constexpr const char* kRanksVariable = "RODEO_RANKS";
inline constexpr const char* kMeetingVariable = "RODEO_MEETING";     // number of rank 0's local socket
inline constexpr const char* kListenVariable = "RODEO_LISTEN_FILE";  // rank 0: descriptor of that socket
inline constexpr const char* kReportVariable = "RODEO_REPORT_FILE";  // descriptor of a pipe with one byte

/// Exit code of a rank that was ended because another one failed.
inline constexpr int kEndedByOther = 86;

}  // namespace rodeo::comm
