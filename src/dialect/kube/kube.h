// dialect/kube: Kubernetes' objects ⇄ the model. What clients send (JSON, protobuf, patches) is
// checked against one table of shapes (schema.h) and translated; what they see (objects, tables,
// discovery, failures) is projected from State. It keeps nothing and opens nothing: the endpoints
// are server/'s.
//
// Invariants: any bytes give a value or an error for people; nothing that a user says gets lost
// silently: it is acted upon, kept, warned about or refused by name; quantities never pass through
// a double. Threads: none. Errors: causes and failures are values (check.h, status.h).
#pragma once

#include "dialect/kube/check.h"     // IWYU pragma: export
#include "dialect/kube/job.h"       // IWYU pragma: export
#include "dialect/kube/json.h"      // IWYU pragma: export
#include "dialect/kube/patch.h"     // IWYU pragma: export
#include "dialect/kube/project.h"   // IWYU pragma: export
#include "dialect/kube/protobuf.h"  // IWYU pragma: export
#include "dialect/kube/resource.h"  // IWYU pragma: export
#include "dialect/kube/schema.h"    // IWYU pragma: export
#include "dialect/kube/selector.h"  // IWYU pragma: export
#include "dialect/kube/status.h"    // IWYU pragma: export
#include "dialect/kube/table.h"     // IWYU pragma: export
