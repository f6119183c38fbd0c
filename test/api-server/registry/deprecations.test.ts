/** What a client, the audit log and the metrics are told of deprecated endpoints. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'

/** Lines of one metric, comments left out. */
async function seriesOf(server: TestApiServer, name: string): Promise<string[]> {
  const { text } = await server.request('GET', '/metrics')
  return text.split('\n').filter((line) => line.startsWith(`${name}{`))
}

describe.each(['kubernetes', 'svc'] as const)('deprecated endpoints, dialect %s', (dialect) => {
  let server: TestApiServer
  const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
  const group = `storage.${domain}`
  const path = `/apis/${group}/v1alpha1/volumeattributesclasses`
  const text = `${group}/v1alpha1 VolumeAttributesClass is deprecated in v1.32+, unavailable in v1.35+`

  beforeAll(async () => {
    const versions = [
      `storage.${domain}/v1alpha1`,
      `storage.${domain}/v1beta1`,
      `authentication.${domain}/v1beta1`,
    ]
    const flag = versions.join(',')
    server = await startApiServer({ dialect, flags: [`--runtime-config=${flag}`] })
  })
  afterAll(async () => await server[Symbol.asyncDispose]())

  it('[VER-053] answers carry a warning that says since when and until when', async () => {
    const list = await server.request('GET', path)
    expect(list.status).toBe(200)
    expect(list.headers['warning']).toBe(`299 - "${text}"`)
    const item = await server.request('GET', `${path}/none`)
    expect(item.status).toBe(404)
    expect(item.headers['warning']).toBe(`299 - "${text}"`)
    const body = {
      metadata: { name: 'fast' },
      driverName: 'csi.example.com',
      parameters: { a: 'b' },
    }
    const made = await server.request('POST', path, { body })
    expect(made.status).toBe(201)
    expect(made.headers['warning']).toBe(`299 - "${text}"`)
    const review = await server.request(
      'POST',
      `/apis/authentication.${domain}/v1beta1/tokenreviews`,
      { body: { spec: { token: 'x' } } },
    )
    expect(review.headers['warning']).toBe(
      `299 - "authentication.${domain}/v1beta1 TokenReview is deprecated in v1.19+, unavailable in v1.22+; ` +
        `use authentication.${domain}/v1 TokenReview"`,
    )
    const statuses = await server.request('GET', '/api/v1/componentstatuses')
    expect(statuses.headers['warning']).toBe('299 - "v1 ComponentStatus is deprecated in v1.19+"')

    for (const fine of [
      `/apis/${group}/v1beta1/volumeattributesclasses`,
      `/apis/${group}/v1/storageclasses`,
      '/api/v1/namespaces',
      `/apis/${group}/v1alpha1`,
    ]) {
      const answer = await server.request('GET', fine)
      expect(answer.status, fine).toBe(200)
      expect(answer.headers['warning'], fine).toBeUndefined()
    }
  })

  it('[VER-054] the audit record says so, and others do not', async () => {
    const { annotations } = await server.auditOf(await server.request('GET', path))
    expect(annotations).toMatchObject({
      [`${domain}/deprecated`]: 'true',
      [`${domain}/removed-release`]: '1.35',
    })
    const statuses = await server.request('GET', '/api/v1/componentstatuses')
    const ofStatuses = (await server.auditOf(statuses)).annotations
    expect(ofStatuses[`${domain}/deprecated`]).toBe('true')
    expect(ofStatuses).not.toHaveProperty(`${domain}/removed-release`)
    const other = await server.auditOf(await server.request('GET', '/api/v1/namespaces'))
    expect(Object.keys(other.annotations).filter((key) => /deprecated|removed/.test(key))).toEqual(
      [],
    )
  })

  it('[VER-055] a gauge is set to 1 for each deprecated endpoint that was requested', async () => {
    const name = 'apiserver_requested_deprecated_apis'
    const review = `/apis/authentication.${domain}/v1beta1/selfsubjectreviews`
    expect((await seriesOf(server, name)).join()).not.toContain('selfsubjectreviews')
    await server.request('GET', path)
    await server.request('GET', path)
    await server.ok('POST', review, { body: {} })
    await server.ok('GET', '/api/v1/namespaces')
    const series = await seriesOf(server, name)
    expect(series).toContain(
      `${name}{group="${group}",version="v1alpha1",resource="volumeattributesclasses",subresource="",removed_release="1.35"} 1`,
    )
    expect(series).toContain(
      `${name}{group="authentication.${domain}",version="v1beta1",resource="selfsubjectreviews",subresource="",removed_release="1.33"} 1`,
    )
    expect(series.join()).not.toContain('namespaces')
    const { text: all } = await server.request('GET', '/metrics')
    expect(all).toMatch(/^# HELP apiserver_requested_deprecated_apis \[STABLE\] /m)
    expect(all).toMatch(/^# TYPE apiserver_requested_deprecated_apis gauge$/m)
  })
})
