/** Deletes what is in a namespace, kind by kind, and tells what is left (upstream: namespaced_resources_deleter.go). */
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

/** Pods go first: what they use is still there while they end. */
function inOrder(resources: readonly Resource[]): Resource[] {
  const isPods = ({ group, plural }: Resource): boolean => group === '' && plural === 'pods'
  return resources.toSorted((a, b) => Number(isPods(b)) - Number(isPods(a)))
}

export function createContentDeleter(client: Client, discover: Discover): ContentDeleter {
  const list = async (resource: Resource, namespace: string): Promise<readonly KubeObject[]> => {
    try {
      const isPods = resource.group === '' && resource.plural === 'pods'
      const options = { namespace, metadataOnly: !isPods }
      return (await client.resource(resource).list(options)).items
    } catch (error) {
      // A kind that is no longer served, or only made and never kept, holds nothing.
      if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return []
      throw error
    }
  }
  const removeAll = async (
    resource: Resource,
    namespace: string,
    items: readonly KubeObject[],
  ): Promise<void> => {
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

  return {
    deleteContent: async (namespace, at) => {
      const { preferred, failed } = await discover()
      const contentFailures: string[] = []
      const remaining = new Map<string, number>()
      const finalizers = new Map<string, number>()
      let waitSeconds = 0
      const clear = async (resource: Resource): Promise<void> => {
        const before = await list(resource, namespace)
        if (before.length === 0) return
        const isPods = resource.group === '' && resource.plural === 'pods'
        const graceSeconds = isPods ? graceSecondsLeft(before as readonly Pod[], at) : 0
        await removeAll(resource, namespace, before)
        const left = await list(resource, namespace)
        if (left.length === 0) return
        remaining.set(`${resource.plural}.${resource.group}`, left.length)
        let areFinalized = 0
        for (const { metadata } of left) {
          if (metadata.finalizers?.length) areFinalized += 1
          for (const finalizer of metadata.finalizers ?? [])
            finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
        }
        if (graceSeconds > 0) waitSeconds = Math.max(waitSeconds, graceSeconds)
        else if (areFinalized > 0) waitSeconds = Math.max(waitSeconds, finalizerSeconds)
        else
          throw new Error(
            `unexpected items still remain in namespace: ${namespace} for gvr: ${resource.group}/${resource.version}, Resource=${resource.plural}`,
          )
      }
      const deletable = preferred.filter(
        ({ namespaced, verbs }) => namespaced && verbs.includes('delete'),
      )
      for (const resource of inOrder(deletable)) {
        try {
          await clear(resource)
        } catch (error) {
          contentFailures.push(messageOf(error))
        }
      }
      const discoveryFailure =
        failed.length === 0
          ? undefined
          : `Discovery failed for some groups, ${failed.length} failing: unable to retrieve the complete list of server APIs: ${failed.join(', ')}`
      const report: DeletionReport = {
        ...(discoveryFailure === undefined ? {} : { discoveryFailure }),
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
