/** Taints that follow a node's conditions, and how to change a list of taints (upstream: TaintNodesByCondition). Pure. */
import type { Node, Taint } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { findCondition } from '../conditions.ts'

export interface NodeTaintKeys {
  readonly notReady: string
  readonly unreachable: string
  readonly unschedulable: string
  /** Condition type -> status -> taint. */
  readonly byCondition: Readonly<Record<string, Readonly<Record<string, string>>>>
}

export function nodeTaintKeys(dialect: Dialect): NodeTaintKeys {
  const key = (name: string): string => labelKey(dialect, 'node', name)
  const notReady = key('not-ready')
  const unreachable = key('unreachable')
  return {
    notReady,
    unreachable,
    unschedulable: key('unschedulable'),
    byCondition: {
      Ready: { False: notReady, Unknown: unreachable },
      MemoryPressure: { True: key('memory-pressure') },
      DiskPressure: { True: key('disk-pressure') },
      PIDPressure: { True: key('pid-pressure') },
      NetworkUnavailable: { True: key('network-unavailable') },
    },
  }
}

export interface TaintSwap {
  readonly add: readonly Taint[]
  readonly remove: readonly Taint[]
}

const isSame = (a: Taint) => (b: Taint) => a.key === b.key && a.effect === b.effect

export function hasTaint(node: Node, taint: Taint): boolean {
  return node.spec?.taints?.some(isSame(taint)) ?? false
}

/** The NoSchedule taints that the node's conditions and its cordon require, against those that it has. */
export function noScheduleSwap(node: Node, keys: NodeTaintKeys): TaintSwap {
  const effect = 'NoSchedule'
  const wanted: Taint[] = []
  for (const [type, byStatus] of Object.entries(keys.byCondition)) {
    const status = findCondition(node.status?.conditions, type)?.status
    const key = status === undefined ? undefined : byStatus[status]
    if (key !== undefined) wanted.push({ key, effect })
  }
  if (node.spec?.unschedulable === true) wanted.push({ key: keys.unschedulable, effect })
  const ours = new Set([
    keys.unschedulable,
    ...Object.values(keys.byCondition).flatMap((byStatus) => Object.values(byStatus)),
  ])
  const remove = (node.spec?.taints ?? []).filter(
    (taint) => taint.effect === effect && ours.has(taint.key) && !wanted.some(isSame(taint)),
  )
  return { add: wanted.filter((taint) => !hasTaint(node, taint)), remove }
}

/** The NoExecute taint for a Ready condition's status, in place of the opposite one; undefined for a healthy node. */
export function noExecuteSwap(status: string | undefined, keys: NodeTaintKeys): TaintSwap {
  const notReady = { key: keys.notReady, effect: 'NoExecute' }
  const unreachable = { key: keys.unreachable, effect: 'NoExecute' }
  if (status === 'False') return { add: [notReady], remove: [unreachable] }
  if (status === 'Unknown') return { add: [unreachable], remove: [notReady] }
  return { add: [], remove: [notReady, unreachable] }
}

/** The list after the swap, new taints dated; undefined when it stays as it is. */
export function swapTaints(
  taints: readonly Taint[] | undefined,
  swap: TaintSwap,
  now: string,
): Taint[] | undefined {
  const old = taints ?? []
  const kept = old.filter((taint) => !swap.remove.some(isSame(taint)))
  const added = swap.add
    .filter((taint) => !old.some(isSame(taint)))
    .map((taint) => ({ ...taint, timeAdded: now }))
  if (added.length === 0 && kept.length === old.length) return undefined
  return [...kept, ...added]
}
