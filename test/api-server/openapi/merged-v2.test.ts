import { describe, expect, it } from 'vitest'
import {
  mergedV2,
  type ExtensionOpenApi,
} from '../../../components/api-server/openapi/merged-v2.ts'
import { createOpenApi } from '../../../components/api-server/openapi/openapi.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'

const swaggerOf = (paths: object, definitions: object): ExtensionOpenApi => ({
  v3Address: undefined,
  swagger: { paths, definitions } as ExtensionOpenApi['swagger'],
})
const of = (name: string) => ({ schema: { $ref: `#/definitions/${name}` } })

describe('version 2 of OpenAPI with extension API servers', () => {
  const own = {
    swagger: '2.0',
    paths: { '/a/': { get: of('Shared') } },
    definitions: { Shared: { type: 'object' }, Same: { type: 'string' } },
  }

  it('is what this server says, as it is, when there are none', () => {
    expect(mergedV2(own, [])).toBe(own)
    expect(mergedV2(own, [{ v3Address: undefined, swagger: undefined }])).toBe(own)
  })

  it('has all paths; definitions that differ get names of their own', () => {
    const merged = mergedV2(own, [
      swaggerOf(
        { '/b/': { get: of('Shared') }, '/a/': { get: of('Same') } },
        {
          Shared: { type: 'object', properties: { next: { $ref: '#/definitions/Shared' } } },
          Same: { type: 'string' },
        },
      ),
      swaggerOf({ '/c/': { get: of('Shared') } }, { Shared: { type: 'integer' } }),
    ])
    expect(merged['paths']).toEqual({
      '/a/': { get: of('Shared') },
      '/b/': { get: of('Shared_v2') },
      '/c/': { get: of('Shared_v3') },
    })
    expect(merged['definitions']).toEqual({
      Shared: { type: 'object' },
      Same: { type: 'string' },
      Shared_v2: { type: 'object', properties: { next: { $ref: '#/definitions/Shared_v2' } } },
      Shared_v3: { type: 'integer' },
    })
    expect(own.definitions).not.toHaveProperty('Shared_v2')
  })

  it('of a form that no message has is left out of the message alone', async () => {
    const odd = swaggerOf({ '/odd/': { get: { parameters: [null] } } }, {})
    const served = resourcesOf(dialects.kubernetes).all.slice(0, 3)
    const openApi = createOpenApi({
      dialect: dialects.kubernetes,
      resources: () => served,
      extensions: () => new Map([['odd.example.com/v1', odd]]),
      serverVersion: 'v1.32.0',
      pause: () => Promise.resolve(),
    })
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const message = await openApi('/openapi/v2', accept)
    expect(message?.body.includes('/odd/')).toBe(false)
    expect(message?.body.includes('/version/')).toBe(true)
    const json = await openApi('/openapi/v2', 'application/json')
    expect(json?.body.includes('/odd/')).toBe(true)
  })
})
