/** The same load on one real process for up to an hour: neither its delays nor its memory grow. */
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { startChildApiServer, type ChildApiServer } from '../../test/support/child-api-server.ts'
import type { Part } from './part.ts'

const path = '/api/v1/namespaces/default/pods'
const patching = { 'content-type': 'application/merge-patch+json' }
/** So many pods are there at a time. */
const population = 2000
const turnsInSecond = 40
/** Of each turn: a pod comes, one changes, the oldest goes, and so many are read. */
const getsInTurn = 5
const windowMs = 60_000
/** In minutes: by then the code is compiled, and as much history is kept as ever will be. */
const warmUp = 6
/** So many windows at the start and at the end are compared. */
const compared = 5

interface Window {
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly residentMb: number
}

const pod = (name: string): object => ({
  metadata: { name, labels: { app: 'steady' } },
  spec: {
    containers: Array.from({ length: 3 }, (_, at) => ({
      name: `container-${at}`,
      image: `registry.example/team/application:${at}`,
      env: Array.from({ length: 8 }, (_, of) => ({ name: `SETTING_${of}`, value: `value-${of}` })),
      resources: { requests: { cpu: '100m', memory: '64Mi' } },
    })),
    automountServiceAccountToken: false,
  },
})

/** Sends at its pace, however late the answers are, and keeps the times of a window. */
class SteadyLoad {
  readonly #server: ChildApiServer
  #times: number[] = []
  #made = 0
  #turns = 0
  #error: Error | undefined

  constructor(server: ChildApiServer) {
    this.#server = server
  }

  async fill(): Promise<void> {
    while (this.#made < population) await this.#create()
    this.#times = []
  }

  async window(lengthMs: number): Promise<Window> {
    const startedAt = performance.now()
    const ends = startedAt + lengthMs
    for (let turn = 0; performance.now() < ends; turn += 1) {
      await delay(Math.max(0, startedAt + (turn * 1000) / turnsInSecond - performance.now()))
      this.#turn()
      if (this.#error !== undefined) throw this.#error
    }
    const times = this.#times.sort((a, b) => a - b)
    this.#times = []
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
    const { residentMb } = this.#server
    return { requests: times.length, p50Ms: at(0.5), p99Ms: at(0.99), residentMb: residentMb() }
  }

  #turn(): void {
    this.#turns += 1
    const oldest = this.#made - population + 1
    const some = (share: number): string => `steady-${oldest + Math.floor(population * share)}`
    const body = { metadata: { labels: { turn: String(this.#turns) } } }
    const work = [
      this.#create(),
      this.#ask('PATCH', `${path}/${some(0.5)}`, 200, { body, headers: patching }),
      this.#ask('DELETE', `${path}/steady-${oldest}?gracePeriodSeconds=0`, 200),
      ...Array.from({ length: getsInTurn }, (_, at) =>
        this.#ask('GET', `${path}/${some(0.2 + at / 10)}`, 200),
      ),
    ]
    if (this.#turns % turnsInSecond === 0) work.push(this.#ask('GET', `${path}?limit=500`, 200))
    void Promise.all(work).catch((reason: unknown) => {
      this.#error ??= reason instanceof Error ? reason : new Error(String(reason))
    })
  }

  async #create(): Promise<void> {
    const body = pod(`steady-${(this.#made += 1)}`)
    await this.#ask('POST', path, 201, { body })
  }

  async #ask(
    ...[method, at, status, ask]: [string, string, number, { body: object; headers?: object }?]
  ): Promise<void> {
    const startedAt = performance.now()
    const answer = await this.#server.request(method, at, ask as never)
    if (answer.status !== status)
      throw new Error(`${method} ${at}: ${answer.status} ${answer.text}`)
    this.#times.push(performance.now() - startedAt)
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** What the first and the last windows after the warm-up were like. Throws when the last are much worse. */
function judged(windows: readonly Window[]): string {
  const warm = windows.slice(warmUp)
  if (warm.length < 2 * compared) return `${windows.length} minutes, too few to compare`
  const of = (some: readonly Window[], what: (one: Window) => number): number =>
    median(some.map(what))
  const [first, last] = [warm.slice(0, compared), warm.slice(-compared)]
  const p99 = [of(first, ({ p99Ms }) => p99Ms), of(last, ({ p99Ms }) => p99Ms)] as const
  const mb = [
    of(first, ({ residentMb }) => residentMb),
    of(last, ({ residentMb }) => residentMb),
  ] as const
  const p50 = of(last, ({ p50Ms }) => p50Ms).toFixed(1)
  const note = `${windows.length} minutes: p99 ${p99[0].toFixed(1)} ms at first and ${p99[1].toFixed(1)} at last (median ${p50}), ${mb[0].toFixed(0)} MB and ${mb[1].toFixed(0)}`
  if (p99[1] > 2 * p99[0] + 5) throw new Error(`delays grew: ${note}`)
  if (mb[1] > mb[0] + 40) throw new Error(`memory grew: ${note}`)
  return note
}

export const steadySoak: Part = {
  name: 'steady',
  unit: 'requests of a steady load',
  sliceMs: 3_600_000,
  run: async ({ until }) => {
    await using server = await startChildApiServer({
      flags: ['--disable-admission-plugins=ServiceAccount'],
    })
    const load = new SteadyLoad(server)
    await load.fill()
    const windows: Window[] = []
    // The last window is a whole one too.
    while (windows.length === 0 || Date.now() + windowMs <= until) {
      const window = await load.window(Math.min(windowMs, Math.max(1000, until - Date.now())))
      windows.push(window)
      const { requests, p50Ms, p99Ms, residentMb } = window
      console.log(
        `  minute ${windows.length}: ${requests} requests, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(1)} ms, ${residentMb.toFixed(0)} MB`,
      )
    }
    if (server.errors !== '') throw new Error(server.errors)
    const runs = windows.reduce((sum, { requests }) => sum + requests, 0)
    return { runs, note: judged(windows) }
  },
}
