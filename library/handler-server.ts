/**
 * HandlerServer: an HTTPS server of this process with which a handler answers the API server. It listens on 127.0.0.1, because the
 * API server runs on this machine. Its certificate is signed by the cluster's own authority, which is also the `caBundle`.
 */
import { BACKDATE_MS, loadAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import { servingProfile } from '../certs/profiles.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { BodyTooLargeError, RequestAbortedError } from '../components/component-base/http.ts'
import type { Answer, HttpRequest } from '../components/component-base/http.ts'
import { createHttpsServer } from '../components/component-base/https-server.ts'
import { messageOf, silentLog } from '../components/component-base/log.ts'
import type { ClusterForm } from './cluster-form.ts'

export const handlerHost = '127.0.0.1'
/** A request in flight may end; the API server's idle connection may not hold the end up. */
const drainMs = 500

/** What serving for a cluster needs to know of it. */
export interface ServedCluster extends Pick<ClusterForm, 'authority' | 'dialect'> {
  /** For waits until the API server calls; real time unless a test replaces it. */
  readonly networkClock?: Clock
}

/** One request of the API server. */
export interface HandlerCall {
  readonly request: HttpRequest
  /** The whole body; one that is too long is answered 413. */
  body(): Promise<Buffer>
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal
  /** Keeps what a handler threw, for a call that is answered all the same. */
  readonly failed: (error: unknown) => void
}

export interface HandlerServerOptions {
  /** What it serves, in messages: `webhook pods.example.com`. */
  readonly what: string
  /** Names of its certificate beside `localhost`. */
  readonly dnsNames?: readonly string[]
  readonly maxBodyBytes: number
  /** A rejection is kept as the handler's, and answered 500 with its message. */
  answer(call: HandlerCall): Promise<Answer>
}

export interface HandlerServer {
  readonly what: string
  readonly url: string
  readonly port: number
  /** As configurations carry it. */
  readonly caBundle: string
  /** What the handler threw, in order. */
  readonly errors: readonly unknown[]
  /** Ends it; requests in flight have half a second. */
  stop(): Promise<void>
}

export const jsonAnswer = (status: number, value: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

const textAnswer = (status: number, text: string): Answer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
})

/** Valid as long as the authority: the clock of a cluster may be advanced by years, and a restored snapshot sets it back. */
function servingCertificate(
  authorityPem: ServedCluster['authority'],
  { dnsNames = [] }: HandlerServerOptions,
) {
  const authority = loadAuthority(authorityPem)
  const subject = { commonName: 'kube-skiff', organizations: [] }
  const names = { dnsNames: ['localhost', ...dnsNames], ipAddresses: [handlerHost] }
  const profile = servingProfile({ subject, ...names })
  const nowMs = Date.parse(authority.certificate.validFrom) + BACKDATE_MS
  const issued = issue(authority, { profile: { ...profile, lifetimeMs: Infinity }, nowMs })
  return { cert: issued.certificatePem, key: issued.privateKeyPem }
}

/** Resolves when it accepts connections, on a free port. */
export async function startHandlerServer(
  { authority }: ServedCluster,
  options: HandlerServerOptions,
): Promise<HandlerServer> {
  const errors: unknown[] = []
  const failed = (error: unknown): void => void errors.push(error)
  const stopping = new AbortController()
  const handler = async (request: HttpRequest): Promise<Answer> => {
    const body = async (): Promise<Buffer> => await request.body(options.maxBodyBytes)
    try {
      return await options.answer({ request, body, stopping: stopping.signal, failed })
    } catch (error) {
      if (error instanceof RequestAbortedError) throw error
      if (error instanceof BodyTooLargeError) return textAnswer(413, error.message)
      failed(error)
      return textAnswer(500, messageOf(error))
    }
  }
  const server = createHttpsServer({
    host: handlerHost,
    port: 0,
    tls: servingCertificate(authority, options),
    handler,
    limits: { drainMs },
    log: silentLog,
  })
  const ended = server.run(stopping.signal)
  const { port } = await server.ready
  return {
    what: options.what,
    url: `https://${handlerHost}:${port}`,
    port,
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    errors,
    stop: async () => {
      stopping.abort(new Error(`the ${options.what} was disposed of`))
      await ended
    },
  }
}
