/**
 * Gate: the address of the cluster that the controller under test is given. It passes each request on as the controller's user, keeps
 * a record of all, and does what a plan says at exactly the request or event that the plan names.
 */
import type { IncomingMessage } from 'node:http'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { RequestAbortedError } from '../../components/component-base/http.ts'
import type { Answer, HttpRequest } from '../../components/component-base/http.ts'
import { createHttpsServer } from '../../components/component-base/https-server.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { createKubeconfig, kubeconfigDocument } from '../../components/client/kubeconfig.ts'
import type { ObjectMeta } from '../../components/machinery/objects/object.ts'
import type { PlannedFault } from '../planned-fault.ts'
import { Interference, takesOldView } from './interference.ts'
import type { RequestFate } from './interference.ts'
import { namedBody } from './named-body.ts'
import { isWrite, targetOf } from './target.ts'
import type { Target } from './target.ts'
import { Traffic } from './traffic.ts'
import type { Exchange } from './traffic.ts'
import { createUpstream } from './upstream.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'
import { shownNow, WatchRelay } from './watch-relay.ts'

const mostBodyBytes = 16 * 1024 * 1024
/** Headers of one connection, and those that ask for encodings that the gate does not read. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
  'authorization',
  'upgrade',
])

/** Work of clients that is not the controller's: signs of life, events, reviews. */
function isQuiet({ resource }: Target): boolean {
  const [, group = ''] = /^[^./]+(?:\.([^/]+))?/.exec(resource) ?? []
  const quiet = ['coordination', 'events', 'authentication', 'authorization']
  return (
    /^events(?:$|\/)/.test(resource) ||
    quiet.some((stem) => apiGroup(dialects.kubernetes, stem) === group)
  )
}

function headersFor(request: HttpRequest): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && !name.startsWith(':') && !ownHeaders.has(name)) headers[name] = value
  const accepted = String(headers['accept'] ?? '')
    .split(',')
    .filter((type) => !/protobuf|cbor/.test(type))
  return { ...headers, accept: accepted.join(',') || 'application/json' }
}

function statusAnswer(code: number, { resource, name }: Target): Answer {
  const reasons: Readonly<Record<number, string>> = {
    409: 'Conflict',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  }
  const [plural = ''] = resource.split(/[./]/)
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: reasons[code] ?? 'InternalError',
    message: `refused by a plan of skiff explore (${code})`,
    details: { kind: plural, ...(name === '' ? {} : { name }) },
    code,
  }
  return {
    status: code,
    headers: {
      'content-type': 'application/json',
      ...(code === 429 || code === 503 ? { 'retry-after': '1' } : {}),
    },
    body: Buffer.from(JSON.stringify(status)),
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown
  } catch {
    return undefined
  }
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function headersOf(message: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(message.headers))
    if (value !== undefined && !ownHeaders.has(name)) headers[name] = value
  return headers
}

/** Rejects when the signal aborts. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const gone = (): void => reject(new RequestAbortedError('the controller was killed'))
    if (signal.aborted) gone()
    signal.addEventListener('abort', gone, { once: true })
  })
}

/** A 200 whose body never comes. */
const cutAnswer: Answer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: () => Promise.reject(new RequestAbortedError('cut by a plan')),
}

export interface GateOptions extends UpstreamOptions {
  readonly clock: Clock
}

export interface GateRun {
  readonly faults: readonly PlannedFault[]
  /** A plan wants the controller killed. Until `restarted` the gate answers nobody. */
  readonly onKill: () => void
}

export class Gate {
  readonly #options: GateOptions
  readonly #stopping = new AbortController()
  readonly #relays = new Set<WatchRelay>()
  #served: Promise<void> = Promise.resolve()
  #upstream: Upstream
  #traffic = new Traffic()
  #interference: Interference
  #run: GateRun = { faults: [], onKill: () => {} }
  #startedMs = 0
  #isFrozen = false
  /** The process that runs now has sent a request. */
  #hasSpoken = false
  /** Aborts when the process that runs now is dead: no request of it is answered any more. */
  #life = new AbortController()
  #underWay = new Set<Exchange>()
  #lastWorkMs = 0
  #lastReadMs = 0
  #kubeconfig = ''

  private constructor(options: GateOptions) {
    this.#options = options
    this.#upstream = createUpstream(options)
    this.#interference = new Interference([], options.clock)
  }

  static async start(options: GateOptions): Promise<Gate> {
    const gate = new Gate(options)
    const nowMs = options.clock.now()
    const authority = createAuthority({ commonName: 'explore-ca', nowMs })
    const subject = { commonName: 'explore', organizations: [] }
    const names = { subject, dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
    const own = issue(authority, { profile: servingProfile(names), nowMs })
    const server = createHttpsServer({
      host: '127.0.0.1',
      port: 0,
      tls: { cert: own.certificatePem, key: own.privateKeyPem },
      handler: (request) => gate.#answer(request),
      limits: { drainMs: 50 },
      log: silentLog,
    })
    gate.#served = server.run(gate.#stopping.signal)
    const { port } = await server.ready
    const config = createKubeconfig({
      cluster: 'explore',
      server: `https://127.0.0.1:${port}`,
      ca: authority.certificatePem,
      user: 'controller',
      // Clients want one; the gate knows who they are.
      credentials: { token: 'explore' },
    })
    gate.#kubeconfig = JSON.stringify(kubeconfigDocument(config))
    return gate
  }

  /** JSON, which is YAML. */
  get kubeconfig(): string {
    return this.#kubeconfig
  }

  get traffic(): Traffic {
    return this.#traffic
  }

  get interference(): Interference {
    return this.#interference
  }

  /** Forgets the run before. */
  begin(run: GateRun): void {
    const { clock } = this.#options
    this.#bury()
    this.#upstream.close()
    this.#upstream = createUpstream(this.#options)
    this.#run = run
    this.#traffic = new Traffic()
    this.#interference = new Interference(run.faults, clock)
    this.#startedMs = clock.now()
    this.#isFrozen = false
    this.#hasSpoken = false
    this.#lastWorkMs = this.#lastReadMs = this.#startedMs
  }

  mark(text: string): void {
    this.#traffic.marks.push({ ...this.#moment(), text })
    this.#lastWorkMs = this.#options.clock.now()
  }

  /** No further request is answered: the controller is being killed. */
  freeze(): void {
    this.#isFrozen = true
  }

  /** Another process of the controller begins. */
  restarted(): void {
    this.#bury()
    this.#isFrozen = false
    this.#hasSpoken = false
    this.mark('the controller starts')
  }

  /** Watches that have hidden events end with 410. */
  endBlindness(): void {
    for (const relay of this.#relays) if (relay.isBlind) relay.expire()
    this.#lastWorkMs = this.#options.clock.now()
  }

  get hasSpoken(): boolean {
    return this.#hasSpoken
  }

  /**
   * For how long the controller has done nothing: no write, no event that it was shown, no read either, unless it has only read for
   * three times as long.
   */
  restedMs(): number {
    const nowMs = this.#options.clock.now()
    const isBusy =
      !this.#hasSpoken ||
      this.#underWay.size > 0 ||
      [...this.#relays].some((one) => one.waiting > 0)
    if (isBusy) return 0
    return Math.max(
      nowMs - Math.max(this.#lastReadMs, this.#lastWorkMs),
      (nowMs - this.#lastWorkMs) / 3,
    )
  }

  async close(): Promise<void> {
    this.#stopping.abort(new Error('closed'))
    for (const relay of this.#relays) relay.expire()
    this.#upstream.close()
    await this.#served
  }

  /** What the process before still waits for ends. */
  #bury(): void {
    this.#life.abort()
    this.#life = new AbortController()
    for (const relay of this.#relays) relay.expire()
    this.#underWay.clear()
  }

  #moment(): { atMs: number; step: number } {
    return { atMs: this.#options.clock.now() - this.#startedMs, step: this.#interference.step }
  }

  async #answer(request: HttpRequest): Promise<Answer> {
    const life = AbortSignal.any([request.signal, this.#life.signal])
    if (this.#isFrozen) return await untilAborted(life)
    if (!this.#hasSpoken) this.#interference.spoken()
    this.#hasSpoken = true
    const body = await request.body(mostBodyBytes)
    const url = new URL(request.url, this.#options.server)
    const target = targetOf(request.method, url, namedBody(body))
    const { delayMs } = this.#interference
    if (delayMs > 0) await this.#options.clock.sleep(delayMs, request.signal)
    if (target === undefined) return await this.#passOn(request, url, body)
    if (target.verb === 'watch') return await this.#watch(request, url, target)
    const quiet = isQuiet(target)
    const point = this.#traffic.count(target)
    const exchange: Exchange = {
      ...this.#moment(),
      point,
      status: undefined,
      fault: undefined,
      isQuiet: quiet,
      changesNothing: false,
      takesOldView: takesOldView(url),
    }
    this.#traffic.exchanges.push(exchange)
    const fate = this.#interference.fateOf(point)
    if (quiet) return await this.#passOn(request, url, body)
    this.#underWay.add(exchange)
    try {
      return await this.#handle(request, { url, body, exchange, fate, life })
    } finally {
      this.#underWay.delete(exchange)
      const nowMs = this.#options.clock.now()
      if (isWrite(point)) this.#lastWorkMs = nowMs
      else this.#lastReadMs = nowMs
    }
  }

  async #handle(
    request: HttpRequest,
    {
      url,
      body,
      exchange,
      fate,
      life,
    }: { url: URL; body: Buffer; exchange: Exchange; fate: RequestFate; life: AbortSignal },
  ): Promise<Answer> {
    if (fate.kind === 'kill-before') return await this.#kill(exchange, 'killed before', life)
    if (fate.kind === 'refuse') {
      exchange.status = fate.code
      exchange.fault = 'refused'
      return statusAnswer(fate.code, exchange.point)
    }
    const answer = await this.#passOn(request, this.#interference.viewOf(url), body)
    exchange.status = answer.status
    this.#learn(exchange, answer)
    if (fate.kind === 'kill-after') return await this.#kill(exchange, 'killed after', life)
    if (fate.kind !== 'lose-answer') return answer
    exchange.fault = 'answer lost'
    return cutAnswer
  }

  async #kill(exchange: Exchange, fault: string, life: AbortSignal): Promise<never> {
    exchange.fault = fault
    this.#isFrozen = true
    this.#run.onKill()
    return await untilAborted(life)
  }

  #learn(exchange: Exchange, { status, body }: Answer): void {
    const { point } = exchange
    if (status >= 300 || point.name === '' || !Buffer.isBuffer(body)) return
    const { metadata = {} } = (parsed(body) ?? {}) as { metadata?: ObjectMeta }
    exchange.changesNothing = this.#traffic.answered(point, metadata) && isWrite(point)
    if (point.verb === 'create' && point.name.endsWith('*') && metadata.name !== undefined)
      this.#traffic.generated(metadata.name, point.name.slice(0, -1))
  }

  async #passOn(request: HttpRequest, url: URL, body: Buffer): Promise<Answer> {
    const message = await this.#upstream.send({
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: headersFor(request),
      body,
      // A write that has begun is done, whether or not its client waits.
      signal: this.#stopping.signal,
    })
    const bytes = await bytesOf(message)
    return { status: message.statusCode ?? 500, headers: headersOf(message), body: bytes }
  }

  async #watch(request: HttpRequest, url: URL, target: Target): Promise<Answer> {
    const message = await this.#upstream.send({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: headersFor(request),
      body: Buffer.alloc(0),
      signal: AbortSignal.any([request.signal, this.#stopping.signal]),
    })
    this.#lastReadMs = this.#options.clock.now()
    const answer = { status: message.statusCode ?? 500, headers: headersOf(message) }
    if (answer.status !== 200) return { ...answer, body: await bytesOf(message) }
    const relay = new WatchRelay({
      clock: this.#options.clock,
      hasInitialEvents: url.searchParams.get('sendInitialEvents') === 'true',
      fateOf: () => (isQuiet(target) ? shownNow : this.#interference.fateOfEvent(target.resource)),
      onShown: () => {
        if (isQuiet(target)) return
        this.#traffic.events.push({ ...this.#moment(), resource: target.resource })
        this.#lastWorkMs = this.#options.clock.now()
      },
    })
    this.#relays.add(relay)
    const body: Answer['body'] = async (sink) => {
      try {
        await relay.run(message, sink)
      } finally {
        this.#relays.delete(relay)
      }
    }
    return { ...answer, body }
  }
}
