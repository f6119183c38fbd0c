/** drainNode: cordons a node, evicts pods and waits until they are gone. */
import type { Pod } from '../../../../../components/api/generated/types.ts'
import { ApiError, read, send } from '../../../app/api.ts'
import { messageOf } from '../../../app/message-of.ts'
import { podKey } from './drain-plan.ts'

/** As kubectl: a budget that forbids an eviction may allow it later. */
const retryMs = 5000
const lookMs = 1000
const mergePatch = 'application/merge-patch+json'

export async function setUnschedulable(nodePath: string, unschedulable: boolean): Promise<void> {
  const body = { spec: { unschedulable: unschedulable || null } }
  await send(nodePath, { method: 'PATCH', contentType: mergePatch, body })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}

const pathOf = ({ metadata }: Pod): string =>
  `/api/v1/namespaces/${encodeURIComponent(metadata?.namespace ?? '')}/pods/${encodeURIComponent(metadata?.name ?? '')}`

const hasGone = (error: unknown): boolean => error instanceof ApiError && error.code === 404

async function untilGone(pod: Pod, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      const now = await read<Pod>(pathOf(pod), { signal })
      if (now.metadata?.uid !== pod.metadata?.uid) return
    } catch (error) {
      if (hasGone(error)) return
      throw error
    }
    await pause(lookMs, signal)
  }
}

interface DrainOptions {
  /** Called with each step of a pod, in words. */
  readonly onPod: (key: string, state: string) => void
  readonly signal: AbortSignal
}

/** Asks until the server evicts it: 429 says that a budget forbids it now. */
async function evict(pod: Pod, { onPod, signal }: DrainOptions): Promise<void> {
  const { name, namespace, uid } = pod.metadata ?? {}
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    // The uid: not a pod that has got the same name meanwhile.
    deleteOptions: { preconditions: { uid } },
  }
  for (;;) {
    try {
      await send(`${pathOf(pod)}/eviction`, { method: 'POST', body, signal })
      return
    } catch (error) {
      if (hasGone(error)) return
      if (!(error instanceof ApiError) || error.code !== 429) throw error
      onPod(podKey(pod), `waits: ${error.message}`)
      await pause(retryMs, signal)
    }
  }
}

async function removePod(pod: Pod, options: DrainOptions): Promise<boolean> {
  const { onPod, signal } = options
  const key = podKey(pod)
  try {
    onPod(key, 'is being evicted')
    await evict(pod, options)
    onPod(key, 'is terminating')
    await untilGone(pod, signal)
    onPod(key, 'is gone')
    return true
  } catch (error) {
    signal.throwIfAborted()
    onPod(key, `was not evicted: ${messageOf(error)}`)
    return false
  }
}

/** Resolves with whether all pods are gone. Throws an ApiError when the node cannot be cordoned, and `signal.reason`. */
export async function drainNode(
  nodePath: string,
  pods: readonly Pod[],
  options: DrainOptions,
): Promise<boolean> {
  await setUnschedulable(nodePath, true)
  const gone = await Promise.all(pods.map((pod) => removePod(pod, options)))
  return gone.every(Boolean)
}
