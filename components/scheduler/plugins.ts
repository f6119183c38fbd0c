/** The explicit list of scheduling plugins (upstream: framework/plugins/registry.go). */
import type { PluginArguments } from './configuration/plugin-arguments.ts'
import type { Handle, Plugin } from './plugin.ts'
import { defaultBinder } from './plugins/default-binder.ts'
import { defaultPreemption } from './plugins/default-preemption.ts'
import { dynamicResources } from './plugins/dynamic-resources/dynamic-resources.ts'
import { imageLocality } from './plugins/image-locality.ts'
import { interPodAffinity } from './plugins/inter-pod-affinity.ts'
import { nodeAffinity } from './plugins/node-affinity.ts'
import { nodeName } from './plugins/node-name.ts'
import { nodePorts } from './plugins/node-ports.ts'
import { nodeResourcesBalancedAllocation } from './plugins/node-resources-balanced-allocation.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit.ts'
import { nodeUnschedulable } from './plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from './plugins/node-volume-limits.ts'
import { podTopologySpread } from './plugins/pod-topology-spread.ts'
import { prioritySort } from './plugins/priority-sort.ts'
import { schedulingGates } from './plugins/scheduling-gates.ts'
import { taintToleration } from './plugins/taint-toleration.ts'
import { volumeBinding } from './plugins/volume-binding.ts'
import { volumeRestrictions } from './plugins/volume-restrictions.ts'
import { volumeZone } from './plugins/volume-zone.ts'

/** Makes one profile's instance of a plugin. */
export type PluginFactory = (handle: Handle, args: PluginArguments) => Plugin

/** By name. */
export const pluginRegistry: ReadonlyMap<string, PluginFactory> = new Map<string, PluginFactory>([
  ['SchedulingGates', () => schedulingGates],
  ['PrioritySort', () => prioritySort],
  ['NodeUnschedulable', nodeUnschedulable],
  ['NodeName', () => nodeName],
  ['TaintToleration', () => taintToleration],
  ['NodeAffinity', (_handle, { NodeAffinity: args }) => nodeAffinity(args)],
  ['NodePorts', () => nodePorts],
  ['NodeResourcesFit', (_handle, { NodeResourcesFit: args }) => nodeResourcesFit(args)],
  ['VolumeRestrictions', volumeRestrictions],
  ['NodeVolumeLimits', nodeVolumeLimits],
  ['VolumeBinding', (handle, args) => volumeBinding(handle, args.VolumeBinding)],
  ['VolumeZone', volumeZone],
  ['PodTopologySpread', (handle, args) => podTopologySpread(handle, args.PodTopologySpread)],
  [
    'InterPodAffinity',
    (handle, args) => interPodAffinity(args.InterPodAffinity, handle.namespaces),
  ],
  ['DynamicResources', dynamicResources],
  ['DefaultPreemption', (handle, args) => defaultPreemption(handle, args.DefaultPreemption)],
  [
    'NodeResourcesBalancedAllocation',
    (_handle, args) => nodeResourcesBalancedAllocation(args.NodeResourcesBalancedAllocation),
  ],
  ['ImageLocality', () => imageLocality],
  ['DefaultBinder', defaultBinder],
])
