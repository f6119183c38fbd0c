/** The allocation of a claim as its status tells it: devices, configuration for their drivers, and the nodes that can use them. */
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  NodeSelector,
  NodeSelectorRequirement,
  ResourceClaim,
} from '../../../api/generated/types.ts'
import { deepEqual } from '../../../machinery/objects/object.ts'
import type { PooledDevice } from './device-pools.ts'
import type { RequestPlan } from './request-plan.ts'

/** A device that was chosen for a request. */
export interface Choice {
  readonly plan: RequestPlan
  readonly device: PooledDevice
}

export function allocationOf(
  claim: ResourceClaim,
  plans: readonly RequestPlan[],
  choices: readonly Choice[],
): AllocationResult {
  const results = choices.map(({ plan, device: { device, slice } }) => ({
    request: plan.request.name,
    driver: slice.spec.driver,
    pool: slice.spec.pool.name,
    device: device.name,
    ...(plan.isAdmin ? { adminAccess: true } : {}),
  }))
  const config = configurationOf(claim, plans)
  const nodeSelector = nodeSelectorOf(choices)
  return {
    devices: {
      ...(results.length === 0 ? {} : { results }),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  }
}

/** That of the classes, then that of the claim. */
function configurationOf(
  claim: ResourceClaim,
  plans: readonly RequestPlan[],
): DeviceAllocationConfiguration[] {
  const ofClasses = plans.flatMap(({ deviceClass }) =>
    (deviceClass.spec.config ?? []).map((config) => ({ source: 'FromClass', ...config })),
  )
  const own = (claim.spec.devices?.config ?? []).map((config) => ({
    source: 'FromClaim',
    ...config,
  }))
  return [...ofClasses, ...own]
}

/** Undefined: all nodes. A device of one node restricts the claim to that node. */
function nodeSelectorOf(choices: readonly Choice[]): NodeSelector | undefined {
  const matchFields: NodeSelectorRequirement[] = []
  const matchExpressions: NodeSelectorRequirement[] = []
  for (const { device } of choices) {
    const { nodeName, nodeSelector } = device.slice.spec
    if (nodeName)
      return selectorOf([{ key: 'metadata.name', operator: 'In', values: [nodeName] }], [])
    const [term, ...more] = nodeSelector?.nodeSelectorTerms ?? []
    if (more.length > 0) {
      throw new Error(`unsupported ResourceSlice.NodeSelector with ${more.length + 1} terms`)
    }
    addMissing(matchFields, term?.matchFields)
    addMissing(matchExpressions, term?.matchExpressions)
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined
  return selectorOf(matchFields, matchExpressions)
}

function selectorOf(
  matchFields: NodeSelectorRequirement[],
  matchExpressions: NodeSelectorRequirement[],
): NodeSelector {
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
        ...(matchFields.length === 0 ? {} : { matchFields }),
      },
    ],
  }
}

function addMissing(
  to: NodeSelectorRequirement[],
  from: readonly NodeSelectorRequirement[] | undefined,
): void {
  for (const one of from ?? []) if (!to.some((other) => deepEqual(other, one))) to.push(one)
}
