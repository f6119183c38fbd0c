/** What an update may change of a Pod (upstream: core/validation ValidatePodUpdate). */
import type { Container, Pod, PodSpec, Toleration } from '../../../../api/generated/types.ts'
import { schemaOf } from '../../../../api/schemas.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goStringMap } from '../../../../machinery/values/go-syntax.ts'
import { rangeMessage } from '../../../../machinery/validation/names.ts'
import { goJson, semanticEqual } from '../../rules/field-rules.ts'
import { specDifference } from './spec-difference.ts'
import { validateTolerations } from './affinity-validation.ts'
import { qosClassOf } from '../../../../api/pod-qos.ts'

const changeableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]

const maxInt32 = 2 ** 31 - 1

/** The rules between two states; those of the new state alone are checked apart. */
export function validatePodChange(pod: Pod, old: Pod, root: FieldPath): void {
  const at = root.child('spec')
  const spec = pod.spec ?? { containers: [] }
  const oldSpec = old.spec ?? { containers: [] }
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, before] = [spec[list] ?? [], oldSpec[list] ?? []]
    if (now.length !== before.length) {
      at.child(list).forbidden('pod updates may not add or remove containers')
      return
    }
  }
  if (!validateDeadline(spec, oldSpec, at.child('activeDeadlineSeconds'))) return
  validateAddedTolerations(spec.tolerations, oldSpec.tolerations, at.child('tolerations'))
  validateRemovedGates(spec, oldSpec, at.child('schedulingGates'))
  if (semanticEqual(spec, oldSpec)) return
  if (qosClassOf(old) !== qosClassOf(pod)) {
    root.child('metadata').invalid(pod.status?.qosClass ?? '', 'Pod QoS is immutable')
  }
  const munged = withChangeableFieldsOf(spec, oldSpec)
  if ((oldSpec.schedulingGates ?? []).length > 0) allowGatedChanges(munged, oldSpec, at)
  if (semanticEqual(munged, oldSpec)) return
  const difference = specDifference('core.PodSpec', {
    old: { ...oldSpec },
    now: { ...munged },
    fields: podSpecFields,
    schema: schemaOf('core/v1.PodSpec'),
  })
  at.forbidden(
    `pod updates may not change fields other than ${changeableFields.join(',')}\n${difference}`,
  )
}

/** The new spec with everything that may change set back, so that what still differs is a fault. */
function withChangeableFieldsOf(spec: PodSpec, old: PodSpec): PodSpec {
  const munged: PodSpec = { ...spec }
  munged.containers = withImagesOf(spec.containers ?? [], old.containers ?? [])
  if (spec.initContainers) {
    munged.initContainers = withImagesOf(spec.initContainers, old.initContainers ?? [])
  }
  takeOver(munged, old, ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'])
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1) {
    takeOver(munged, old, ['terminationGracePeriodSeconds'])
  }
  return munged
}

function takeOver(to: PodSpec, from: PodSpec, fields: readonly (keyof PodSpec)[]): void {
  for (const field of fields) {
    if (from[field] === undefined) delete to[field]
    else Object.assign(to, { [field]: from[field] })
  }
}

function withImagesOf(containers: readonly Container[], old: readonly Container[]): Container[] {
  return containers.map((container, i) => {
    const image = old[i]?.image
    return image === undefined ? container : { ...container, image }
  })
}

/** False when nothing more can be said of the update. */
function validateDeadline(spec: PodSpec, old: PodSpec, at: FieldPath): boolean {
  const now = spec.activeDeadlineSeconds
  const before = old.activeDeadlineSeconds
  if (now === undefined) {
    if (before !== undefined) {
      at.invalid(undefined, 'must not update from a positive integer to nil value')
    }
    return true
  }
  if (now < 0 || now > maxInt32) at.invalid(now, rangeMessage(0, maxInt32))
  else if (before !== undefined && before < now) {
    at.invalid(now, 'must be less than or equal to previous value')
  } else return true
  return false
}

/** Tolerations may be added, and their seconds changed. */
function validateAddedTolerations(
  tolerations: readonly Toleration[] = [],
  old: readonly Toleration[] = [],
  at: FieldPath,
): void {
  const isKept = (before: Toleration) =>
    tolerations.some(
      (now) =>
        now.key === before.key &&
        now.operator === before.operator &&
        now.value === before.value &&
        now.effect === before.effect,
    )
  if (!old.every(isKept)) {
    at.forbidden('existing toleration can not be modified except its tolerationSeconds')
    return
  }
  if (!semanticEqual(tolerations, old)) validateTolerations(tolerations, at)
}

function validateRemovedGates(spec: PodSpec, old: PodSpec, at: FieldPath): void {
  const before = new Set((old.schedulingGates ?? []).map(({ name }) => name))
  for (const [i, { name }] of (spec.schedulingGates ?? []).entries()) {
    if (before.has(name)) continue
    at.index(i)
      .child('name')
      .forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`)
  }
}

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution'

/** A gated Pod's node selection may become narrower. `munged` gets the old one, so that it no longer differs. */
function allowGatedChanges(munged: PodSpec, old: PodSpec, at: FieldPath): void {
  if (!semanticEqual(munged.nodeSelector, old.nodeSelector)) {
    const selector = munged.nodeSelector ?? {}
    const isNarrower = Object.entries(old.nodeSelector ?? {}).every(
      ([key, value]) => selector[key] === value,
    )
    if (!isNarrower) {
      at.child('nodeSelector').invalid(
        goStringMap(munged.nodeSelector),
        'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      )
    }
    takeOver(munged, old, ['nodeSelector'])
  }
  const now = munged.affinity?.nodeAffinity
  const before = old.affinity?.nodeAffinity
  if (semanticEqual(now, before)) return
  validateNarrowerAffinity(now, before, at.child('affinity').child('nodeAffinity'))
  const { nodeAffinity: _, ...others } = munged.affinity ?? {}
  const restored = before === undefined ? others : { ...others, nodeAffinity: before }
  if (Object.keys(restored).length > 0) munged.affinity = restored
  else delete munged.affinity
}

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>

function validateNarrowerAffinity(
  now: NodeAffinity | undefined,
  before: NodeAffinity | undefined,
  at: FieldPath,
): void {
  const oldTerms = before?.[requiredTerms]?.nodeSelectorTerms ?? []
  if (oldTerms.length === 0) return
  const terms = now?.[requiredTerms]?.nodeSelectorTerms ?? []
  const termsAt = at.child(requiredTerms).child('nodeSelectorTerms')
  if (terms.length !== oldTerms.length) {
    termsAt.invalid(
      goJson(terms),
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    )
    return
  }
  for (const [i, oldTerm] of oldTerms.entries()) {
    const term = terms[i] ?? {}
    const startsWithOld = (['matchExpressions', 'matchFields'] as const).every((list) => {
      const kept = oldTerm[list] ?? []
      return semanticEqual((term[list] ?? []).slice(0, kept.length), kept)
    })
    const wasEmpty = !oldTerm.matchExpressions?.length && !oldTerm.matchFields?.length
    const isEmpty = !term.matchExpressions?.length && !term.matchFields?.length
    if (startsWithOld && (!wasEmpty || isEmpty)) continue
    termsAt.index(i).invalid(goJson(term), 'only additions are allowed (no mutations or deletions)')
  }
}

/** Go's fields of the internal PodSpec in their order; those of the host's namespaces are in its security context. */
const podSpecFields = {
  volumes: 'Volumes',
  initContainers: 'InitContainers',
  containers: 'Containers',
  ephemeralContainers: 'EphemeralContainers',
  restartPolicy: 'RestartPolicy',
  terminationGracePeriodSeconds: 'TerminationGracePeriodSeconds',
  activeDeadlineSeconds: 'ActiveDeadlineSeconds',
  dnsPolicy: 'DNSPolicy',
  nodeSelector: 'NodeSelector',
  serviceAccountName: 'ServiceAccountName',
  automountServiceAccountToken: 'AutomountServiceAccountToken',
  nodeName: 'NodeName',
  securityContext: 'SecurityContext',
  imagePullSecrets: 'ImagePullSecrets',
  hostname: 'Hostname',
  subdomain: 'Subdomain',
  setHostnameAsFQDN: 'SetHostnameAsFQDN',
  affinity: 'Affinity',
  schedulerName: 'SchedulerName',
  tolerations: 'Tolerations',
  hostAliases: 'HostAliases',
  priorityClassName: 'PriorityClassName',
  priority: 'Priority',
  preemptionPolicy: 'PreemptionPolicy',
  dnsConfig: 'DNSConfig',
  readinessGates: 'ReadinessGates',
  runtimeClassName: 'RuntimeClassName',
  overhead: 'Overhead',
  enableServiceLinks: 'EnableServiceLinks',
  topologySpreadConstraints: 'TopologySpreadConstraints',
  os: 'OS',
  schedulingGates: 'SchedulingGates',
  resourceClaims: 'ResourceClaims',
  resources: 'Resources',
}
