/** Versions of kinds that release 1.32 has no endpoint for: when each came, was deprecated and went, and what to use instead. */
import type { ApiVersionEntry } from './deprecation-rules.ts'

/** Version, kinds, introduced, deprecated, removed, replacement (- for none). Names of packages stand for those of groups. */
const table = `
admission/v1beta1 AdmissionReview 1.9 1.19 1.22 admission/v1
admissionregistration/v1alpha1 ValidatingAdmissionPolicy,ValidatingAdmissionPolicyBinding 1.26 1.29 1.32 -
admissionregistration/v1beta1 MutatingWebhookConfiguration,ValidatingWebhookConfiguration 1.9 1.16 1.22 admissionregistration/v1
apidiscovery/v2beta1 APIGroupDiscovery 1.26 1.32 1.35 -
apiextensions/v1beta1 ConversionReview 1.13 1.19 1.22 apiextensions/v1
apiextensions/v1beta1 CustomResourceDefinition 1.7 1.16 1.22 apiextensions/v1
apiregistration/v1beta1 APIService 1.7 1.19 1.22 apiregistration/v1
apps/v1beta1 ControllerRevision 1.7 1.8 1.16 apps/v1
apps/v1beta1 Deployment,DeploymentRollback 1.6 1.8 1.16 apps/v1
apps/v1beta1 Scale 1.6 1.8 1.16 autoscaling/v1
apps/v1beta1 StatefulSet 1.5 1.8 1.16 apps/v1
apps/v1beta2 ControllerRevision,DaemonSet,Deployment,ReplicaSet,StatefulSet 1.8 1.9 1.16 apps/v1
apps/v1beta2 Scale 1.8 1.9 1.16 autoscaling/v1
authentication/v1alpha1 SelfSubjectReview 1.26 1.29 1.32 -
autoscaling/v2beta1 HorizontalPodAutoscaler 1.8 1.22 1.25 autoscaling/v2
autoscaling/v2beta2 HorizontalPodAutoscaler 1.12 1.23 1.26 autoscaling/v2
batch/v1beta1 CronJob 1.8 1.21 1.25 batch/v1
certificates/v1beta1 CertificateSigningRequest 1.12 1.19 1.22 certificates/v1
coordination/v1beta1 Lease 1.12 1.19 1.22 coordination/v1
discovery/v1beta1 EndpointSlice 1.16 1.21 1.25 discovery/v1
events/v1beta1 Event 1.8 1.22 1.25 -
extensions/v1beta1 DaemonSet,Deployment 1.1 1.8 1.16 apps/v1
extensions/v1beta1 DeploymentRollback 1.2 1.8 1.16 -
extensions/v1beta1 Ingress 1.1 1.14 1.22 networking/v1
extensions/v1beta1 NetworkPolicy 1.3 1.9 1.16 networking/v1
extensions/v1beta1 ReplicaSet 1.2 1.8 1.16 apps/v1
extensions/v1beta1 Scale 1.1 1.2 1.16 -
flowcontrol/v1beta1 FlowSchema,PriorityLevelConfiguration 1.20 1.23 1.26 flowcontrol/v1beta2
flowcontrol/v1beta2 FlowSchema,PriorityLevelConfiguration 1.23 1.26 1.29 flowcontrol/v1
flowcontrol/v1beta3 FlowSchema,PriorityLevelConfiguration 1.26 1.29 1.32 flowcontrol/v1
networking/v1beta1 Ingress 1.14 1.19 1.22 networking/v1
networking/v1beta1 IngressClass 1.18 1.19 1.22 networking/v1
node/v1beta1 RuntimeClass 1.13 1.22 1.25 -
policy/v1beta1 Eviction 1.5 1.22 1.25 -
policy/v1beta1 PodDisruptionBudget 1.5 1.21 1.25 policy/v1
rbac/v1beta1 ClusterRole,ClusterRoleBinding,Role,RoleBinding 1.6 1.17 1.22 rbac/v1
scheduling/v1beta1 PriorityClass 1.11 1.14 1.22 scheduling/v1
storage/v1alpha1 CSIStorageCapacity 1.19 1.21 1.24 storage/v1beta1
storage/v1alpha1 VolumeAttachment 1.9 1.21 1.24 storage/v1
storage/v1beta1 CSIDriver 1.14 1.19 1.22 storage/v1
storage/v1beta1 CSINode 1.14 1.17 1.22 storage/v1
storage/v1beta1 CSIStorageCapacity 1.21 1.24 1.27 storage/v1
storage/v1beta1 StorageClass 1.4 1.19 1.22 storage/v1
storage/v1beta1 VolumeAttachment 1.10 1.19 1.22 storage/v1
`

/** What a version's successor changed, and what a manifest needs for it. `skiff convert` does all but what it cannot know. */
const changes: Readonly<Record<string, NonNullable<ApiVersionEntry['changes']>>> = {
  'admissionregistration/v1beta1 MutatingWebhookConfiguration': webhookChanges(),
  'admissionregistration/v1beta1 ValidatingWebhookConfiguration': webhookChanges(),
  'apiextensions/v1beta1 CustomResourceDefinition': [
    {
      what: 'what a definition says for all versions',
      migration:
        'Move validation, subresources and additionalPrinterColumns into each of spec.versions.',
    },
    { what: 'JSONPath of printer columns', migration: 'It is jsonPath.' },
    {
      what: 'schemas',
      migration: 'Each version needs a structural schema.openAPIV3Schema; write the missing ones.',
    },
  ],
  'apps/v1beta1 Deployment': workloadChanges(),
  'apps/v1beta1 StatefulSet': workloadChanges(),
  'apps/v1beta2 DaemonSet': [
    { what: 'spec.templateGeneration', migration: 'Leave it out.' },
    { what: 'the selector', migration: 'It cannot be changed any more.' },
  ],
  'autoscaling/v2beta1 HorizontalPodAutoscaler': [
    {
      what: 'the form of metrics',
      migration:
        'Put targetAverageUtilization and the like into target, and metricName into metric.name.',
    },
  ],
  'certificates/v1beta1 CertificateSigningRequest': [
    {
      what: 'signerName and usages',
      migration: 'Both are required, and no usage may be listed twice.',
    },
  ],
  'discovery/v1beta1 EndpointSlice': [
    { what: 'topology', migration: 'Use nodeName and zone; the rest is deprecatedTopology.' },
  ],
  'extensions/v1beta1 DaemonSet': workloadChanges(),
  'extensions/v1beta1 Deployment': workloadChanges(),
  'extensions/v1beta1 ReplicaSet': workloadChanges(),
  'extensions/v1beta1 Ingress': ingressChanges(),
  'flowcontrol/v1beta1 PriorityLevelConfiguration': sharesChanges(),
  'flowcontrol/v1beta2 PriorityLevelConfiguration': sharesChanges(),
  'flowcontrol/v1beta3 PriorityLevelConfiguration': [
    { what: 'nominalConcurrencyShares of 0', migration: 'Leave it out for the default of 30.' },
  ],
  'networking/v1beta1 Ingress': ingressChanges(),
  'policy/v1beta1 PodDisruptionBudget': [
    { what: 'an empty selector', migration: 'It selects every pod of the namespace, not none.' },
  ],
}

function webhookChanges() {
  return [
    {
      what: 'defaults',
      migration: 'They are failurePolicy Fail, matchPolicy Equivalent and timeoutSeconds 10.',
    },
    {
      what: 'sideEffects and admissionReviewVersions',
      migration: 'Both are required, and names are unique.',
    },
  ]
}

function workloadChanges() {
  return [
    { what: 'the selector', migration: 'It is required and cannot be changed.' },
    { what: 'rollbackTo and templateGeneration', migration: 'Leave them out.' },
    { what: 'defaults', migration: 'Updates are rolling; state another strategy if it is wanted.' },
  ]
}

function ingressChanges() {
  return [
    {
      what: 'backends',
      migration:
        'Rename backend to defaultBackend, serviceName to service.name, servicePort to service.port.',
    },
    { what: 'pathType', migration: 'It is required; ImplementationSpecific is what it was.' },
  ]
}

function sharesChanges() {
  return [{ what: 'assuredConcurrencyShares', migration: 'It is named nominalConcurrencyShares.' }]
}

/** One entry for each kind of each version. */
export const formerVersions: readonly ApiVersionEntry[] = table
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [groupVersion = '', kinds = '', introduced = '', deprecated = '', removed = '', to = ''] =
      line.split(' ')
    return kinds.split(',').map((kind): ApiVersionEntry => {
      const noted = changes[`${groupVersion} ${kind}`]
      return {
        groupVersion,
        kind,
        introduced,
        deprecated,
        removed,
        ...(to === '-' ? {} : { replacement: `${to} ${kind}` }),
        ...(noted === undefined ? {} : { changes: noted }),
      }
    })
  })
