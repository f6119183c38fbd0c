/** The peer: any other API server, which BENCH_PEER names, beside ours in the same run. */
import { exchange, openSession, type Endpoint } from './load.ts'
import type { Subject } from './measured-load.ts'
import { podsPath } from './pod.ts'

export interface Peer extends Subject {
  /** Deletes the pods that benches have made there. Their labels tell them from others. */
  clear(): Promise<void>
}

/** Of `URL,TOKEN,PID`. Its certificate is not verified: it runs on this machine. Throws on any other form. */
export function peerOf(text: string | undefined): Peer | undefined {
  if (text === undefined || text === '') return undefined
  const [url = '', token = '', pidText = '', ...rest] = text.split(',')
  const pid = Number(pidText)
  if (!URL.canParse(url) || token === '' || !(pid > 0) || rest.length > 0) {
    throw new Error('BENCH_PEER must be URL,TOKEN,PID, such as https://127.0.0.1:6443,secret,4711')
  }
  const endpoint: Endpoint = { origin: new URL(url).origin, token }
  return {
    endpoint,
    pid,
    clear: async () => {
      const session = openSession(endpoint)
      const path = `${podsPath}?labelSelector=app%3Dbench&gracePeriodSeconds=0`
      // A server gives up on many after a while: it goes on when it is asked again.
      let status = 504
      while (status === 504)
        status = (await exchange(session, { method: 'DELETE', path, token })).status
      session.close()
      if (status !== 200) throw new Error(`the peer answered ${status} when its pods were deleted`)
    },
  }
}
