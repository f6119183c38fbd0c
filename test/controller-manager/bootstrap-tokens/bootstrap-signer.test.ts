import { compactVerify } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import type { Dialect } from '../../../components/api/dialect.ts'
import type { ConfigMap } from '../../../components/api/generated/types.ts'
import { bootstrapSigner } from '../../../components/controller-manager/bootstrap-tokens/bootstrap-signer.ts'
import { createHarness } from '../../support/controller-harness.ts'
import type { Harness } from '../../support/controller-harness.ts'

const harnesses: Harness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop()
})

const kubeconfig = '{"clusters":[{"name":"","cluster":{"server":"https://127.0.0.1:6443"}}]}'

async function start(dialect: Dialect) {
  const harness = createHarness({ dialect })
  harnesses.push(harness)
  const { cluster, resources } = harness
  const key = `${dialect.publicNamespace}/cluster-info`
  cluster.seed(resources.configMaps, {
    metadata: { namespace: dialect.publicNamespace, name: 'cluster-info' },
    data: { kubeconfig },
  })
  const addToken = (
    id: string,
    data: Record<string, string> = {},
    more: Record<string, unknown> = {},
  ) => {
    const all = {
      'token-id': id,
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-signing': 'true',
      ...data,
    }
    cluster.seed(resources.secrets, {
      metadata: { namespace: dialect.systemNamespace, name: `bootstrap-token-${id}` },
      type: labelKey(dialect, 'bootstrap', 'token'),
      data: Object.fromEntries(
        Object.entries(all).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
      ),
      ...more,
    })
  }
  const info = () => cluster.peek<ConfigMap>(resources.configMaps, key)?.data ?? {}
  const signatures = () => Object.keys(info()).filter((name) => name.startsWith('jws-'))
  const changeInfo = (edit: (data: Record<string, string>) => void) =>
    cluster.change(resources.configMaps, key, (object) => edit(object['data']))
  await harness.start(bootstrapSigner)
  return { ...harness, addToken, info, signatures, changeInfo }
}

/** Puts the payload back into a detached JWS and checks it. */
async function verifies(jws: string, payload: string, secret: string): Promise<boolean> {
  const [header = '', middle, signature = ''] = jws.split('.')
  expect(middle).toBe('')
  const whole = `${header}.${Buffer.from(payload).toString('base64url')}.${signature}`
  try {
    await compactVerify(whole, new TextEncoder().encode(secret), { algorithms: ['HS256'] })
    return true
  } catch {
    return false
  }
}

describe.each([dialects.kubernetes, dialects.svc])('bootstrap signer ($name)', (dialect) => {
  it('[BOOT-020] [BOOT-022] cluster-info in the public namespace has one signature per signing token', async () => {
    const { addToken, signatures, settle, cluster, resources } = await start(dialect)
    expect(signatures()).toEqual([])
    addToken('aaaaaa')
    addToken('bbbbbb')
    await settle()
    expect(signatures()).toEqual(['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb'])
    cluster.remove(resources.secrets, `${dialect.systemNamespace}/bootstrap-token-aaaaaa`)
    await settle()
    expect(signatures()).toEqual(['jws-kubeconfig-bbbbbb'])
  })

  it('[BOOT-023] [BOOT-024] [BOOT-025] a signature is a detached HS256 JWS with the whole token over the payload without padding', async () => {
    const { addToken, info, settle } = await start(dialect)
    addToken('aaaaaa')
    await settle()
    const jws = info()['jws-kubeconfig-aaaaaa'] ?? ''
    const header: unknown = JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString())
    expect(header).toEqual({ alg: 'HS256', kid: 'aaaaaa' })
    expect(jws).not.toContain('=')
    expect(await verifies(jws, kubeconfig, 'aaaaaa.0123456789abcdef')).toBe(true)
    expect(await verifies(jws, kubeconfig, '0123456789abcdef')).toBe(false)
    expect(await verifies(jws, `${kubeconfig} `, 'aaaaaa.0123456789abcdef')).toBe(false)
  })

  it('[BOOT-026] a signature follows changes of the payload, and repairs itself', async () => {
    const { addToken, info, settle, changeInfo } = await start(dialect)
    addToken('aaaaaa')
    await settle()
    const before = info()['jws-kubeconfig-aaaaaa']
    changeInfo((data) => {
      data['kubeconfig'] = 'other'
    })
    await settle()
    const after = info()['jws-kubeconfig-aaaaaa'] ?? ''
    expect(after).not.toBe(before)
    expect(await verifies(after, 'other', 'aaaaaa.0123456789abcdef')).toBe(true)
    changeInfo((data) => {
      data['jws-kubeconfig-aaaaaa'] = 'forged'
      data['jws-kubeconfig-zzzzzz'] = 'forged'
    })
    await settle()
    expect(info()).toEqual({ kubeconfig: 'other', 'jws-kubeconfig-aaaaaa': after })
  })

  it('[BOOT-017] the signature of a token goes when the token expires', async () => {
    const { addToken, signatures, settle, clock } = await start(dialect)
    addToken('aaaaaa', { expiration: '2025-01-01T01:00:00Z' })
    addToken('bbbbbb', { expiration: '2024-12-31T00:00:00Z' })
    await settle()
    expect(signatures()).toEqual(['jws-kubeconfig-aaaaaa'])
    await clock.step(3_599_000)
    expect(signatures()).toEqual(['jws-kubeconfig-aaaaaa'])
    await clock.step(1000)
    await settle()
    expect(signatures()).toEqual([])
  })

  it('[BOOT-009] only a token whose signing usage is exactly true signs', async () => {
    const { addToken, signatures, settle } = await start(dialect)
    addToken('aaaaaa', { 'usage-bootstrap-signing': 'false' })
    addToken('bbbbbb', { 'usage-bootstrap-signing': 'TRUE' })
    addToken('cccccc', { 'usage-bootstrap-signing': '' })
    addToken('dddddd')
    await settle()
    expect(signatures()).toEqual(['jws-kubeconfig-dddddd'])
  })

  it('a token that is not whole does not sign', async () => {
    const { addToken, signatures, settle } = await start(dialect)
    addToken('aaaaaa', { 'token-secret': 'short' })
    addToken('bbbbbb', { 'token-id': 'cccccc' })
    addToken('dddddd', {}, { type: 'Opaque' })
    addToken('eeeeee', { expiration: 'tomorrow' })
    await settle()
    expect(signatures()).toEqual([])
  })

  it('does nothing without a payload, and writes nothing when all is right', async () => {
    const { addToken, settle, changeInfo, cluster } = await start(dialect)
    addToken('aaaaaa')
    await settle()
    expect(cluster.writes).toHaveLength(1)
    changeInfo((data) => {
      delete data['kubeconfig']
    })
    await settle()
    expect(cluster.writes).toHaveLength(1)
  })
})
