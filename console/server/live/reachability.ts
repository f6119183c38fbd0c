/** Reachability: asks the API server every two seconds while a page is open, so that pages can say when it has gone and when it is back. */
import { timeHeader } from '../../../components/api/request-record.ts'
import type { Client } from '../../../components/client/client.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { ClusterInfo, ToPage } from '../../protocol/live.ts'

const everyMs = 2000
const timeoutMs = 5000

export interface Reachability {
  /** The page hears how it stands now and of each change. Returns how it leaves. */
  follow(send: (message: ToPage) => void): () => void
  /** The cluster's time, as its API server has told it last. */
  now(): number
}

/** Takes the header of each answer. */
function createTimeTeller(
  tell: (message: Extract<ToPage, { readonly time: unknown }>) => void,
): (header: unknown) => void {
  let isReal = true
  return (header) => {
    const nowMs = typeof header === 'string' ? Date.parse(header) : NaN
    if (!Number.isNaN(nowMs)) tell({ time: { nowMs } })
    else if (!isReal) tell({ time: {} })
    isReal = Number.isNaN(nowMs)
  }
}

function whyOf(error: unknown): string {
  return isStatusError(error) && error.code === 401
    ? 'The credential is not valid any more: open the console again with a new one.'
    : `The API server does not answer: ${messageOf(error)}.`
}

/** `readInfo` is called again when the server is back, since it may be another version or have other rights. */
export function createReachability(
  client: Client,
  readInfo: () => Promise<ClusterInfo>,
): Reachability {
  const followers = new Set<(message: ToPage) => void>()
  let state: { readonly connected: boolean; readonly why?: string } | undefined
  let info: ClusterInfo | undefined
  let running: AbortController | undefined
  let clusterMs: number | undefined

  const tell = (message: ToPage): void => followers.forEach((send) => send(message))
  const tellTime = createTimeTeller((message) => {
    clusterMs = message.time.nowMs
    tell(message)
  })
  const look = async (signal: AbortSignal): Promise<void> => {
    try {
      if (state?.connected === true) {
        const path = '/livez'
        const { headers } = await client.rest.bytes({ method: 'GET', path, timeoutMs, signal })
        tellTime(headers[timeHeader])
        return
      }
      info = await readInfo()
      tell({ info })
      state = { connected: true }
    } catch (error) {
      if (signal.aborted) return
      const why = whyOf(error)
      if (state?.connected === false && state.why === why) return
      state = { connected: false, why }
    }
    tell(state)
  }
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await look(signal)
      await client.clock.sleep(everyMs, signal).catch(() => {})
    }
  }
  return {
    now: () => clusterMs ?? client.clock.now(),
    follow: (send) => {
      followers.add(send)
      if (info !== undefined) send({ info })
      if (state !== undefined) send(state)
      if (running === undefined) {
        running = new AbortController()
        void run(running.signal)
      }
      return () => {
        followers.delete(send)
        if (followers.size > 0) return
        running?.abort()
        running = undefined
        state = undefined
        clusterMs = undefined
      }
    },
  }
}
