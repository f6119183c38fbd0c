/** Empties namespaces that are being deleted, then removes their finalizer (upstream: pkg/controller/namespace). */
import type { Namespace } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover } from '../../client/server-resources.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import { timestamp } from '../../component-base/clock.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { deletionConditions } from './namespace-conditions.ts'
import { createContentDeleter } from './namespace-content.ts'
import type { ContentDeleter } from './namespace-content.ts'

/**
 * The first look waits until every API server of the cluster has seen the deletion and refuses new objects; upstream
 * waits 5 s, for clusters that are slower to agree.
 */
const settleMs = 1000

/** Between tries while something cannot be deleted at all: 1 s, twice as long each time, up to this. */
const longestRetryMs = 60_000

/** The reconciler's caches, clients and tools. */
interface NamespaceSync {
  readonly namespaces: Informer<Namespace>
  readonly namespaceClient: ResourceClient<Namespace>
  readonly deleter: ContentDeleter
  /** Failed rounds in a row, by the namespace's name. */
  readonly failures: Map<string, number>
  readonly context: ControllerContext
}

/** Runs until `signal` aborts. Nothing that matters is remembered between rounds, so a restart just goes on. */
export async function runNamespaceController(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log, queues, options } = context
  const namespaces = informers.informer<Namespace>(resources.namespaces)
  const sync: NamespaceSync = {
    namespaces,
    namespaceClient: client.resource<Namespace>(resources.namespaces),
    deleter: createContentDeleter(client, discover),
    failures: new Map(),
    context,
  }
  await runController(
    {
      queues,
      name: 'namespace-controller',
      informers: [source(namespaces)],
      reconcile: (key) => syncNamespace(sync, key),
      workers: options['concurrent-namespace-syncs'],
      clock,
      log,
    },
    signal,
  )
}

async function syncNamespace(sync: NamespaceSync, key: string): Promise<Result | void> {
  const { namespaces, failures, context } = sync
  const cached = namespaces.get(key)
  const deleted = cached?.metadata.deletionTimestamp
  if (cached === undefined || deleted === undefined) {
    failures.delete(key)
    return
  }
  const waitMs = Date.parse(deleted) + settleMs - context.clock.now()
  if (waitMs > 0) return { requeueAfterMs: waitMs, isPutOff: true }
  const live = await readLive(sync, key)
  const deletedAt = live?.metadata.deletionTimestamp
  // The cache shows the deletion: an answer without it is an old one, or the cache is about to see the end.
  if (live === undefined || deletedAt === undefined) return { requeueAfterMs: settleMs }
  const namespace =
    live.status?.phase === 'Terminating' ? live : await report(sync, live, { phase: 'Terminating' })
  if (!namespace.spec?.finalizers?.includes(context.dialect.namespaceFinalizer)) return
  return emptyNamespace(sync, namespace, { key, deletedAtMs: Date.parse(deletedAt) })
}

/** One round: deletes content, reports it in conditions, and removes the finalizer when nothing is left. */
async function emptyNamespace(
  sync: NamespaceSync,
  namespace: Namespace,
  { key, deletedAtMs }: { readonly key: string; readonly deletedAtMs: number },
): Promise<Result | void> {
  const { deleter, failures } = sync
  const { clock, log } = sync.context
  const round = await deleter.deleteContent(key, { deletedAtMs, nowMs: clock.now() })
  const now = timestamp(clock.now())
  const conditions = deletionConditions(namespace.status?.conditions, round.report, now)
  const reported =
    conditions === undefined ? namespace : await report(sync, namespace, { conditions })
  const { contentFailures, discoveryFailure } = round.report
  if (contentFailures.length > 0 || discoveryFailure !== undefined) {
    const tries = failures.get(key) ?? 0
    failures.set(key, tries + 1)
    const requeueAfterMs = backoffDelay({ initialMs: 1000, maxMs: longestRetryMs }, tries)
    const why = [...contentFailures, discoveryFailure].filter((text) => text !== undefined)
    log.warn('namespace not emptied; trying again', { namespace: key, why, requeueAfterMs })
    return { requeueAfterMs }
  }
  failures.delete(key)
  if (round.retryInMs !== undefined) return { requeueAfterMs: round.retryInMs }
  await finalize(sync, reported)
}

async function readLive(
  { namespaceClient }: NamespaceSync,
  name: string,
): Promise<Namespace | undefined> {
  try {
    return await namespaceClient.get({ name })
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

function report(
  { namespaceClient }: NamespaceSync,
  namespace: Namespace,
  status: Namespace['status'],
): Promise<Namespace> {
  return namespaceClient.updateStatus({ ...namespace, status: { ...namespace.status, ...status } })
}

async function finalize(
  { namespaceClient, context }: NamespaceSync,
  namespace: Namespace,
): Promise<void> {
  const finalizers = (namespace.spec?.finalizers ?? []).filter(
    (finalizer) => finalizer !== context.dialect.namespaceFinalizer,
  )
  const spec = { ...namespace.spec, finalizers }
  try {
    await namespaceClient.update({ ...namespace, spec }, { subresource: 'finalize' })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}

export const namespaceController: ControllerEntry = {
  name: 'namespace-controller',
  aliases: ['namespace'],
  defaultOn: true,
  start: (context, signal) =>
    runNamespaceController(createDiscovery(context.client), context, signal),
}
