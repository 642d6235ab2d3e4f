#include "dialect/kube/status.h"

#include "base/text.h"

namespace phalanx::kube {
namespace {

Failure about(const Resource& r, const std::string& name, int code, std::string reason,
              std::string message) {
  return {
      code, std::move(reason), std::move(message), std::string(r.group), std::string(r.name), name,
      {}};
}

}  // namespace

json::object status_object(const Failure& f) {
  json::object details;
  if (!f.name.empty()) details["name"] = f.name;
  if (!f.group.empty()) details["group"] = f.group;
  if (!f.resource.empty()) details["kind"] = f.resource;
  json::array causes;
  for (const Cause& c : f.causes)
    causes.push_back(
        json::object{{"reason", c.reason}, {"message", c.message}, {"field", c.field}});
  if (!causes.empty()) details["causes"] = std::move(causes);
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", json::object()},
          {"status", "Failure"},
          {"message", f.message},
          {"reason", f.reason},
          {"details", std::move(details)},
          {"code", f.code}};
}

Failure bad_request(std::string message) {
  return {400, "BadRequest", std::move(message), {}, {}, {}, {}};
}

Failure no_such_object(const Resource& r, const std::string& name) {
  return about(r, name, 404, "NotFound", format("{} \"{}\" not found", qualified_name(r), name));
}

Failure no_such_path() {
  return {404, "NotFound", "the server could not find the requested resource", {}, {}, {}, {}};
}

Failure method_not_allowed(const std::string& method) {
  return {405,
          "MethodNotAllowed",
          format("{} is not served for this resource", printable(method)),
          {},
          {},
          {},
          {}};
}

Failure unsupported_type(std::string message) {
  return {415, "UnsupportedMediaType", std::move(message), {}, {}, {}, {}};
}

Failure gone(std::string message) { return {410, "Expired", std::move(message), {}, {}, {}, {}}; }

Failure invalid_object(const Resource& r, const std::string& name, std::vector<Cause> causes) {
  std::string list;
  for (const Cause& c : causes) {
    if (!list.empty()) list += ", ";
    list += format("{}: {}", c.field, c.message);
  }
  Failure out =
      about(r, name, 422, "Invalid", format("{} \"{}\" is invalid: {}", r.kind, name, list));
  out.causes = std::move(causes);
  return out;
}

Failure forbidden(const Resource& r, const std::string& name, const std::string& space,
                  const std::string& user, std::string_view verb, const std::string& why) {
  const std::string where = space.empty() ? "" : format(" in the namespace \"{}\"", space);
  return about(r, name, 403, "Forbidden",
               format("{} \"{}\" is forbidden: User \"{}\" cannot {} resource \"{}\" in API group "
                      "\"{}\"{}: {}",
                      qualified_name(r), name, user, verb, r.name, r.group, where, why));
}

Failure refused_write(const Error& error, const Resource& r, const std::string& name,
                      bool creating) {
  switch (error.code) {
    case Error::Code::Invalid:
      return invalid_object(r, name, {bad_value("spec", error.message)});
    case Error::Code::NotFound:
      return no_such_object(r, name);
    case Error::Code::Conflict:
      if (creating)
        return about(r, name, 409, "AlreadyExists",
                     format("{} \"{}\" already exists", qualified_name(r), name));
      return about(r, name, 409, "Conflict",
                   format("Operation cannot be fulfilled on {} \"{}\": {}", qualified_name(r), name,
                          error.message));
    case Error::Code::Denied:
      return about(r, name, 403, "Forbidden",
                   format("{} \"{}\" is forbidden: {}", qualified_name(r), name, error.message));
    case Error::Code::Unavailable:
      return about(r, name, 503, "ServiceUnavailable", error.message);
    case Error::Code::Internal:
      return about(r, name, 500, "InternalError", error.message);
  }
  return about(r, name, 500, "InternalError", error.message);
}

}  // namespace phalanx::kube
