/** Watches the nodes' life signs: silent nodes get Unknown conditions and taints (upstream: pkg/controller/nodelifecycle). */
import type { Lease, Node, Pod } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { eachAtOnce } from '../batches.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { indexByNode, podsOnNode } from '../pod-indexes.ts'
import { untilReady } from '../until-ready.ts'
import { createPodMarker } from './mark-pods.ts'
import type { NodeHealth } from './node-health.ts'
import { isSilent, observe, readyOf, unknownConditions } from './node-health.ts'
import {
  hasTaint,
  nodeTaintKeys,
  noExecuteSwap,
  noScheduleSwap,
  swapTaints,
} from './node-taints.ts'
import type { TaintSwap } from './node-taints.ts'
import { createTaintPacer } from './taint-pacer.ts'
import { disruptionOf, evictionRate, zoneOf, zoneState } from './zones.ts'
import type { ZoneState } from './zones.ts'

const nodesAtOnce = 20
const maxTries = 5

/** Runs until `signal` aborts. */
export async function runNodeLifecycle(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
  const nodes = informers.informer<Node>(resources.nodes)
  const pods = informers.informer<Pod>(resources.pods)
  const leaseNamespace = dialect.nodeLeaseNamespace
  const leases = informers.informer<Lease>(resources.leases, { namespace: leaseNamespace })
  indexByNode(pods)
  const nodeClient = client.resource<Node>(resources.nodes)
  const marker = createPodMarker({ pods: client.resource<Pod>(resources.pods), recorder, clock })
  const keys = nodeTaintKeys(dialect)
  const exclusion = labelKey(dialect, 'node', 'exclude-disruption')
  const graces = {
    monitorMs: options['node-monitor-grace-period'],
    startupMs: options['node-startup-grace-period'],
  }
  const rates = {
    normal: options['node-eviction-rate'],
    secondary: options['secondary-node-eviction-rate'],
    largeClusterSize: options['large-cluster-size-threshold'],
  }
  const health = new Map<string, NodeHealth>()
  /** Nodes that were seen, with their last state for telling of their end. */
  const known = new Map<string, Node>()
  /** Nodes some of whose pods could not be marked. */
  const unmarked = new Set<string>()
  const pacer = createTaintPacer()
  let zones: ReadonlyMap<string, ZoneState> = new Map()

  /** Does `act` with the node, and again with the server's when it had changed. Gives undefined when it is gone. */
  const withNode = async <T>(
    node: Node,
    act: (node: Node) => Promise<T>,
  ): Promise<T | undefined> => {
    let current = node
    for (let tries = 1; ; tries += 1) {
      try {
        return await act(current)
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        if (!isStatusError(error, 'Conflict') || tries === maxTries) throw error
      }
      try {
        current = await nodeClient.get({ name: node.metadata.name ?? '' })
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        throw error
      }
    }
  }
  const swap = async (node: Node, wanted: (node: Node) => TaintSwap): Promise<void> => {
    await withNode(node, async (current) => {
      const taints = swapTaints(current.spec?.taints, wanted(current), timestamp(clock.now()))
      if (taints === undefined) return
      const { name = '', resourceVersion } = current.metadata
      const patch = {
        metadata: { resourceVersion },
        spec: { taints: taints.length === 0 ? null : taints },
      }
      await nodeClient.patch({ name }, patch, { type: 'merge' })
    })
  }
  const markReachable = async (node: Node): Promise<void> => {
    pacer.remove(node.metadata.name ?? '')
    await swap(node, () => noExecuteSwap('True', keys))
  }

  /** Takes in the node's life signs and marks it when there were none for too long. Gives Ready before and after. */
  const probe = (node: Node) =>
    withNode(node, async (current) => {
      const name = current.metadata.name ?? ''
      const nowMs = clock.now()
      const lease = leases.get(`${leaseNamespace}/${name}`)
      const seen = observe(health.get(name), { node: current, lease }, nowMs)
      health.set(name, seen)
      const before = readyOf(current)?.status
      const conditions = isSilent(seen, current, { ...graces, nowMs })
        ? unknownConditions(current, nowMs)
        : undefined
      if (conditions === undefined) return { before, after: before }
      const status = { ...current.status, conditions }
      const updated = await nodeClient.updateStatus({ ...current, status })
      // What was written here is no sign of life.
      health.set(name, { ...seen, heartbeat: readyOf(updated)?.lastHeartbeatTime })
      return { before, after: readyOf(updated)?.status }
    })

  /** Lines the node up for its NoExecute taint, corrects a wrong one, or takes it off. */
  const followReady = async (node: Node, status: string | undefined): Promise<void> => {
    if (status === 'True') {
      await markReachable(node)
      return
    }
    const wanted = noExecuteSwap(status, keys)
    if (wanted.remove.some((taint) => hasTaint(node, taint))) await swap(node, () => wanted)
    else if (!wanted.add.every((taint) => hasTaint(node, taint)))
      pacer.add(zoneOf(node, dialect), node.metadata.name ?? '')
  }

  const look = async (node: Node): Promise<string | undefined> => {
    const name = node.metadata.name ?? ''
    const found = await probe(node)
    if (found === undefined) return undefined
    const { before, after } = found
    // As upstream, what was marked just now is acted on in the next pass, when its zone's state is known.
    if (before !== undefined) await followReady(node, before)
    const isNews = before === 'True' && after !== 'True'
    if (isNews) {
      const message = `Node ${name} status is now: NodeNotReady`
      recorder.record(node, { type: 'Normal', reason: 'NodeNotReady', message })
    }
    if (isNews || (unmarked.has(name) && after !== 'True')) {
      unmarked.add(name)
      await marker.markNotReady(podsOnNode(pods, name))
    }
    unmarked.delete(name)
    return after
  }

  const tellOfNodes = (): void => {
    const all = nodes.list()
    const present = new Set(all.map((node) => node.metadata.name ?? ''))
    const tell = (node: Node, reason: string, message: string): void =>
      recorder.record(node, { type: 'Normal', reason, message })
    for (const node of all) {
      const name = node.metadata.name ?? ''
      if (!known.has(name)) tell(node, 'RegisteredNode', `Registered Node ${name} in Controller`)
      known.set(name, node)
    }
    for (const [name, node] of known) {
      if (present.has(name)) continue
      known.delete(name)
      health.delete(name)
      unmarked.delete(name)
      pacer.remove(name)
      tell(node, 'RemovingNode', `Removing Node ${name} from Controller`)
    }
  }

  const judgeZones = async (ready: ReadonlyMap<string, boolean[]>): Promise<void> => {
    const threshold = options['unhealthy-zone-threshold']
    const states = new Map(
      [...ready].map(([zone, all]) => {
        const up = all.filter(Boolean).length
        return [zone, zoneState({ ready: up, notReady: all.length - up }, threshold)]
      }),
    )
    const disruption = disruptionOf(zones, states)
    const nowMs = clock.now()
    zones = states
    if (disruption === 'none') return
    if (disruption === 'halt') {
      log.warn('no node is heard of in any zone; no pod is evicted')
      for (const zone of states.keys()) pacer.setRate(zone, 0, nowMs)
      await eachAtOnce(nodes.list(), nodesAtOnce, markReachable)
      return
    }
    if (disruption === 'resume') {
      log.info('a node is heard of again; evictions are possible')
      for (const [name, { heartbeat, renewal }] of health)
        health.set(name, { seenAtMs: nowMs, heartbeat, renewal })
    }
    for (const [zone, state] of states)
      pacer.setRate(zone, evictionRate(state, ready.get(zone)?.length ?? 0, rates), nowMs)
  }

  const pass = async (): Promise<void> => {
    tellOfNodes()
    const ready = new Map<string, boolean[]>()
    const failures = await eachAtOnce(nodes.list(), nodesAtOnce, async (node) => {
      const status = await look(node)
      if (status === undefined || node.metadata.labels?.[exclusion] !== undefined) return
      const zone = zoneOf(node, dialect)
      ready.set(zone, [...(ready.get(zone) ?? []), status === 'True'])
    })
    for (const error of failures) log.warn('a node was not looked after', { why: messageOf(error) })
    await judgeZones(ready)
  }

  const taintNext = async (): Promise<void> => {
    for (const name of pacer.take(clock.now())) {
      const node = nodes.get(name)
      const status = node && readyOf(node)?.status
      if (node === undefined || status === 'True' || status === undefined) continue
      try {
        await swap(node, () => noExecuteSwap(status, keys))
      } catch (error) {
        log.warn('node not tainted; trying again', { node: name, why: messageOf(error) })
        pacer.add(zoneOf(node, dialect), name)
      }
    }
  }
  /** Time that nobody lived through: the clock was set, or the machine slept. No node's silence is measured by it. */
  const leaveOut = (lostMs: number): void => {
    log.info('the clock jumped', { ms: lostMs })
    for (const [name, seen] of health)
      health.set(name, { ...seen, seenAtMs: seen.seenAtMs + lostMs })
  }
  const monitor = async (): Promise<void> => {
    const periodMs = options['node-monitor-period']
    if (!(await untilReady([nodes, pods, leases], signal))) return
    for (let nextPassMs = clock.now(); !signal.aborted;) {
      if (clock.now() >= nextPassMs) {
        nextPassMs = clock.now() + periodMs
        await pass()
      }
      await taintNext()
      const waitMs = Math.max(
        1,
        Math.min(nextPassMs - clock.now(), pacer.nextInMs(clock.now()) ?? Infinity),
      )
      const dueMs = clock.now() + waitMs
      await clock.sleep(waitMs, signal)
      const lostMs = clock.now() - dueMs
      if (Math.abs(lostMs) < periodMs) continue
      leaveOut(lostMs)
      nextPassMs += lostMs
    }
  }

  // A pod that was bound to a node which is not ready is not ready either; its later states are for its node to tell.
  const boundPods = queues('node_lifecycle_controller_pods')
  pods.onEvent((event) => {
    const { nodeName } = event.object.spec ?? {}
    const isNew =
      event.type === 'add' || (event.type === 'update' && event.old.spec?.nodeName !== nodeName)
    if (nodeName && isNew) boundPods.add(keyOf(event.object))
  })
  const markBound = async (key: string): Promise<void> => {
    const pod = pods.get(key)
    const node = nodes.get(pod?.spec?.nodeName ?? '')
    const status = node && readyOf(node)?.status
    if (pod !== undefined && status !== undefined && status !== 'True')
      await marker.markNotReady([pod])
  }
  const name = 'node-lifecycle-controller'
  await Promise.all([
    monitor().catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
    runController(
      {
        queues,
        name,
        informers: [source(nodes)],
        reconcile: async (key) => {
          const node = nodes.get(key)
          if (node !== undefined) await swap(node, (current) => noScheduleSwap(current, keys))
        },
        workers: 8,
        clock,
        log,
      },
      signal,
    ),
    runController(
      {
        queues,
        name,
        informers: [source(pods, () => []), source(nodes, () => [])],
        reconcile: markBound,
        queue: boundPods,
        workers: 4,
        clock,
        log,
      },
      signal,
    ),
  ])
}

export const nodeLifecycleController: ControllerEntry = {
  name: 'node-lifecycle-controller',
  aliases: ['nodelifecycle'],
  eventSource: 'node-controller',
  defaultOn: true,
  start: runNodeLifecycle,
}
