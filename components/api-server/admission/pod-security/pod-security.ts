/**
 * PodSecurity: the pod security standards, by namespace labels. Pods that violate them are rejected, their controllers get
 * warnings, and the audit record has both (upstream: pod-security-admission/admission).
 */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type { Pod, PodTemplateSpec } from '../../../api/generated/types.ts'
import { resourcesOf, type Resources } from '../../../api/resources.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from '../admission.ts'
import { admissionForbidden } from '../forbid.ts'
import type { CheckedPod } from './check.ts'
import { violations, violationText } from './evaluate.ts'
import { validateNamespace } from './namespace-policy.ts'
import {
  policyLabels,
  policyOf,
  policyText,
  usualRules,
  type LevelVersion,
  type PodSecurityRules,
  type Policy,
} from './policy.ts'
import { note, type PodSecurity, type Review } from './review.ts'

/** Sub-resources that do not change what the standards check. */
const ignoredSubresources = new Set(
  'exec attach binding eviction log portforward proxy status'.split(' '),
)
/** The fields of a Pod that the standards check and an update can change. */
function significant(pod: Pod): unknown {
  const { activeDeadlineSeconds: _, tolerations: __, ...spec } = pod.spec ?? { containers: [] }
  const plain = (containers: readonly object[] | undefined) =>
    (containers ?? []).map((container) => ({ ...container, image: '', resources: {} }))
  return {
    ...spec,
    containers: plain(spec.containers),
    initContainers: plain(spec.initContainers),
    ephemeralContainers: plain(spec.ephemeralContainers),
  }
}

type TemplateOf = (object: KubeObject) => PodTemplateSpec | undefined

/** Where each kind of controller has its Pod template, by storage prefix. */
function podTemplates(resources: Resources): Map<string, TemplateOf> {
  const { replicationControllers, replicaSets, deployments, statefulSets, daemonSets, jobs } =
    resources
  const templates = new Map<string, TemplateOf>([
    [resources.podTemplates.storagePrefix, (object) => object['template'] as PodTemplateSpec],
    [
      resources.cronJobs.storagePrefix,
      (object) => object['spec']?.jobTemplate?.spec?.template as PodTemplateSpec,
    ],
  ])
  for (const { storagePrefix } of [
    replicationControllers,
    replicaSets,
    deployments,
    statefulSets,
    daemonSets,
    jobs,
  ]) {
    templates.set(storagePrefix, (object) => object['spec']?.template as PodTemplateSpec)
  }
  return templates
}

/** The policy of the request's namespace. Labels that cannot be parsed are noted. */
function namespacePolicy(review: Review): Policy {
  const { request, reader, dialect, names, rules } = review
  const { namespaces } = resourcesOf(dialect)
  const labels = reader.get(namespaces, '', request.namespace)?.metadata.labels
  const { policy, errors } = policyOf(labels, names, rules.defaults)
  if (errors.length > 0) {
    const texts = errors.map(({ field, message }) => `${field}: ${message}`)
    const all = texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
    note(review, { error: `Failed to parse policy: ${all}` })
  }
  return policy
}

/** Whether the request is exempt from the standards; the audit record gets the reason. */
function isExempt(review: Review, runtimeClass: string | undefined): boolean {
  const { request, rules } = review
  const reason = rules.namespaces.has(request.namespace)
    ? 'namespace'
    : rules.usernames.has(request.user.name)
      ? 'user'
      : rules.runtimeClasses.has(runtimeClass ?? '')
        ? 'runtimeClass'
        : ''
  if (reason !== '') note(review, { exempt: reason })
  return reason !== ''
}

/** Checks a Pod against the namespace's policy: adds audit annotations and warnings; throws 403 where it is enforced. */
function evaluatePod(
  review: Review,
  { pod, isEnforced }: { pod: Pick<CheckedPod, 'metadata' | 'spec'>; isEnforced: boolean },
): void {
  const { request, annotations } = review
  const policy = namespacePolicy(review)
  const checked = { ...pod, annotations }
  const known = new Map<string, string>()
  const against = (level: LevelVersion): string => {
    const key = policyText(level)
    const text = known.get(key) ?? violationText(violations(checked, level))
    known.set(key, text)
    return text
  }
  if (isEnforced) note(review, { 'enforce-policy': policyText(policy.enforce) })
  const audited = against(policy.audit)
  if (audited !== '') {
    const what = `would violate PodSecurity "${policyText(policy.audit)}": ${audited}`
    note(review, { 'audit-violations': what })
  }
  const enforced = isEnforced ? against(policy.enforce) : ''
  if (enforced !== '') {
    const what = `violates PodSecurity "${policyText(policy.enforce)}": ${enforced}`
    throw admissionForbidden(request, what)
  }
  const warned = against(policy.warn)
  if (warned !== '') {
    request.warnings.push(`would violate PodSecurity "${policyText(policy.warn)}": ${warned}`)
  }
}

function profileAnnotations({ metadata }: Pod, { annotations }: PodSecurity): unknown {
  const kept = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key.startsWith(annotations.appArmor) || key.includes(annotations.seccomp),
  )
  return Object.fromEntries(kept)
}

function validatePod(review: Review): void {
  const { request } = review
  if (ignoredSubresources.has(request.subresource)) return
  const { metadata, spec } = request.object as Pod
  if (spec === undefined || isExempt(review, undefined)) return
  const old = request.old as Pod | undefined
  const checked = (pod: Pod) => [significant(pod), profileAnnotations(pod, review)]
  if (old !== undefined && deepEqual(checked(request.object as Pod), checked(old))) return
  if (isExempt(review, spec.runtimeClassName)) return
  evaluatePod(review, { pod: { metadata, spec }, isEnforced: true })
}

function validateTemplate(review: Review, template: PodTemplateSpec | undefined): void {
  const { metadata = {}, spec } = template ?? {}
  if (!spec || isExempt(review, spec.runtimeClassName)) return
  evaluatePod(review, { pod: { metadata, spec }, isEnforced: false })
}

export function podSecurity(
  reader: ObjectReader,
  dialect: Dialect,
  rules: PodSecurityRules = usualRules,
): AdmissionPlugin {
  const resources = resourcesOf(dialect)
  const templates = podTemplates(resources)
  const plugin: PodSecurity = {
    reader,
    dialect,
    rules,
    names: policyLabels(dialect),
    annotations: {
      appArmor: labelKey(dialect, 'container.apparmor.security.beta', ''),
      seccomp: labelKey(dialect, 'seccomp.security.alpha', ''),
    },
  }
  return {
    name: 'PodSecurity',
    validate(request) {
      const { operation, resource, subresource, object } = request
      if ((operation !== 'CREATE' && operation !== 'UPDATE') || object === undefined) return
      const isPod = resource === resources.pods
      const isNamespace = resource === resources.namespaces
      const templateOf = subresource === '' ? templates.get(resource.storagePrefix) : undefined
      if (!isPod && !isNamespace && templateOf === undefined) return
      const review = { ...plugin, request }
      if (isPod) validatePod(review)
      else if (isNamespace) validateNamespace(review)
      else validateTemplate(review, templateOf?.(object))
    },
  }
}
