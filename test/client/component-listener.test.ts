/** The listener of the scheduler and of the controller manager: its files are followed, and what is wrong with them is said. */
import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { openComponentListener } from '../../components/client/component-listener.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { eventually } from '../support/eventually.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTestPki } from '../support/tls.ts'

const first = createTestPki()
const second = createTestPki()

function placed() {
  const folder = temporaryFolder('listener')
  const paths = { cert: join(folder, 'a.crt'), key: join(folder, 'a.key'), ca: join(folder, 'ca') }
  const write = (name: keyof typeof paths, text: string): void => writeFileSync(paths[name], text)
  write('cert', first.server.cert)
  write('key', first.server.key)
  write('ca', first.caPem)
  return { paths, write }
}

const open = (flags: { cert?: string; key?: string; ca?: string; port?: number }) =>
  openComponentListener({
    flags: {
      'bind-address': '127.0.0.1',
      'secure-port': flags.port ?? 0,
      'tls-cert-file': flags.cert,
      'tls-private-key-file': flags.key,
      'client-ca-file': flags.ca,
    },
    client: new FakeCluster(systemClock).client(),
    notReady: () => undefined,
    metrics: () => '',
    clock: systemClock,
    log: silentLog,
  })

test('it shows a new certificate and knows the clients of a new authority as soon as their files are whole', async () => {
  const { paths, write } = placed()
  const listener = await open(paths)
  if (listener === undefined) throw new Error('there is a certificate and a port')
  const stop = new AbortController()
  const running = listener.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  const { port } = await listener.ready
  const jane = { first: first.client('jane'), second: second.client('jane') }
  /** Whose certificate is shown on a new connection, and what the metrics answer this client. */
  const ask = (client: {
    cert: string
    key: string
  }): Promise<[pem: string, status: number | undefined]> =>
    new Promise((resolve, reject) => {
      const options = { port, path: '/metrics', agent: false, rejectUnauthorized: false, ...client }
      get(options, (answer) => {
        const { raw } = (answer.socket as TLSSocket).getPeerCertificate()
        answer.resume()
        resolve([raw.toString('base64'), answer.statusCode])
      }).on('error', reject)
    })
  const der = ({ server }: typeof first): string => server.cert.replace(/-----[^-]+-----|\s/g, '')
  // 401 is for a stranger, 403 for somebody who may not.
  expect(await ask(jane.first)).toEqual([der(first), 403])
  expect(await ask(jane.second)).toEqual([der(first), 401])
  write('ca', 'nothing')
  write('cert', second.server.cert)
  write('ca', second.caPem)
  await eventually(async () => expect(await ask(jane.second)).toEqual([der(first), 403]))
  expect(await ask(jane.first)).toEqual([der(first), 401])
  write('key', second.server.key)
  await eventually(async () => expect(await ask(jane.second)).toEqual([der(second), 403]))
})

test('there is none without a port or a certificate', async () => {
  const { paths } = placed()
  expect(await open({})).toBeUndefined()
  expect(await open({ ...paths, port: -1 })).toBeUndefined()
})

test('files that are missing, damaged or of two minds are told by their flags', async () => {
  const { paths, write } = placed()
  const { cert, key, ca } = paths
  await expect(open({ cert })).rejects.toThrow('--tls-cert-file and --tls-private-key-file go')
  await expect(open({ cert, key: `${key}.gone` })).rejects.toThrow(
    `--tls-private-key-file: cannot read ${key}.gone: `,
  )
  write('ca', 'nothing')
  await expect(open(paths)).rejects.toThrow(`--client-ca-file: ${ca} holds no certificate`)
  write('ca', first.caPem.replace(/^M/m, 'A'))
  await expect(open(paths)).rejects.toThrow(`${ca} holds a certificate that cannot be read`)
  write('key', second.server.key)
  await expect(open(paths)).rejects.toThrow(`--tls-cert-file: ${key} is not the key of ${cert}`)
})
