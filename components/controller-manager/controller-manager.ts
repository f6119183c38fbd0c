/** The controller manager: one leader at a time runs the selected controllers over shared informers. */
import type { FeatureGates } from '../api/feature-gates.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import { createEventRecorder } from '../client/event-recorder.ts'
import { createInformerFactory } from '../client/informer.ts'
import {
  electionIdentity,
  LeadershipLostError,
  runLeaderElection,
} from '../client/leader-elector.ts'
import type { Clock } from '../component-base/clock.ts'
import type { WorkQueues } from '../client/work-queue.ts'
import type { Files } from '../component-base/files.ts'
import type { Log } from '../component-base/log.ts'
import type { ControllerContext, ControllerEntry } from './controller-context.ts'
import type { ControllerMetrics } from './controller-metrics.ts'
import type { ControllerManagerOptions } from './options.ts'
import { serviceAccountOf } from './select-controllers.ts'

export interface ControllerManagerDeps {
  /** The manager's own identity: elects, feeds the informers, and makes the controllers' tokens. */
  readonly client: Client
  /** The client of a service account; undefined when all act as the manager. */
  readonly clientOf: ((account: string) => Client) | undefined
  readonly entries: readonly ControllerEntry[]
  readonly options: ControllerManagerOptions
  readonly gates: FeatureGates
  readonly files: Files
  readonly clock: Clock
  readonly log: Log
  readonly queues: WorkQueues
  readonly metrics: ControllerMetrics
  /** Called when this process starts and stops leading. */
  readonly onLeading?: (isLeading: boolean) => void
}

/**
 * Runs the entries until `signal` aborts; any that fails ends all the others, and the rejection is its own. Work under way goes on
 * to its end, but not when leadership is lost: then all clients are closed, for another process may be at the same work.
 */
export async function runControllers(
  deps: ControllerManagerDeps,
  signal: AbortSignal,
): Promise<void> {
  const { client, clientOf, entries, options, gates, files, clock, log } = deps
  const { dialect } = client
  const resources = resourcesOf(dialect)
  const informers = createInformerFactory(client, clock, log)
  const stop = new AbortController()
  const whole = AbortSignal.any([signal, stop.signal])
  const parts: Promise<void>[] = []
  const clients = new Set([client])
  signal.addEventListener('abort', () => {
    if (!(signal.reason instanceof LeadershipLostError)) return
    for (const one of clients) one.close()
  })
  const contextFor = ({ name, eventSource = name }: ControllerEntry): ControllerContext => {
    const account = serviceAccountOf(name)
    const own = account === undefined ? client : (clientOf?.(account) ?? client)
    clients.add(own)
    const bound = log.with({ controller: name })
    const recorder = createEventRecorder({
      events: own.resource(resources.events),
      component: eventSource,
      clock,
      log: bound,
    })
    parts.push(recorder.run(whole))
    return {
      client: own,
      informers,
      dialect,
      resources,
      files,
      clock,
      log: bound,
      recorder,
      queues: deps.queues,
      metrics: deps.metrics,
      options,
      gates,
    }
  }
  for (const entry of entries) {
    parts.push(entry.start(contextFor(entry), whole))
    log.debug('controller started', { controller: entry.name })
  }
  parts.push(informers.run(whole))
  try {
    await Promise.all(parts)
  } finally {
    stop.abort(new Error('a controller failed'))
    await Promise.allSettled(parts)
  }
}

/** Waits for leadership when it is wanted, then runs the controllers. Rejects when leadership is lost. */
export async function runControllerManager(
  deps: ControllerManagerDeps,
  signal: AbortSignal,
): Promise<void> {
  const { client, options, clock, log, onLeading } = deps
  const lead = async (leading: AbortSignal): Promise<void> => {
    onLeading?.(true)
    try {
      await runControllers(deps, leading)
    } finally {
      onLeading?.(false)
    }
  }
  if (!options['leader-elect']) {
    await lead(signal)
    return
  }
  const { leases, events } = resourcesOf(client.dialect)
  const recorder = createEventRecorder({
    events: client.resource(events),
    component: 'kube-controller-manager',
    clock,
    log,
  })
  const stop = new AbortController()
  const recording = recorder.run(AbortSignal.any([signal, stop.signal]))
  const election = runLeaderElection(
    {
      leases: client.resource(leases),
      recorder,
      namespace: options['leader-elect-resource-namespace'] ?? client.dialect.systemNamespace,
      name: options['leader-elect-resource-name'],
      identity: electionIdentity(clock, options['leader-elect-identity']),
      clock,
      log,
      leaseDurationMs: options['leader-elect-lease-duration'],
      renewDeadlineMs: options['leader-elect-renew-deadline'],
      retryPeriodMs: options['leader-elect-retry-period'],
    },
    lead,
    signal,
  )
  try {
    await election
  } finally {
    stop.abort(new Error('no longer elected'))
    await recording
  }
}
