/** What the server's own client tells of requests that are refused. */
import { expect, it } from 'vitest'
import { localClientOf } from '../../../components/api-server/registry/local-client.ts'
import type { Registry } from '../../../components/api-server/registry/registry.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { StoreError } from '../../../components/store/store.ts'

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

it('a write that the store refuses fails for its caller as for any client', async () => {
  const fault = new StoreError('no-space', 'cannot write state.db: the disk is full')
  const registry = { create: () => Promise.reject(fault) }
  const client = localClientOf({
    registry: registry as unknown as Registry,
    send: async (_, last) => {
      await last({} as RequestContext).catch(() => {})
      return { status: 500, headers: {}, body: Buffer.alloc(0) }
    },
    userAgent: 'test',
  })
  const { namespaces } = resourcesOf(dialects.kubernetes)
  const made = client.create(namespaces, '', { metadata: { name: 'x' } })
  const message = 'etcdserver: mvcc: database space exceeded'
  await expect(made).rejects.toMatchObject({ name: 'StatusError', message, cause: fault })
})
