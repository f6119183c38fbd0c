/** The plugins of signing requests: who may act for which signer, and which groups no request may name. */
import { describe, expect, test } from 'vitest'
import { createCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair } from '../../../certs/keys.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { admissionWorld } from './world.ts'

describe('signing requests', () => {
  const plugins = ['CertificateApproval', 'CertificateSigning', 'CertificateSubjectRestriction']
  function world(granted: string[]) {
    return admissionWorld(plugins, {
      authorizer: {
        name: 'x',
        authorize: ({ verb, resource, name }) => ({
          decision: granted.includes(`${verb} ${resource} ${name}`) ? 'allow' : 'no-opinion',
          reason: '',
        }),
      },
    })
  }
  const signerName = 'kubernetes.io/kube-apiserver-client'
  const csr = (spec = {}, status = {}): KubeObject => ({
    metadata: { name: 'c' },
    spec: { signerName, request: '', ...spec },
    status,
  })

  test('approving needs the right for the signer, by name or by domain', async () => {
    for (const [granted, expected] of [
      [
        [],
        `403 certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to approve requests with signerName "${signerName}"`,
      ],
      [[`approve signers ${signerName}`], 'admitted'],
      [['approve signers kubernetes.io/*'], 'admitted'],
      [[`sign signers ${signerName}`], /approve/],
    ] as const) {
      const { outcome, resources } = world([...granted])
      const result = await outcome({
        resource: resources.certificateSigningRequests,
        operation: 'UPDATE',
        subresource: 'approval',
        old: csr(),
        // A sub-resource cannot change the signer, so a forged one does not count.
        object: csr({ signerName: 'mine/any' }),
      })
      if (typeof expected === 'string') expect(result).toBe(expected)
      else expect(result).toMatch(expected)
    }
  })

  test('the authorizers are asked about the signer, for every version and in no namespace', async () => {
    const asked: unknown[] = []
    const { outcome, resources } = admissionWorld(plugins, {
      authorizer: {
        name: 'x',
        authorize: (attributes) => (asked.push(attributes), { decision: 'deny', reason: '' }),
      },
    })
    const at = { resource: resources.certificateSigningRequests, operation: 'UPDATE' as const }
    await outcome({ ...at, subresource: 'approval', old: csr(), object: csr() })
    const question = {
      user: { name: 'jane', groups: [] },
      verb: 'approve',
      isResourceRequest: true,
      group: 'certificates.k8s.io',
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      path: '',
    }
    expect(asked).toEqual([
      { ...question, name: signerName },
      { ...question, name: 'kubernetes.io/*' },
    ])
    asked.length = 0
    const other = { ...at, subresource: 'approval', old: csr(), object: csr() }
    expect(await outcome({ ...other, resource: resources.pods })).toBe('admitted')
    expect(await outcome({ ...other, operation: 'CREATE' })).toBe('admitted')
    expect(await outcome({ ...other, subresource: '' })).toBe('admitted')
    expect(asked).toEqual([])
  })

  test('signing needs the right for the signer; other status changes do not', async () => {
    const { outcome, resources } = world([])
    const at = {
      resource: resources.certificateSigningRequests,
      operation: 'UPDATE' as const,
      subresource: 'status',
      old: csr(),
    }
    expect(await outcome({ ...at, object: csr({}, { certificate: 'x' }) })).toContain(
      'permitted to sign',
    )
    expect(await outcome({ ...at, object: csr({}, { conditions: [{}] }) })).toContain(
      'permitted to sign',
    )
    expect(await outcome({ ...at, object: csr() })).toBe('admitted')
    const denied = { conditions: [{ type: 'Denied' }] }
    const signed = { ...denied, certificate: 'x' }
    const from = (status: object, to: object) =>
      outcome({ ...at, old: csr({}, status), object: csr({}, to) })
    expect(await from(signed, { certificate: 'x' })).toContain('permitted to sign')
    expect(await from(signed, denied)).toContain('permitted to sign')
    expect(await from(signed, { ...signed })).toBe('admitted')
    expect(await from({}, { conditions: [] })).toBe('admitted')
    // Through the object itself the status does not change.
    const whole = { ...at, subresource: '', object: csr({}, signed) }
    expect(await outcome(whole)).toBe('admitted')
    const { status: _, ...bare } = csr()
    expect(await outcome({ ...at, old: bare, object: bare })).toBe('admitted')
  })

  test('nobody asks the client signer for system:masters', async () => {
    const { outcome, resources } = world([])
    const request = (...organizations: string[]): string =>
      Buffer.from(
        createCertificateRequest(generateKeyPair(), {
          subject: { commonName: 'x', organizations },
        }),
      ).toString('base64')
    const ask = (spec: object) =>
      outcome({ resource: resources.certificateSigningRequests, object: csr(spec) })
    expect(await ask({ request: request('devs', 'system:masters') })).toContain(
      'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    )
    const disguised = Buffer.concat([
      Buffer.from('-----BEGIN A-----AAAA-----END B-----\n'),
      Buffer.from(request('system:masters'), 'base64'),
    ])
    expect(await ask({ request: disguised.toString('base64') })).toContain('not allowed')
    expect(await ask({ request: request('system:masters2', 'not-system:masters') })).toBe(
      'admitted',
    )
    const other = { signerName: 'example.com/x', request: request('system:masters') }
    expect(await ask(other)).toBe('admitted')
    const object = csr({ request: request('system:masters') })
    const at = { resource: resources.certificateSigningRequests, object }
    expect(await outcome({ ...at, operation: 'UPDATE', old: object })).toBe('admitted')
    expect(await outcome({ ...at, resource: resources.pods })).toBe('admitted')
    expect(await ask({ request: '' })).toBe('admitted')
  })

  test('nobody hides system:masters in another encoding of an organization', async () => {
    const { outcome, resources } = world([])
    const organization = (tag: number, value: Buffer): Buffer =>
      Buffer.concat([Buffer.from('060355040a', 'hex'), Buffer.from([tag, value.length]), value])
    const ask = (...parts: Buffer[]) => {
      const der = Buffer.concat(parts).toString('base64')
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`
      const object = csr({ request: Buffer.from(pem).toString('base64') })
      return outcome({ resource: resources.certificateSigningRequests, object })
    }
    const masters = Buffer.from('system:masters')
    const devs = organization(0x0c, Buffer.from('devs'))
    for (const tag of [0x0c, 0x13, 0x14, 0x16]) {
      expect(await ask(devs, organization(tag, masters))).toContain('is not allowed')
    }
    const wide = Buffer.from('system:masters', 'utf16le').swap16()
    expect(await ask(devs, organization(0x1e, wide))).toContain('is not allowed')
    expect(await ask(organization(0x0c, masters), devs)).toContain('is not allowed')
    expect(await ask(organization(0x0c, wide))).toBe('admitted')
    expect(await ask(organization(0x1e, masters))).toBe('admitted')
    const longer = Buffer.from('system:mastersx')
    expect(await ask(organization(0x0c, longer))).toBe('admitted')
    expect(await ask(organization(0x0c, longer.subarray(1)))).toBe('admitted')
    // The bytes of the name as a common name, and at the very end.
    expect(await ask(Buffer.from('0603550403', 'hex'), Buffer.from([0x0c, 14]), masters)).toBe(
      'admitted',
    )
    expect(await ask(devs, organization(0x0c, masters).subarray(0, -1))).toBe('admitted')
  })
})
