/** --base-image on a running API server: what a new store begins with, and what is refused. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPki } from '../../../certs/pki.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { blankImage } from '../../../embedded/blank-image.ts'
import { startApiServer } from '../../support/api-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('base-image')
const written = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const { apiServerService: serviceName } = dialects.kubernetes
const { authority } = createPki({ apiServer: { serviceName }, nowMs: Date.now() })
const frontProxy = `--requestheader-client-ca-file=${written('ca.crt', authority.certificatePem)}`
const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'

describe('--base-image', () => {
  it('fills a new store in the cluster’s name, and leaves a store that holds anything as it is', async () => {
    const file = written('image.txt', await blankImage('api-server-alone'))
    const flags = [`--base-image=${file}`, frontProxy]
    await using server = await startApiServer({ store: 'sqlite', flags })
    const { metadata, data } = await server.ok('GET', path)
    expect(data['requestheader-client-ca-file']).toBe(authority.certificatePem)
    expect(data['client-ca-file']).toContain('BEGIN CERTIFICATE')
    const made = { metadata: { name: 'mine' } }
    await server.ok('POST', '/api/v1/namespaces/default/configmaps', { body: made })
    await server.restart({ flags })
    expect((await server.ok('GET', path)).metadata.uid).toBe(metadata.uid)
    await server.ok('GET', '/api/v1/namespaces/default/configmaps/mine')
  })

  it.each([
    [[], '--base-image needs --requestheader-client-ca-file'],
    [[frontProxy, '--initial-state=x'], '--base-image and --initial-state do not go together'],
    [[frontProxy], /^--base-image: \S+nothing\.txt cannot be used: ENOENT/],
  ])('is refused with %j: %s', async (more, message) => {
    const flags = [`--base-image=${join(folder, 'nothing.txt')}`, ...more]
    await expect(startApiServer({ flags })).rejects.toThrow(message)
  })

  it('is refused for another dialect, and for any other file', async () => {
    const file = written('hello.txt', 'hello\n')
    const flags = [`--base-image=${file}`, frontProxy]
    const message = `--base-image: ${file} cannot be used: it is no base image`
    await expect(startApiServer({ flags })).rejects.toThrow(message)
    const other = '--base-image is of the dialect kubernetes, not of svc'
    await expect(startApiServer({ flags, dialect: 'svc' })).rejects.toThrow(other)
  })
})
