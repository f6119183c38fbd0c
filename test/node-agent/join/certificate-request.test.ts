import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAuthority, sign } from '../../../certs/authority.ts'
import { parseCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair, privateKeyPem } from '../../../certs/keys.ts'
import { clientProfile, nodeSubject, profileOfRequest } from '../../../certs/profiles.ts'
import type { CertificateSigningRequest } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import type { RequestState } from '../../../components/node-agent/join/certificate-request.ts'
import { requestCertificate } from '../../../components/node-agent/join/certificate-request.ts'
import {
  clientCredentialFile,
  isCurrent,
  readNodeCredential,
  renewalTime,
  writeNodeCredential,
} from '../../../components/node-agent/join/node-credential.ts'
import { runRotation } from '../../../components/node-agent/join/rotate-certificate.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { expectMode } from '../../support/file-mode.ts'

const dayMs = 24 * 3_600_000

function start() {
  const clock = new FakeClock(Date.now())
  const server = new FakeCluster(clock)
  const resource = resourcesOf(server.dialect).certificateSigningRequests
  const authority = createAuthority({ commonName: 'kubernetes', nowMs: clock.now() })
  const progress: RequestState[] = []
  const request = () =>
    requestCertificate(
      {
        csrs: server.client().resource<CertificateSigningRequest>(resource),
        wish: {
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          subject: nodeSubject('n1'),
          usages: ['digital signature', 'client auth'],
        },
        clock,
        log: silentLog,
        onProgress: (state) => void progress.push(state),
      },
      new AbortController().signal,
    )
  const only = () => {
    const [found] = server.all<CertificateSigningRequest>(resource)
    if (found === undefined) throw new Error('there is no request')
    return found
  }
  const key = () => only().metadata.name ?? ''
  const setStatus = (status: object) =>
    server.change(resource, key(), (stored) => {
      stored['status'] = { ...stored['status'], ...status }
    })
  const condition = (type: string) => ({
    conditions: [{ type, status: 'True', reason: 'Because', message: 'so it is' }],
  })
  const issue = () => {
    const parsed = parseCertificateRequest(Buffer.from(only().spec.request, 'base64').toString())
    const certificate = sign(authority, {
      profile: profileOfRequest(parsed, { usages: ['client auth'], lifetimeMs: dayMs }),
      publicKey: parsed.publicKey,
      nowMs: clock.now(),
    })
    return { certificate: Buffer.from(certificate).toString('base64') }
  }
  return { clock, server, resource, request, only, key, setStatus, condition, issue, progress }
}

describe('a certificate request', () => {
  test("asks for the node's identity, and nothing in it is the private key", async () => {
    const { request, only } = start()
    void request()
    await settle()
    const { spec } = only()
    expect(spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    })
    const parsed = parseCertificateRequest(Buffer.from(spec.request, 'base64').toString())
    expect(parsed.subject).toEqual({
      commonName: 'system:node:n1',
      organizations: ['system:nodes'],
    })
    expect(parsed.keyType).toBe('ec')
    expect(Buffer.from(spec.request, 'base64').toString()).not.toContain('PRIVATE KEY')
  })

  test('ends with the certificate and its key once it is approved and signed', async () => {
    const { request, setStatus, condition, issue, progress } = start()
    const requested = request()
    await settle()
    setStatus(condition('Approved'))
    await settle()
    setStatus(issue())
    const issued = await requested
    expect(issued.cert).toContain('BEGIN CERTIFICATE')
    expect(issued.key).toContain('PRIVATE KEY')
    expect(progress).toEqual([
      { kind: 'waiting', for: 'approval' },
      { kind: 'waiting', for: 'certificate' },
    ])
  })

  test.each(['Denied', 'Failed'])('that is %s ends with the reason', async (type) => {
    const { request, setStatus, condition } = start()
    const requested = request()
    requested.catch(() => {})
    await settle()
    setStatus(condition(type))
    await expect(requested).rejects.toThrow(`${type} (Because: so it is)`)
  })

  test('that was deleted ends', async () => {
    const { request, server, resource, key } = start()
    const requested = request()
    requested.catch(() => {})
    await settle()
    server.remove(resource, key())
    await expect(requested).rejects.toThrow('was deleted before it was signed')
  })

  test('is watched again when the connection is lost', async () => {
    const { request, server, clock, setStatus, condition, issue } = start()
    const requested = request()
    await settle()
    server.endWatches(new Error('lost'))
    await settle()
    setStatus({ ...condition('Approved'), ...issue() })
    await clock.step(1000)
    expect((await requested).cert).toContain('BEGIN CERTIFICATE')
  })
})

function pairFor(nowMs: number, lifetimeMs: number) {
  const authority = createAuthority({ commonName: 'kubernetes', nowMs })
  const keys = generateKeyPair()
  const profile = { ...clientProfile(nodeSubject('n1')), lifetimeMs }
  const cert = sign(authority, { profile, publicKey: keys.publicKey, nowMs })
  return { cert, key: privateKeyPem(keys.privateKey) }
}

describe('rotation', () => {
  test('comes between 70 and 90 % of the lifetime', () => {
    const nowMs = Date.parse('2025-01-01T00:00:00Z')
    const { cert } = pairFor(nowMs, 10 * dayMs)
    const share = (atMs: number): number => (atMs - nowMs) / (10 * dayMs)
    expect(share(renewalTime(cert, 0))).toBeCloseTo(0.7, 2)
    expect(share(renewalTime(cert, 0.999))).toBeCloseTo(0.9, 2)
  })

  test('asks in time, again after a failure, and hands the new pair on', async () => {
    const clock = new FakeClock('2025-01-01T00:00:00Z')
    const startMs = clock.now()
    const asked: number[] = []
    const rotated: string[] = []
    let fails = 1
    const stop = new AbortController()
    const rotating = runRotation(
      {
        current: pairFor(clock.now(), dayMs),
        request: async () => {
          asked.push(clock.now() - startMs)
          fails -= 1
          if (fails >= 0) throw new Error('the server is away')
          return pairFor(clock.now(), dayMs)
        },
        onRotated: async ({ cert }) => void rotated.push(cert),
        clock,
        log: silentLog,
      },
      stop.signal,
    )
    await clock.step(0.69 * dayMs)
    expect(asked).toEqual([])
    await clock.step(0.22 * dayMs)
    expect(asked).toHaveLength(2)
    expect((asked[1] as number) - (asked[0] as number)).toBeLessThan(2500)
    expect(rotated).toHaveLength(1)
    await clock.step(dayMs)
    expect(rotated).toHaveLength(2)
    stop.abort(new Error('enough'))
    await expect(rotating).rejects.toThrow('enough')
  })
})

test('a credential lies in one file that only its owner may read, and leaves no draft behind', async () => {
  const folder = temporaryFolder('credential')
  const pair = pairFor(Date.now(), dayMs)
  const path = await writeNodeCredential(join(folder, 'pki'), clientCredentialFile, pair)
  expectMode(path, 0o600)
  expectMode(join(folder, 'pki'), 0o700)
  expect(await readdir(join(folder, 'pki'))).toEqual([clientCredentialFile])
  const found = await readNodeCredential(join(folder, 'pki'), clientCredentialFile)
  expect(found?.cert).toContain(pair.cert.trim())
  expect(found?.key).toContain(pair.key.trim())
  expect(found !== undefined && isCurrent(found, Date.now())).toBe(true)
  expect(found !== undefined && isCurrent(found, Date.now() + 2 * dayMs)).toBe(false)
  expect(await readNodeCredential(folder, 'none.pem')).toBeUndefined()
})
