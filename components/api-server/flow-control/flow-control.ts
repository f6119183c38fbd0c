/**
 * flow-control: classifies requests by the FlowSchemas and gives them seats of their priority levels, as the objects of the
 * cluster say at that moment (upstream: API Priority and Fairness, apiserver pkg/util/flowcontrol).
 */
import { createHash } from 'node:crypto'
import { mandatoryFlowControl } from '../../api/bootstrap-policy/flow-control-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { RequestContext } from '../request/request.ts'
import { distinguisherOf, inPrecedence, matcherOf } from './flow-matcher.ts'
import { PriorityLevel, type Refusal } from './priority-level.ts'

export interface FlowControlOptions {
  readonly reader: ObjectReader
  readonly resources: Resources
  readonly dialect: Dialect
  readonly clock: Clock
  /** What all levels but the exempt one share; 0 is no limit. */
  readonly seats: number
  /** How long a request may wait for a seat. */
  readonly longestWaitMs: number
}

/** One FlowSchema with its level, and what of it is under way. */
export interface Flow {
  readonly schema: FlowSchema
  readonly name: string
  readonly level: PriorityLevel
  /** What answers of its requests say of it. */
  readonly headers: Readonly<Record<string, string>>
  readonly counts: FlowCounts
  matches(asked: Pick<RequestContext, 'user' | 'info'>): boolean
}

export interface FlowCounts {
  executing: number
  waiting: number
  dispatched: number
  readonly refused: Record<Refusal, number>
}

/** A seat that was taken; call it when the request has been served. */
export type Leave = () => void

export interface FlowControl {
  flowOf(context: Pick<RequestContext, 'user' | 'info'>): Flow
  /** A seat at once, or when one is free; a refusal otherwise. */
  enter(flow: Flow, context: RequestContext): Leave | Promise<Leave | Refusal> | Refusal
  /** Levels and flows, as they are now. */
  readonly levels: readonly PriorityLevel[]
  readonly flows: readonly Flow[]
}

interface Configuration {
  readonly levels: readonly PriorityLevel[]
  readonly flows: readonly Flow[]
}

export function createFlowControl(options: FlowControlOptions): FlowControl {
  const { reader, resources, dialect, clock, seats, longestWaitMs } = options
  const { flowSchemas, priorityLevelConfigurations } = resources
  const mandatory = mandatoryFlowControl(dialect)
  const known = new Map<string, PriorityLevel>()
  const counts = new Map<string, FlowCounts>()
  let current: Configuration | undefined

  /** What is mandatory holds even before it is stored, and while it is not. */
  function withMandatory<T>(stored: readonly object[], fixed: readonly object[]): T[] {
    const nameOf = (one: object): string => (one as FlowSchema).metadata.name ?? ''
    const names = new Set(stored.map(nameOf))
    return [...stored, ...fixed.filter((one) => !names.has(nameOf(one)))] as T[]
  }

  function configured(): Configuration {
    const all = withMandatory<PriorityLevelConfiguration>(
      reader.list(priorityLevelConfigurations),
      mandatory.levels,
    )
    const sharesOf = ({ spec }: PriorityLevelConfiguration): number =>
      spec?.limited?.nominalConcurrencyShares ?? spec?.exempt?.nominalConcurrencyShares ?? 0
    const shares = all.reduce((sum, one) => sum + sharesOf(one), 0)
    const byName = new Map<string, PriorityLevel>()
    for (const one of all) {
      const name = one.metadata.name ?? ''
      const level = known.get(name) ?? new PriorityLevel(name)
      level.configure(one, shares === 0 ? 0 : Math.ceil((seats * sharesOf(one)) / shares))
      byName.set(name, level)
    }
    // Levels that are gone let those go on who are in or wait; nobody new comes.
    for (const [name, { executing, waiting }] of known) {
      if (!byName.has(name) && executing + waiting === 0) known.delete(name)
    }
    for (const [name, level] of byName) known.set(name, level)
    const schemas = inPrecedence(
      withMandatory<FlowSchema>(reader.list(flowSchemas), mandatory.schemas),
    )
    const flows = schemas.flatMap((schema): Flow[] => {
      // A schema without its level matches nothing.
      const level = byName.get(schema.spec?.priorityLevelConfiguration?.name ?? '')
      return level === undefined ? [] : [flowOf(schema, level)]
    })
    const names = new Set(flows.map(({ name }) => name))
    for (const [name, { executing, waiting }] of counts) {
      if (!names.has(name) && executing + waiting === 0) counts.delete(name)
    }
    return { levels: [...byName.values()], flows }
  }

  function flowOf(schema: FlowSchema, level: PriorityLevel): Flow {
    const { name = '', uid = '' } = schema.metadata
    const own = counts.get(name) ?? {
      executing: 0,
      waiting: 0,
      dispatched: 0,
      refused: { 'concurrency-limit': 0, 'queue-full': 0, 'time-out': 0, cancelled: 0 },
    }
    counts.set(name, own)
    const prefix = `x-${dialect.name}-pf`
    const headers = {
      [`${prefix}-flowschema-uid`]: uid,
      [`${prefix}-prioritylevel-uid`]: level.uid,
    }
    return { schema, name, level, headers, counts: own, matches: matcherOf(schema) }
  }

  const configuration = (): Configuration => (current ??= configured())
  const forget = (): void => {
    if (current === undefined) return
    current = undefined
    if ([...known.values()].every(({ waiting }) => waiting === 0)) return
    // There may be more seats now.
    queueMicrotask(() => {
      configuration()
      seatWaiting()
    })
  }
  reader.onChange(flowSchemas, forget)
  reader.onChange(priorityLevelConfigurations, forget)

  /** Seats that levels have and do not use, as far as they lend them, less those that are lent. */
  function canBorrow(): boolean {
    let left = 0
    for (const { isExempt, nominal, lendable, executing } of configuration().levels) {
      if (isExempt) continue
      const unused = Math.min(lendable, nominal - executing)
      left += unused
    }
    return left > 0
  }

  function hasSeat(level: PriorityLevel): boolean {
    if (level.isExempt || seats === 0 || level.executing < level.nominal) return true
    return level.executing < level.nominal + level.borrowable && canBorrow()
  }

  /** Whose level it was comes first; what it does not need may be borrowed. */
  function seatWaiting(freed?: PriorityLevel): void {
    for (const level of freed === undefined ? known.values() : [freed, ...known.values()]) {
      while (level.waiting > 0 && hasSeat(level)) level.seatNext()
    }
  }

  function seated(flow: Flow): Leave {
    const { level, counts: own } = flow
    own.executing += 1
    own.dispatched += 1
    return () => {
      own.executing -= 1
      level.executing -= 1
      configuration()
      seatWaiting(level)
    }
  }

  async function queued(flow: Flow, context: RequestContext): Promise<Leave | Refusal> {
    const { level, counts: own, schema, name } = flow
    const { promise, resolve } = Promise.withResolvers<Refusal | undefined>()
    const exit = level.wait(hashOf(name, distinguisherOf(schema, context)), resolve)
    if (typeof exit === 'string') {
      own.refused[exit] += 1
      return exit
    }
    const { signal } = context.http
    const cancelled = (): void => exit('cancelled')
    const stop = clock.after(longestWaitMs, () => exit('time-out'))
    signal.addEventListener('abort', cancelled, { once: true })
    if (signal.aborted) cancelled()
    own.waiting += 1
    const refusal = await promise
    own.waiting -= 1
    stop()
    signal.removeEventListener('abort', cancelled)
    if (refusal === undefined) return seated(flow)
    own.refused[refusal] += 1
    return refusal
  }

  return {
    flowOf: (context) => {
      const { flows } = configuration()
      const found = flows.find((flow) => flow.matches(context))
      // The catch-all takes everybody, and so whoever is in no group at all.
      return found ?? (flows.find(({ name }) => name === 'catch-all') as Flow)
    },
    enter: (flow, context) => {
      const { level } = flow
      // Who comes now does not pass those who wait.
      if (level.waiting === 0 && hasSeat(level)) {
        level.take()
        return seated(flow)
      }
      return queued(flow, context)
    },
    get levels() {
      return configuration().levels
    },
    get flows() {
      return configuration().flows
    },
  }
}

/** Numbers that pick a flow's queues, the same ones for the same flow. */
function hashOf(name: string, distinguisher: string): number[] {
  const digest = createHash('sha256').update(`${name}\0${distinguisher}`).digest()
  return Array.from({ length: 8 }, (_, index) => digest.readUInt32BE(index * 4))
}
