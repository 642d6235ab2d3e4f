#include "dialect/kube/schema.h"

#include <algorithm>

namespace phalanx::kube {
namespace {

using enum Kind;
using enum Shape;
using enum Use;

constexpr Field kObjectMetaFields[] = {
    {1, "name"},
    {2, "generateName"},
    {3, "namespace"},
    {4, "selfLink", text, one, ours},
    {5, "uid"},
    {6, "resourceVersion"},
    {7, "generation", integer, one, ours},
    {8, "creationTimestamp", opaque, one, ours},
    {9, "deletionTimestamp", opaque, one, ours},
    {10, "deletionGracePeriodSeconds", integer, one, ours},
    {11, "labels", text, map},
    {12, "annotations", text, map},
    {13, "ownerReferences", opaque, list, refused},
    {14, "finalizers", text, list, refused},
    {17, "managedFields", opaque, list, ours},
};
constexpr Message kObjectMeta{"ObjectMeta", kObjectMetaFields};

constexpr Field kEnvVarFields[] = {
    {1, "name"}, {2, "value"}, {3, "valueFrom", opaque, one, refused}};
constexpr Message kEnvVar{"EnvVar", kEnvVarFields};

constexpr Field kContainerPortFields[] = {{1, "name"},
                                          {2, "hostPort", integer, one, refused},
                                          {3, "containerPort", integer},
                                          {4, "protocol"},
                                          {5, "hostIP", text, one, refused}};
constexpr Message kContainerPort{"ContainerPort", kContainerPortFields};

constexpr Field kResourcesFields[] = {{1, "limits", quantity, map},
                                      {2, "requests", quantity, map},
                                      {3, "claims", opaque, list, refused}};
constexpr Message kResources{"ResourceRequirements", kResourcesFields};

constexpr Field kContainerFields[] = {
    {1, "name"},
    {2, "image"},
    {3, "command", text, list},
    {4, "args", text, list},
    {5, "workingDir"},
    {6, "ports", Kind::message, list, acted, &kContainerPort, "containerPort"},
    {7, "env", Kind::message, list, acted, &kEnvVar, "name"},
    {8, "resources", Kind::message, one, acted, &kResources},
    {9, "volumeMounts", opaque, list, refused},
    {10, "livenessProbe", opaque, one, refused},
    {11, "readinessProbe", opaque, one, refused},
    {12, "lifecycle", opaque, one, refused},
    {13, "terminationMessagePath"},
    {14, "imagePullPolicy"},
    {15, "securityContext", opaque, one, refused},
    {16, "stdin", boolean, one, refused},
    {17, "stdinOnce", boolean, one, refused},
    {18, "tty", boolean, one, refused},
    {19, "envFrom", opaque, list, refused},
    {20, "terminationMessagePolicy"},
    {21, "volumeDevices", opaque, list, refused},
    {22, "startupProbe", opaque, one, refused},
    {23, "resizePolicy", opaque, list, refused},
    {24, "restartPolicy", text, one, refused},
};
constexpr Message kContainer{"Container", kContainerFields};

constexpr Field kPodSpecFields[] = {
    {1, "volumes", opaque, list, refused},
    {2, "containers", Kind::message, list, acted, &kContainer, "name"},
    {3, "restartPolicy"},
    {4, "terminationGracePeriodSeconds", integer},
    {5, "activeDeadlineSeconds", integer},
    {6, "dnsPolicy"},
    {7, "nodeSelector", text, map},
    {8, "serviceAccountName", text, one, idle},
    {9, "serviceAccount", text, one, idle},
    {10, "nodeName", text, one, refused},
    {11, "hostNetwork", boolean, one, refused},
    {12, "hostPID", boolean, one, refused},
    {13, "hostIPC", boolean, one, refused},
    {14, "securityContext", opaque, one, refused},
    {15, "imagePullSecrets", opaque, list, idle},
    {16, "hostname", text, one, refused},
    {17, "subdomain", text, one, refused},
    {18, "affinity", opaque, one, refused},
    {19, "schedulerName"},
    {20, "initContainers", opaque, list, refused},
    {21, "automountServiceAccountToken", boolean},
    {22, "tolerations", opaque, list, idle},
    {23, "hostAliases", opaque, list, refused},
    {24, "priorityClassName", text, one, idle},
    {25, "priority", integer, one, idle},
    {26, "dnsConfig", opaque, one, refused},
    {27, "shareProcessNamespace", boolean, one, refused},
    {28, "readinessGates", opaque, list, refused},
    {29, "runtimeClassName", text, one, refused},
    {30, "enableServiceLinks", boolean},
    {31, "preemptionPolicy", text, one, idle},
    {32, "overhead", quantity, map, refused},
    {33, "topologySpreadConstraints", opaque, list, refused},
    {34, "ephemeralContainers", opaque, list, refused},
    {35, "setHostnameAsFQDN", boolean, one, refused},
    {36, "os", opaque, one, refused},
    {37, "hostUsers", boolean, one, refused},
    {38, "schedulingGates", opaque, list, refused},
    {39, "resourceClaims", opaque, list, refused},
    {40, "resources", opaque, one, refused},
};
constexpr Message kPodSpec{"PodSpec", kPodSpecFields};

constexpr Field kPodTemplateFields[] = {{1, "metadata", Kind::message, one, acted, &kObjectMeta},
                                        {2, "spec", Kind::message, one, acted, &kPodSpec}};
constexpr Message kPodTemplate{"PodTemplateSpec", kPodTemplateFields};

constexpr Field kJobSpecFields[] = {
    {1, "parallelism", integer},
    {2, "completions", integer},
    {3, "activeDeadlineSeconds", integer, one, refused},
    {4, "selector", opaque, one, ours},
    {5, "manualSelector", boolean, one, refused},
    {6, "template", Kind::message, one, acted, &kPodTemplate},
    {7, "backoffLimit", integer},
    {8, "ttlSecondsAfterFinished", integer, one, idle},
    {9, "completionMode"},
    {10, "suspend", boolean},
    {11, "podFailurePolicy", opaque, one, refused},
    {12, "backoffLimitPerIndex", integer, one, refused},
    {13, "maxFailedIndexes", integer, one, refused},
    {14, "podReplacementPolicy"},
    {15, "managedBy", text, one, refused},
    {16, "successPolicy", opaque, one, refused},
};
constexpr Message kJobSpec{"JobSpec", kJobSpecFields};

constexpr Field kJobFields[] = {{1, "metadata", Kind::message, one, acted, &kObjectMeta},
                                {2, "spec", Kind::message, one, acted, &kJobSpec},
                                {3, "status", opaque, one, ours}};
constexpr Message kJob{"Job", kJobFields};

constexpr Field kConfigMapFields[] = {{1, "metadata", Kind::message, one, acted, &kObjectMeta},
                                      {2, "data", text, map},
                                      {3, "binaryData", bytes, map},
                                      {4, "immutable", boolean}};
constexpr Message kConfigMap{"ConfigMap", kConfigMapFields};

constexpr Field kNamespaceFields[] = {{1, "metadata", Kind::message, one, acted, &kObjectMeta},
                                      {2, "spec", opaque, one, ours},
                                      {3, "status", opaque, one, ours}};
constexpr Message kNamespace{"Namespace", kNamespaceFields};

constexpr Field kPreconditionsFields[] = {{1, "uid"}, {2, "resourceVersion"}};
constexpr Message kPreconditions{"Preconditions", kPreconditionsFields};

constexpr Field kDeleteOptionsFields[] = {
    {1, "gracePeriodSeconds", integer},
    {2, "preconditions", Kind::message, one, acted, &kPreconditions},
    {3, "orphanDependents", boolean},
    {4, "propagationPolicy"},
    {5, "dryRun", text, list},
};
constexpr Message kDeleteOptions{"DeleteOptions", kDeleteOptionsFields};

}  // namespace

const Field* find_field(const Message& message, std::string_view name) {
  const auto it = std::find_if(message.fields.begin(), message.fields.end(),
                               [&](const Field& f) { return f.name == name; });
  return it == message.fields.end() ? nullptr : &*it;
}

const Field* find_field(const Message& message, std::uint64_t number) {
  const auto it = std::find_if(message.fields.begin(), message.fields.end(),
                               [&](const Field& f) { return f.number == number; });
  return it == message.fields.end() ? nullptr : &*it;
}

const Message* message_of(std::string_view api_version, std::string_view kind) {
  // Delete options carry the version of the group that they are sent to.
  if (kind == "DeleteOptions") return &kDeleteOptions;
  if (api_version == "batch/v1" && kind == "Job") return &kJob;
  if (api_version == "v1" && kind == "ConfigMap") return &kConfigMap;
  if (api_version == "v1" && kind == "Namespace") return &kNamespace;
  return nullptr;
}

}  // namespace phalanx::kube
