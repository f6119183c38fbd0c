/** One HTTP/1.1 request with any certificate and any headers, on a connection of its own. */
import https from 'node:https'
import type { Credential } from '../../certs/pki.ts'
import type { TestApiServer } from './api-server.ts'

export interface PlainReply {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  readonly body: any
}

/** Names are sent as they are written; a list is a header for each value. Text is sent as UTF-8. */
export function askWith(
  server: TestApiServer,
  shown: Credential | undefined,
  ask: {
    method?: string
    path: string
    headers?: Readonly<Record<string, string | string[]>>
    body?: unknown
  },
): Promise<PlainReply> {
  const bytes = (value: string): string => Buffer.from(value, 'utf8').toString('latin1')
  const headers = Object.fromEntries(
    Object.entries(ask.headers ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(bytes) : bytes(value),
    ]),
  )
  const payload = ask.body === undefined ? undefined : JSON.stringify(ask.body)
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        host: '127.0.0.1',
        port: server.port,
        method: ask.method ?? 'GET',
        path: ask.path,
        ca: server.pki.authority.certificatePem,
        agent: false,
        headers: {
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(shown && { cert: shown.certificatePem, key: shown.privateKeyPem }),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = response.headers['content-type']?.startsWith('application/json') === true
          resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : text })
        })
      },
    )
    request.on('error', reject)
    // As bytes: Node would encode the headers as it does text.
    request.end(payload === undefined ? undefined : Buffer.from(payload))
  })
}

/** What a SelfSubjectReview says of whoever asks so; undefined with its status when it is refused. */
export async function whoIs(
  server: TestApiServer,
  shown: Credential | undefined,
  headers: Readonly<Record<string, string | string[]>> = {},
): Promise<{
  status: number
  username?: string
  uid?: string
  groups?: string[]
  extra?: Record<string, string[]>
}> {
  const path = `/apis/${server.group('authentication')}/v1/selfsubjectreviews`
  const { status, body } = await askWith(server, shown, { method: 'POST', path, headers, body: {} })
  return { status, ...(status === 201 ? body.status.userInfo : {}) }
}
