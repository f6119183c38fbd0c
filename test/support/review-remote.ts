/** A remote service that answers reviews over TLS, as a test says; keeps what it was asked. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { clientProfile, servingProfile } from '../../certs/profiles.ts'

export interface AskedReview {
  readonly apiVersion: string
  readonly kind: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into specs of both kinds
  readonly spec: any
}

/** What to answer: a status; or, in place of it, a whole body, a code alone, or nothing at all. */
export type RemoteAnswer =
  { readonly status: unknown } | { readonly body: unknown } | { readonly code: number } | 'silence'

export interface ReviewRemote extends AsyncDisposable {
  readonly url: string
  /** Its authority, PEM in base64, as configurations carry it. */
  readonly caBundle: string
  /** Everything asked so far, in order. */
  readonly asked: readonly AskedReview[]
  /** Common name of each caller's certificate, '' without one. */
  readonly callers: readonly string[]
  /** The Authorization header of each caller, '' without one. */
  readonly authorizations: readonly string[]
  /** How many are open; it closes none by itself. */
  connections(): Promise<number>
  /** How the next reviews are answered. */
  answer: (review: AskedReview, path: string) => RemoteAnswer
  /** Writes a client configuration for it into the folder; gives its path. */
  kubeconfig(folder: string, more?: Readonly<Record<string, unknown>>): string
  /** Files of a client certificate that it knows. */
  clientFiles(folder: string): { cert: string; key: string }
  stop(): Promise<void>
}

let written = 0

export async function startReviewRemote(): Promise<ReviewRemote> {
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'remote-ca', nowMs })
  const subject = { commonName: 'remote', organizations: [] }
  const { certificatePem, privateKeyPem } = issue(authority, {
    profile: servingProfile({ subject, dnsNames: [], ipAddresses: ['127.0.0.1'] }),
    nowMs,
  })
  const asked: AskedReview[] = []
  const callers: string[] = []
  const authorizations: string[] = []
  const server = createServer(
    {
      cert: certificatePem,
      key: privateKeyPem,
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const review = JSON.parse(Buffer.concat(chunks).toString()) as AskedReview
        asked.push(review)
        const { subject: peer } = (request.socket as TLSSocket).getPeerCertificate()
        callers.push(String(peer?.CN ?? ''))
        authorizations.push(request.headers.authorization ?? '')
        const answer = remote.answer(review, request.url ?? '')
        if (answer === 'silence') return
        if ('code' in answer) {
          response.writeHead(answer.code).end()
          return
        }
        const body =
          'body' in answer
            ? answer.body
            : {
                apiVersion: review.apiVersion,
                kind: review.kind,
                spec: { changed: true },
                ...answer,
              }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body))
      })
    },
  )
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/review`
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  const remote: ReviewRemote = {
    url,
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    asked,
    callers,
    authorizations,
    connections: promisify(server.getConnections.bind(server)),
    answer: () => ({ status: {} }),
    kubeconfig(folder, more = {}) {
      written += 1
      const path = join(folder, `remote-${written}.yaml`)
      const data = Buffer.from(authority.certificatePem).toString('base64')
      const config = {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          { name: 'remote', cluster: { server: url, 'certificate-authority-data': data } },
        ],
        users: [{ name: 'server', user: {} }],
        contexts: [{ name: 'webhook', context: { cluster: 'remote', user: 'server' } }],
        'current-context': 'webhook',
        ...more,
      }
      writeFileSync(path, JSON.stringify(config))
      return path
    },
    clientFiles(folder) {
      const client = issue(authority, {
        profile: clientProfile({ commonName: 'the-api-server', organizations: [] }),
        nowMs,
      })
      const files = { cert: join(folder, 'client.crt'), key: join(folder, 'client.key') }
      writeFileSync(files.cert, client.certificatePem)
      writeFileSync(files.key, client.privateKeyPem)
      return files
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
  return remote
}
