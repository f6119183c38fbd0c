/** How each admission plugin is made (upstream: pkg/kubeapiserver/options/plugins.go). */
import type { AdmissionPluginName } from '../../api/admission-plugins.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { CheckEscalation } from '../authz/escalation.ts'
import type { WebhookEgress } from '../egress/review-sender.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from './admission.ts'
import { alwaysAdmit, alwaysDeny } from './always.ts'
import { alwaysPullImages } from './always-pull-images.ts'
import { certificateRequestAdmission } from './certificate-requests.ts'
import { clusterTrustBundleAttest } from './cluster-trust-bundle-attest.ts'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClassAdmission } from './default-storage-class.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { denyServiceExternalIps } from './deny-service-external-ips.ts'
import { eventRateLimit } from './event-rate-limit/event-rate-limit.ts'
import { extendedResourceToleration } from './extended-resource-toleration.ts'
import { imagePolicyWebhook } from './image-policy/image-policy-webhook.ts'
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceAutoProvision } from './namespace-auto-provision.ts'
import { namespaceExists } from './namespace-exists.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { nodeRestriction } from './node-restriction.ts'
import type { OwnClient } from './own-client.ts'
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import type { PluginSettings } from './plugin-settings.ts'
import { podNodeSelector } from './pod-node-selector.ts'
import { podSecurity } from './pod-security/pod-security.ts'
import { podTolerationRestriction } from './pod-toleration-restriction.ts'
import { mutatingPolicies } from './policy/mutating-policies.ts'
import { validatingPolicies } from './policy/validating-policies.ts'
import { priorityAdmission } from './priority.ts'
import { resourceQuotaAdmission } from './quota/resource-quota.ts'
import { runtimeClassAdmission } from './runtime-class.ts'
import { serviceAccountAdmission } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import type { AdmissionWebhookMetrics } from './webhook/admission-webhook-metrics.ts'
import { mutatingWebhooks } from './webhook/mutating-webhooks.ts'
import { validatingWebhooks } from './webhook/validating-webhooks.ts'

export interface AdmissionDependencies {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly checkEscalation: CheckEscalation
  readonly resources: Resources
  readonly gates: FeatureGates
  /** The versions that are served. */
  readonly served: readonly Resource[]
  /** The kinds that CustomResourceDefinitions add now. */
  readonly customKinds: () => readonly Resource[]
  /** How plugins write objects of their own. */
  readonly client: OwnClient
  /** How to dial webhooks: those of Services and those of URLs. */
  readonly egress: WebhookEgress
  readonly log: Log
  readonly webhookMetrics: AdmissionWebhookMetrics
  readonly settings: PluginSettings
}

/** Throws an Error if the plugin cannot run with these settings. */
type CreatePlugin = (dependencies: AdmissionDependencies) => AdmissionPlugin

const allKinds = ({ served, customKinds }: AdmissionDependencies) => {
  return (): readonly Resource[] => [...served, ...customKinds()]
}

export const allPlugins: Readonly<Record<AdmissionPluginName, CreatePlugin>> = {
  AlwaysAdmit: ({ log }) => alwaysAdmit(log),
  NamespaceAutoProvision: namespaceAutoProvision,
  NamespaceLifecycle: ({ reader, dialect }) => namespaceLifecycle(reader, dialect),
  NamespaceExists: ({ reader, dialect }) => namespaceExists(reader, dialect),
  LimitPodHardAntiAffinityTopology: ({ dialect }) => limitPodHardAntiAffinityTopology(dialect),
  LimitRanger: ({ reader, dialect }) => limitRanger(reader, dialect),
  ServiceAccount: serviceAccountAdmission,
  NodeRestriction: ({ reader, dialect }) => nodeRestriction(reader, dialect),
  TaintNodesByCondition: ({ dialect }) => taintNodesByCondition(dialect),
  AlwaysPullImages: ({ dialect }) => alwaysPullImages(dialect),
  ImagePolicyWebhook: imagePolicyWebhook,
  PodSecurity: ({ reader, dialect, settings }) =>
    podSecurity(reader, dialect, settings.PodSecurity),
  PodNodeSelector: ({ reader, dialect, settings }) =>
    podNodeSelector(reader, dialect, settings.PodNodeSelector),
  Priority: ({ reader, dialect }) => priorityAdmission(reader, dialect),
  DefaultTolerationSeconds: ({ dialect }) => defaultTolerationSeconds(dialect),
  PodTolerationRestriction: ({ reader, dialect, settings }) =>
    podTolerationRestriction(reader, dialect, settings.PodTolerationRestriction),
  EventRateLimit: ({ dialect, clock, settings }) =>
    eventRateLimit(dialect, clock, settings.EventRateLimit),
  ExtendedResourceToleration: ({ dialect }) => extendedResourceToleration(dialect),
  DefaultStorageClass: ({ reader, dialect }) => defaultStorageClassAdmission(reader, dialect),
  StorageObjectInUseProtection: ({ dialect }) => storageObjectInUseProtection(dialect),
  OwnerReferencesPermissionEnforcement: (dependencies) =>
    ownerReferencesPermissionEnforcement({ ...dependencies, kinds: allKinds(dependencies) }),
  PersistentVolumeClaimResize: ({ reader, dialect }) =>
    persistentVolumeClaimResize(reader, dialect),
  RuntimeClass: ({ reader, dialect }) => runtimeClassAdmission(reader, dialect),
  CertificateApproval: ({ authorizer, dialect }) =>
    certificateRequestAdmission(authorizer, dialect).approval,
  CertificateSigning: ({ authorizer, dialect }) =>
    certificateRequestAdmission(authorizer, dialect).signing,
  ClusterTrustBundleAttest: ({ authorizer, dialect }) =>
    clusterTrustBundleAttest(authorizer, dialect),
  CertificateSubjectRestriction: ({ authorizer, dialect }) =>
    certificateRequestAdmission(authorizer, dialect).subject,
  DefaultIngressClass: ({ reader, dialect }) => defaultIngressClass(reader, dialect),
  DenyServiceExternalIPs: ({ dialect }) => denyServiceExternalIps(dialect),
  MutatingAdmissionPolicy: mutatingPolicies,
  MutatingAdmissionWebhook: (dependencies) =>
    mutatingWebhooks({
      ...dependencies,
      metrics: dependencies.webhookMetrics,
      credentials: dependencies.settings.MutatingAdmissionWebhook,
    }),
  ValidatingAdmissionPolicy: validatingPolicies,
  ValidatingAdmissionWebhook: (dependencies) =>
    validatingWebhooks({
      ...dependencies,
      metrics: dependencies.webhookMetrics,
      credentials: dependencies.settings.ValidatingAdmissionWebhook,
    }),
  ResourceQuota: (dependencies) =>
    resourceQuotaAdmission({
      ...dependencies,
      served: allKinds(dependencies),
      limited: dependencies.settings.ResourceQuota,
    }),
  AlwaysDeny: ({ log }) => alwaysDeny(log),
}
