/** Validation of the arguments of plugins, in upstream's words (upstream: apis/config/validation/validation_pluginargs.go). */
import type { NodeSelectorTerm, TopologySpreadConstraint } from '../../api/generated/types.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { validateLabelName } from '../../machinery/validation/label-validation.ts'
import type {
  PluginArguments,
  ResourceSpec,
  ScoringStrategy,
  UtilizationShapePoint,
} from './plugin-arguments.ts'

function within(value: number, at: FieldPath, [least, most]: readonly [number, number]): void {
  if (value < least || value > most) at.invalid(value, `not in valid range [${least}, ${most}]`)
}

function defaultPreemption(args: PluginArguments['DefaultPreemption'], at: FieldPath): void {
  const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } = args
  within(percentage, at.child('minCandidateNodesPercentage'), [0, 100])
  if (absolute < 0) {
    at.child('minCandidateNodesAbsolute').invalid(absolute, 'not in valid range [0, inf)')
  }
  if (percentage !== 0 || absolute !== 0) return
  const same = 'cannot be zero at the same time as'
  at.child('minCandidateNodesPercentage').invalid(0, `${same} minCandidateNodesAbsolute`)
  at.child('minCandidateNodesAbsolute').invalid(0, `${same} minCandidateNodesPercentage`)
}

function nodeSelectorTerms(terms: readonly NodeSelectorTerm[], at: FieldPath): void {
  const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']
  for (const [i, { matchExpressions = [], matchFields = [] }] of terms.entries()) {
    for (const [j, { key, operator }] of matchExpressions.entries()) {
      const field = at.index(i).child('matchExpressions').index(j)
      if (!operators.includes(operator)) {
        field.child('operator').unsupported(operator, operators)
      } else validateLabelName(key, field.child('key'))
    }
    for (const [j, { operator }] of matchFields.entries()) {
      if (operator === 'In' || operator === 'NotIn') continue
      at.index(i)
        .child('matchFields')
        .index(j)
        .child('operator')
        .unsupported(operator, ['In', 'NotIn'])
    }
  }
}

function nodeAffinity({ addedAffinity }: PluginArguments['NodeAffinity'], at: FieldPath): void {
  const field = at.child('addedAffinity')
  const required = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (required !== undefined) {
    const requiredAt = field.child('requiredDuringSchedulingIgnoredDuringExecution')
    nodeSelectorTerms(required.nodeSelectorTerms, requiredAt.child('nodeSelectorTerms'))
  }
  const preferred = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferredAt = field.child('preferredDuringSchedulingIgnoredDuringExecution')
  nodeSelectorTerms(
    preferred.map(({ preference }) => preference),
    preferredAt,
  )
}

function balancedAllocation(
  { resources }: PluginArguments['NodeResourcesBalancedAllocation'],
  at: FieldPath,
): void {
  const seen = new Set<string>()
  for (const [i, { name, weight }] of resources.entries()) {
    const field = at.child('resources').index(i)
    if (seen.has(name)) field.child('name').duplicate(name)
    seen.add(name)
    if (weight !== 1) field.child('weight').invalid(weight, 'must be 1')
  }
}

function functionShape(shape: readonly UtilizationShapePoint[], at: FieldPath): void {
  if (shape.length === 0) {
    at.required('at least one point must be specified')
    return
  }
  const unsorted = shape.findIndex(
    ({ utilization }, i) => i > 0 && (shape[i - 1]?.utilization ?? 0) >= utilization,
  )
  if (unsorted >= 0) {
    const { utilization = 0 } = shape[unsorted] ?? {}
    const field = at.index(unsorted).child('utilization')
    field.invalid(utilization, 'values must be sorted in increasing order')
  }
  for (const [i, { utilization, score }] of shape.entries()) {
    within(utilization, at.index(i).child('utilization'), [0, 100])
    within(score, at.index(i).child('score'), [0, 10])
  }
}

function weights(resources: readonly ResourceSpec[], at: FieldPath): void {
  for (const [i, { name, weight }] of resources.entries()) {
    if (weight > 0 && weight <= 100) continue
    const detail = `resource weight of ${name} not in valid range (0, 100]`
    at.index(i).child('weight').invalid(weight, detail)
  }
}

function scoringStrategy(
  { type, resources, requestedToCapacityRatio: ratio }: ScoringStrategy,
  at: FieldPath,
): void {
  const types = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio']
  if (!types.includes(type)) at.child('type').unsupported(type, types)
  weights(resources, at.child('resources'))
  const ratioAt = at.child('requestedToCapacityRatio')
  if (type !== 'RequestedToCapacityRatio') {
    if (ratio !== undefined) {
      ratioAt.forbidden('must be nil when type is not RequestedToCapacityRatio')
    }
  } else if (ratio === undefined) {
    ratioAt.required('must be specified when type is RequestedToCapacityRatio')
  } else functionShape(ratio.shape, ratioAt.child('shape'))
}

function nodeResourcesFit(args: PluginArguments['NodeResourcesFit'], at: FieldPath): void {
  for (const [i, name] of args.ignoredResources.entries()) {
    validateLabelName(name, at.child('ignoredResources').index(i))
  }
  for (const [i, group] of args.ignoredResourceGroups.entries()) {
    const field = at.child('ignoredResourceGroups').index(i)
    if (group.includes('/')) field.invalid(group, "resource group name can't contain '/'")
    validateLabelName(group, field)
  }
  scoringStrategy(args.scoringStrategy, at.child('scoringStrategy'))
}

function defaultConstraint(constraint: TopologySpreadConstraint, at: FieldPath): void {
  const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector } = constraint
  if (!(maxSkew > 0)) at.child('maxSkew').invalid(maxSkew ?? 0, 'not in valid range (0, inf)')
  if (topologyKey) validateLabelName(topologyKey, at.child('topologyKey'))
  else at.child('topologyKey').required('can not be empty')
  const actions = ['DoNotSchedule', 'ScheduleAnyway']
  if (!whenUnsatisfiable) at.child('whenUnsatisfiable').required('can not be empty')
  else if (!actions.includes(whenUnsatisfiable)) {
    at.child('whenUnsatisfiable').unsupported(whenUnsatisfiable, actions)
  }
  if (labelSelector !== undefined) {
    const detail = 'constraint must not define a selector, as they deduced for each pod'
    at.child('labelSelector').forbidden(detail)
  }
}

function podTopologySpread(args: PluginArguments['PodTopologySpread'], at: FieldPath): void {
  const { defaultingType: type, defaultConstraints: constraints } = args
  const typeAt = at.child('defaultingType')
  if (type !== 'System' && type !== 'List') typeAt.unsupported(type, ['System', 'List'])
  else if (type === 'System' && constraints.length > 0) {
    typeAt.invalid(type, 'when .defaultConstraints are not empty')
  }
  const seen = new Set<string>()
  for (const [i, constraint] of constraints.entries()) {
    const field = at.child('defaultConstraints').index(i)
    defaultConstraint(constraint, field)
    const name = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`
    if (seen.has(name)) field.duplicate(name)
    seen.add(name)
  }
}

/** The validator of each plugin's arguments. */
export const argumentValidators: {
  readonly [Name in keyof PluginArguments]: (args: PluginArguments[Name], at: FieldPath) => void
} = {
  DefaultPreemption: defaultPreemption,
  InterPodAffinity: ({ hardPodAffinityWeight: weight }, at) =>
    within(weight, at.child('hardPodAffinityWeight'), [0, 100]),
  NodeAffinity: nodeAffinity,
  NodeResourcesBalancedAllocation: balancedAllocation,
  NodeResourcesFit: nodeResourcesFit,
  PodTopologySpread: podTopologySpread,
  VolumeBinding({ bindTimeoutSeconds: seconds, shape }, at) {
    if (seconds < 0) {
      const detail = 'invalid BindTimeoutSeconds, should not be a negative value'
      at.child('bindTimeoutSeconds').invalid(seconds, detail)
    }
    if (shape !== undefined) {
      const detail =
        'unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority'
      at.child('shape').invalid(`${shape.length} points`, detail)
    }
  },
}
