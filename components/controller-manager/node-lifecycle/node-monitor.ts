/** Ages the nodes' heartbeats: silent nodes get Unknown conditions, and NoExecute taints zone by zone (upstream: monitorNodeHealth). */
import { backgroundOf, upkeepOf } from '../../component-base/clock.ts'
import type { Lease, Node, Pod } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { eachAtOnce } from '../batches.ts'
import type { ControllerContext } from '../controller-context.ts'
import { podsOnNode } from '../pod-indexes.ts'
import { untilReady } from '../until-ready.ts'
import type { PodMarker } from './mark-pods.ts'
import type { NodeHealth } from './node-health.ts'
import { showZones } from './node-lifecycle-metrics.ts'
import { isOverdue, isSilent, observe, readyOf, unknownConditions } from './node-health.ts'
import type { NodeTaintKeys } from './node-taints.ts'
import { hasTaint, noExecuteSwap } from './node-taints.ts'
import type { NodeWriter } from './node-writer.ts'
import { createTaintPacer } from './taint-pacer.ts'
import type { TaintPacer } from './taint-pacer.ts'
import { disruptionOf, evictionRate, zoneOf, zoneState } from './zones.ts'
import type { ZoneState } from './zones.ts'

const nodesAtOnce = 20

export interface NodeMonitorOptions {
  readonly context: ControllerContext
  readonly nodes: Informer<Node>
  readonly pods: Informer<Pod>
  readonly leases: Informer<Lease>
  readonly nodeClient: ResourceClient<Node>
  readonly writer: NodeWriter
  readonly marker: PodMarker
  readonly keys: NodeTaintKeys
}

interface NodeMonitor extends NodeMonitorOptions {
  readonly health: Map<string, NodeHealth>
  /** Nodes seen so far in their last state, which the event about their removal refers to. */
  readonly known: Map<string, Node>
  /** Nodes some of whose pods could not be marked. */
  readonly unmarked: Set<string>
  readonly pacer: TaintPacer
  zones: ReadonlyMap<string, ZoneState>
}

/** Runs until `signal` aborts; rejects with the signal's reason then. */
export async function runNodeMonitor(
  options: NodeMonitorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { context, nodes, pods, leases } = options
  const { clock } = context
  const pacer = createTaintPacer()
  const state = { health: new Map(), known: new Map(), unmarked: new Set<string>() }
  const monitor: NodeMonitor = { ...options, ...state, pacer, zones: new Map() }
  const periodMs = context.options['node-monitor-period']
  if (!(await untilReady([nodes, pods, leases], signal))) return
  for (let nextPassMs = clock.now(); !signal.aborted;) {
    if (clock.now() >= nextPassMs) {
      nextPassMs = clock.now() + periodMs
      await monitorNodeHealth(monitor)
    }
    await taintNext(monitor)
    const waitMs = Math.max(
      1,
      Math.min(nextPassMs - clock.now(), pacer.nextInMs(clock.now()) ?? Infinity),
    )
    const dueMs = clock.now() + waitMs
    await (waitsForNode(monitor) ? backgroundOf : upkeepOf)(clock).sleep(waitMs, signal)
    const lostMs = clock.now() - dueMs
    if (Math.abs(lostMs) < periodMs) continue
    leaveOut(monitor, lostMs)
    nextPassMs += lostMs
  }
}

/** Whether a node may soon be found lost, has to be tainted, or has pods that are still to be marked. */
function waitsForNode({ context, nodes, leases, health, pacer, unmarked }: NodeMonitor): boolean {
  const nowMs = context.clock.now()
  if (unmarked.size > 0 || pacer.nextInMs(nowMs) !== undefined) return true
  return nodes.list().some((node) => {
    const name = node.metadata.name ?? ''
    const seen = health.get(name)
    if (seen === undefined || readyOf(node)?.status === 'Unknown') return false
    return isOverdue(seen, leases.get(`${context.dialect.nodeLeaseNamespace}/${name}`), nowMs)
  })
}

async function monitorNodeHealth(monitor: NodeMonitor): Promise<void> {
  const { nodes, context } = monitor
  const { dialect, log } = context
  const exclusion = labelKey(dialect, 'node', 'exclude-disruption')
  const { allNodesSeconds, nodeSeconds } = context.metrics.nodeLifecycle
  const since = (startedMs: number): number => (context.clock.elapsed() - startedMs) / 1000
  const startedMs = context.clock.elapsed()
  classifyNodes(monitor)
  const ready = new Map<string, boolean[]>()
  const failures = await eachAtOnce(nodes.list(), nodesAtOnce, async (node) => {
    const nodeStartedMs = context.clock.elapsed()
    const status = await monitorNode(monitor, node)
    nodeSeconds.observe(since(nodeStartedMs))
    if (status === undefined || node.metadata.labels?.[exclusion] !== undefined) return
    const zone = zoneOf(node, dialect)
    if (ready.get(zone)?.push(status === 'True') === undefined) ready.set(zone, [status === 'True'])
  })
  for (const error of failures) log.warn('a node was not looked after', { why: messageOf(error) })
  showZones(context.metrics.nodeLifecycle, ready, monitor.zones.keys())
  await handleDisruption(monitor, ready)
  allNodesSeconds.observe(since(startedMs))
}

/** Records an event for every node that was added or removed, and forgets the removed ones. */
function classifyNodes({ context, nodes, known, health, unmarked, pacer }: NodeMonitor): void {
  const all = nodes.list()
  const present = new Set(all.map((node) => node.metadata.name ?? ''))
  const record = (node: Node, reason: string, message: string): void =>
    context.recorder.record(node, { type: 'Normal', reason, message })
  for (const node of all) {
    const name = node.metadata.name ?? ''
    if (!known.has(name)) record(node, 'RegisteredNode', `Registered Node ${name} in Controller`)
    known.set(name, node)
  }
  for (const [name, node] of known) {
    if (present.has(name)) continue
    known.delete(name)
    health.delete(name)
    unmarked.delete(name)
    pacer.remove(name)
    record(node, 'RemovingNode', `Removing Node ${name} from Controller`)
  }
}

/** Resolves with the status of Ready after the look; undefined if the node is gone. */
async function monitorNode(monitor: NodeMonitor, node: Node): Promise<string | undefined> {
  const { context, pods, marker, unmarked } = monitor
  const name = node.metadata.name ?? ''
  const found = await updateNodeHealth(monitor, node)
  if (found === undefined) return undefined
  const { before, after } = found
  // As upstream, the next pass acts on a condition set just now: by then it knows the state of the node's zone.
  if (before !== undefined) await followReady(monitor, node, before)
  const isNews = before === 'True' && after !== 'True'
  if (isNews) {
    const message = `Node ${name} status is now: NodeNotReady`
    context.recorder.record(node, { type: 'Normal', reason: 'NodeNotReady', message })
  }
  if (isNews || (unmarked.has(name) && after !== 'True')) {
    unmarked.add(name)
    await marker.markNotReady(podsOnNode(pods, name))
  }
  unmarked.delete(name)
  return after
}

/** Observes the node's heartbeat and sets Unknown conditions if it is silent. Resolves with Ready before and after. */
function updateNodeHealth(
  { context, leases, nodeClient, writer, health }: NodeMonitor,
  node: Node,
) {
  const { clock, dialect, options } = context
  const graces = {
    monitorMs: options['node-monitor-grace-period'],
    startupMs: options['node-startup-grace-period'],
  }
  return writer.withNode(node, async (current) => {
    const name = current.metadata.name ?? ''
    const nowMs = clock.now()
    const lease = leases.get(`${dialect.nodeLeaseNamespace}/${name}`)
    const seen = observe(health.get(name), { node: current, lease }, nowMs)
    health.set(name, seen)
    const before = readyOf(current)?.status
    const conditions = isSilent(seen, current, { ...graces, nowMs })
      ? unknownConditions(current, nowMs)
      : undefined
    if (conditions === undefined) return { before, after: before }
    const status = { ...current.status, conditions }
    const updated = await nodeClient.updateStatus({ ...current, status })
    // This write is not a heartbeat of the node.
    health.set(name, { ...seen, heartbeat: readyOf(updated)?.lastHeartbeatTime })
    return { before, after: readyOf(updated)?.status }
  })
}

/** Queues the node for its NoExecute taint, corrects a wrong taint, or removes it. */
async function followReady(
  monitor: NodeMonitor,
  node: Node,
  status: string | undefined,
): Promise<void> {
  if (status === 'True') {
    await markReachable(monitor, node)
    return
  }
  const { context, writer, keys, pacer } = monitor
  const wanted = noExecuteSwap(status, keys)
  if (wanted.remove.some((taint) => hasTaint(node, taint)))
    await writer.swapTaints(node, () => wanted)
  else if (!wanted.add.every((taint) => hasTaint(node, taint)))
    pacer.add(zoneOf(node, context.dialect), node.metadata.name ?? '')
}

async function markReachable({ writer, keys, pacer }: NodeMonitor, node: Node): Promise<void> {
  pacer.remove(node.metadata.name ?? '')
  await writer.swapTaints(node, () => noExecuteSwap('True', keys))
}

/** Sets each zone's eviction rate. If no zone has a ready node, it stops evictions and removes the taints. */
async function handleDisruption(
  monitor: NodeMonitor,
  ready: ReadonlyMap<string, boolean[]>,
): Promise<void> {
  const { context, nodes, health, pacer } = monitor
  const { clock, log, options } = context
  const states = new Map(
    [...ready].map(([zone, all]) => {
      const up = all.filter(Boolean).length
      const counts = { ready: up, notReady: all.length - up }
      return [zone, zoneState(counts, options['unhealthy-zone-threshold'])]
    }),
  )
  const disruption = disruptionOf(monitor.zones, states)
  const nowMs = clock.now()
  monitor.zones = states
  if (disruption === 'none') return
  if (disruption === 'halt') {
    log.warn('no node is heard of in any zone; no pod is evicted')
    for (const zone of states.keys()) pacer.setRate(zone, 0, nowMs)
    await eachAtOnce(nodes.list(), nodesAtOnce, (node) => markReachable(monitor, node))
    return
  }
  if (disruption === 'resume') {
    log.info('a node is heard of again; evictions are possible')
    for (const [name, { heartbeat, renewal }] of health)
      health.set(name, { seenAtMs: nowMs, heartbeat, renewal })
  }
  const rates = {
    normal: options['node-eviction-rate'],
    secondary: options['secondary-node-eviction-rate'],
    largeClusterSize: options['large-cluster-size-threshold'],
  }
  for (const [zone, state] of states)
    pacer.setRate(zone, evictionRate(state, ready.get(zone)?.length ?? 0, rates), nowMs)
}

/** Taints the nodes whose turn it is (upstream: doNoExecuteTaintingPass). */
async function taintNext({ context, nodes, writer, keys, pacer }: NodeMonitor): Promise<void> {
  const { clock, dialect, log } = context
  for (const name of pacer.take(clock.now())) {
    const node = nodes.get(name)
    const status = node && readyOf(node)?.status
    if (node === undefined || status === 'True' || status === undefined) continue
    try {
      await writer.swapTaints(node, () => noExecuteSwap(status, keys))
      context.metrics.nodeLifecycle.evictions.with(zoneOf(node, dialect)).inc()
    } catch (error) {
      log.warn('node not tainted; trying again', { node: name, why: messageOf(error) })
      pacer.add(zoneOf(node, dialect), name)
    }
  }
}

/** Leaves a jump of the clock out of every node's silence: the clock was set, or the machine slept. */
function leaveOut({ context, health }: NodeMonitor, lostMs: number): void {
  context.log.info('the clock jumped', { ms: lostMs })
  for (const [name, seen] of health) health.set(name, { ...seen, seenAtMs: seen.seenAtMs + lostMs })
}
