import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import {
  createPluginCredentials,
  readPluginOutput,
} from '../../components/client/exec-credential.ts'
import type { PluginOptions } from '../../components/client/exec-credential.ts'
import { connectionFrom, createKubeconfig } from '../../components/client/kubeconfig.ts'
import { createRestClient } from '../../components/client/rest-client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { cleanUp, pki, serve, text } from '../support/https-fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

afterEach(cleanUp)
const folder = temporaryFolder('plugin')
let plugins = 0

/** A plugin that prints `output(run)` for its first, second... run, and keeps its input. */
function pluginWith(outputs: unknown[], more: Partial<PluginOptions> = {}) {
  plugins += 1
  const base = join(folder, String(plugins))
  const dialect = more.dialect ?? dialects.kubernetes
  writeFileSync(`${base}.outputs`, JSON.stringify(outputs))
  writeFileSync(`${base}.runs`, '')
  writeFileSync(
    `${base}.cjs`,
    `const fs = require('node:fs')
fs.appendFileSync(process.argv[2] + '.runs', 'x')
fs.writeFileSync(process.argv[2] + '.input', JSON.stringify({ info: process.env[process.argv[3]], own: process.env.OWN }))
const outputs = JSON.parse(fs.readFileSync(process.argv[2] + '.outputs'))
const output = outputs[Math.min(fs.readFileSync(process.argv[2] + '.runs').length, outputs.length) - 1]
process.stdout.write(typeof output === 'string' ? output : JSON.stringify(output))`,
  )
  const clock = new FakeClock()
  const options: PluginOptions = {
    exec: {
      apiVersion: `${apiGroup(dialect, 'client.authentication')}/v1`,
      command: process.execPath,
      args: [`${base}.cjs`, base, `${dialect.name.toUpperCase()}_EXEC_INFO`],
      interactiveMode: 'IfAvailable',
      env: [{ name: 'OWN', value: 'mine' }],
    },
    cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': 'Q0E=' },
    dialect,
    clock,
    hasTerminal: false,
    ...more,
  }
  return {
    clock,
    options,
    source: createPluginCredentials(options),
    runs: () => readFileSync(`${base}.runs`).length,
    input: () => {
      const { info, own } = JSON.parse(readFileSync(`${base}.input`, 'utf8')) as Record<
        string,
        string
      >
      return { info: JSON.parse(info ?? '{}') as Record<string, Record<string, unknown>>, own }
    },
  }
}

const both = [dialects.kubernetes, dialects.svc]
const credential = (
  status: unknown,
  dialect = dialects.kubernetes as (typeof both)[number],
  version = 'v1',
) => ({
  kind: 'ExecCredential',
  apiVersion: `${apiGroup(dialect, 'client.authentication')}/${version}`,
  status,
})

describe.each(both)('credential plugin ($name)', (dialect) => {
  const apiVersion = `${apiGroup(dialect, 'client.authentication')}/v1`
  const read = (output: unknown) => readPluginOutput(JSON.stringify(output), apiVersion)

  it('[CRED-001] [CRED-006] its token is sent to the server as a bearer token', async () => {
    const seen: unknown[] = []
    const { port } = await serve(async (request) => {
      seen.push(request.headers['authorization'])
      return text('{}')
    })
    const { options } = pluginWith([credential({ token: 'abc' }, dialect)], { dialect })
    const config = createKubeconfig({
      cluster: 'c',
      server: `https://127.0.0.1:${port}`,
      ca: pki.caPem,
      user: 'u',
      credentials: { token: '' },
    })
    const withExec = { ...config, users: [{ name: 'u', user: { exec: options.exec } }] }
    const connection = await connectionFrom(withExec, {
      plugin: (exec, cluster) => createPluginCredentials({ ...options, exec, cluster }),
    })
    const client = createRestClient(connection)
    await client.json({ method: 'GET', path: '/' })
    client.close()
    expect(seen).toEqual(['Bearer abc'])
  })

  it('[CRED-002] takes v1 and v1beta1 when the answer matches the configuration', async () => {
    for (const version of ['v1', 'v1beta1']) {
      const plugin = pluginWith([credential({ token: 't' }, dialect, version)], { dialect })
      const exec = { ...plugin.options.exec, apiVersion: apiVersion.replace('v1', version) }
      const source = createPluginCredentials({ ...plugin.options, exec })
      expect(await source.current()).toEqual({ token: 't' })
    }
    const mismatch = pluginWith([credential({ token: 't' }, dialect, 'v1beta1')], { dialect })
    await expect(mismatch.source.current()).rejects.toThrow(apiVersion)
    const exec = { ...mismatch.options.exec, apiVersion: apiVersion.replace('v1', 'v1alpha1') }
    const unknown = createPluginCredentials({ ...mismatch.options, exec })
    await expect(unknown.current()).rejects.toThrow('v1beta1')
  })

  it('[CRED-003] another kind is an error', () => {
    expect(() => read({ ...credential({ token: 't' }, dialect), kind: 'Token' })).toThrow(
      'did not print an ExecCredential',
    )
  })

  it('[CRED-004] [CRED-009] gets the cluster in its environment when it asks for it, and not otherwise', async () => {
    const plugin = pluginWith([credential({ token: 't' }, dialect)], { dialect })
    await plugin.source.current()
    expect(plugin.input().info['spec']).toEqual({ interactive: false })
    expect(plugin.input().own).toBe('mine')
    const cluster = {
      ...plugin.options.cluster,
      extensions: [
        {
          name: `${apiGroup(dialect, 'client.authentication')}/exec`,
          extension: { any: ['thing'] },
        },
      ],
    }
    const exec = { ...plugin.options.exec, provideClusterInfo: true }
    await createPluginCredentials({ ...plugin.options, exec, cluster }).current()
    expect(plugin.input().info).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: {
        interactive: false,
        cluster: {
          server: 'https://127.0.0.1:6443',
          'certificate-authority-data': 'Q0E=',
          config: { any: ['thing'] },
        },
      },
    })
  })

  it('[CRED-005] is interactive only with a terminal and when it may be', async () => {
    const inputFor = async (hasTerminal: boolean, interactiveMode: 'Never' | 'IfAvailable') => {
      const plugin = pluginWith([credential({ token: 't' }, dialect)], { dialect, hasTerminal })
      const exec = { ...plugin.options.exec, interactiveMode }
      await createPluginCredentials({ ...plugin.options, exec }).current()
      return plugin.input().info['spec']?.['interactive']
    }
    expect(await inputFor(true, 'IfAvailable')).toBe(true)
    expect(await inputFor(false, 'IfAvailable')).toBe(false)
    expect(await inputFor(true, 'Never')).toBe(false)
    const plugin = pluginWith([], { dialect })
    const exec = { ...plugin.options.exec, interactiveMode: 'Always' as const }
    const source = createPluginCredentials({ ...plugin.options, exec })
    await expect(source.current()).rejects.toThrow('no terminal')
  })

  it('[CRED-007] a certificate and its key come together and as PEM', () => {
    const { cert, key } = pki.client('alice')
    const status = { clientCertificateData: cert, clientKeyData: key }
    expect(read(credential(status, dialect)).credentials).toEqual({ cert, key })
    expect(() => read(credential({ clientCertificateData: cert }, dialect))).toThrow('together')
    expect(() => read(credential({ clientKeyData: key, token: 't' }, dialect))).toThrow('together')
    const noPem = { clientCertificateData: 'x', clientKeyData: key }
    expect(() => read(credential(noPem, dialect))).toThrow('PEM')
    expect(() =>
      read(credential({ clientCertificateData: cert, clientKeyData: 'x' }, dialect)),
    ).toThrow('PEM')
  })

  it('[CRED-008] an expiration that is not RFC 3339 is an error', () => {
    const until = (expirationTimestamp: unknown) =>
      read(credential({ token: 't', expirationTimestamp }, dialect)).untilMs
    expect(until('2025-01-01T00:00:00Z')).toBe(Date.parse('2025-01-01T00:00:00Z'))
    expect(until('2025-01-01T01:00:00.5+01:00')).toBe(Date.parse('2025-01-01T00:00:00.5Z'))
    expect(() => until('tomorrow')).toThrow('RFC 3339')
    expect(() => until(12)).toThrow('RFC 3339')
  })
})

describe('credentials of a plugin', () => {
  it('[CRED-010] are kept until they expire', async () => {
    const expiring = { token: 'a', expirationTimestamp: '2025-01-01T01:00:00Z' }
    const { source, clock, runs } = pluginWith([credential(expiring), credential({ token: 'b' })])
    expect(await Promise.all([source.current(), source.current()])).toEqual([
      { token: 'a' },
      { token: 'a' },
    ])
    await clock.step(3_599_000)
    expect(await source.current()).toEqual({ token: 'a' })
    expect(runs()).toBe(1)
    await clock.step(1000)
    expect(await source.current()).toEqual({ token: 'b' })
    expect(runs()).toBe(2)
  })

  it('[CRED-011] without an expiration are kept until the server answers 401', async () => {
    const seen: unknown[] = []
    const { port } = await serve(async (request) => {
      seen.push(request.headers['authorization'])
      return text('{}', seen.length === 3 ? 401 : 200)
    })
    const { source, runs } = pluginWith([credential({ token: 'a' }), credential({ token: 'b' })])
    const client = createRestClient({
      server: `https://127.0.0.1:${port}`,
      ca: pki.caPem,
      credentialSource: source,
    })
    const ask = () => client.json({ method: 'GET', path: '/' })
    await ask()
    await ask()
    expect(runs()).toBe(1)
    await expect(ask()).rejects.toMatchObject({ code: 401 })
    await ask()
    client.close()
    expect(seen).toEqual(['Bearer a', 'Bearer a', 'Bearer a', 'Bearer b'])
    expect(runs()).toBe(2)
  })

  it('[CRED-012] are not kept beyond the process', async () => {
    const { options, source, runs } = pluginWith([credential({ token: 'a' })])
    await source.current()
    await createPluginCredentials(options).current()
    expect(runs()).toBe(2)
  })

  it('[CRED-013] a changed certificate makes the client connect anew and leave the old connection', async () => {
    const peers: (string | undefined)[] = []
    const { port, server } = await serve(async (request) => {
      peers.push(request.peer?.der.toString('base64').slice(-20))
      return text('{}')
    })
    const certificate = (name: string, more = {}) => {
      const { cert, key } = pki.client(name)
      return credential({ clientCertificateData: cert, clientKeyData: key, ...more })
    }
    const expirationTimestamp = '2025-01-01T01:00:00Z'
    const { source, clock } = pluginWith([
      certificate('a', { expirationTimestamp }),
      certificate('b'),
    ])
    const client = createRestClient({
      server: `https://127.0.0.1:${port}`,
      ca: pki.caPem,
      credentialSource: source,
    })
    const ask = () => client.json({ method: 'GET', path: '/' })
    await ask()
    await ask()
    expect(server.connections).toBe(1)
    await clock.step(3_600_000)
    await ask()
    expect(new Set(peers).size).toBe(2)
    await expect.poll(() => server.connections).toBe(1)
    client.close()
  })

  it('a plugin that fails, or is not there, is a clear error that shows nothing it printed', async () => {
    const { options } = pluginWith(['not json secret'])
    const fail = (exec: Partial<PluginOptions['exec']>) =>
      createPluginCredentials({ ...options, exec: { ...options.exec, ...exec } })
        .current()
        .then(
          () => expect.unreachable(),
          (error: Error) => error.message,
        )
    expect(await fail({ command: '/no/such/plugin', installHint: 'install it' })).toMatch(
      /no\/such\/plugin: .*ENOENT\ninstall it/,
    )
    expect(await fail({ args: ['-e', 'process.exit(3)'] })).toContain('exit code 3')
    expect(await fail({})).toBe('the plugin printed something that is not JSON')
  })
})
