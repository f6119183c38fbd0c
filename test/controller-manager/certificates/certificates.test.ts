import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { createCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair, privateKeyPem } from '../../../certs/keys.ts'
import type { KeyPair } from '../../../certs/keys.ts'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import type { Dialect } from '../../../components/api/dialect.ts'
import type {
  CertificateSigningRequest,
  SubjectAccessReview,
} from '../../../components/api/generated/types.ts'
import { csrApproving } from '../../../components/controller-manager/certificates/csr-approving.ts'
import { csrCleaner } from '../../../components/controller-manager/certificates/csr-cleaner.ts'
import {
  csrSigning,
  lifetimeMs,
} from '../../../components/controller-manager/certificates/csr-signing.ts'
import { createHarness } from '../../support/controller-harness.ts'
import type { Harness } from '../../support/controller-harness.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = '2026-01-01T00:00:00Z'
const hour = 3_600_000
const folder = temporaryFolder('signing')
const authority = createAuthority({ commonName: 'test-ca', nowMs: Date.parse(now) })
const [certFile, keyFile] = [join(folder, 'ca.crt'), join(folder, 'ca.key')]
writeFileSync(certFile, authority.certificatePem)
writeFileSync(keyFile, privateKeyPem(authority.privateKey))

const harnesses: Harness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop()
})

const nodeSubject = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
const clientUsages = ['digital signature', 'client auth']

function harnessFor(dialect: Dialect) {
  const harness = createHarness({
    dialect,
    now,
    flags: [`--cluster-signing-cert-file=${certFile}`, `--cluster-signing-key-file=${keyFile}`],
  })
  harnesses.push(harness)
  const { cluster, resources } = harness
  const add = (
    name: string,
    options: {
      signer?: string
      keys?: KeyPair
      wanted?: Parameters<typeof createCertificateRequest>[1]
      usages?: string[]
      username?: string
      seconds?: number
      conditions?: string[]
    } = {},
  ) => {
    const { keys = generateKeyPair(), wanted = { subject: nodeSubject } } = options
    const { usages = clientUsages, conditions = [] } = options
    const request = Buffer.from(createCertificateRequest(keys, wanted)).toString('base64')
    cluster.seed(resources.certificateSigningRequests, {
      metadata: { name },
      spec: {
        request,
        signerName: labelKey(dialect, '', options.signer ?? 'kube-apiserver-client-kubelet'),
        usages,
        username: options.username ?? 'system:bootstrap:abcdef',
        groups: ['system:bootstrappers'],
        ...(options.seconds === undefined ? {} : { expirationSeconds: options.seconds }),
      },
      status: {
        conditions: conditions.map((type) => ({ type, status: 'True', lastUpdateTime: now })),
      },
    })
  }
  const get = (name: string): CertificateSigningRequest => {
    const found = cluster.peek<CertificateSigningRequest>(
      resources.certificateSigningRequests,
      name,
    )
    return found ?? expect.unreachable()
  }
  const certificate = (name: string): X509Certificate | undefined => {
    const base64 = get(name).status?.certificate
    return base64 === undefined ? undefined : new X509Certificate(Buffer.from(base64, 'base64'))
  }
  const conditions = (name: string) =>
    get(name).status?.conditions?.map(({ type, message }) => `${type}: ${message ?? ''}`)
  /** Starts signing, and waits until the last of the requests added so far must have been looked at. */
  const startSigning = async () => {
    add('last', { conditions: ['Approved'] })
    await harness.start(csrSigning)
    await expect.poll(() => certificate('last')).toBeDefined()
    await harness.settle()
  }
  return { ...harness, add, get, certificate, conditions, startSigning }
}

describe.each([dialects.kubernetes, dialects.svc])('csr signing ($name)', (dialect) => {
  it('signs approved requests of every built-in signer with the authority', async () => {
    const { add, certificate, startSigning } = harnessFor(dialect)
    const conditions = ['Approved']
    add('client', {
      signer: 'kube-apiserver-client',
      wanted: { subject: { commonName: 'alice', organizations: ['dev'] } },
      conditions,
    })
    add('node', { conditions })
    add('serving', {
      signer: 'kubelet-serving',
      wanted: { subject: nodeSubject, dnsNames: ['n1'], ipAddresses: ['127.0.0.1', '::1'] },
      usages: ['digital signature', 'server auth'],
      conditions,
    })
    add('legacy', { signer: 'legacy-unknown', usages: ['server auth', 'client auth'], conditions })
    await startSigning()
    for (const name of ['client', 'node', 'serving', 'legacy']) {
      expect(certificate(name)?.verify(authority.publicKey), name).toBe(true)
      expect(certificate(name)?.ca).toBe(false)
    }
    expect(certificate('client')?.subject).toBe('O=dev\nCN=alice')
    expect(certificate('node')?.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
    expect(certificate('serving')?.subjectAltName).toBe(
      'DNS:n1, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    )
  })

  it('signs every kind of key', async () => {
    const { add, certificate, startSigning } = harnessFor(dialect)
    const kinds: Record<string, KeyPair> = {
      p256: generateKeyPair(),
      p384: generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
      rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
      ed25519: generateKeyPairSync('ed25519'),
    }
    for (const [name, keys] of Object.entries(kinds)) add(name, { keys, conditions: ['Approved'] })
    await startSigning()
    for (const [name, { privateKey }] of Object.entries(kinds))
      expect(certificate(name)?.checkPrivateKey(privateKey), name).toBe(true)
  })

  it('leaves what is not approved, denied, failed, signed already, or another signer’s', async () => {
    const { add, certificate, startSigning, cluster } = harnessFor(dialect)
    add('pending')
    add('denied', { conditions: ['Approved', 'Denied'] })
    add('failed', { conditions: ['Approved', 'Failed'] })
    add('foreign', { signer: 'somebody-else', conditions: ['Approved'] })
    await startSigning()
    for (const name of ['pending', 'denied', 'failed', 'foreign'])
      expect(certificate(name), name).toBeUndefined()
    expect(cluster.writes).toEqual(['update certificatesigningrequests/status last'])
  })

  it.each([
    [
      'organization',
      { wanted: { subject: { commonName: 'system:node:n1', organizations: ['admins'] } } },
      'subject organization is not system:nodes',
    ],
    [
      'name',
      { wanted: { subject: { commonName: 'n1', organizations: ['system:nodes'] } } },
      'subject common name does not begin with system:node: ',
    ],
    [
      'names of a host',
      { wanted: { subject: nodeSubject, dnsNames: ['n1'] } },
      'DNS subjectAltNames are not allowed',
    ],
    [
      'addresses',
      { wanted: { subject: nodeSubject, ipAddresses: ['127.0.0.1'] } },
      'IP subjectAltNames are not allowed',
    ],
    [
      'usages',
      { usages: ['client auth'] },
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      'no address to serve',
      { signer: 'kubelet-serving', usages: ['digital signature', 'server auth'] },
      'DNS or IP subjectAltName is required',
    ],
    [
      'a client that would serve',
      { signer: 'kube-apiserver-client', usages: ['server auth'] },
      'invalid usage for client certificate: server auth',
    ],
    [
      'a client without its usage',
      { signer: 'kube-apiserver-client', usages: ['digital signature'] },
      'missing required usage for client certificate: client auth',
    ],
  ])('marks a request failed for its %s', async (_, options, message) => {
    const { add, conditions, certificate, startSigning } = harnessFor(dialect)
    add('bad', { ...options, conditions: ['Approved'] })
    await startSigning()
    expect(certificate('bad')).toBeUndefined()
    expect(conditions('bad')).toEqual(['Approved: ', `Failed: ${message}`])
  })

  it('grants the lifetime asked for, within bounds', async () => {
    const { add, certificate, startSigning } = harnessFor(dialect)
    add('hour', { seconds: 3600, conditions: ['Approved'] })
    add('minute', { seconds: 60, conditions: ['Approved'] })
    add('century', { seconds: 100 * 365 * 86_400, conditions: ['Approved'] })
    await startSigning()
    const ends = (name: string) => Date.parse(certificate(name)?.validTo ?? '') - Date.parse(now)
    expect(ends('hour')).toBe(hour)
    expect(ends('minute')).toBe(600_000)
    expect(ends('century')).toBe(8760 * hour - 300_000)
    expect(Date.parse(certificate('hour')?.validFrom ?? '')).toBe(Date.parse(now) - 300_000)
  })
})

describe.each([dialects.kubernetes, dialects.svc])('csr approving ($name)', (dialect) => {
  function withRights(rights: string[]) {
    const harness = harnessFor(dialect)
    const asked: string[] = []
    harness.cluster.react('create', 'subjectaccessreviews', ({ object }) => {
      const { spec } = object as SubjectAccessReview
      const { resourceAttributes: at } = spec
      asked.push(`${spec.user} ${at?.verb} ${at?.resource}.${at?.group}/${at?.subresource}`)
      return { ...(object as object), status: { allowed: rights.includes(at?.subresource ?? '') } }
    })
    return { ...harness, asked, rights }
  }
  const group = `certificates.${dialect.apiDomain}`

  it('approves a node’s first certificate when its token may ask for one', async () => {
    const { add, conditions, start, asked } = withRights(['nodeclient'])
    add('first')
    await start(csrApproving)
    expect(asked).toEqual([
      `system:bootstrap:abcdef create certificatesigningrequests.${group}/nodeclient`,
    ])
    expect(conditions('first')).toEqual([
      'Approved: Auto approving kubelet client certificate after SubjectAccessReview.',
    ])
  })

  it('approves the renewal a node asks for itself', async () => {
    const { add, conditions, start } = withRights(['selfnodeclient'])
    add('renewal', { username: 'system:node:n1' })
    await start(csrApproving)
    expect(conditions('renewal')?.[0]).toContain('Auto approving self kubelet client certificate')
  })

  it('asks about nothing that is not a node’s client certificate, or is answered already', async () => {
    const { add, start, asked, cluster } = withRights(['nodeclient', 'selfnodeclient'])
    add('serving', { signer: 'kubelet-serving' })
    add('client', { signer: 'kube-apiserver-client' })
    add('admin', { wanted: { subject: { commonName: 'root', organizations: ['system:masters'] } } })
    add('usages', { usages: ['digital signature', 'client auth', 'server auth'] })
    add('approved', { conditions: ['Approved'] })
    add('denied', { conditions: ['Denied'] })
    await start(csrApproving)
    expect(asked).toEqual([])
    expect(cluster.writes).toEqual([])
  })

  it('asks again later while the requester lacks the right', async () => {
    const { add, conditions, start, clock, rights } = withRights([])
    add('early')
    await start(csrApproving)
    expect(conditions('early')).toEqual([])
    rights.push('nodeclient')
    await clock.step(2000)
    expect(conditions('early')).toHaveLength(1)
  })
})

describe('csr cleaning', () => {
  it('removes answered requests after an hour and open ones after a day', async () => {
    const harness = harnessFor(dialects.kubernetes)
    const { add, start, clock, cluster, resources } = harness
    add('pending')
    add('denied', { conditions: ['Denied'] })
    add('failed', { conditions: ['Approved', 'Failed'] })
    add('waiting', { conditions: ['Approved'] })
    add('signed', { conditions: ['Approved'] })
    cluster.change(resources.certificateSigningRequests, 'signed', (csr) => {
      csr['status'].certificate = Buffer.from(authority.certificatePem).toString('base64')
    })
    await start(csrCleaner)
    const names = () =>
      cluster.all(resources.certificateSigningRequests).map(({ metadata }) => metadata.name)
    await clock.step(hour - 1000)
    expect(names()).toEqual(['pending', 'denied', 'failed', 'waiting', 'signed'])
    await clock.step(1000)
    await harness.settle()
    expect(names()).toEqual(['pending', 'waiting'])
    await clock.step(24 * hour)
    await harness.settle()
    expect(names()).toEqual(['waiting'])
  })

  it('removes a request whose certificate has ended', async () => {
    const harness = harnessFor(dialects.kubernetes)
    const { add, start, clock, certificate } = harness
    add('short', { seconds: 600, conditions: ['Approved'] })
    await harness.startSigning()
    expect(certificate('short')).toBeDefined()
    await start(csrCleaner)
    await clock.step(600_000)
    await harness.settle()
    const left = harness.cluster.all(harness.resources.certificateSigningRequests)
    expect(left.map(({ metadata }) => metadata.name)).toEqual(['last'])
  })

  it('lifetimes below eight hours are whole, longer ones begin five minutes ago', () => {
    expect(lifetimeMs(undefined, 24 * hour)).toBe(24 * hour - 300_000)
    expect(lifetimeMs(7200, 24 * hour)).toBe(2 * hour)
  })
})
