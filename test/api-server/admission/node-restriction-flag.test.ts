/** NodeRestriction on a running server: what a node may write to other nodes' objects with the plugin, and without. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'

const node1 = { user: 'system:node:n1', groups: ['system:nodes'] }
const merge = { 'content-type': 'application/merge-patch+json' }

describe("[NODEAUTHZ-009] a node's write to the Node and the status of another", () => {
  it.each([
    ['passes by default', [], 200],
    ['is denied with NodeRestriction', ['--enable-admission-plugins=NodeRestriction'], 403],
  ] as const)('%s', async (_, flags, expected) => {
    await using server = await startApiServer({ flags })
    for (const name of ['n1', 'n2']) {
      await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name } } })
    }
    const patch = async (path: string): Promise<number> => {
      const body = { metadata: { annotations: { seen: 'yes' } } }
      return (await server.request('PATCH', path, { as: node1, headers: merge, body })).status
    }
    for (const below of ['', '/status']) {
      expect(await patch(`/api/v1/nodes/n1${below}`)).toBe(200)
      expect(await patch(`/api/v1/nodes/n2${below}`)).toBe(expected)
    }
  })
})
