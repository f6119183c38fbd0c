/** The pods of a DaemonSet: which node each is for, and the template that ties one to it (upstream: daemon/util). Pure. */
import type {
  Affinity,
  DaemonSet,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Toleration,
} from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { requiredNodeTerms } from '../../api/node-selection.ts'
import { revisionHashKey } from '../revisions/revision-control.ts'

const nodeNameField = 'metadata.name'
const generationAnnotation = 'deprecated.daemonset.template.generation'
const generationLabel = 'pod-template-generation'

function isSameRule(a: Toleration, b: Toleration): boolean {
  return (
    a.key === b.key &&
    (a.effect ?? '') === (b.effect ?? '') &&
    (a.operator ?? '') === (b.operator ?? '') &&
    (a.value ?? '') === (b.value ?? '')
  )
}

/** What every daemon tolerates: it stays on nodes that other pods leave. */
function daemonTolerations(spec: PodSpec | undefined, dialect: Dialect): Toleration[] {
  const exists = (name: string, effect: string): Toleration => ({
    key: labelKey(dialect, 'node', name),
    operator: 'Exists',
    effect,
  })
  return [
    exists('not-ready', 'NoExecute'),
    exists('unreachable', 'NoExecute'),
    exists('disk-pressure', 'NoSchedule'),
    exists('memory-pressure', 'NoSchedule'),
    exists('pid-pressure', 'NoSchedule'),
    exists('unschedulable', 'NoSchedule'),
    ...(spec?.hostNetwork === true ? [exists('network-unavailable', 'NoSchedule')] : []),
  ]
}

/** The template's tolerations and those of every daemon. */
export function tolerationsOf(spec: PodSpec | undefined, dialect: Dialect): Toleration[] {
  const added = daemonTolerations(spec, dialect)
  const own = (spec?.tolerations ?? []).filter(
    (toleration) => !added.some((one) => isSameRule(one, toleration)),
  )
  return [...own, ...added]
}

/** Node affinity that only this node satisfies; it was checked against the template's own before. */
function boundTo(nodeName: string, affinity: Affinity | undefined): Affinity {
  const matchFields = [{ key: nodeNameField, operator: 'In', values: [nodeName] }]
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  }
}

/** The template of the pod for that node, at the revision with that hash. */
export function daemonTemplate(
  set: DaemonSet,
  nodeName: string,
  { hash, dialect }: { readonly hash: string; readonly dialect: Dialect },
): PodTemplateSpec {
  const { metadata, spec } = set.spec?.template ?? {}
  const generation = set.metadata.annotations?.[generationAnnotation]
  const labels = {
    ...metadata?.labels,
    ...(generation === undefined ? {} : { [generationLabel]: generation }),
    [revisionHashKey]: hash,
  }
  return {
    metadata: { ...metadata, labels },
    spec: {
      containers: [],
      ...spec,
      affinity: boundTo(nodeName, spec?.affinity),
      tolerations: tolerationsOf(spec, dialect),
    },
  }
}

/** The node that the pod is on or for; undefined when it says neither. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName
  for (const { matchFields = [] } of requiredNodeTerms(spec) ?? []) {
    const field = matchFields.find(
      ({ key, operator }) => key === nodeNameField && operator === 'In',
    )
    if (field !== undefined) return field.values?.length === 1 ? field.values[0] : undefined
  }
  return undefined
}

export function podHash({ metadata }: Pod): string {
  return metadata.labels?.[revisionHashKey] ?? ''
}
