/** Empties namespaces that are being deleted, then lets them go (upstream: pkg/controller/namespace). */
import type { Namespace } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover } from '../../client/server-resources.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import { timestamp } from '../../component-base/clock.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { deletionConditions } from './namespace-conditions.ts'
import { createContentDeleter } from './namespace-content.ts'

/**
 * The first look waits until every API server of the cluster has seen the deletion and refuses new objects; upstream
 * waits 5 s, for clusters that are slower to agree.
 */
const settleMs = 1000

/** Between tries while something cannot be deleted at all: 1 s, twice as long each time, up to this. */
const longestRetryMs = 60_000

/** Runs until `signal` aborts. Nothing that matters is remembered between rounds, so a restart just goes on. */
export async function runNamespaceController(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, options } = context
  const namespaces = informers.informer<Namespace>(resources.namespaces)
  const namespaceClient = client.resource<Namespace>(resources.namespaces)
  const deleter = createContentDeleter(client, discover)

  /** How often in a row a namespace could not be emptied, by name. */
  const failures = new Map<string, number>()

  const live = async (name: string): Promise<Namespace | undefined> => {
    try {
      return await namespaceClient.get({ name })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined
      throw error
    }
  }
  const report = async (namespace: Namespace, status: Namespace['status']): Promise<Namespace> =>
    namespaceClient.updateStatus({ ...namespace, status: { ...namespace.status, ...status } })
  const finalize = async (namespace: Namespace): Promise<void> => {
    const finalizers = (namespace.spec?.finalizers ?? []).filter(
      (finalizer) => finalizer !== dialect.namespaceFinalizer,
    )
    const spec = { ...namespace.spec, finalizers }
    try {
      await namespaceClient.update({ ...namespace, spec }, { subresource: 'finalize' })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  const reconcile = async (key: string): Promise<Result | void> => {
    const cached = namespaces.get(key)
    const deleted = cached?.metadata.deletionTimestamp
    if (cached === undefined || deleted === undefined) {
      failures.delete(key)
      return
    }
    const waitMs = Date.parse(deleted) + settleMs - clock.now()
    if (waitMs > 0) return { requeueAfterMs: waitMs }
    let namespace = await live(key)
    const deletedAt = namespace?.metadata.deletionTimestamp
    if (namespace === undefined || deletedAt === undefined) return
    if (namespace.status?.phase !== 'Terminating')
      namespace = await report(namespace, { phase: 'Terminating' })
    if (!namespace.spec?.finalizers?.includes(dialect.namespaceFinalizer)) return
    const at = { deletedAtMs: Date.parse(deletedAt), nowMs: clock.now() }
    const round = await deleter.deleteContent(key, at)
    const now = timestamp(clock.now())
    const conditions = deletionConditions(namespace.status?.conditions, round.report, now)
    if (conditions !== undefined) namespace = await report(namespace, { conditions })
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
    await finalize(namespace)
  }

  await runController(
    {
      queues,
      name: 'namespace-controller',
      informers: [source(namespaces)],
      reconcile,
      workers: options['concurrent-namespace-syncs'],
      clock,
      log,
    },
    signal,
  )
}

export const namespaceController: ControllerEntry = {
  name: 'namespace-controller',
  aliases: ['namespace'],
  defaultOn: true,
  start: (context, signal) =>
    runNamespaceController(createDiscovery(context.client), context, signal),
}
