// Failures as Kubernetes' clients understand them: Status objects with a reason and an HTTP code.
// Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/kube/check.h"
#include "dialect/kube/json.h"
#include "dialect/kube/resource.h"

namespace phalanx::kube {

struct Failure {
  int code = 500;
  std::string reason;  // "NotFound"
  std::string message;
  std::string group, resource, name;  // details, as far as known
  std::vector<Cause> causes;
};

json::object status_object(const Failure& failure);

Failure bad_request(std::string message);
Failure no_such_object(const Resource& resource, const std::string& name);
Failure no_such_path();
Failure method_not_allowed(const std::string& method);
Failure unsupported_type(std::string message);
Failure gone(std::string message);  // 410: list again
Failure invalid_object(const Resource& resource, const std::string& name,
                       std::vector<Cause> causes);
// "jobs.batch "x" is forbidden: User "bob" cannot delete …: why"
Failure forbidden(const Resource& resource, const std::string& name, const std::string& space,
                  const std::string& user, std::string_view verb, const std::string& why);
// The core's answer to a write. `creating`: a conflict means that it exists already.
Failure refused_write(const Error& error, const Resource& resource, const std::string& name,
                      bool creating);

}  // namespace phalanx::kube
