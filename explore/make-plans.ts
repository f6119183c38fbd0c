/** make-plans: plans from what the controller did in the reference. */
import { isWrite } from './gate/target.ts'
import type { Point } from './gate/target.ts'
import type { Traffic } from './gate/traffic.ts'
import type { PlanKind, PlannedFault } from './planned-fault.ts'
import type { ValueChange } from './values/schema-values.ts'

export interface Plan {
  /** `mix`: several faults. `values`: what happens is the change of a value instead. */
  readonly kind: PlanKind | 'mix' | 'values'
  readonly faults: readonly PlannedFault[]
  readonly change?: ValueChange
}

const lateMs = 1000
const slowMs = 300
const staleMs = 1000

/** Writes that change nothing are left out: around them nothing is in between. Killed after one write or before the next is the same, unless something else happened between: a step of the story. */
function killPlans({ effects: writes }: Traffic): PlannedFault[] {
  return writes.flatMap(({ point: at, step }, index): PlannedFault[] => {
    const isFirst = index === 0 || writes[index - 1]?.step !== step
    const after: PlannedFault = { kind: 'kill-after', at }
    return isFirst ? [{ kind: 'kill-before', at }, after] : [after]
  })
}

/** What a server may answer to it. */
function refusalOf({ verb }: Point): number {
  if (verb === 'update') return 409
  if (verb === 'create') return 503
  return verb === 'delete' ? 429 : 500
}

function refusePlans({ exchanges, effects }: Traffic): PlannedFault[] {
  const written = new Set(effects)
  const met = exchanges.filter(
    (one) => !one.isQuiet && (written.has(one) || (one.point.nth === 1 && !isWrite(one.point))),
  )
  return met.map(({ point: at }) => ({ kind: 'refuse', at, code: refusalOf(at) }))
}

/** Resources of which the controller was shown events, with the steps and how many in each. */
function shownIn({ events }: Traffic): Map<string, Map<number, number>> {
  const shown = new Map<string, Map<number, number>>()
  for (const { resource, step } of events) {
    const steps = shown.get(resource) ?? new Map<number, number>()
    steps.set(step, (steps.get(step) ?? 0) + 1)
    shown.set(resource, steps)
  }
  return shown
}

type WatchPlanKind = 'late' | 'repeat' | 'relist' | 'unseen'

function watchPlans(traffic: Traffic): Record<WatchPlanKind, PlannedFault[]> {
  const late: PlannedFault[] = []
  const repeat: PlannedFault[] = []
  const relist: PlannedFault[] = []
  const unseen: PlannedFault[] = []
  for (const [resource, steps] of shownIn(traffic)) {
    late.push({ kind: 'late-events', resource, ms: lateMs })
    repeat.push({ kind: 'repeat-events', resource })
    for (const [step, count] of steps) {
      if (step === 0) continue
      relist.push({ kind: 'relist', resource, step })
      if (count > 1) unseen.push({ kind: 'unseen', resource, from: step, to: step })
      if (steps.has(step + 1)) unseen.push({ kind: 'unseen', resource, from: step, to: step + 1 })
    }
  }
  return { late, repeat, relist, unseen }
}

/** Only for controllers that take an old list: others read what is there. */
function stalePlans({ exchanges }: Traffic, steps: number): PlannedFault[] {
  if (!exchanges.some(({ takesOldView }) => takesOldView)) return []
  const plans: PlannedFault[] = []
  for (let step = 1; step <= steps; step += 1)
    for (let view = step - 1; view >= 0; view -= 1)
      plans.push({ kind: 'stale-restart', step, view, ms: staleMs })
  return plans
}

/** One of each kind in turn: what is cut off by a limit is of all kinds. */
function inTurn(plans: readonly (readonly Plan[])[]): Plan[] {
  const longest = Math.max(0, ...plans.map((one) => one.length))
  return Array.from({ length: longest }, (_, at) => plans.flatMap((one) => one[at] ?? [])).flat()
}

/** Plans of these kinds, of one fault each. `steps`: how many the story has. */
export function makePlans(
  traffic: Traffic,
  { kinds, steps }: { readonly kinds: readonly PlanKind[]; readonly steps: number },
): Plan[] {
  const faults: Record<PlanKind, readonly PlannedFault[]> = {
    kill: killPlans(traffic),
    'lost-answer': traffic.effects.map(({ point: at }) => ({ kind: 'lose-answer', at })),
    refuse: refusePlans(traffic),
    ...watchPlans(traffic),
    stale: stalePlans(traffic, steps),
    slow: [{ kind: 'slow', ms: slowMs }],
  }
  return inTurn(kinds.map((kind) => faults[kind].map((fault) => ({ kind, faults: [fault] }))))
}
