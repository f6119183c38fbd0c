/** Which nodes a pod accepts and which taints it tolerates (upstream: component-helpers/scheduling/corev1). Pure. */
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  Taint,
  Toleration,
} from './generated/types.ts'
import { getOwn } from '../machinery/values/json-copy.ts'

/** What a node selector looks at. */
export interface SelectableNode {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

function comparesWith(value: string | undefined, bound: string | undefined): number {
  const left = value !== undefined && /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN
  const right = bound !== undefined && /^[+-]?\d+$/.test(bound) ? Number(bound) : Number.NaN
  return left - right
}

function holds(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? []
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return comparesWith(value, values[0]) > 0
    case 'Lt':
      return comparesWith(value, values[0]) < 0
    default:
      return false
  }
}

/** One term: all of its expressions and fields hold. A term without any matches no node. */
export function matchesNodeTerm(term: NodeSelectorTerm, node: SelectableNode): boolean {
  const expressions = term.matchExpressions ?? []
  const fields = term.matchFields ?? []
  if (expressions.length + fields.length === 0) return false
  return (
    expressions.every((requirement) => holds(requirement, getOwn(node.labels, requirement.key))) &&
    fields.every((requirement) =>
      holds(requirement, requirement.key === 'metadata.name' ? node.name : undefined),
    )
  )
}

/** The terms of required node affinity, of which one must hold; undefined if the pod has no such terms. */
export function requiredNodeTerms(
  spec: Pick<PodSpec, 'affinity'> | undefined,
): readonly NodeSelectorTerm[] | undefined {
  const affinity = spec?.affinity?.nodeAffinity
  return affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
}

/** True when nodeSelector and required node affinity allow the node. */
export function matchesRequiredNodes(
  spec: Pick<PodSpec, 'affinity' | 'nodeSelector'> | undefined,
  node: SelectableNode,
): boolean {
  for (const [key, value] of Object.entries(spec?.nodeSelector ?? {})) {
    if (getOwn(node.labels, key) !== value) return false
  }
  const terms = requiredNodeTerms(spec)
  return terms === undefined || terms.some((term) => matchesNodeTerm(term, node))
}

/** An empty effect or, with Exists, an empty key matches any; the operator is Equal by default. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator) {
    case undefined:
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    case 'Exists':
      return true
    default:
      return false
  }
}

/** The first taint of these effects that none of the tolerations tolerates. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[],
  effects: readonly string[] = ['NoSchedule', 'NoExecute'],
): Taint | undefined {
  return taints?.find(
    (taint) =>
      effects.includes(taint.effect) &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  )
}
