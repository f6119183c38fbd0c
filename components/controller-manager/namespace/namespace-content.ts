/** Deletes the objects of a namespace, kind by kind, and reports those left (upstream: namespaced_resources_deleter.go). */
import type { Pod } from '../../api/generated/types.ts'
import type { Client } from '../../client/client.ts'
import type { Discover } from '../../client/server-resources.ts'
import { messageOf } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { DeletionReport } from './namespace-conditions.ts'

/** How long objects may wait for their finalizers, as upstream estimates it. */
const finalizerSeconds = 15
/** Upstream waits for half of its estimate, which is the worst case; a look is cheap here, and most things end sooner. */
const longestWaitSeconds = 3

export interface ContentDeleter {
  /** `retryInMs` is undefined when nothing is left. */
  deleteContent(
    namespace: string,
    at: { deletedAtMs: number; nowMs: number },
  ): Promise<{ readonly report: DeletionReport; readonly retryInMs: number | undefined }>
}

/** Seconds until the slowest pod has had its grace, counted from the namespace's deletion; 0 once that has passed. Pure. */
export function graceSecondsLeft(
  pods: readonly Pod[],
  at: { deletedAtMs: number; nowMs: number },
): number {
  const graces = pods
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .map(({ spec }) => spec?.terminationGracePeriodSeconds ?? 0)
  const longest = Math.max(0, ...graces)
  return at.nowMs - at.deletedAtMs >= longest * 1000 ? 0 : longest
}

/** Deletes pods first, so that the objects they use still exist while they terminate. */
function inOrder(resources: readonly Resource[]): Resource[] {
  return resources.toSorted((a, b) => Number(isPods(b)) - Number(isPods(a)))
}

export function createContentDeleter(client: Client, discover: Discover): ContentDeleter {
  return {
    deleteContent: async (namespace, at) => {
      const { preferred, failed } = await discover()
      const contentFailures: string[] = []
      const remaining = new Map<string, number>()
      const finalizers = new Map<string, number>()
      let waitSeconds = 0
      const deletable = preferred.filter(
        ({ namespaced, verbs }) => namespaced && verbs.includes('delete'),
      )
      for (const resource of inOrder(deletable)) {
        try {
          const { left, graceSeconds } = await deleteAll(client, resource, { namespace, at })
          if (left.length === 0) continue
          remaining.set(`${resource.plural}.${resource.group}`, left.length)
          for (const finalizer of left.flatMap(({ metadata }) => metadata.finalizers ?? []))
            finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
          const estimate = estimateSeconds(left, { resource, namespace, graceSeconds })
          waitSeconds = Math.max(waitSeconds, estimate)
        } catch (error) {
          contentFailures.push(messageOf(error))
        }
      }
      const report: DeletionReport = {
        ...(failed.length === 0 ? {} : { discoveryFailure: discoveryFailure(failed) }),
        contentFailures,
        remaining,
        finalizers,
      }
      const isClear = remaining.size === 0 && contentFailures.length + failed.length === 0
      const seconds = Math.min(longestWaitSeconds, Math.floor(waitSeconds / 2) + 1)
      return { report, retryInMs: isClear ? undefined : seconds * 1000 }
    },
  }
}

function discoveryFailure(failed: readonly string[]): string {
  return `Discovery failed for some groups, ${failed.length} failing: unable to retrieve the complete list of server APIs: ${failed.join(', ')}`
}

function isPods({ group, plural }: Resource): boolean {
  return group === '' && plural === 'pods'
}

/** Deletes the namespace's objects of one resource. Resolves with those left, and the grace that their pods have. */
async function deleteAll(
  client: Client,
  resource: Resource,
  { namespace, at }: { namespace: string; at: { deletedAtMs: number; nowMs: number } },
): Promise<{ left: readonly KubeObject[]; graceSeconds: number }> {
  const before = await list(client, resource, namespace)
  if (before.length === 0) return { left: [], graceSeconds: 0 }
  const graceSeconds = isPods(resource) ? graceSecondsLeft(before as readonly Pod[], at) : 0
  await remove(client, resource, { namespace, items: before })
  return { left: await list(client, resource, namespace), graceSeconds }
}

/** Seconds until the objects left may be gone. Throws if neither a grace period nor a finalizer explains them. */
function estimateSeconds(
  left: readonly KubeObject[],
  of: { resource: Resource; namespace: string; graceSeconds: number },
): number {
  if (of.graceSeconds > 0) return of.graceSeconds
  if (left.some(({ metadata }) => metadata.finalizers?.length)) return finalizerSeconds
  const { group, version, plural } = of.resource
  throw new Error(
    `unexpected items still remain in namespace: ${of.namespace} for gvr: ${group}/${version}, Resource=${plural}`,
  )
}

async function list(
  client: Client,
  resource: Resource,
  namespace: string,
): Promise<readonly KubeObject[]> {
  try {
    const options = { namespace, metadataOnly: !isPods(resource) }
    return (await client.resource(resource).list(options)).items
  } catch (error) {
    // A kind that is no longer served, or only made and never kept, holds nothing.
    if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return []
    throw error
  }
}

async function remove(
  client: Client,
  resource: Resource,
  { namespace, items }: { namespace: string; items: readonly KubeObject[] },
): Promise<void> {
  const resourceClient = client.resource(resource)
  const policy = { propagationPolicy: 'Background' } as const
  if (resource.verbs.includes('deletecollection')) {
    try {
      await resourceClient.deleteCollection({ namespace }, policy)
      return
    } catch (error) {
      if (!isStatusError(error, 'NotFound', 'MethodNotAllowed')) throw error
    }
  }
  for (const { metadata } of items) {
    try {
      await resourceClient.delete({ namespace, name: metadata.name ?? '' }, policy)
    } catch (error) {
      if (!isStatusError(error, 'NotFound', 'MethodNotAllowed')) throw error
    }
  }
}
