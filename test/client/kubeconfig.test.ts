import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import {
  connectionFrom,
  createKubeconfig,
  parseKubeconfig,
  readKubeconfig,
  writeKubeconfig,
  type PluginStarter,
} from '../../components/client/kubeconfig.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

const folder = temporaryFolder('kubeconfig')
const made = createKubeconfig({
  cluster: 'c',
  server: 'https://127.0.0.1:6443',
  ca: 'CA PEM',
  user: 'admin',
  credentials: { cert: 'CERT', key: 'KEY' },
})

describe('kubeconfig', () => {
  it.each(['yaml', 'json'] as const)(
    'reads what it wrote, as %s, readable by its owner alone',
    async (style) => {
      const path = join(folder, style, 'config')
      await writeKubeconfig(path, made, { style })
      expectMode(path, 0o600)
      expect(await readKubeconfig(path)).toEqual(made)
    },
  )

  it('gives the connection of the current context from embedded data', async () => {
    const connection = await connectionFrom(made)
    expect(connection).toEqual({
      server: 'https://127.0.0.1:6443',
      ca: Buffer.from('CA PEM'),
      insecureSkipVerify: false,
      credentials: { cert: Buffer.from('CERT'), key: Buffer.from('KEY') },
      namespace: 'default',
    })
  })

  it('reads files relative to its own folder, and a token from a file', async () => {
    const path = join(folder, 'config')
    writeFileSync(join(folder, 'ca.crt'), 'CA')
    writeFileSync(join(folder, 'token'), 'abc\n')
    writeFileSync(
      path,
      `apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u, namespace: team}}]
clusters: [{name: c, cluster: {server: "https://h:1", certificate-authority: ca.crt, tls-server-name: api}}]
users: [{name: u, user: {tokenFile: token}}]
`,
    )
    const connection = await connectionFrom(await readKubeconfig(path))
    expect(connection).toMatchObject({
      ca: Buffer.from('CA'),
      serverName: 'api',
      namespace: 'team',
    })
    const { token } = connection.credentials ?? {}
    expect(typeof token === 'function' ? await token() : token).toBe('abc')
  })

  it('a token file is read again each minute, and when the clock was set back; while it is gone its last token holds', async () => {
    const file = join(folder, 'renewed-token')
    writeFileSync(file, 'first')
    const cluster = { name: 'c', cluster: { server: 'https://h:1' } }
    const { credentials } = await connectionFrom({
      clusters: [cluster],
      users: [{ name: 'u', user: { tokenFile: file } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    })
    const { token } = credentials ?? {}
    const current = async () => (typeof token === 'function' ? await token() : token)
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      expect(await current()).toBe('first')
      writeFileSync(file, 'second')
      expect(await current()).toBe('first')
      vi.setSystemTime(Date.now() + 61_000)
      expect(await current()).toBe('second')
      writeFileSync(file, 'third')
      vi.setSystemTime(Date.now() - 3_600_000)
      expect(await current()).toBe('third')
      rmSync(file)
      vi.setSystemTime(Date.now() + 61_000)
      expect(await current()).toBe('third')
    } finally {
      vi.useRealTimers()
    }
  })

  it('a credential plugin is found beside the file when it is named by a path, and is told the authorities', async () => {
    const path = join(folder, 'with-plugins')
    writeFileSync(join(folder, 'ca.crt'), 'CA')
    const entry = (name: string, command: string): string =>
      `{name: ${name}, user: {exec: {apiVersion: v1, command: ${command}}}}`
    writeFileSync(
      path,
      `current-context: beside
contexts: [{name: beside, context: {cluster: c, user: beside}}, {name: named, context: {cluster: c, user: named}}]
clusters: [{name: c, cluster: {server: "https://h:1", certificate-authority: ca.crt}}]
users: [${entry('beside', './bin/login')}, ${entry('named', 'login')}]
`,
    )
    const config = await readKubeconfig(path)
    const started = async (context: string) => {
      let got: unknown
      const plugin: PluginStarter = ({ command }, cluster) => {
        got = [command, cluster['certificate-authority-data']]
        return { current: async () => ({}), refused: () => {} }
      }
      await connectionFrom(config, { context, plugin })
      return got
    }
    const authorities = Buffer.from('CA').toString('base64')
    expect(await started('beside')).toEqual([join(folder, 'bin/login'), authorities])
    expect(await started('named')).toEqual(['login', authorities])
  })

  it('says what is wrong', async () => {
    await expect(parseKubeconfig('a: [')).rejects.toThrow('not a kubeconfig')
    const faults = ['users: [{user: {token: "s3cret"}', '{"users": "s3cret" oops}', '{"s3cret']
    for (const text of faults) {
      const error: unknown = await parseKubeconfig(text).catch((reason: unknown) => reason)
      expect(inspect(error)).toMatch(/not a kubeconfig: .+/)
      expect(inspect(error)).not.toContain('s3cret')
    }
    await expect(parseKubeconfig('a: b\nc: [')).rejects.toThrow(/\(line 2, column \d+\)/)
    await expect(parseKubeconfig('- a')).rejects.toThrow('no mapping')
    await expect(connectionFrom(made, { context: 'none' })).rejects.toThrow(
      'kubeconfig has no context "none"',
    )
    await expect(readKubeconfig('/does/not/exist')).rejects.toThrow('cannot read kubeconfig')
  })
})
