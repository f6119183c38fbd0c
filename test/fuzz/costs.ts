/** Sends each costly request in two sizes and judges what it cost: its growth, its longest turn of the event loop, its sum. */
import http2 from 'node:http2'
import { admin, type TestApiServer } from '../support/api-server.ts'
import type { CostlyRequest } from './costly-requests.ts'
import { exchange, type Answer } from './exchange.ts'
import { costOf, slowness, type Cost } from './processor-time.ts'

export interface Limits {
  /** The smaller body; the larger one has four times as much. */
  readonly bytes: number
  /** The longest turn of the event loop that the larger one may take, in processor time where `slowness` is 1. */
  readonly turnMs: number
  /** Processor time of all threads for the larger one, client included. */
  readonly totalMs: number
}

/** Of what is linear four times as much costs four times as much; of what is quadratic sixteen times. */
const mostGrowth = 8
/** What a request costs whatever its body. */
const fixedMs = 8
/** The best of so many measurements counts: collecting garbage and compiling are nobody's fault. */
const attempts = 12

/** Objects that requests work on must be taken themselves. */
const largestObject = 400_000

const patchHeaders = { 'content-type': 'application/merge-patch+json' }

/** Where the requests of one size work, and the object that is there for them. */
interface Site {
  readonly bytes: number
  readonly namespace: string
  made?: CostlyRequest['on']
}

class CostProbe {
  readonly #server: TestApiServer
  readonly #session: http2.ClientHttp2Session

  constructor(server: TestApiServer) {
    this.#server = server
    const shown = server.credential(admin)
    this.#session = http2.connect(`https://127.0.0.1:${server.port}`, {
      ca: server.pki.authority.certificatePem,
      // Node counts what a refused upload left unsent; with its default a few of them end the session.
      maxSessionMemory: 1000,
      ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }),
    })
    this.#session.on('error', () => {
      // Told by the requests that fail.
    })
  }

  close(): void {
    this.#session.destroy()
  }

  #path(path: string, { namespace }: Site): string {
    return path.startsWith('/') ? path : `/api/v1/namespaces/${namespace}/${path}`
  }

  /** Makes the object that a request works on, unless it is there: requests change nothing. */
  async #prepare({ on }: CostlyRequest, site: Site): Promise<void> {
    if (on === undefined || site.made === on) return
    delete site.made
    const { path, body } = on(Math.min(site.bytes, largestObject))
    const [collection = ''] = path.split(/[/?]/)
    const item = this.#path(`${collection}/big`, site)
    await this.#server.request('PATCH', item, {
      body: { metadata: { finalizers: null } },
      headers: patchHeaders,
    })
    await this.#server.request('DELETE', `${item}?gracePeriodSeconds=0`)
    const isApply = path.includes('fieldManager')
    await this.#server.ok(isApply ? 'PATCH' : 'POST', this.#path(path, site), {
      body: JSON.stringify(body),
      headers: isApply ? { 'content-type': 'application/apply-patch+yaml' } : {},
    })
    site.made = on
  }

  async #once(
    request: CostlyRequest,
    body: Buffer | undefined,
    site: Site,
  ): Promise<{ cost: Cost; result: Answer }> {
    const { method, type, accept } = request
    const path = this.#path(request.path, site)
    const headers = { 'content-type': type, ...(accept === undefined ? {} : { accept }) }
    return await costOf(() => exchange(this.#session, { method, path, headers, body }))
  }

  /** What is wrong with the request's cost; undefined when nothing is. */
  async fault(
    request: CostlyRequest,
    { sites, limits }: { sites: readonly [Site, Site]; limits: Limits },
  ): Promise<string | undefined> {
    const [{ bytes: small }, { bytes: large }] = sites
    const least = { small: Infinity, large: Infinity, turn: Infinity }
    let said = ''
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      for (const site of sites) {
        const { bytes } = site
        await this.#prepare(request, site)
        const text = request.body(bytes)
        const body = request.method === 'GET' ? undefined : Buffer.from(text)
        const { cost, result } = await this.#once(request, body, site)
        if (result.status >= 500 || result.status === 0) {
          return `${request.what}: ${result.status} ${result.text.slice(0, 300)}`
        }
        if (bytes === small) least.small = Math.min(least.small, cost.totalMs)
        else {
          least.large = Math.min(least.large, cost.totalMs)
          least.turn = Math.min(least.turn, cost.longestTurnMs)
        }
      }
      const growth = least.large / Math.max(least.small, fixedMs)
      const isShort = least.turn <= limits.turnMs || least.turn <= limits.turnMs * slowness()
      if (growth <= mostGrowth && isShort && least.large <= limits.totalMs) return undefined
      said = `${request.what}: ${least.small.toFixed(0)} ms for ${small} bytes, ${least.large.toFixed(0)} ms for ${large}, ${least.turn.toFixed(0)} ms of it in one turn`
    }
    return said
  }
}

/** What is wrong with the costs of all requests. */
export async function costFaults(
  server: TestApiServer,
  requests: readonly CostlyRequest[],
  limits: Limits,
): Promise<string[]> {
  const probe = new CostProbe(server)
  const small: Site = { bytes: limits.bytes, namespace: await server.namespace() }
  const large: Site = { bytes: limits.bytes * 4, namespace: await server.namespace() }
  try {
    const faults: string[] = []
    for (const request of requests) {
      const fault = await probe.fault(request, { sites: [small, large], limits })
      if (fault !== undefined) faults.push(fault)
    }
    return faults
  } finally {
    probe.close()
  }
}
