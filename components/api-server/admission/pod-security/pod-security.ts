/**
 * PodSecurity: the pod security standards, by namespace labels: Pods are refused, their controllers warned of, both noted
 * in the audit record (upstream: pod-security-admission/admission).
 */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type { Pod, PodTemplateSpec } from '../../../api/generated/types.ts'
import { resourcesOf } from '../../../api/resources.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import { invalid } from '../../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { admissionForbidden } from '../forbid.ts'
import type { CheckedPod } from './check.ts'
import { violations, violationText } from './evaluate.ts'
import {
  compareLevels,
  isSamePolicy,
  policyLabels,
  policyOf,
  policyText,
  shortPolicyText,
  usualRules,
  type LevelVersion,
  type PodSecurityRules,
  type Policy,
} from './policy.ts'

/** Sub-resources of Pods that change nothing the standards are about. */
const ignoredSubresources = new Set(
  'exec attach binding eviction log portforward proxy status'.split(' '),
)
/** Pods that are looked at when a namespace's policy changes (upstream: namespace_max_pods_to_check). */
const mostPods = 3000

/** What of a Pod the standards look at and its updates can change. */
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

export function podSecurity(
  reader: ObjectReader,
  dialect: Dialect,
  rules: PodSecurityRules = usualRules,
): AdmissionPlugin {
  const resources = resourcesOf(dialect)
  const { namespaces, pods } = resources
  const names = policyLabels(dialect)
  const annotations = {
    appArmor: labelKey(dialect, 'container.apparmor.security.beta', ''),
    seccomp: labelKey(dialect, 'seccomp.security.alpha', ''),
  }
  /** Where the template of Pods is in each kind of controller, by where it is stored. */
  const templates = new Map<string, (object: KubeObject) => PodTemplateSpec | undefined>([
    [resources.podTemplates.storagePrefix, (object) => object['template'] as PodTemplateSpec],
    [
      resources.cronJobs.storagePrefix,
      (object) => object['spec']?.jobTemplate?.spec?.template as PodTemplateSpec,
    ],
    ...[
      resources.replicationControllers,
      resources.replicaSets,
      resources.deployments,
      resources.statefulSets,
      resources.daemonSets,
      resources.jobs,
    ].map(
      ({ storagePrefix }) =>
        [
          storagePrefix,
          (object: KubeObject) => object['spec']?.template as PodTemplateSpec | undefined,
        ] as const,
    ),
  ])

  function profileAnnotations({ metadata }: Pod): unknown {
    const kept = Object.entries(metadata.annotations ?? {}).filter(
      ([key]) => key.startsWith(annotations.appArmor) || key.includes(annotations.seccomp),
    )
    return Object.fromEntries(kept)
  }

  function note(request: AdmissionRequest, name: string, value: string): void {
    const noted = request.context?.annotations
    if (noted !== undefined) noted[`/${labelKey(dialect, 'pod-security', name)}`] = value
  }

  function policyIn(request: AdmissionRequest): Policy {
    const labels = reader.get(namespaces, '', request.namespace)?.metadata.labels
    const { policy, errors } = policyOf(labels, names, rules.defaults)
    if (errors.length > 0) {
      const texts = errors.map(({ field, message }) => `${field}: ${message}`)
      const all = texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
      note(request, 'error', `Failed to parse policy: ${all}`)
    }
    return policy
  }

  /** Notes whether the standards are not for the request, and why. */
  function isExempt(request: AdmissionRequest, runtimeClass: string | undefined): boolean {
    const reason = rules.namespaces.has(request.namespace)
      ? 'namespace'
      : rules.usernames.has(request.user.name)
        ? 'user'
        : rules.runtimeClasses.has(runtimeClass ?? '')
          ? 'runtimeClass'
          : ''
    if (reason !== '') note(request, 'exempt', reason)
    return reason !== ''
  }

  /** Refuses, notes and warns as the namespace's policy says. */
  function evaluate(
    request: AdmissionRequest,
    pod: Pick<CheckedPod, 'metadata' | 'spec'>,
    isEnforced: boolean,
  ): void {
    const policy = policyIn(request)
    const checked = { ...pod, annotations }
    const known = new Map<string, string>()
    const against = (level: LevelVersion): string => {
      const key = policyText(level)
      const text = known.get(key) ?? violationText(violations(checked, level))
      known.set(key, text)
      return text
    }
    if (isEnforced) note(request, 'enforce-policy', policyText(policy.enforce))
    const audited = against(policy.audit)
    if (audited !== '') {
      const what = `would violate PodSecurity "${policyText(policy.audit)}": ${audited}`
      note(request, 'audit-violations', what)
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

  function validatePod(request: AdmissionRequest): void {
    if (ignoredSubresources.has(request.subresource)) return
    const { metadata, spec } = request.object as Pod
    if (spec === undefined || isExempt(request, undefined)) return
    const old = request.old as Pod | undefined
    const looked = (pod: Pod) => [significant(pod), profileAnnotations(pod)]
    if (old !== undefined && deepEqual(looked(request.object as Pod), looked(old))) return
    if (!isExempt(request, spec.runtimeClassName)) evaluate(request, { metadata, spec }, true)
  }

  /** Tells which Pods a namespace's new policy would refuse; they stay. */
  function existingPods(namespace: string, policy: LevelVersion): string[] {
    const byReason = new Map<string, { first: string; others: number }>()
    for (const pod of (reader.list(pods, namespace) as readonly Pod[]).slice(0, mostPods)) {
      if (pod.spec === undefined) continue
      const found = violations({ metadata: pod.metadata, spec: pod.spec, annotations }, policy)
      if (found.length === 0) continue
      const reason = found.map((one) => one.reason).join(', ')
      const known = byReason.get(reason)
      if (known === undefined) byReason.set(reason, { first: pod.metadata.name ?? '', others: 0 })
      else known.others += 1
    }
    if (byReason.size === 0) return []
    const lines = [...byReason].map(([reason, { first, others }]) => {
      if (others === 0) return `${first}: ${reason}`
      return `${first} (and ${others} other pod${others === 1 ? '' : 's'}): ${reason}`
    })
    const head = `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${policyText(policy)}"`
    return [head, ...lines.toSorted()]
  }

  /** A policy that a namespace asks for in vain. */
  function exemptionWarnings(namespace: string, policy: Policy): string[] {
    const asked = shortPolicyText(policy)
    if (!rules.namespaces.has(namespace) || asked === '') return []
    if (deepEqual(policy, rules.defaults)) return []
    return [
      `namespace "${namespace}" is exempt from Pod Security, and the policy (${asked}) will be ignored`,
    ]
  }

  function validateNamespace(request: AdmissionRequest): void {
    const { object, old, name, warnings, subresource } = request
    if (subresource !== '') return
    const { policy, errors } = policyOf(object?.metadata.labels, names, rules.defaults)
    const before = policyOf(old?.metadata.labels, names, rules.defaults)
    const isKnown = old !== undefined && deepEqual(errors, before.errors)
    if (errors.length > 0 && !isKnown) throw invalid(namespaces, name, errors)
    if (old === undefined) {
      warnings.push(...exemptionWarnings(name, policy))
      return
    }
    if (isSamePolicy(policy.enforce, before.policy.enforce)) return
    const { enforce } = policy
    if (enforce.level === 'privileged') return
    const isRelaxed =
      enforce.minor === before.policy.enforce.minor &&
      compareLevels(enforce.level, before.policy.enforce.level) <= 0
    if (isRelaxed) return
    if (!rules.namespaces.has(name)) warnings.push(...existingPods(name, enforce))
    else {
      note(request, 'exempt', 'namespace')
      warnings.push(...exemptionWarnings(name, policy))
    }
  }

  return {
    name: 'PodSecurity',
    validate(request) {
      const { operation, resource, subresource, object } = request
      if ((operation !== 'CREATE' && operation !== 'UPDATE') || object === undefined) return
      if (resource === pods) validatePod(request)
      else if (resource === namespaces) validateNamespace(request)
      else if (subresource === '') {
        const template = templates.get(resource.storagePrefix)?.(object)
        if (!template?.spec || isExempt(request, template.spec.runtimeClassName)) return
        evaluate(request, { metadata: template.metadata ?? {}, spec: template.spec }, false)
      }
    },
  }
}
