import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createCertificateRequest } from '../../../../certs/csr.ts'
import { generateKeyPair } from '../../../../certs/keys.ts'
import { dialects } from '../../../../components/api/dialect.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'
import { createTestPki } from '../../../support/tls.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
const pem = createCertificateRequest(generateKeyPair(), { subject })
const certificate = base64(createTestPki().caPem)

const spec = {
  request: base64(pem),
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
}
const user = {
  name: 'system:bootstrap:abc',
  uid: 'u-1',
  groups: ['system:bootstrappers'],
  extra: { scopes: ['a', 'b'] },
}
const runs = strategyRuns('certificateSigningRequests', { user })
const stored = runs.created({ spec })
const condition = (type: string, status = 'True', rest = {}) => ({ type, status, ...rest })
const withConditions = (...conditions: object[]) => ({ spec, status: { conditions } })

describe('a new signing request', () => {
  test('is stamped with who asks, whatever it says itself', () => {
    const claimed = { username: 'admin', uid: '0', groups: ['system:masters'], extra: { x: ['y'] } }
    const { spec: made } = runs.created({ spec: { ...spec, ...claimed } })
    expect(made).toMatchObject({
      username: 'system:bootstrap:abc',
      uid: 'u-1',
      groups: ['system:bootstrappers'],
      extra: { scopes: ['a', 'b'] },
    })
    const plain = strategyRuns('certificateSigningRequests', { user: { name: 'bob', groups: [] } })
    expect(plain.created({ spec: { ...spec, ...claimed } })['spec']).toEqual({
      ...spec,
      username: 'bob',
    })
  })

  test('has no status', () => {
    const asked = withConditions(condition('Approved'))
    expect(runs.created(asked)['status']).toEqual({})
  })

  test('is valid with any path segment as its name', () => {
    expect(runs.createFaults({ spec, metadata: { name: 'Node:A_b' } })).toEqual([])
    expect(runs.createFaults({ spec, metadata: { name: 'a/b' } })).toEqual([
      `metadata.name: Invalid value: "a/b": may not contain '/'`,
    ])
  })

  test.each([
    [
      { request: 'AAAA', signerName: 'bad', usages: [] },
      [
        'spec.request: Invalid value: []byte{0x0, 0x0, 0x0}: PEM block type must be CERTIFICATE REQUEST',
        'spec.usages: Required value: usages must be provided',
        `spec.signerName: Invalid value: "bad": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
      ],
    ],
    [{ signerName: '' }, ['spec.signerName: Required value']],
    [
      { signerName: 'example/x' },
      [
        'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
      ],
    ],
    [
      { signerName: 'kubernetes.io/legacy-unknown' },
      [
        'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
      ],
    ],
    [
      { expirationSeconds: 599 },
      [
        'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
      ],
    ],
    [{ expirationSeconds: 600 }, []],
    [{ usages: ['signing', 'signing'] }, ['spec.usages[1]: Duplicate value: "signing"']],
  ])('%j is answered with %j', (change, faults) => {
    expect(runs.createFaults({ spec: { ...spec, ...change } })).toEqual(faults)
  })

  test('must be signed by the key it holds, with a usage that is known', () => {
    const der = Buffer.from(pem.replace(/-----.*-----/g, ''), 'base64')
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
    const [first, second, ...more] = runs.createFaults({
      spec: { ...spec, request: base64(forged), usages: ['fun'] },
    })
    expect(first).toMatch(/^spec\.request: .*x509: ECDSA verification failure$/)
    expect(second).toMatch(
      /^spec\.usages\[0\]: Unsupported value: "fun": supported values: "any", "cert sign", /,
    )
    expect(more).toEqual([])
  })

  test.each([
    ['rsa', generateKeyPair('rsa')],
    ['ed25519', generateKeyPairSync('ed25519')],
  ])('may hold a key of kind %s', (_, keys) => {
    const request = base64(createCertificateRequest(keys, { subject }))
    expect(runs.createFaults({ spec: { ...spec, request } })).toEqual([])
  })

  test('in the other dialect the legacy signer has the other domain', () => {
    const svc = strategyRuns('certificateSigningRequests', { dialect: dialects.svc })
    const faults = svc.createFaults({ spec: { ...spec, signerName: 'svc.io/legacy-unknown' } })
    expect(faults).toHaveLength(1)
  })
})

describe('a plain update', () => {
  test('changes neither spec nor status', () => {
    const other = { spec: { ...spec, usages: ['any'], username: 'admin' } }
    expect(runs.updated(stored, other)['spec']).toEqual(stored['spec'])
    const approved = withConditions(condition('Approved'))
    expect(runs.updated(stored, approved)['status']).toEqual({})
    expect(runs.updateFaults(stored, approved)).toEqual([])
  })
})

describe('approval', () => {
  test('adds conditions, fills their times, and leaves the certificate alone', () => {
    const old = { ...stored, status: { certificate } }
    const asked = {
      spec: { ...spec, usages: ['any'] },
      status: { conditions: [condition('Approved')], certificate: base64('x') },
    }
    const result = runs.updated(old, asked, 'approval')
    expect(result['spec']).toEqual(stored['spec'])
    expect(result['status']).toEqual({
      certificate,
      conditions: [
        {
          type: 'Approved',
          status: 'True',
          lastUpdateTime: '2026-01-02T03:04:05Z',
          lastTransitionTime: '2026-01-02T03:04:05Z',
        },
      ],
    })
    expect(runs.updateFaults(old, asked, 'approval')).toEqual([])
  })

  test('keeps the transition time of a condition whose status stays', () => {
    const before = {
      lastUpdateTime: '2025-01-01T00:00:00Z',
      lastTransitionTime: '2025-01-01T00:00:00Z',
    }
    const old = { ...stored, status: { conditions: [condition('Approved', 'True', before)] } }
    const result = runs.updated(old, withConditions(condition('Approved')), 'approval')
    expect(result['status'].conditions[0]).toMatchObject({
      lastUpdateTime: '2026-01-02T03:04:05Z',
      lastTransitionTime: '2025-01-01T00:00:00Z',
    })
  })

  const approved = { ...stored, status: { conditions: [condition('Approved')] } }
  test.each([
    [
      approved,
      [],
      ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"'],
    ],
    [
      approved,
      [condition('Approved'), condition('Denied')],
      [
        'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
      ],
    ],
    [
      stored,
      [condition('Approved', 'False')],
      ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
    ],
    [
      stored,
      [condition('', ''), condition('Mine', 'Maybe')],
      [
        'status.conditions[0].type: Required value',
        'status.conditions[0].status: Required value',
        'status.conditions[1].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
      ],
    ],
    [
      stored,
      [condition('Mine'), condition('Mine')],
      ['status.conditions[1].type: Duplicate value: "Mine"'],
    ],
  ])('conditions %#', (old, conditions, faults) => {
    expect(runs.updateFaults(old, withConditions(...conditions), 'approval')).toEqual(faults)
  })
})

describe('status', () => {
  const approved = {
    ...stored,
    status: { conditions: [condition('Approved', 'True', { reason: 'ok' })] },
  }

  test('sets the certificate once and may say that it failed', () => {
    const asked = {
      spec,
      status: { conditions: [condition('Approved'), condition('Failed')], certificate },
    }
    expect(runs.updateFaults(approved, asked, 'status')).toEqual([])
    const result = runs.updated(approved, asked, 'status')
    expect(result['status'].certificate).toBe(certificate)
    expect(result['status'].conditions[0].reason).toBe('ok')
    const issued = { ...approved, status: { ...approved.status, certificate } }
    const again = {
      spec,
      status: { ...asked.status, certificate: base64(`\n${createTestPki().caPem}`) },
    }
    expect(runs.updateFaults(issued, again, 'status')).toEqual([
      'status.certificate: Forbidden: updates may not modify existing certificate content',
    ])
  })

  test('replaces a certificate that is none already, not by way of the status alone', () => {
    const broken = { ...approved, status: { ...approved.status, certificate: base64('hello') } }
    const asked = { spec, status: { ...approved.status, certificate: base64('other') } }
    expect(runs.updateFaults(broken, asked, 'status')).toEqual([
      'status.certificate: Forbidden: updates may not modify existing certificate content',
    ])
  })

  test('may not approve', () => {
    expect(runs.updateFaults(stored, withConditions(condition('Approved')), 'status')).toEqual([
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ])
  })

  test.each([
    ['hello', 'must contain at least one CERTIFICATE PEM block'],
    [pem, 'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'],
    [
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'x509: malformed certificate',
    ],
    [
      '-----BEGIN CERTIFICATE-----\nA: b\n\nAAAA\n-----END CERTIFICATE-----\n',
      'no PEM block headers are permitted',
    ],
  ])('refuses the certificate %j', (text, why) => {
    const asked = { spec, status: { certificate: base64(text) } }
    expect(runs.updateFaults(stored, asked, 'status')).toEqual([
      `status.certificate: Invalid value: "<certificate data>": ${why}`,
    ])
  })
})
