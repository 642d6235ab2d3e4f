#include "dialect/kube/job.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "dialect/kube/quantity.h"

namespace phalanx::kube {
namespace {

constexpr std::int64_t kMostPods = 100'000;
constexpr std::string_view kContainerPath = "spec.template.spec.containers[0]";
constexpr std::array<std::string_view, 4> kOurLabels{"batch.kubernetes.io/controller-uid",
                                                     "batch.kubernetes.io/job-name",
                                                     "controller-uid", "job-name"};

using Variables = std::vector<std::pair<std::string, std::string>>;

// $(NAME) by its value, $$ by one $, all else as it is: also "${NAME}", which is the shell's.
std::string expand(std::string_view text, const Variables& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += '$';
      continue;
    }
    const std::string_view name = text.substr(i + 2, close - i - 2);
    const auto it = std::find_if(variables.rbegin(), variables.rend(),
                                 [&](const auto& v) { return v.first == name; });
    out += it == variables.rend() ? text.substr(i, close - i + 1) : std::string_view(it->second);
    i = close;
  }
  return out;
}

std::vector<std::string> texts(const json::value& object, std::string_view name) {
  std::vector<std::string> out;
  const json::value* list = find(object, {name});
  const json::array* items = list ? list->if_array() : nullptr;
  for (std::size_t i = 0; items && i < items->size(); ++i)
    if (const json::string* text = (*items)[i].if_string())
      out.emplace_back(text->data(), text->size());
  return out;
}

class Translator {
 public:
  Translator(const JobContext& context, JobTranslation& out) : context_(context), out_(out) {}

  void job(const json::value& body) {
    Completions& meaning = out_.meaning;
    meaning.parallelism = count(body, "parallelism", 1);
    meaning.completions = count(body, "completions", 1);
    meaning.backoff_limit = count(body, "backoffLimit", 6);
    const json::value* suspend = find(body, {"spec", "suspend"});
    meaning.suspended = suspend && suspend->is_bool() && suspend->get_bool();
    if (!find(body, {"spec", "completions"}))
      cause(missing("spec.completions",
                    "say how many Pods must succeed: work queues (parallelism over 1 without "
                    "completions) are not supported here"));
    if (text_at(body, {"spec", "completionMode"}) != "NonIndexed")
      cause(unsupported("spec.completionMode", "only NonIndexed is supported here"));
    const json::value* pod = find(body, {"spec", "template", "spec"});
    if (!pod) return cause(missing("spec.template.spec", "it says what to run"));
    pod_spec(*pod);
  }

 private:
  void cause(Cause c) { out_.causes.push_back(std::move(c)); }

  std::int64_t count(const json::value& body, std::string_view name, std::int64_t otherwise) {
    const std::int64_t n = integer_at(body, {"spec", name}).value_or(otherwise);
    if (n < 0 || n > kMostPods)
      cause(bad_value(below("spec", name), format("must be between 0 and {}", kMostPods)));
    return n;
  }

  void pod_spec(const json::value& spec) {
    if (text_at(spec, {"restartPolicy"}) != "Never")
      cause(unsupported("spec.template.spec.restartPolicy",
                        "must be Never: a failed Pod is replaced by a new one"));
    const std::string scheduler = text_at(spec, {"schedulerName"});
    if (!scheduler.empty() && scheduler != "default-scheduler" && scheduler != "phalanx")
      cause(unsupported("spec.template.spec.schedulerName",
                        format("\"{}\" does not run here: leave it out", printable(scheduler))));
    const auto grace = integer_at(spec, {"terminationGracePeriodSeconds"});
    if (grace && seconds(*grace) > context_.grace)
      cause(unsupported(
          "spec.template.spec.terminationGracePeriodSeconds",
          format("must be at most {}: processes get KillWait to end", to_string(context_.grace))));
    if (const auto limit = integer_at(spec, {"activeDeadlineSeconds"})) {
      if (*limit < 1 || *limit > kMostSeconds)
        cause(bad_value("spec.template.spec.activeDeadlineSeconds",
                        format("must be between 1 and {}", kMostSeconds)));
      else
        pod().limit = seconds(*limit);
    }
    node_selector(spec);
    const json::value* containers = find(spec, {"containers"});
    const json::array* list = containers ? containers->if_array() : nullptr;
    if (!list || list->empty())
      return cause(missing("spec.template.spec.containers", "it says what to run"));
    if (list->size() > 1)
      return cause(
          unsupported("spec.template.spec.containers", "one container per Pod is supported here"));
    container(list->front());
  }

  void node_selector(const json::value& spec) {
    const json::value* selector = find(spec, {"nodeSelector"});
    const json::object* labels = selector ? selector->if_object() : nullptr;
    if (!labels) return;
    for (const auto& [key, value] : *labels) {
      const std::string name(key.data(), key.size());
      if (name == "kubernetes.io/hostname")
        group().required_nodes = {text_at(*selector, {name})};
      else
        cause(unsupported(
            "spec.template.spec.nodeSelector",
            format("only kubernetes.io/hostname is known here, not \"{}\"", printable(name))));
    }
  }

  void container(const json::value& c) {
    const std::string image = text_at(c, {"image"});
    if (image != kHostImage)
      cause(
          unsupported(below(kContainerPath, "image"),
                      format("\"{}\" cannot be run: containers run as processes of the host here; "
                             "use image \"{}\" and programs that are installed",
                             printable(image), kHostImage)));
    if (const std::string fault = fault_of_name(text_at(c, {"name"})); !fault.empty())
      cause(bad_value(below(kContainerPath, "name"), fault));
    const Variables variables = environment(c);
    std::vector<std::string> argv = texts(c, "command");
    if (argv.empty())
      cause(missing(below(kContainerPath, "command"),
                    "say what to run: the image \"host\" has no program of its own"));
    for (const std::string& word : texts(c, "args")) argv.push_back(word);
    for (std::string& word : argv) word = expand(word, variables);
    pod().launch.arguments = argv;
    pod().command = join(argv, " ");
    resources(c);
    const std::string dir = text_at(c, {"workingDir"});
    if (!dir.empty() && !dir.starts_with('/'))
      cause(bad_value(below(kContainerPath, "workingDir"), "must be an absolute path"));
    const bool homeless = context_.home.empty() || context_.home == "/";
    pod().launch.work_dir = !dir.empty() ? dir : homeless ? "/tmp" : context_.home;
    pod().launch.std_out = "%x.log";
  }

  // What the process starts with, and what $(NAME) may name: the container's own variables.
  Variables environment(const json::value& c) {
    const bool homeless = context_.home.empty() || context_.home == "/";
    std::map<std::string, std::string> all{
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", homeless ? "/tmp" : context_.home},
        {"USER", context_.owner.user},
        {"LOGNAME", context_.owner.user},
        {"SHELL", context_.shell.empty() ? "/bin/sh" : context_.shell}};
    Variables own;
    const json::value* list = find(c, {"env"});
    const json::array* items = list ? list->if_array() : nullptr;
    for (std::size_t i = 0; items && i < items->size(); ++i) {
      const std::string name = text_at((*items)[i], {"name"});
      const std::string value = expand(text_at((*items)[i], {"value"}), own);
      if (name.empty() || name.find('=') != std::string::npos ||
          (name + value).find('\0') != std::string::npos) {
        cause(bad_value(format("{}.env[{}].name", kContainerPath, i),
                        "must not be empty and must not contain '='"));
        continue;
      }
      own.emplace_back(name, value);
      all[name] = value;
    }
    for (const auto& [name, value] : all) {
      out_.environment += format("{}={}", name, value);
      out_.environment += '\0';
    }
    return own;
  }

  void resources(const json::value& c) {
    Request& request = group().per_task;
    request.cpus = Quantity::of(1);
    std::int64_t gpus = 0, gpus_asked_for = -1;
    for (const std::string_view list : {"limits", "requests"}) {  // in this order: see job.h
      const json::value* amounts = find(c, {"resources", list});
      const json::object* items = amounts ? amounts->if_object() : nullptr;
      if (!items) continue;
      for (const auto& [key, value] : *items) {
        const std::string name(key.data(), key.size());
        const std::string path = format("{}.resources.{}.{}", kContainerPath, list, name);
        const std::string text = text_at(*amounts, {name});
        if (name == "cpu")
          take(request.cpus, parse_cpus(text), path);
        else if (name == "memory" && list == "requests" &&
                 find(c, {"resources", "limits", "memory"}))
          check_amount(parse_bytes(text), path);
        else if (name == "memory")
          take(request.memory, parse_bytes(text), path);
        else if (name == "nvidia.com/gpu")
          take(list == "limits" ? gpus : gpus_asked_for, parse_count(text), path);
        else if (name == "ephemeral-storage")
          check_amount(parse_bytes(text), path);
        else
          cause(unsupported(path, "no node here has this resource"));
      }
    }
    if (gpus_asked_for >= 0 && gpus_asked_for != gpus)
      cause(bad_value(format("{}.resources.requests.nvidia.com/gpu", kContainerPath),
                      "must be equal to its limit"));
    if (gpus > 0) request.gpus = {{"", gpus}};
  }

  template <class T>
  void check_amount(const Result<T>& amount, const std::string& path) {
    if (!amount.ok()) cause(bad_value(path, amount.error().message));
  }
  template <class T>
  void take(T& out, const Result<T>& amount, const std::string& path) {
    check_amount(amount, path);
    if (amount.ok()) out = *amount;
  }

  WorkloadSpec& pod() { return *out_.pod; }
  TaskGroup& group() { return out_.pod->groups.front(); }

  static constexpr std::int64_t kMostSeconds = 10 * 366 * 86'400LL;
  const JobContext& context_;
  JobTranslation& out_;
};

template <class Value>
void set_default(json::object& object, std::string_view name, Value value) {
  if (!find(object, name)) object[name] = value;
}

json::object* member(json::object& object, std::string_view name) {
  json::value* v = object.if_contains(name);
  return v ? v->if_object() : nullptr;
}

}  // namespace

void set_job_defaults(json::object& body) {
  json::object* spec = member(body, "spec");
  if (!spec) return;
  const bool single = integer_at(json::value(*spec), {"parallelism"}).value_or(1) <= 1;
  set_default(*spec, "parallelism", 1);
  if (single) set_default(*spec, "completions", 1);
  set_default(*spec, "backoffLimit", 6);
  set_default(*spec, "completionMode", "NonIndexed");
  set_default(*spec, "suspend", false);
  json::object* pod = member(*spec, "template");
  json::object* metadata = pod ? member(*pod, "metadata") : nullptr;
  json::object* labels = metadata ? member(*metadata, "labels") : nullptr;
  if (labels) {
    for (const std::string_view label : kOurLabels) labels->erase(label);
    if (labels->empty()) metadata->erase("labels");
  }
  if (metadata && metadata->empty()) pod->erase("metadata");
}

JobTranslation translate_job(const json::object& body, const JobContext& context) {
  JobTranslation out;
  out.pod = std::make_shared<WorkloadSpec>();
  out.pod->kind = WorkloadKind::command;
  out.pod->dialect = "kube";
  out.pod->owner = context.owner;
  Translator(context, out).job(json::value(body));
  return out;
}

std::vector<Cause> forbidden_changes(const json::object& before, const json::object& after) {
  std::vector<Cause> causes;
  const json::value old(before), now(after);
  for (const std::string_view name : {"template", "completions", "completionMode"}) {
    const json::value* a = find(old, {"spec", name});
    const json::value* b = find(now, {"spec", name});
    const bool same = a && b ? *a == *b : a == b;
    if (!same)
      causes.push_back(
          bad_value(below("spec", name), "field is immutable: delete the Job and create it again"));
  }
  return causes;
}

}  // namespace phalanx::kube
