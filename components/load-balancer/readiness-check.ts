/** Readiness check: asks an API server's `/readyz` over TLS, again and again over one connection. */
import { Agent, request } from 'node:https'
import { checkServerIdentity } from 'node:tls'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import type { Backend } from './backend.ts'

export interface CheckOptions {
  /** Authorities of the API servers, PEM. */
  readonly ca: string
  /** What certificates must hold; undefined: the backend's host. */
  readonly serverName: string | undefined
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly log: Log
  /** Told of each result. */
  readonly onResult: (backend: Backend, succeeded: boolean) => void
}

/**
 * Whether the answer shows a server that takes requests. One that does not know anonymous callers answers 401 or 403: it serves,
 * and its listener, which closes when it stops, is then all that can be followed.
 */
function isSuccess(status: number): boolean {
  return status === 200 || status === 401 || status === 403
}

/** Resolves with undefined for a ready server, and with the reason for any other. */
function ask(
  { endpoint }: Backend,
  agent: Agent,
  { timeoutMs, clock }: CheckOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const call = request({ ...endpoint, path: '/readyz', agent }, (answer) => {
      const status = answer.statusCode ?? 0
      answer.on('error', (error) => settle(error.message)).resume()
      answer.on('end', () => settle(isSuccess(status) ? undefined : `/readyz answers ${status}`))
    })
    const cancel = clock.after(timeoutMs, () => {
      settle(`no answer within ${timeoutMs} ms`)
      call.destroy()
    })
    const settle = (why: string | undefined): void => {
      cancel()
      resolve(why)
    }
    call.on('error', (error) => settle(error.message)).end()
  })
}

/** Checks the backend at once and then at intervals, until the signal aborts. `onFirst` is called after the first check. */
export async function followReadiness(
  backend: Backend,
  options: CheckOptions,
  { signal, onFirst }: { readonly signal: AbortSignal; readonly onFirst: () => void },
): Promise<void> {
  const { ca, serverName, clock, log, intervalMs, onResult } = options
  const agent = new Agent({
    ca,
    keepAlive: true,
    maxSockets: 1,
    ...(serverName === undefined
      ? {}
      : { checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate) }),
  })
  try {
    while (!signal.aborted) {
      const why = await ask(backend, agent, options)
      if (signal.aborted) return
      onResult(backend, why === undefined)
      if (backend.checked(why === undefined)) {
        if (backend.isReady) log.info('backend is ready', { backend: backend.name })
        else log.warn('backend is not ready', { backend: backend.name, why })
      }
      onFirst()
      await clock.sleep(intervalMs, signal).catch(() => {}) // aborted: the loop ends
    }
  } finally {
    agent.destroy()
    onFirst()
  }
}
