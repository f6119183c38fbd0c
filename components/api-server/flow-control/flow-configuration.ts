/** flow-configuration: the priority levels and flows that the cluster's objects describe, rebuilt after they change. */
import { mandatoryFlowControl } from '../../api/bootstrap-policy/flow-control-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { RequestContext } from '../request/request.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { inPrecedence, matcherOf } from './flow-matcher.ts'
import { PriorityLevel, type Refusal } from './priority-level.ts'

/** One FlowSchema with its level, and how many of its requests are under way. */
export interface Flow {
  readonly schema: FlowSchema
  readonly name: string
  readonly level: PriorityLevel
  /** The response headers that name it. */
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

export interface FlowConfigurationOptions {
  readonly reader: ObjectReader
  readonly resources: Resources
  readonly dialect: Dialect
  /** What all levels but the exempt one share; 0 is no limit. */
  readonly seats: number
}

export interface FlowConfiguration {
  readonly levels: readonly PriorityLevel[]
  /** In the order in which they are matched. */
  readonly flows: readonly Flow[]
}

/** Adds the mandatory objects, which apply even while they are not stored. */
function withMandatory<T>(stored: readonly object[], mandatory: readonly object[]): T[] {
  const nameOf = (one: object): string => (one as FlowSchema).metadata.name ?? ''
  const names = new Set(stored.map(nameOf))
  return [...stored, ...mandatory.filter((one) => !names.has(nameOf(one)))] as T[]
}

function sharesOf({ spec }: PriorityLevelConfiguration): number {
  return spec?.limited?.nominalConcurrencyShares ?? spec?.exempt?.nominalConcurrencyShares ?? 0
}

function deleteIdle(
  known: Map<string, Pick<FlowCounts, 'executing' | 'waiting'>>,
  kept: { has(name: string): boolean },
): void {
  for (const [name, { executing, waiting }] of known) {
    if (!kept.has(name) && executing + waiting === 0) known.delete(name)
  }
}

/** Builds levels. One that is deleted keeps its requests until they have been served, and gets no new ones. */
function levelBuilder({ seats }: FlowConfigurationOptions, known: Map<string, PriorityLevel>) {
  return (configurations: readonly PriorityLevelConfiguration[]): Map<string, PriorityLevel> => {
    const shares = configurations.reduce((sum, one) => sum + sharesOf(one), 0)
    const byName = new Map<string, PriorityLevel>()
    for (const one of configurations) {
      const name = one.metadata.name ?? ''
      const level = known.get(name) ?? new PriorityLevel(name)
      level.configure(one, shares === 0 ? 0 : Math.ceil((seats * sharesOf(one)) / shares))
      byName.set(name, level)
    }
    deleteIdle(known, byName)
    for (const [name, level] of byName) known.set(name, level)
    return byName
  }
}

/** Builds flows. One that is configured again keeps its counts. */
function flowBuilder({ dialect }: FlowConfigurationOptions) {
  const counts = new Map<string, FlowCounts>()
  const prefix = `x-${dialect.name}-pf`

  function flowOf(schema: FlowSchema, level: PriorityLevel): Flow {
    const { name = '', uid = '' } = schema.metadata
    const own = counts.get(name) ?? {
      executing: 0,
      waiting: 0,
      dispatched: 0,
      refused: { 'concurrency-limit': 0, 'queue-full': 0, 'time-out': 0, cancelled: 0 },
    }
    counts.set(name, own)
    const headers = {
      [`${prefix}-flowschema-uid`]: uid,
      [`${prefix}-prioritylevel-uid`]: level.uid,
    }
    return { schema, name, level, headers, counts: own, matches: matcherOf(schema) }
  }

  return (schemas: readonly FlowSchema[], levels: ReadonlyMap<string, PriorityLevel>): Flow[] => {
    const flows = inPrecedence(schemas).flatMap((schema): Flow[] => {
      // A schema without its level matches no request.
      const level = levels.get(schema.spec?.priorityLevelConfiguration?.name ?? '')
      return level === undefined ? [] : [flowOf(schema, level)]
    })
    deleteIdle(counts, new Set(flows.map(({ name }) => name)))
    return flows
  }
}

export interface FollowedFlowConfiguration {
  /** The configuration by the objects of this moment; building it configures `allLevels`. */
  current(): FlowConfiguration
  /** The configured levels, and deleted ones that still have requests. */
  readonly allLevels: ReadonlyMap<string, PriorityLevel>
}

/** Follows the objects. `onChange` runs after a change, in a turn of its own, when requests wait for seats. */
export function followFlowConfiguration(
  options: FlowConfigurationOptions,
  onChange: () => void,
): FollowedFlowConfiguration {
  const { reader, resources, dialect } = options
  const { flowSchemas, priorityLevelConfigurations } = resources
  const mandatory = mandatoryFlowControl(dialect)
  const allLevels = new Map<string, PriorityLevel>()
  const levelsOf = levelBuilder(options, allLevels)
  const flowsOf = flowBuilder(options)
  let current: FlowConfiguration | undefined

  function configured(): FlowConfiguration {
    const levels = levelsOf(
      withMandatory<PriorityLevelConfiguration>(
        reader.list(priorityLevelConfigurations),
        mandatory.levels,
      ),
    )
    const schemas = withMandatory<FlowSchema>(reader.list(flowSchemas), mandatory.schemas)
    return { levels: [...levels.values()], flows: flowsOf(schemas, levels) }
  }

  const forget = (): void => {
    if (current === undefined) return
    current = undefined
    if ([...allLevels.values()].some(({ waiting }) => waiting > 0)) queueMicrotask(onChange)
  }
  reader.onChange(flowSchemas, forget)
  reader.onChange(priorityLevelConfigurations, forget)

  return { allLevels, current: () => (current ??= configured()) }
}
