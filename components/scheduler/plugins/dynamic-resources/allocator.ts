/**
 * Allocator: chooses devices for all claims of a pod on one node, or finds that there are not enough (upstream:
 * staging/src/k8s.io/dynamic-resource-allocation/structured/allocator.go; KEP-4381). Pure. It tries the devices in order and goes
 * back where a choice leads nowhere; the first solution wins.
 */
import type {
  AllocationResult,
  ResourceClaim,
  ResourceSlice,
} from '../../../api/generated/types.ts'
import { mostDevices } from '../../../api/device-claims.ts'
import type { SelectableNode } from '../../../api/node-selection.ts'
import { keyOf } from '../../../machinery/objects/object.ts'
import { allocationOf, type Choice } from './allocation-result.ts'
import { devicePools, type DevicePool, type PooledDevice } from './device-pools.ts'
import { mayJoin, type ChosenDevice } from './match-attribute.ts'
import { planRequest, type PlanningOptions, type RequestPlan } from './request-plan.ts'

export interface AllocatorOptions extends PlanningOptions {
  readonly claims: readonly ResourceClaim[]
  readonly slices: readonly ResourceSlice[]
  /** Ids of the devices that other claims have. */
  readonly allocated: ReadonlySet<string>
  /** Devices that are tried at most: on one node, and on all nodes together. */
  readonly most?: { readonly perNode: number; readonly inAll: number }
}

/** One result for each claim, in their order, or the reason why the claims get no devices. */
export type Allocation =
  { readonly results: readonly AllocationResult[] } | { readonly reason: string }

/** A search tries far fewer devices, unless constraints exclude nearly all combinations. */
const defaultMost = { perNode: 100_000, inAll: 1_000_000 }

class GaveUp extends Error {}

/** One device to choose. */
interface Slot {
  readonly plan: RequestPlan
  /** Undefined: any of the node's devices. */
  readonly device: PooledDevice | undefined
}

/**
 * Allocates for one node after the other; nothing that it gives is set aside. Throws, here or later, for claims and classes that
 * nothing can satisfy before they change.
 */
export function createAllocator(options: AllocatorOptions): (node: SelectableNode) => Allocation {
  const { claims, slices, allocated, most = defaultMost } = options
  const poolsFor = devicePools(slices)
  const plans = claims.map((claim) => {
    checkConstraints(claim)
    return (claim.spec.devices?.requests ?? []).map((request) =>
      planRequest(claim, request, options),
    )
  })
  let leftInAll = most.inAll
  return (node) => {
    const pools = poolsFor(node)
    const slots = slotsOf(plans, pools)
    if (slots === undefined) return { reason: 'cannot allocate all claims' }
    const allowed = Math.min(most.perNode, leftInAll)
    const search = new Search(slots, { pools, allocated, steps: allowed })
    try {
      const choices = search.run()
      if (choices === undefined) return { reason: 'cannot allocate all claims' }
      return {
        results: claims.map((claim, i) =>
          allocationOf(
            claim,
            plans[i] ?? [],
            choices.filter(({ plan }) => plan.claim === claim),
          ),
        ),
      }
    } catch (error) {
      if (error instanceof GaveUp) return { reason: `gave up after trying ${allowed} devices` }
      throw error
    } finally {
      leftInAll -= allowed - search.stepsLeft
    }
  }
}

function checkConstraints(claim: ResourceClaim): void {
  for (const [i, { matchAttribute }] of (claim.spec.devices?.constraints ?? []).entries()) {
    if (matchAttribute !== undefined) continue
    const where = `claim ${keyOf(claim)}, constraint #${i}`
    throw new Error(`${where}: empty constraint (unsupported constraint type?)`)
  }
}

/** Undefined when a request for all devices matches none. */
function slotsOf(
  plans: readonly (readonly RequestPlan[])[],
  pools: readonly DevicePool[],
): Slot[] | undefined {
  const slots: Slot[] = []
  for (const ofClaim of plans) {
    const before = slots.length
    for (const plan of ofClaim) {
      if (plan.count === undefined) {
        const all = allSelected(plan, pools)
        if (all.length === 0) return undefined
        slots.push(...all.map((device) => ({ plan, device })))
      } else if (plan.count <= mostDevices) {
        for (let i = 0; i < plan.count; i++) slots.push({ plan, device: undefined })
      }
      const wanted = Math.max(slots.length - before, plan.count ?? 0)
      if (wanted > mostDevices) {
        const where = `claim ${keyOf(plan.claim)}: number of requested devices ${wanted}`
        throw new Error(`${where} exceeds the claim limit of ${mostDevices}`)
      }
    }
  }
  return slots
}

function allSelected(plan: RequestPlan, pools: readonly DevicePool[]): PooledDevice[] {
  const where = `claim ${keyOf(plan.claim)}, request ${plan.request.name}`
  for (const { id, isIncomplete, invalidReason } of pools) {
    const all = `${where}: asks for all devices, but resource pool ${id} is currently`
    if (isIncomplete) throw new Error(`${all} being updated`)
    if (invalidReason !== undefined) throw new Error(`${all} invalid`)
  }
  return pools.flatMap(({ devices }) => devices.filter((device) => plan.selects(device)))
}

class Search {
  stepsLeft: number
  readonly #slots: readonly Slot[]
  readonly #allocated: ReadonlySet<string>
  readonly #candidates: readonly PooledDevice[]
  readonly #invalid: DevicePool | undefined
  readonly #choices: Choice[] = []
  readonly #inUse = new Set<string>()
  /** By request and first candidate to look at. */
  readonly #next = new Map<RequestPlan, Map<number, number>>()

  constructor(
    slots: readonly Slot[],
    about: {
      readonly pools: readonly DevicePool[]
      readonly allocated: ReadonlySet<string>
      readonly steps: number
    },
  ) {
    const { pools, allocated, steps } = about
    this.#slots = slots
    this.#allocated = allocated
    this.#candidates = pools
      .filter(({ invalidReason }) => invalidReason === undefined)
      .flatMap(({ devices }) => devices)
    this.#invalid = pools.find(({ invalidReason }) => invalidReason !== undefined)
    this.stepsLeft = steps
  }

  /** Undefined: there is no solution. Throws GaveUp out of steps, and for an invalid pool that may have had one. */
  run(): readonly Choice[] | undefined {
    if (this.#fill(0, 0)) return this.#choices
    const invalid = this.#invalid
    if (invalid === undefined || this.#slots.every(({ device }) => device !== undefined))
      return undefined
    throw new Error(`pool ${invalid.id} is invalid: ${invalid.invalidReason}`)
  }

  /** Fills the slots from this one on. Slots of one request are alike: each takes a device behind those of the ones before. */
  #fill(at: number, from: number): boolean {
    const slot = this.#slots[at]
    if (slot === undefined) return true
    const { plan, device } = slot
    if (device !== undefined) return this.#take(plan, device, true) && this.#goOn(at, 0)
    for (
      let i = this.#nextFor(plan, from);
      i < this.#candidates.length;
      i = this.#nextFor(plan, i + 1)
    ) {
      if (!this.#take(plan, this.#candidates[i] as PooledDevice, false)) continue
      if (this.#goOn(at, i + 1)) return true
    }
    return false
  }

  /** The first candidate from there on that the request selects. Devices between two such are passed over once, not at each step. */
  #nextFor(plan: RequestPlan, from: number): number {
    const known = this.#next.get(plan) ?? new Map<number, number>()
    this.#next.set(plan, known)
    let next = known.get(from)
    if (next !== undefined) return next
    next = from
    while (next < this.#candidates.length && !plan.selects(this.#candidates[next] as PooledDevice))
      next++
    known.set(from, next)
    return next
  }

  /** Goes on behind the choice that was just made, and takes it back when that leads nowhere. */
  #goOn(at: number, next: number): boolean {
    const isAlike = this.#slots[at + 1]?.plan === this.#slots[at]?.plan
    if (this.#fill(at + 1, isAlike ? next : 0)) return true
    const choice = this.#choices.pop()
    if (choice !== undefined && !choice.plan.isAdmin) this.#inUse.delete(choice.device.id)
    return false
  }

  /** Chooses the device, if it is free and the claim's constraints hold. `must`: it is one of all that the request asks for. */
  #take(plan: RequestPlan, device: PooledDevice, must: boolean): boolean {
    if (--this.stepsLeft < 0) throw new GaveUp('too many devices tried')
    const { id } = device
    if (!plan.isAdmin && (this.#allocated.has(id) || this.#inUse.has(id))) return false
    const ofClaim = this.#choices.filter((choice) => choice.plan.claim === plan.claim)
    if (ofClaim.some((choice) => choice.device.id === id)) return false
    const chosen = ofClaim.map(chosenOf)
    const next = chosenOf({ plan, device })
    for (const constraint of plan.claim.spec.devices?.constraints ?? []) {
      if (mayJoin(constraint, chosen, next)) continue
      if (!must) return false
      const where = `claim ${keyOf(plan.claim)}, request ${plan.request.name}`
      const why = 'because a claim constraint would not be satisfied'
      throw new Error(`${where}: cannot add device ${id} ${why}`)
    }
    if (!plan.isAdmin) this.#inUse.add(id)
    this.#choices.push({ plan, device })
    return true
  }
}

function chosenOf({ plan, device: { device, slice } }: Choice): ChosenDevice {
  const { driver } = slice.spec
  return { request: plan.request.name, driver, device: device.basic ?? {} }
}
