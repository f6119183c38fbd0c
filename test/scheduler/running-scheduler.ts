/** A scheduler that runs on a harness's cluster, beside controllers. */
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { compileDeviceSelector } from '../../components/cel/device-selector.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { createEventHandlers, followRegistered } from '../../components/scheduler/event-handlers.ts'
import type { DeviceSupport } from '../../components/scheduler/plugin.ts'
import { createPodReporter } from '../../components/scheduler/pod-reporter.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import { runScheduler } from '../../components/scheduler/scheduler.ts'
import { SchedulingQueue } from '../../components/scheduler/scheduling-queue.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import { isWaiting } from '../../components/scheduler/waiting-pod.ts'
import { defaultRights } from '../support/component-rights.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'

const schedulerName = 'default-scheduler'

function deviceSupport({ context: { gates } }: ReconcilerHarness): DeviceSupport | undefined {
  if (!gates.DynamicResourceAllocation) return undefined
  return { compile: compileDeviceSelector, allowsAdminAccess: gates.DRAAdminAccess }
}

/** Schedules until the signal aborts; gives what it reports. It has the default roles' rights, and the harness's gates. */
export async function startScheduler(
  harness: ReconcilerHarness,
  signal: AbortSignal,
): Promise<string[]> {
  const { cluster, clock, resources, context } = harness
  const gates = { ...defaultFeatureGates, ...context.gates }
  cluster.react('create', 'pods/binding', ({ key, object }) => {
    const { target } = object as { target: { name: string } }
    cluster.change(resources.pods, key, (stored) => {
      stored['spec'].nodeName = target.name
    })
    return {}
  })
  const client = cluster.client(defaultRights(cluster.dialect, gates)('system:kube-scheduler'))
  const snapshot = new Snapshot()
  const informers = createInformerFactory(client, clock, silentLog)
  const { dialect } = cluster
  const profile = createProfile(defaultProfile(schedulerName), {
    dialect,
    client,
    informers,
    namespaces: snapshot,
    extenders: [],
    devices: deviceSupport(harness),
    clock,
    log: silentLog,
  })
  const profiles = new Map([[schedulerName, profile]])
  const { queueSort } = profile
  const queue = new SchedulingQueue({ clock, queueSort, pluginsFor: () => profile })
  const pods = informers.informer<Pod>(resources.pods)
  const schedulerNames = new Set([schedulerName])
  const handlers = createEventHandlers({ queue, snapshot, schedulerNames })
  pods.onEvent(handlers.onPod)
  informers.informer<Node>(resources.nodes).onEvent(handlers.onNode)
  followRegistered(client, { queue, profiles, informers })
  const recorded: string[] = []
  const reporter = createPodReporter({
    pods: client.resource<Pod>(resources.pods),
    record: (_from, { metadata }, { reason, message }) => {
      recorded.push(`${metadata.name} ${reason}: ${message}`)
    },
    clock,
  })
  const waitingPod = (key: string): Pod | undefined => {
    const found = pods.get(key)
    return found !== undefined && isWaiting(found, profiles) ? found : undefined
  }
  void informers.run(signal)
  await informers.ready()
  const options = { queue, snapshot, profiles, reporter, waitingPod, clock, log: silentLog }
  void runScheduler(options, signal)
  return recorded
}
