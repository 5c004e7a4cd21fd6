// error_of: the message of the Error that a call throws.
#pragma once

#include <string>

#include "base/error.h"

namespace laptime::test {

// The message of the Error that `call` throws; empty if it throws none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace laptime::test
