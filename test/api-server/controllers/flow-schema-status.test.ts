/** FlowSchemas tell whether the priority level that they name exists. */
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'

function schema(name: string, level: string) {
  return {
    metadata: { name },
    spec: {
      matchingPrecedence: 500,
      priorityLevelConfiguration: { name: level },
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: 'system:authenticated' } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  }
}

const level = {
  metadata: { name: 'mine' },
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } },
  },
}

describe.each(['kubernetes', 'svc'] as const)('in dialect %s', (dialect) => {
  const found = (name: string) => ({
    type: 'Dangling',
    status: 'False',
    reason: 'Found',
    message: `This FlowSchema references the PriorityLevelConfiguration object named "${name}" and it exists`,
  })
  const notFound = (name: string) => ({
    type: 'Dangling',
    status: 'True',
    reason: 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named "${name}" but there is no such object`,
  })
  const pathOf = (server: TestApiServer) => `/apis/${server.group('flowcontrol.apiserver')}/v1`
  const conditionsOf = async (server: TestApiServer, name: string) =>
    (await server.ok('GET', `${pathOf(server)}/flowschemas/${name}`)).status.conditions

  it('those made at the start have the condition, and a restart writes none again', async () => {
    await using server = await startApiServer({ dialect, store: 'sqlite' })
    const versions: string[] = []
    for (const name of ['exempt', 'catch-all']) {
      await eventually(async () => {
        expect(await conditionsOf(server, name)).toMatchObject([found(name)])
      })
      const { metadata } = await server.ok('GET', `${pathOf(server)}/flowschemas/${name}`)
      versions.push(metadata.resourceVersion)
    }
    await server.restart()
    // Later ones are looked at after these.
    await server.ok('POST', `${pathOf(server)}/flowschemas`, { body: schema('x', 'exempt') })
    await eventually(async () => {
      expect(await conditionsOf(server, 'x')).toMatchObject([found('exempt')])
    })
    for (const [index, name] of ['exempt', 'catch-all'].entries()) {
      const { metadata } = await server.ok('GET', `${pathOf(server)}/flowschemas/${name}`)
      expect(metadata.resourceVersion).toBe(versions[index])
    }
  })

  it('the condition follows when levels come and go, and when a schema names another', async () => {
    await using server = await startApiServer({ dialect })
    const path = pathOf(server)
    const expectCondition = async (wanted: object) =>
      await eventually(async () => {
        expect(await conditionsOf(server, 'x')).toMatchObject([wanted])
      })
    await server.ok('POST', `${path}/flowschemas`, { body: schema('x', 'mine') })
    await expectCondition(notFound('mine'))
    await server.ok('POST', `${path}/prioritylevelconfigurations`, { body: level })
    await expectCondition(found('mine'))
    await server.ok('DELETE', `${path}/prioritylevelconfigurations/mine`)
    await expectCondition(notFound('mine'))
    await server.ok('PUT', `${path}/flowschemas/x`, { body: schema('x', 'catch-all') })
    await expectCondition(found('catch-all'))
    const [{ lastTransitionTime }] = await conditionsOf(server, 'x')
    expect(lastTransitionTime).toMatch(/Z$/)
    const table = await server.ok('GET', `${path}/flowschemas/x`, {
      headers: { accept: `application/json;as=Table;v=v1;g=meta.${server.dialect.apiDomain}` },
    })
    const at = (table.columnDefinitions as { name: string }[]).findIndex(
      ({ name }) => name === 'MissingPL',
    )
    expect(table.rows[0].cells[at]).toBe('False')
  })
})
