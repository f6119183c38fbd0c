/** Which plugins a profile enables at which extension points (upstream: apis/config/v1/default_plugins.go, framework/runtime, expandMultiPointPlugins). */
import type { ExtensionPoint } from '../extension-points.ts'

export interface EnabledPlugin {
  readonly name: string
  /** Of its scores; absent or 0: the default. */
  readonly weight?: number
}

export interface PluginSet {
  readonly enabled?: readonly EnabledPlugin[]
  /** `*` disables all that would be enabled by default. */
  readonly disabled?: readonly { readonly name: string }[]
}

/** `multiPoint` stands for every extension point that a plugin takes part in. */
export type PluginSets = { readonly [P in ExtensionPoint | 'multiPoint']?: PluginSet }

/** The plugins that every profile has unless it disables them, with the weights of their scores. */
const defaultMultiPoint: readonly EnabledPlugin[] = [
  { name: 'SchedulingGates' },
  { name: 'PrioritySort' },
  { name: 'NodeUnschedulable' },
  { name: 'NodeName' },
  { name: 'TaintToleration', weight: 3 },
  { name: 'NodeAffinity', weight: 2 },
  { name: 'NodePorts' },
  { name: 'NodeResourcesFit', weight: 1 },
  { name: 'VolumeRestrictions' },
  { name: 'NodeVolumeLimits' },
  { name: 'VolumeBinding' },
  { name: 'VolumeZone' },
  { name: 'PodTopologySpread', weight: 2 },
  { name: 'InterPodAffinity', weight: 2 },
  { name: 'DefaultPreemption' },
  { name: 'NodeResourcesBalancedAllocation', weight: 1 },
  { name: 'ImageLocality', weight: 1 },
  { name: 'DefaultBinder' },
]

/** The plugins that every profile has unless it disables them. With devices, their plugin comes before preemption: a claim is given back before a pod is evicted. */
export function defaultPlugins(withDevices: boolean): readonly EnabledPlugin[] {
  if (!withDevices) return defaultMultiPoint
  return defaultMultiPoint.flatMap((plugin) =>
    plugin.name === 'DefaultPreemption' ? [{ name: 'DynamicResources' }, plugin] : [plugin],
  )
}

function isDisabled({ disabled = [] }: PluginSet, name: string): boolean {
  return disabled.some((each) => each.name === name || each.name === '*')
}

/** The profile's multiPoint: the defaults that it does not disable, in their order, then what it adds. */
export function multiPointOf(
  { multiPoint = {} }: PluginSets,
  defaults: readonly EnabledPlugin[],
): readonly EnabledPlugin[] {
  const own = new Map((multiPoint.enabled ?? []).map((plugin) => [plugin.name, plugin]))
  const kept = defaults
    .filter(({ name }) => !isDisabled(multiPoint, name))
    .map((plugin) => own.get(plugin.name) ?? plugin)
  const names = new Set(kept.map(({ name }) => name))
  return [...kept, ...(multiPoint.enabled ?? []).filter(({ name }) => !names.has(name))]
}

/**
 * The plugins of one extension point in the order they are asked: first those of multiPoint that the point lists again, as it
 * lists them, then the rest of multiPoint, then the rest of the point.
 */
export function pluginsAt(
  point: ExtensionPoint,
  {
    sets,
    multiPoint,
  }: { readonly sets: PluginSets; readonly multiPoint: readonly EnabledPlugin[] },
  takesPart: (name: string) => boolean,
): readonly EnabledPlugin[] {
  const set = sets[point] ?? {}
  const listed = set.enabled ?? []
  const multi = multiPoint.filter(({ name }) => takesPart(name) && !isDisabled(set, name))
  const multiByName = new Map(multi.map((plugin) => [plugin.name, plugin]))
  const listedNames = new Set(listed.map(({ name }) => name))
  const again = listed.filter(({ name }) => multiByName.has(name))
  const rest = multi.filter(({ name }) => !listedNames.has(name))
  return [...again, ...rest, ...listed.filter(({ name }) => !multiByName.has(name))]
}
