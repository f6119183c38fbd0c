/** TopologyCache: which Services have hints of `topology-mode: Auto`, and how the zones share the CPU (upstream: topologycache). */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Node, Service } from '../../api/generated/types.ts'
import type { RecordedEvent } from '../../client/event-recorder.ts'
import type { Informer, InformerEvent } from '../../client/informer.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { findCondition } from '../conditions.ts'
import type { SliceChanges } from './slice-plan.ts'
import { hintByZones, isOverloaded, zoneSharesOf } from './zone-hints.ts'
import type { HintCounts, ZoneShares } from './zone-hints.ts'

/** Whether the Service asks for hints. */
export function wantsZoneHints({ metadata }: Service, dialect: Dialect): boolean {
  const { annotations = {} } = metadata
  const old = annotations[labelKey(dialect, 'service', 'topology-aware-hints')]
  const mode = old ?? annotations[labelKey(dialect, 'service', 'topology-mode')]
  return mode === 'Auto' || mode === 'auto'
}

/** What of a node the shares depend on. */
function shareOf({ metadata, status }: Node): unknown {
  const { labels } = metadata
  return [labels, findCondition(status?.conditions, 'Ready')?.status, status?.allocatable?.['cpu']]
}

export class TopologyCache {
  readonly #nodes: Informer<Node>
  readonly #dialect: Dialect
  readonly #counts = new Map<string, Map<string, HintCounts>>()
  readonly #hinted = new Set<string>()
  /** Undefined when the nodes have to be looked at again. */
  #shares: { readonly value: ZoneShares | undefined } | undefined

  /** Calls `onOverloaded` with the keys of Services whose hints do not fit the nodes any more. Make it before the informer runs. */
  constructor(options: {
    readonly nodes: Informer<Node>
    readonly dialect: Dialect
    readonly onOverloaded: (service: string) => void
  }) {
    this.#nodes = options.nodes
    this.#dialect = options.dialect
    options.nodes.onEvent((event) => {
      if (!this.#follow(event)) return
      for (const service of this.#overloaded()) options.onOverloaded(service)
    })
  }

  /** The changes with hints, and events that tell whether the Service has them now. */
  addHints(
    service: string,
    addressType: string,
    changes: SliceChanges,
  ): { readonly changes: SliceChanges; readonly events: readonly RecordedEvent[] } {
    const outcome = hintByZones(changes, this.#zoneShares())
    if ('why' in outcome) {
      this.#forget(service, addressType)
      const message = `${outcome.why}, addressType: ${addressType}`
      const event = { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message } as const
      return { changes: outcome.changes, events: [event] }
    }
    const byType = this.#counts.get(service) ?? new Map<string, HintCounts>()
    this.#counts.set(service, byType.set(addressType, outcome.counts))
    if (this.#hinted.has(service)) return { changes: outcome.changes, events: [] }
    this.#hinted.add(service)
    const message = `Topology Aware Hints has been enabled, addressType: ${addressType}`
    const event = { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message } as const
    return { changes: outcome.changes, events: [event] }
  }

  /** The Service does not ask for hints. Returns the event to record if it had them. */
  dropHints(service: string, addressType: string): RecordedEvent | undefined {
    const had = this.#hinted.has(service)
    this.#forget(service, addressType)
    if (!had) return undefined
    const message = `Topology Aware Hints has been disabled, addressType: ${addressType}`
    return { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message }
  }

  /** The Service is gone. */
  forgetService(service: string): void {
    this.#counts.delete(service)
    this.#hinted.delete(service)
  }

  #forget(service: string, addressType: string): void {
    const byType = this.#counts.get(service)
    byType?.delete(addressType)
    if (byType?.size === 0) this.#counts.delete(service)
    this.#hinted.delete(service)
  }

  #follow(event: InformerEvent<Node>): boolean {
    if (event.type === 'update' && deepEqual(shareOf(event.old), shareOf(event.object)))
      return false
    this.#shares = undefined
    return this.#counts.size > 0
  }

  #zoneShares(): ZoneShares | undefined {
    this.#shares ??= { value: zoneSharesOf(this.#nodes.list(), this.#dialect) }
    return this.#shares.value
  }

  #overloaded(): string[] {
    const shares = this.#zoneShares()
    return [...this.#counts]
      .filter(([, byType]) => [...byType.values()].some((counts) => isOverloaded(counts, shares)))
      .map(([service]) => service)
  }
}
