/** Cluster: what both forms of a cluster share, over the form. */
import { faultShape } from '../cluster/lab/check-fault.ts'
import { serveApiService } from './api-service.ts'
import { applyManifests } from './apply-manifests.ts'
import type { ClusterForm } from './cluster-form.ts'
import { clusterNodes } from './cluster-nodes.ts'
import { connect } from './connection.ts'
import type { Connection } from './connection.ts'
import { createConversions } from './conversion.ts'
import { expectObjects } from './expect.ts'
import { createIdentities, userNameOf } from './identities.ts'
import { readManifests } from './manifests.ts'
import type { HeldMonitor } from './monitor.ts'
import { objectClientOver } from './object-client.ts'
import {
  checkApiService,
  checkApplied,
  checkConversion,
  checkChaos,
  checkDuration,
  checkHandler,
  checkIdentity,
  checkMoment,
  checkMonitor,
  checkNamespace,
  checkScenarioOptions,
  checkSettle,
  checkWebhook,
} from './options.ts'
import { checkedBy } from './option-shapes.ts'
import { runChaos } from './run-chaos.ts'
import { saveTo } from './save-to.ts'
import { storyOf } from './story.ts'
import type {
  Cluster,
  ClusterClock,
  ClusterFaults,
  ClusterMonitor,
  Identity,
  MonitorOptions,
  Registration,
  Snapshot,
} from './types.ts'
import { serveWebhook } from './webhook.ts'

/** What ends with the cluster. */
interface Holdings {
  readonly connections: Set<Connection>
  readonly registrations: Set<Registration>
  readonly monitors: Set<HeldMonitor>
}

export function clusterOver(form: ClusterForm): Cluster {
  const identities = createIdentities(form.authority)
  const held: Holdings = { connections: new Set(), registrations: new Set(), monitors: new Set() }
  let stopped: Promise<void> | undefined

  const open = (identity: Identity, namespace?: string): Connection => {
    if (stopped !== undefined) throw new Error('the cluster has been stopped')
    const { server, authority, dialect, clock } = form
    const connection = connect({
      server,
      ca: authority.certificatePem,
      credentials: identities.credentialsOf(identity),
      dialect,
      clock,
      namespace,
      user: userNameOf(identity),
    })
    held.connections.add(connection)
    return connection
  }
  const own = open('admin')
  const admin = objectClientOver(own)
  const { nodes, node, addNode } = clusterNodes(form)
  const cluster: Cluster = {
    server: form.server,
    form: form.form,
    admin,
    client: (identity = 'admin', options = {}) => {
      const { namespace } = checkNamespace('client', options)
      return clientOver(open(checkIdentity('client', identity), namespace), held)
    },
    kubeconfig: (identity = 'admin') => kubeconfigOf(cluster.client(identity)),
    apply: async (...what) => applyManifests(await readManifests(checkApplied(what)), own),
    expect: (expectation) => expectObjects(expectation, own, form.fault()),
    get nodes() {
      return nodes()
    },
    node,
    addNode,
    clock: clockOf(form),
    faults: faultsOf(form),
    logs: (component) => form.logs(component),
    ...momentsOf(form, held),
    save: (file) => saveTo(file, own, form.nodeNames()),
    ...handlerCalls(form, own, held),
    monitor: async (given) => {
      const checked = checkMonitor(given)
      return await holdMonitor(form, open('admin'), { checked, held })
    },
    ...storyCalls(form),
    story: ({ namespace = admin.namespace } = {}) =>
      storyOf({ client: admin, form }, { namespace }),
    stop: () => (stopped ??= endAll(form, held)),
    [Symbol.asyncDispose]: () => cluster.stop(),
  }
  return cluster
}

/** Each loads what it needs, which a test without it does not. */
function storyCalls(form: ClusterForm): Pick<Cluster, 'scenario' | 'simulate'> {
  return {
    scenario: async (what, options) => {
      const checked = checkScenarioOptions(options)
      const { runOn } = await import('./run-scenario.ts')
      return await runOn(form, what, checked)
    },
    simulate: async (given) => {
      const { checkSimulation } = await import('./simulation-options.ts')
      const { simulateFrom } = await import('./simulate-seeds.ts')
      return await simulateFrom(checkSimulation(given, true), await form.image())
    },
  }
}

function clockOf({ clock, time }: ClusterForm): ClusterClock {
  return {
    now: () => new Date(clock.now()),
    pause: async () => void (await time.pause()),
    resume: async () => void (await time.resume()),
    speed: async (times) => void (await time.speed(times)),
    advance: async (by) => void (await time.advance({ ms: checkDuration('advance', by) })),
    advanceTo: async (to) => void (await time.advance({ toMs: checkMoment('advanceTo', to) })),
    step: async () => void (await time.step()),
    settle: async (options = {}) => void (await time.settle(checkSettle(options))),
  }
}

function faultsOf({ faults, chaos }: ClusterForm): ClusterFaults {
  return {
    add: async (fault) => await faults.add(checkedBy(faultShape, 'faults.add', fault)),
    list: () => faults.list(),
    heal: (name) => faults.heal(name),
    chaos: async (options, meanwhile) => await runChaos(chaos, checkChaos(options), meanwhile),
  }
}

/** A client that the cluster forgets when it is closed. */
function clientOver(connection: Connection, { connections }: Holdings) {
  const client = objectClientOver(connection)
  const close = (): void => {
    connections.delete(connection)
    client.close()
  }
  return { ...client, close, [Symbol.dispose]: close }
}

/** Until it is disposed of, the registration ends with the cluster. */
function hold(registration: Registration, { registrations }: Holdings): Registration {
  const dispose = async (): Promise<void> => {
    try {
      await registration.dispose()
    } finally {
      registrations.delete(registration)
    }
  }
  registrations.add(registration)
  return { dispose, [Symbol.asyncDispose]: dispose }
}

/** Until it is stopped, the monitor ends with the cluster. */
async function holdMonitor(
  form: ClusterForm,
  connection: Connection,
  { checked, held }: { readonly checked: MonitorOptions; readonly held: Holdings },
): Promise<ClusterMonitor> {
  const onStop = (): void => {
    held.connections.delete(connection)
    held.monitors.delete(one)
  }
  // It brings CEL, which a start has no use for.
  const { monitorCluster } = await import('./monitor.ts')
  const one: HeldMonitor = await monitorCluster(form, connection, { ...checked, onStop })
  held.monitors.add(one)
  return one.monitor
}

/** What handlers of this process answer. */
function handlerCalls(
  form: ClusterForm,
  connection: Connection,
  held: Holdings,
): Pick<Cluster, 'webhook' | 'conversion' | 'apiService'> {
  const client = objectClientOver(connection)
  const convert = createConversions(client, form)
  return {
    webhook: async (options, handler) => {
      const [checked, answer] = [checkWebhook(options), checkHandler('webhook', handler)]
      return hold(await serveWebhook(client, form, checked, answer), held)
    },
    conversion: async (options, handler) => {
      const [checked, answer] = [checkConversion(options), checkHandler('conversion', handler)]
      return hold(await convert(checked, answer), held)
    },
    apiService: async (options, handler) => {
      const [checked, answer] = [checkApiService(options), checkHandler('apiService', handler)]
      return hold(await serveApiService(connection, form, checked, answer), held)
    },
  }
}

async function endAll(
  form: ClusterForm,
  { connections, registrations, monitors }: Holdings,
): Promise<void> {
  await Promise.allSettled([...monitors].map(({ monitor }) => monitor.stop()))
  const disposed = await Promise.allSettled([...registrations].map((one) => one.dispose()))
  for (const { client } of connections) client.close()
  await form.close()
  // What a handler threw: the test is to fail by it.
  for (const one of disposed) if (one.status === 'rejected') throw one.reason
}

/** Closes the client. */
function kubeconfigOf(client: ReturnType<Cluster['client']>): string {
  try {
    return client.kubeconfig()
  } finally {
    client[Symbol.dispose]()
  }
}

/** Snapshots and what is made of them. */
function momentsOf(
  form: ClusterForm,
  { monitors }: Holdings,
): Pick<Cluster, 'snapshot' | 'restore' | 'reset' | 'fork'> {
  const ids = new WeakMap<Snapshot, string>()
  const restartMonitors = (): void => {
    for (const one of monitors) one.restart()
  }
  return {
    snapshot: async () => {
      const { id, resourceVersion, takenAtMs, drop } = await form.snapshot()
      const takenAt = new Date(takenAtMs)
      const snapshot: Snapshot = { resourceVersion, takenAt, [Symbol.dispose]: drop }
      ids.set(snapshot, id)
      return snapshot
    },
    restore: async (to) => {
      const id = ids.get(to)
      if (id === undefined) throw new TypeError('restore: this is no snapshot of this cluster')
      await form.restore(id)
      restartMonitors()
    },
    reset: async () => {
      await form.reset()
      restartMonitors()
    },
    fork: async () => clusterOver(await form.fork()),
  }
}
