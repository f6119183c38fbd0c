/** How clients keep OpenAPI documents: by entity tag, and by addresses that name what they get. */
import { describe, expect, it } from 'vitest'
import { sharedServer } from '../../support/shared-server.ts'

describe('OpenAPI over HTTP', () => {
  const server = sharedServer()
  const get = async (path: string, headers: Record<string, string> = {}) =>
    await server().request('GET', path, { headers })
  const addressOf = async (name: string): Promise<string> => {
    const { paths } = await server().ok('GET', '/openapi/v3')
    return (paths as Record<string, { serverRelativeURL: string }>)[name]?.serverRelativeURL ?? ''
  }

  it('a document that the client has is not sent again', async () => {
    for (const path of ['/openapi/v2', '/openapi/v3', '/openapi/v3/apis/apps/v1', '/apis']) {
      const first = await get(path)
      const tag = String(first.headers['etag'])
      expect(tag, path).toMatch(/^"[0-9A-F]+"$/)
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const again = await get(path, { 'if-none-match': known })
        expect([again.status, again.text, again.headers['etag']], known).toEqual([304, '', tag])
      }
      expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
    }
  })

  it('the address in the index is good for ever, and an older one leads there', async () => {
    const address = await addressOf('apis/apps/v1')
    const [path = '', hash = ''] = address.split('?hash=')
    const named = await get(address)
    expect(named.headers).toMatchObject({
      etag: `"${hash}"`,
      'cache-control': 'public, immutable',
      vary: 'Accept',
    })
    const lasts = Date.parse(String(named.headers['expires'])) - Date.now()
    expect(lasts).toBeGreaterThan(364 * 24 * 60 * 60 * 1000)
    const old = await get(`${path}?hash=0123`)
    expect([old.status, old.headers['location']]).toEqual([301, address])
    const plain = await get(path)
    expect(plain.headers['cache-control']).toBe('no-cache, private')
    expect(plain.headers['expires']).toBeUndefined()
    expect(plain.text).toBe(named.text)
  })

  it('a document is the same for people and for programs', async () => {
    const path = '/openapi/v3/apis/apps/v1'
    const curl = await get(path, { 'user-agent': 'curl/8.5.0' })
    expect(curl.text).toBe((await get(path)).text)
    expect(curl.headers['etag']).toBeDefined()
  })
})
