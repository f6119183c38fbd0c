/** Tokens and certificate requests as the page gets them: without secrets, with the node and the expiry. */
import { expect, it } from 'vitest'
import { createAuthority, sign } from '../../../certs/authority.ts'
import { createCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair } from '../../../certs/keys.ts'
import { clientProfile, nodeSubject } from '../../../certs/profiles.ts'
import { tokenSecret } from '../../../cluster/plan/bootstrap-token.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { Secret } from '../../../components/api/generated/types.ts'
import { slimCsr } from '../../../console/slim/slim-csr.ts'
import { slimToken } from '../../../console/slim/slim-token.ts'

const nowMs = Date.parse('2026-11-22T12:00:00Z')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const metadata = { name: 'csr-1', creationTimestamp: '2026-11-22T12:00:00Z' }
const username = 'system:bootstrap:abcdef'

it('a token has its usages and expiry, and no secret', () => {
  const token = { id: 'abcdef', secret: '0123456789abcdef' }
  const made = tokenSecret({ token, dialect: dialects.kubernetes, nowMs, ttlMs: 1000 })
  const slim = slimToken(made as Secret)
  expect(slim).toEqual({
    id: 'abcdef',
    description: '',
    usages: ['authentication', 'signing'],
    expiresMs: nowMs + 1000,
  })
  const forever = tokenSecret({ token, dialect: dialects.kubernetes, nowMs, usages: ['signing'] })
  expect(slimToken(forever as Secret)).toEqual({
    id: 'abcdef',
    description: '',
    usages: ['signing'],
  })
})

it('a certificate request names its node, its verdict and the end of its certificate', () => {
  const keys = generateKeyPair()
  const subject = nodeSubject('node-1')
  const request = base64(createCertificateRequest(keys, { subject }))
  const spec = { request, username, signerName: 'example.com/signer', usages: [] }
  expect(slimCsr({ metadata, spec })).toEqual({
    name: 'csr-1',
    user: username,
    signer: 'example.com/signer',
    node: 'node-1',
    createdMs: nowMs,
    hasCertificate: false,
  })
  const authority = createAuthority({ commonName: 'ca', nowMs })
  const profile = { ...clientProfile(subject), lifetimeMs: 3_600_000 }
  const certificate = base64(sign(authority, { profile, publicKey: keys.publicKey, nowMs }))
  const approval = { type: 'Approved', status: 'True', reason: 'Auto', message: 'as asked' }
  expect(
    slimCsr({ metadata, spec, status: { certificate, conditions: [approval] } }),
  ).toMatchObject({
    hasCertificate: true,
    expiresMs: nowMs + 3_600_000,
    verdict: { type: 'Approved', text: 'Auto: as asked', atMs: nowMs },
  })
})

it('a certificate request for anything else has no node, and broken bytes break nothing', () => {
  const subject = { commonName: 'jane', organizations: [] }
  const request = base64(createCertificateRequest(generateKeyPair(), { subject }))
  const spec = { request, signerName: 's', usages: [] }
  expect(slimCsr({ metadata, spec })).not.toHaveProperty('node')
  const broken = { ...spec, request: base64('not PEM') }
  const status = { certificate: base64('neither') }
  const slim = slimCsr({ metadata, spec: broken, status })
  expect(slim).not.toHaveProperty('node')
  expect(slim).not.toHaveProperty('expiresMs')
})
