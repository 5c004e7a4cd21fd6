// The harness's test of every row of every op's table, and that each kernel of the machine stands in some table.
#include "support/conformance.h"

namespace laptime::test {

TEST_P(Conformance, MatchesReference) { check_conformance(GetParam()); }

}  // namespace laptime::test
