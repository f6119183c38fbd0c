/** What the server's own client tells of requests that are refused. */
import { expect, it } from 'vitest'
import { localClientOf } from '../../../components/api-server/registry/local-client.ts'
import type { Registry } from '../../../components/api-server/registry/registry.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'

it('a write that the chain refuses, as when it cannot be audited, is an error to its caller', async () => {
  const client = localClientOf({
    registry: {} as Registry,
    send: async () => ({ status: 500, headers: {}, body: Buffer.alloc(0) }),
    userAgent: 'test',
  })
  const { namespaces } = resourcesOf(dialects.kubernetes)
  const made = client.create(namespaces, '', { metadata: { name: 'x' } })
  await expect(made).rejects.toThrow('POST /api/v1/namespaces was answered 500')
})
