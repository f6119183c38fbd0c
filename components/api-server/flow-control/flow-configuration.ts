/** flow-configuration: the priority levels and flows that the cluster's objects describe, rebuilt after they change. */
import { mandatoryFlowControl } from '../../api/bootstrap-policy/flow-control-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { flowBuilder, type Flow, type FlowBuilderOptions } from './flow.ts'
import type { PriorityLevel } from './priority-level.ts'

export interface FlowConfigurationOptions {
  readonly reader: ObjectReader
  readonly resources: Resources
  readonly dialect: Dialect
  /** What all levels share. */
  readonly seats: number
}

export interface FlowConfiguration {
  /** By name, with the quiescing ones. */
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

/** Builds levels. One that is deleted keeps its share until its requests have been served, and gets no new ones. */
function levelBuilder(seats: number, newLevel: (name: string) => PriorityLevel) {
  const known = new Map<string, PriorityLevel>()
  return (configurations: readonly PriorityLevelConfiguration[]): Map<string, PriorityLevel> => {
    for (const level of known.values()) level.isQuiescing = true
    for (const one of configurations) {
      const name = one.metadata.name ?? ''
      const level = known.get(name) ?? newLevel(name)
      known.set(name, level)
      level.configure(one)
    }
    for (const [name, { isQuiescing, queueSet }] of known) {
      if (isQuiescing && queueSet.isIdle) known.delete(name)
    }
    const shares = [...known.values()].reduce((sum, level) => sum + level.shares, 0)
    for (const level of known.values()) level.share(seats, shares)
    return known
  }
}

export interface FollowedFlowConfiguration {
  /** The configuration by the objects of this moment. */
  current(): FlowConfiguration
  /** A level that is quiescing may be idle now: builds the configuration anew when it is next used. */
  forget(): void
}

export interface ConfigurationParts extends FlowConfigurationOptions, FlowBuilderOptions {
  readonly newLevel: (name: string) => PriorityLevel
  /** A new configuration was built: sets the levels' limits. */
  readonly onBuilt: (levels: readonly PriorityLevel[]) => void
}

/** Follows the objects. A configuration is built when it is next used, or soon if requests wait. */
export function followFlowConfiguration(parts: ConfigurationParts): FollowedFlowConfiguration {
  const { reader, resources, dialect, onBuilt } = parts
  const { flowSchemas, priorityLevelConfigurations } = resources
  const mandatory = mandatoryFlowControl(dialect)
  const levelsOf = levelBuilder(parts.seats, parts.newLevel)
  const flowsOf = flowBuilder(parts)
  let last: FlowConfiguration | undefined
  let isCurrent = false

  function built(): FlowConfiguration {
    const levels = levelsOf(
      withMandatory<PriorityLevelConfiguration>(
        reader.list(priorityLevelConfigurations),
        mandatory.levels,
      ),
    )
    const schemas = withMandatory<FlowSchema>(reader.list(flowSchemas), mandatory.schemas)
    const sorted = [...levels.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return { levels: sorted, flows: flowsOf(schemas, levels) }
  }

  const current = (): FlowConfiguration => {
    if (last !== undefined && isCurrent) return last
    last = built()
    isCurrent = true
    onBuilt(last.levels)
    return last
  }
  const forget = (): void => {
    if (!isCurrent) return
    isCurrent = false
    // The changed levels may have more seats for them.
    if (last?.levels.some(({ queueSet }) => queueSet.waiting > 0)) queueMicrotask(current)
  }
  reader.onChange(flowSchemas, forget)
  reader.onChange(priorityLevelConfigurations, forget)
  return { current, forget }
}
