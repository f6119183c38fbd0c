/** The file of --encryption-provider-config: what is accepted, and how a fault is told. */
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createEncryption } from '../../../components/api-server/encryption/encryption.ts'
import { parseEncryptionConfig } from '../../../components/api-server/encryption/encryption-config.ts'
import { silentLog as log } from '../../../components/component-base/log.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { kmsMetrics } from '../../support/fake-kms.ts'
import { encryptionConfig, provider } from '../../support/raw-store.ts'

const dialect = dialects.kubernetes
const parse = (text: string) => parseEncryptionConfig(text, { path: '/etc/enc.yaml', dialect })
const file = (...rules: Parameters<typeof encryptionConfig>[1][]): string =>
  encryptionConfig('k8s.io', ...rules)
const gcm = provider('aesgcm', { k1: 'a' })
const rule = (resources: unknown, providers: unknown = [gcm]) =>
  ({ resources, providers }) as { resources: string[]; providers: unknown[] }

function faultOf(text: string): string {
  try {
    parse(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing is wrong with it')
}

describe('the file', () => {
  it('is YAML or JSON, with all providers', () => {
    const yaml = `
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
  - resources: [secrets, '*.apps']
    providers:
      - aesgcm: {keys: [{name: k1, secret: ${Buffer.alloc(16, 'a').toString('base64')}}]}
      - aescbc: {keys: [{name: k2, secret: ${Buffer.alloc(24, 'b').toString('base64')}}]}
      - secretbox: {keys: [{name: k3, secret: ${Buffer.alloc(32, 'c').toString('base64')}}]}
      - identity: {}
`
    const [only] = parse(yaml)
    expect(only?.resources).toEqual(['secrets', '*.apps'])
    expect(only?.providers.map(({ kind }) => kind)).toEqual([
      'aesgcm',
      'aescbc',
      'secretbox',
      'identity',
    ])
  })

  it('is of its kind in either dialect, and of no other', () => {
    const svc = encryptionConfig('svc.io', rule(['secrets']))
    expect(parseEncryptionConfig(svc, { path: 'f', dialect: dialects.svc })).toHaveLength(1)
    expect(faultOf(svc)).toContain('registered for version "apiserver.config.svc.io/v1"')
    expect(faultOf('')).toBe('encryption provider configuration file "/etc/enc.yaml" is empty')
    expect(faultOf('{}')).toContain("Object 'Kind' is missing")
    expect(faultOf('- 1')).toContain("Object 'Kind' is missing")
    expect(faultOf('kind: Pod\napiVersion: v1')).toContain('no kind "Pod" is registered')
    expect(faultOf('a: [')).toMatch(
      /^error decoding encryption provider configuration file "\/etc\/enc.yaml": yaml: /,
    )
  })

  const secrets = 'resources[0].providers[0].aesgcm.keys[0]'
  const key = (name: unknown, secret: unknown): unknown[] => [
    { aesgcm: { keys: [{ name, secret }] } },
  ]
  it.each([
    [file(), 'resources: Required value: at least one resources is required'],
    [
      file(rule([])),
      'resources[0].resources: Required value: at least one resources[0].resources is required',
    ],
    [
      file(rule(['secrets'], [])),
      'resources[0].providers: Required value: at least one resources[0].providers is required',
    ],
    [
      file(rule(['secrets'], [{ aesgcm: { keys: [] } }])),
      'resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required',
    ],
    [
      file(rule(['secrets'], key('', Buffer.alloc(16).toString('base64')))),
      `${secrets}.name: Required value: name is a mandatory field for a key`,
    ],
    [
      file(rule(['secrets'], key('k', ''))),
      `${secrets}.secret: Required value: secret is a mandatory field for a key`,
    ],
    [
      file(rule(['secrets'], key('k', 'hush-hush!'))),
      `${secrets}.secret: Invalid value: "REDACTED": secrets must be base64 encoded`,
    ],
    [
      file(rule(['secrets'], key('k', Buffer.from('short').toString('base64')))),
      `${secrets}.secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, expected one of [16 24 32]`,
    ],
    [
      file(
        rule(
          ['secrets'],
          [{ secretbox: { keys: [{ name: 'k', secret: 'A'.repeat(20) + '==' }] } }],
        ),
      ),
      'resources[0].providers[0].secretbox.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
    ],
    [
      file(rule(['secrets'], [{}])),
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    ],
    [
      file(rule(['secrets'], [{ ...(gcm as object), identity: {} }])),
      'more than one provider specified in a single element, should split into different list elements',
    ],
    [file(rule('secrets')), 'resources[0].resources: Invalid value: must be a list'],
    [
      file(rule(['secrets'], ['aesgcm'])),
      'resources[0].providers[0]: Invalid value: must be an object',
    ],
    [
      file(rule(['Secrets'])),
      'resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters',
    ],
    [file(rule(['*'])), "use '*.' to encrypt all the resources from core API group or *.* to"],
    [
      file(rule(['events.events.k8s.io'])),
      `"events.events.k8s.io": '*.events.k8s.io' objects are stored using the 'events' API group`,
    ],
    [file(rule(['ingresses.extensions'])), "'extensions' group has been removed"],
    [file(rule(['secrets.*'])), 'encrypting the same resource across groups is not supported'],
    [file(rule(['apiserveripinfo'])), 'resources which do not have REST API/s cannot be encrypted'],
    [
      file(rule(['secrets', 'secrets'])),
      'resources[0].resources: Invalid value: []string{"secrets", "secrets"}: the same resource cannot be specified multiple times',
    ],
    [
      file(rule(['secrets', '*.'])),
      'resources[0].resources: Invalid value: []string{"secrets", "*."}: using overlapping resources',
    ],
    [file(rule(['*.*', 'pods'])), 'using overlapping resources'],
  ])('%# a fault names its place and shows no secret', (text, message) => {
    const fault = faultOf(text)
    expect(fault).toContain(message)
    expect(fault).not.toContain('hush')
    expect(fault).not.toContain(Buffer.from('short').toString('base64'))
  })

  it('names all faults at once', () => {
    const fault = faultOf(file(rule(['Pods']), rule(['secrets'], [{}])))
    expect(fault).toMatch(
      /^\[resources\[0\]\.resources\[0\]: .*, resources\[1\]\.providers\[0\]: .*\]$/,
    )
  })
})

describe('kms providers', () => {
  const kms = (more: Readonly<Record<string, unknown>> = {}): unknown => ({
    kms: { apiVersion: 'v2', name: 'foo', endpoint: 'unix:///run/kms.sock', ...more },
  })
  const kmsFile = (...providers: unknown[]): string => file(rule(['secrets'], providers))

  it('have a name, a socket and a timeout', () => {
    const [only] = parse(
      kmsFile(kms(), kms({ name: 'bar', endpoint: 'unix:///@kms%20one', timeout: '1m500ms' })),
    )
    expect(only?.providers).toEqual([
      {
        kind: 'kms',
        name: 'foo',
        endpoint: 'unix:///run/kms.sock',
        socketPath: '/run/kms.sock',
        timeoutMs: 3000,
      },
      {
        kind: 'kms',
        name: 'bar',
        endpoint: 'unix:///@kms%20one',
        socketPath: '\0kms one',
        timeoutMs: 60_500,
      },
    ])
  })

  const place = 'resources[0].providers[0].kms'
  it.each([
    [kms({ name: '' }), `${place}.name: Required value: name is a mandatory field for a provider`],
    [
      kms({ name: 'a:b' }),
      `${place}.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain ':'`,
    ],
    [
      kms({ timeout: '0s' }),
      `${place}.timeout: Invalid value: 0s: timeout should be a positive value`,
    ],
    [
      kms({ timeout: '-15s' }),
      `${place}.timeout: Invalid value: -15s: timeout should be a positive value`,
    ],
    [kms({ timeout: 'soon' }), `${place}.timeout: Invalid value: must be a duration such as "3s"`],
    [
      kms({ endpoint: '' }),
      `${place}.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`,
    ],
    [
      kms({ endpoint: 'unix:///foo\n.socket' }),
      `${place}.endpoint: Invalid value: "unix:///foo\\n.socket": invalid endpoint for kms provider, error: parse "unix:///foo\\n.socket": net/url: invalid control character in URL`,
    ],
    [
      kms({ endpoint: 'http://kms.sock' }),
      `${place}.endpoint: Invalid value: "http://kms.sock": unsupported scheme "http" for KMS provider, only unix is supported`,
    ],
    [
      kms({ endpoint: 'unix://kms.sock' }),
      `${place}.endpoint: Invalid value: "unix://kms.sock": invalid endpoint for kms provider, error: the path of the socket is missing, as in unix:///run/kms.sock`,
    ],
    [
      kms({ cachesize: 1000 }),
      `${place}.cachesize: Invalid value: 1000: cachesize is not supported in v2`,
    ],
    [
      kms({ apiVersion: 'v3' }),
      `${place}.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported`,
    ],
    [
      kms({ apiVersion: 'v1', cachesize: 1000 }),
      `${place}.apiVersion: Invalid value: "v1": KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead: this server has no KMSv1, so set apiVersion: v2`,
    ],
    [kms({ apiVersion: undefined }), `${place}.apiVersion: Invalid value: "v1": KMSv1 is`],
    [{ kms: 'x' }, `${place}: Invalid value: must be an object`],
  ])('%# an error has upstream’s words', (provider, message) => {
    expect(faultOf(kmsFile(provider))).toContain(message)
  })

  it('have names of their own in the whole file', () => {
    const duplicate = 'Invalid value: "foo": duplicate KMS provider name foo, names must be unique'
    expect(faultOf(kmsFile(kms(), kms()))).toBe(`resources[0].providers[1].kms.name: ${duplicate}`)
    expect(faultOf(file(rule(['secrets'], [kms()]), rule(['configmaps'], [kms()])))).toBe(
      `resources[1].providers[0].kms.name: ${duplicate}`,
    )
  })
})

describe('rules', () => {
  const { all: resources } = resourcesOf(dialect)
  const clock = new FakeClock()
  const { metrics } = kmsMetrics(clock)
  const create = async (...rules: Parameters<typeof file>) =>
    await createEncryption(parse(file(...rules)), { dialect, resources, clock, log, metrics })

  it('a resource has the providers of its name, else of its group, else of *.*', async () => {
    const encryption = await create(
      rule(['secrets'], [provider('aesgcm', { one: 'a' })]),
      rule(['*.'], [provider('aesgcm', { two: 'b' })]),
      rule(['*.apps', 'roles.rbac.authorization.k8s.io'], [provider('secretbox', { three: 'c' })]),
      rule(['*.*'], [provider('aescbc', { four: 'd' })]),
    )
    const head = (prefix: string): string =>
      (encryption.of(prefix)?.toStorage(Buffer.from('{}'), 'k').toString('latin1') ?? '').slice(
        0,
        26,
      )
    expect(head('core/secrets')).toMatch(/^k8s:enc:aesgcm:v1:one:/)
    expect(head('core/configmaps')).toMatch(/^k8s:enc:aesgcm:v1:two:/)
    expect(head('core/events')).toMatch(/^k8s:enc:aesgcm:v1:two:/)
    expect(head('apps/deployments')).toMatch(/^k8s:enc:secretbox:v1:thr/)
    expect(head('rbac/roles')).toMatch(/^k8s:enc:secretbox:v1:thr/)
    expect(head('rbac/clusterroles')).toMatch(/^k8s:enc:aescbc:v1:four:/)
    expect(head('example.com/widgets')).toMatch(/^k8s:enc:aescbc:v1:four:/)
  })

  it('without a rule nothing is transformed', async () => {
    const encryption = await create(rule(['secrets']))
    expect(encryption.of('core/configmaps')).toBeUndefined()
  })

  it('a rule behind a wider one is refused', async () => {
    const masked = 'error while building transformers: resource'
    await expect(create(rule(['*.']), rule(['secrets']))).rejects.toThrow(
      `${masked} "secrets" is masked by earlier rule "*."`,
    )
    await expect(create(rule(['*.*']), rule(['deployments.apps']))).rejects.toThrow(
      `${masked} "deployments.apps" is masked by earlier rule "*.*"`,
    )
  })

  it('rules of the same resource add up: the first one writes', async () => {
    const encryption = await create(
      rule(['secrets'], [provider('aesgcm', { new: 'n' })]),
      rule(['secrets'], [provider('aesgcm', { old: 'o' })]),
    )
    const old = await create(rule(['secrets'], [provider('aesgcm', { old: 'o' })]))
    const stored = old.of('core/secrets')!.toStorage(Buffer.from('{}'), 'k')
    expect(encryption.of('core/secrets')?.fromStorage(stored, 'k')).toMatchObject({
      ok: true,
      isStale: true,
    })
  })
})
