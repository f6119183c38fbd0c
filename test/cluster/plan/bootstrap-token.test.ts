/** Bootstrap tokens: their form and their Secret, in both dialects. */
import { expect, test } from 'vitest'
import {
  createBootstrapToken,
  formatToken,
  parseToken,
  tokenSecret,
} from '../../../cluster/plan/bootstrap-token.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { systemClock } from '../../../components/component-base/clock.ts'

const token = { id: 'abcdef', secret: '0123456789abcdef' }

test('a new token has the form of one, and every letter is as likely as another', () => {
  const counts = new Map<string, number>()
  for (let round = 0; round < 500; round += 1) {
    const text = formatToken(createBootstrapToken(systemClock))
    expect(text).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
    for (const letter of text.replace('.', '')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  // 11,000 letters, 306 of each on average; 150 is nine standard deviations below.
  expect(counts.size).toBe(36)
  expect(Math.min(...counts.values())).toBeGreaterThan(150)
})

test('what is no token is refused without repeating it', () => {
  expect(parseToken(' abcdef.0123456789abcdef\n')).toEqual(token)
  for (const text of [
    'abcdef',
    'ABCDEF.0123456789abcdef',
    'abcdef.0123456789abcde',
    'secret-stuff',
  ]) {
    expect(() => parseToken(text)).toThrow('invalid bootstrap token')
  }
})

function fieldsOf(secret: KubeObject): Record<string, string> {
  const entries = Object.entries(secret['data'] as Record<string, string>)
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  )
}

test('its Secret is where and what the API server looks for', () => {
  const nowMs = Date.parse('2030-01-01T00:00:00Z')
  const secret = tokenSecret({ token, dialect: dialects.kubernetes, nowMs, ttlMs: 3_600_000 })
  expect(secret).toMatchObject({
    kind: 'Secret',
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
  })
  expect(fieldsOf(secret)).toEqual({
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    expiration: '2030-01-01T01:00:00Z',
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
  })
  const other = tokenSecret({
    token,
    dialect: dialects.svc,
    nowMs,
    usages: ['signing'],
    extraGroups: ['system:bootstrappers:a', 'system:bootstrappers:b'],
    description: 'for a lab',
  })
  expect(other.metadata.namespace).toBe('svc-system')
  expect(other['type']).toBe('bootstrap.svc.io/token')
  expect(fieldsOf(other)).toEqual({
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    description: 'for a lab',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:a,system:bootstrappers:b',
  })
})
