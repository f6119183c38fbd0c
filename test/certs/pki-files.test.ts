import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createPkcs12 } from '../../certs/pkcs12.ts'
import { createPki, issue } from '../../certs/pki.ts'
import { readPki, writeFileAtomically, writePki } from '../../certs/pki-files.ts'
import { clientProfile, nodeSubject } from '../../certs/profiles.ts'
import { createAuthority } from '../../certs/authority.ts'
import { needsRenewal, renewPki } from '../../certs/renew.ts'
import { openssl, temporaryFiles } from './openssl.ts'
import { expectMode } from '../support/file-mode.ts'

const nowMs = Date.now()
const options = { apiServer: { serviceName: 'kubernetes' } }

test('a written pki reads back the same, with keys for the owner only', async () => {
  const folder = temporaryFiles()
  const path = join(folder.path, 'pki')
  const pki = createPki({ ...options, nowMs })
  await writePki(path, pki)
  const back = await readPki(path)
  expect(back.credentials).toEqual(pki.credentials)
  expect(back.serviceAccountKey).toEqual(pki.serviceAccountKey)
  expect(back.authority.certificatePem).toBe(pki.authority.certificatePem)
  expectMode(path, 0o700)
  const files = readdirSync(path)
  expect(files.filter((name) => name.startsWith('.'))).toEqual([])
  for (const name of files.filter((file) => file.endsWith('.key'))) {
    expectMode(join(path, name), 0o600)
  }
})

test('a failed write leaves the old file and nothing else', async () => {
  const folder = temporaryFiles()
  folder.file('a', 'old')
  const bad = {} as Buffer
  await expect(writeFileAtomically(join(folder.path, 'a'), bad, 0o600)).rejects.toThrow()
  expect(readFileSync(join(folder.path, 'a'), 'utf8')).toBe('old')
  expect(readdirSync(folder.path)).toEqual(['a'])
})

test('renewal replaces certificates and keys but keeps identities and authorities', async () => {
  const folder = temporaryFiles()
  const pki = createPki({ ...options, nowMs: nowMs - 300 * 86_400_000 })
  await writePki(folder.path, pki)
  expect(needsRenewal(pki.credentials.admin.certificatePem, nowMs)).toBe(true)
  await renewPki(folder.path, { ...options, nowMs, names: ['admin'] })
  const back = await readPki(folder.path)
  expect(back.credentials.scheduler).toEqual(pki.credentials.scheduler)
  expect(back.credentials.admin.privateKeyPem).not.toBe(pki.credentials.admin.privateKeyPem)
  const admin = new X509Certificate(back.credentials.admin.certificatePem)
  expect(admin.subject).toBe('O=system:masters\nCN=kubernetes-admin')
  expect(admin.verify(pki.authority.publicKey)).toBe(true)
  expect(needsRenewal(back.credentials.admin.certificatePem, nowMs)).toBe(false)
})

test.each(['ec', 'rsa'] as const)(
  'openssl opens a PKCS#12 bundle with an %s key',
  async (keyKind) => {
    const folder = temporaryFiles()
    const authority = createAuthority({ commonName: 'ca', nowMs, keyKind })
    const credential = issue(authority, {
      profile: clientProfile(nodeSubject('n1')),
      nowMs,
      keyKind,
    })
    for (const encryption of ['3des', 'aes256'] as const) {
      const bundle = await createPkcs12({
        credential,
        authoritiesPem: authority.certificatePem,
        friendlyName: 'jane ä',
        password: 'sesame',
        encryption,
      })
      const file = folder.file('x.p12', bundle)
      const out = openssl('pkcs12', '-in', file, '-passin', 'pass:sesame', '-nodes')
      expect(out.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
      const key = folder.file('key', out.slice(out.indexOf('-----BEGIN PRIVATE KEY')))
      const own = folder.file('own', credential.privateKeyPem)
      expect(openssl('pkey', '-in', key, '-pubout')).toBe(openssl('pkey', '-in', own, '-pubout'))
      expect(() => openssl('pkcs12', '-in', file, '-passin', 'pass:wrong', '-nodes')).toThrow(
        /mac verify/i,
      )
    }
  },
)
