/** Profile: the plugins that schedule the pods of one `spec.schedulerName` (upstream: profile.Map, framework/runtime). */
import { StartError } from '../component-base/component.ts'
import type { PluginArguments } from './configuration/plugin-arguments.ts'
import { defaultPluginArguments } from './configuration/plugin-arguments.ts'
import type { EnabledPlugin, PluginSets } from './configuration/plugin-sets.ts'
import { defaultPlugins, multiPointOf, pluginsAt } from './configuration/plugin-sets.ts'
import type { ExtensionPoint } from './extension-points.ts'
import { extensionPoints, takesPartIn } from './extension-points.ts'
import type { Handle, Plugin, PluginWith } from './plugin.ts'
import { pluginRegistry } from './plugins.ts'

/** How a profile is configured, completed with defaults. */
export interface ProfileSettings {
  readonly schedulerName: string
  readonly percentageOfNodesToScore: number
  readonly plugins: PluginSets
  readonly args: PluginArguments
}

/** The profile that upstream has without any configuration. */
export function defaultProfile(schedulerName: string): ProfileSettings {
  return { schedulerName, percentageOfNodesToScore: 0, plugins: {}, args: defaultPluginArguments }
}

export interface WeightedPlugin {
  readonly plugin: PluginWith<'score'>
  readonly weight: number
}

/** Plugins by extension point, in the order they are asked. */
export interface Profile {
  readonly schedulerName: string
  /** 0 adapts to the size of the cluster. */
  readonly percentageOfNodesToScore: number
  readonly queueSort: PluginWith<'compare'>
  readonly preEnqueues: readonly PluginWith<'preEnqueue'>[]
  /** The first rejection of a node is the one reported. */
  readonly filters: readonly PluginWith<'filter'>[]
  /** Plugins that may name the only nodes that could pass. */
  readonly narrowing: readonly PluginWith<'candidates'>[]
  readonly postFilters: readonly PluginWith<'postFilter'>[]
  readonly scores: readonly WeightedPlugin[]
  readonly reserves: readonly PluginWith<'reserve'>[]
  /** Names of the plugins whose reservations run before the binding. */
  readonly preBinds: ReadonlySet<string>
  readonly binds: readonly PluginWith<'bind'>[]
  /** Every plugin, by name. */
  readonly plugins: ReadonlyMap<string, Plugin>
}

function namesIn(sets: PluginSets, multiPoint: readonly EnabledPlugin[]): Set<string> {
  const names = new Set(multiPoint.map(({ name }) => name))
  for (const point of extensionPoints) {
    for (const { name } of sets[point]?.enabled ?? []) names.add(name)
  }
  return names
}

function makePlugins(
  names: Iterable<string>,
  args: PluginArguments,
  handle: Handle,
): Map<string, Plugin> {
  const made = new Map<string, Plugin>()
  for (const name of names) {
    const create = pluginRegistry.get(name)
    if (create === undefined) throw new Error(`plugin "${name}" does not exist`)
    made.set(name, create(handle, args))
  }
  return made
}

function has<K extends keyof Plugin>(plugin: Plugin, method: K): plugin is PluginWith<K> {
  return plugin[method] !== undefined
}

/** Throws a StartError that names the profile. */
export function createProfile(settings: ProfileSettings, handle: Handle): Profile {
  try {
    return assemble(settings, handle)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(
      `creating profile for scheduler name ${settings.schedulerName}: ${why}`,
      error,
    )
  }
}

function assemble(settings: ProfileSettings, handle: Handle): Profile {
  const { plugins: sets, args } = settings
  const multiPoint = multiPointOf(sets, defaultPlugins(handle.devices !== undefined))
  const plugins = makePlugins(namesIn(sets, multiPoint), args, handle)
  const at = (point: ExtensionPoint): readonly EnabledPlugin[] => {
    const takesPart = (name: string): boolean => {
      const plugin = plugins.get(name)
      return plugin !== undefined && takesPartIn(plugin, point)
    }
    const enabled = pluginsAt(point, { sets, multiPoint }, takesPart)
    const seen = new Set<string>()
    for (const { name } of enabled) {
      if (!takesPart(name)) throw new Error(`plugin "${name}" does not extend ${point} plugin`)
      if (seen.has(name)) throw new Error(`plugin "${name}" already registered as "${point}"`)
      seen.add(name)
    }
    return enabled
  }
  const which = <K extends keyof Plugin>(point: ExtensionPoint, method: K): PluginWith<K>[] =>
    at(point).flatMap(({ name }) => {
      const plugin = plugins.get(name)
      return plugin !== undefined && has(plugin, method) ? [plugin] : []
    })
  const [queueSort, ...moreSorts] = which('queueSort', 'compare')
  if (queueSort === undefined) throw new Error('no queue sort plugin is enabled')
  if (moreSorts.length > 0) throw new Error('only one queue sort plugin can be enabled')
  const binds = which('bind', 'bind')
  if (binds.length === 0) throw new Error('at least one bind plugin is needed')
  return {
    schedulerName: settings.schedulerName,
    percentageOfNodesToScore: settings.percentageOfNodesToScore,
    queueSort,
    preEnqueues: which('preEnqueue', 'preEnqueue'),
    filters: which('filter', 'filter'),
    narrowing: which('preFilter', 'candidates'),
    postFilters: which('postFilter', 'postFilter'),
    scores: scoresOf(at('score'), { plugins, multiPoint }),
    reserves: which('reserve', 'reserve'),
    preBinds: new Set(at('preBind').map(({ name }) => name)),
    binds,
    plugins,
  }
}

/** The weight at `score` wins over that at `multiPoint`; none is 1. */
function scoresOf(
  enabled: readonly EnabledPlugin[],
  {
    plugins,
    multiPoint,
  }: { plugins: ReadonlyMap<string, Plugin>; multiPoint: readonly EnabledPlugin[] },
): WeightedPlugin[] {
  const multi = new Map(multiPoint.map(({ name, weight }) => [name, weight]))
  return enabled.flatMap(({ name, weight }) => {
    const plugin = plugins.get(name)
    if (plugin === undefined || !has(plugin, 'score')) return []
    return [{ plugin, weight: weight || multi.get(name) || 1 }]
  })
}
