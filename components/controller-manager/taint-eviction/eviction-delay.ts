/** How long a pod may stay on a node with NoExecute taints (upstream: pkg/controller/tainteviction). Pure. */
import type { Taint, Toleration } from '../../api/generated/types.ts'
import { tolerates } from '../../api/node-selection.ts'

/**
 * Milliseconds until the pod is to go: 0 when a taint is not tolerated at all, Infinity when all are tolerated for good,
 * else the shortest toleration that is used.
 */
export function evictionDelayMs(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): number {
  let delayMs = Infinity
  for (const taint of taints ?? []) {
    if (taint.effect !== 'NoExecute') continue
    // The first one that fits is used, whatever a later one allows.
    const used = tolerations?.find((toleration) => tolerates(toleration, taint))
    if (used === undefined) return 0
    if (used.tolerationSeconds !== undefined)
      delayMs = Math.min(delayMs, Math.max(0, used.tolerationSeconds * 1000))
  }
  return delayMs
}
