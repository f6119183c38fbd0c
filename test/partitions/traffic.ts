/** Traffic: all clients of a drill, and what each of them sees. */
import { eventually } from '../support/eventually.ts'
import type { Request } from '../histories/operation.ts'
import { listOnce, runClient, runLister } from './clients.ts'
import { Connections } from './connections.ts'
import { keys, stepsOf } from './plan.ts'
import { callOf, type Recorder } from './recorder.ts'
import type { Servers } from './servers.ts'
import { startWatcher } from './watcher.ts'

/**
 * How long each client waits for an answer. All wait less long than the server waits for etcd, so that they give up on writes
 * that are committed later.
 */
const patiencesMs = [150, 300, 800, 2500, 6000]
const watchers = 3

export interface Traffic extends AsyncDisposable {
  /** Rejects unless every server writes. */
  writeEverywhere(): Promise<void>
  stopClients(): Promise<void>
  /** Reads everything through every server; resolves with the newest revision. Rejects if one does not answer. */
  readEverywhere(): Promise<number>
  /** Rejects if a watcher does not come to the revision. */
  stopWatchers(lastRevision: number): Promise<void>
  readonly relists: number
}

export function startTraffic(options: {
  seed: number
  writers: 'first' | 'all'
  servers: Servers
  recorder: Recorder
}): Traffic {
  const { seed, writers, servers, recorder } = options
  const opened: Connections[] = []
  const connections = (timeoutMs?: number): Connections => {
    const made = new Connections(servers, timeoutMs)
    opened.push(made)
    return made
  }
  const own = connections()
  const stopClients = new AbortController()
  const stopWatchers = new AbortController()
  const watching = Array.from({ length: watchers }, (_, first) => {
    const { signal } = stopWatchers
    const name = `w${first + 1}`
    return startWatcher({ name, first, connections: connections(), recorder, signal })
  })
  const { signal } = stopClients
  const running = patiencesMs.map(async (timeoutMs, number) => {
    const steps = stepsOf({ seed, writers, client: number, servers: servers.names.length })
    await runClient({ number, steps, connections: connections(timeoutMs), recorder, signal })
  })
  running.push(runLister({ connections: connections(), recorder, signal }))
  let writes = 0
  const send = async (which: number, key: string, request: Request): Promise<void> => {
    const { api, server } = own.to(which)
    const { method, path, ...ask } = callOf(key, request)
    const asked = { client: 'end', server, key, request }
    const outcome = await recorder.record(asked, async () => await api.request(method, path, ask))
    if (outcome.result === 'unknown' || outcome.result === 'refused')
      throw new Error(`${server} does not ${request.verb} again: ${recorder.lastFailure}`)
  }
  return {
    writeEverywhere: async () => {
      for (const [which, name] of servers.names.entries()) {
        writes += 1
        await send(which, `end-${name}`, { verb: 'create', value: `value-99-${writes}-end` })
      }
    },
    stopClients: async () => {
      stopClients.abort()
      await Promise.all(running)
    },
    readEverywhere: async () => {
      let newest = 0
      for (const [which] of servers.names.entries()) {
        for (const key of keys) await send(which, key, { verb: 'get' })
        const list = { connections: own, recorder, which, newest }
        const revision = await listOnce({ ...list, kind: 'newest' })
        if (revision === undefined) throw new Error(`${servers.names[which]} does not list again`)
        newest = Math.max(newest, revision)
      }
      return newest
    },
    stopWatchers: async (lastRevision) => {
      await eventually(() => {
        const behind = watching.filter(({ revision }) => revision < lastRevision)
        if (behind.length === 0) return
        const names = behind.map(({ name, revision }) => `${name} at ${revision}`)
        throw new Error(`watches do not come to ${lastRevision}: ${names.join(', ')}`)
      }, 30_000)
      stopWatchers.abort()
      await Promise.all(watching.map(({ ended }) => ended))
    },
    get relists() {
      return watching.reduce((sum, { relists }) => sum + relists, 0)
    },
    [Symbol.asyncDispose]: async () => {
      stopClients.abort()
      stopWatchers.abort()
      for (const one of opened) one[Symbol.dispose]()
      await Promise.all([...running, ...watching.map(({ ended }) => ended)])
    },
  }
}
