/** Connections to servers outside of the process: their certificates are verified by Go's rules before anything is sent. */
import 'reflect-metadata'
import { KeyObject, type webcrypto } from 'node:crypto'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import * as x509 from '@peculiar/x509'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../components/component-base/clock.ts'
import { createHttpsCaller } from '../../../components/api-server/egress/https-call.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const hour = 3_600_000

interface Made {
  readonly certificate: x509.X509Certificate
  readonly keys: webcrypto.CryptoKeyPair
}

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

async function make(
  subject: string,
  more: { by?: Made; keys?: webcrypto.CryptoKeyPair; host?: string; isOver?: boolean } = {},
): Promise<Made> {
  const keys = more.keys ?? (await newKeys())
  const { by, host, isOver = false } = more
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: by?.certificate.subject ?? subject,
    publicKey: keys.publicKey,
    signingKey: (by?.keys ?? keys).privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 2 * hour),
    notAfter: new Date(Date.now() + (isOver ? -hour : hour)),
    extensions:
      host === undefined
        ? [new x509.BasicConstraintsExtension(true, undefined, true)]
        : [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  })
  return { certificate, keys }
}

const pem = (...made: readonly Made[]): string =>
  made.map(({ certificate }) => `${certificate.toString('pem')}\n`).join('')

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server that shows these certificates; what it has received. */
async function serve(leaf: Made, ...others: readonly Made[]) {
  let received = ''
  const key = KeyObject.from(leaf.keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  const server = createServer({ key, cert: pem(leaf, ...others) }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received += data.toString()
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => await new Promise((resolve) => void server.close(() => resolve())))
  return { port: (server.address() as AddressInfo).port, received: () => received }
}

async function call(port: number, ca: string, serverName = 'hook.a.svc'): Promise<string> {
  const caller = createHttpsCaller({
    clock: systemClock,
    ca,
    serverName,
    timeoutMs: 30_000,
    maxBytes: 1000,
  })
  try {
    const { body } = await caller.call({
      url: `https://127.0.0.1:${port}/`,
      method: 'POST',
      body: 'secret',
    })
    return body.toString()
  } finally {
    caller.close()
  }
}

const host = 'hook.a.svc'

test('an authority with an empty subject signs for a leaf with an empty issuer', async () => {
  const authority = await make('')
  for (const subject of ['', 'CN=leaf']) {
    const { port } = await serve(await make(subject, { by: authority, host }))
    expect(await call(port, pem(authority))).toBe('ok')
  }
})

test('an expired intermediate beside a good one, and a cross-signed one, are no obstacle', async () => {
  const [root, other] = [await make('CN=root'), await make('CN=other')]
  const keys = await newKeys()
  const good = await make('CN=middle', { by: root, keys })
  const expired = await make('CN=middle', { by: root, keys, isOver: true })
  const crossed = await make('CN=middle', { by: other, keys })
  const { port } = await serve(await make('CN=leaf', { by: good, host }), expired, crossed, good)
  expect(await call(port, pem(root))).toBe('ok')
  expect(await call(port, pem(other))).toBe('ok')
})

test.each([
  ['of another authority', 'CN=root', host, 'x509: certificate signed by unknown authority'],
  ['for another host', undefined, 'b.svc', 'x509: certificate is valid for hook.a.svc, not b.svc'],
])('a server with a certificate %s is sent nothing', async (_, subject, name, why) => {
  const root = await make('CN=root')
  const { port, received } = await serve(await make('CN=leaf', { by: root, host }))
  const trusted = subject === undefined ? root : await make(subject)
  await expect(call(port, pem(trusted), name)).rejects.toThrow(
    `tls: failed to verify certificate: ${why}`,
  )
  expect(received()).toBe('')
})

test('an expired server, and one that is not asked for by a name but by its address, are refused', async () => {
  const root = await make('CN=root')
  const over = await serve(await make('CN=leaf', { by: root, host, isOver: true }))
  await expect(call(over.port, pem(root))).rejects.toThrow('has expired or is not yet valid')
  const { port } = await serve(await make('CN=leaf', { by: root, host }))
  await expect(call(port, pem(root), '')).rejects.toThrow("doesn't contain any IP SANs")
})

test('a bundle without a certificate trusts nobody', async () => {
  const root = await make('CN=root')
  const { port } = await serve(await make('CN=leaf', { by: root, host }))
  await expect(call(port, 'nothing')).rejects.toThrow('certificate signed by unknown authority')
})

test('a server that is no TLS server, or ends the connection, is an error', async () => {
  const server = createTcpServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('220 hello\r\n'),
  )
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => await new Promise((resolve) => void server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  await expect(call(port, pem(await make('CN=root')))).rejects.toThrow(/^POST https:\/\/127/)
})
