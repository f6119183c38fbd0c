/** Steps that name objects find kinds that are defined in the cluster, by discovery. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import { definitionOf } from '../support/custom-definitions.ts'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { play } from './play.ts'

const folder = temporaryFolder('custom-kinds')

describe('steps about custom resources', () => {
  const server = sharedServer()
  let client: Client
  beforeAll(() => {
    const shown = server().credential({ user: 'operator', groups: ['system:masters'] })
    client = createClient({
      server: `https://127.0.0.1:${server().port}`,
      ca: server().pki.authority.certificatePem,
      credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
      dialect: dialects.kubernetes,
    })
  })
  afterAll(() => client.close())

  const definition = (kind: string, group = 'example.com', names = {}) =>
    JSON.stringify(
      definitionOf(server(), { group, kind, names, spec: { size: { type: 'integer' } } }),
    )
  const established = (name: string) =>
    `  - expect: { kind: CustomResourceDefinition, name: ${name}, where: 'status.conditions[type=Established].status == True' }`
  const result = async (...steps: string[]) => {
    const { outcome, steps: ran } = await play(folder, steps.join('\n'), { client })
    return [outcome, ...ran.flatMap(({ failure }) => failure)]
  }

  it('create, apply, expect, patch and delete them by kind, plural and short name', async () => {
    expect(
      await result(
        `  - create: ${definition('Team', 'example.com', { shortNames: ['tm'] })}`,
        established('teams.example.com'),
        '  - create: { apiVersion: example.com/v1, kind: Team, metadata: { name: blue }, spec: { size: 1 } }',
        "  - expect: { kind: Team, name: blue, where: 'spec.size == 1', save: { uid: metadata.uid } }",
        '  - patch: { kind: teams, name: blue, patch: { spec: { size: 2 } } }',
        "  - expect: { kind: tm, apiVersion: example.com/v1, namespace: default, where: 'spec.size == 2' }",
        '  - apply: { apiVersion: example.com/v1, kind: Team, metadata: { name: blue }, spec: { size: 3 } }',
        "  - expect: { kind: Team, where: ['spec.size == 3', 'metadata.uid == ${uid}'] }",
        '  - delete: { kind: Team, name: blue }',
        '  - expect: { kind: Team, absent: true }',
      ),
    ).toEqual(['passed'])
  })

  it('a built-in kind comes first; apiVersion names a custom kind of the same name', async () => {
    expect(
      await result(
        `  - create: ${definition('ConfigMap', 'other.example.com')}`,
        established('configmaps.other.example.com'),
        '  - create: { apiVersion: other.example.com/v1, kind: ConfigMap, metadata: { name: custom } }',
        '  - expect: { kind: ConfigMap, name: custom, absent: true }',
        '  - expect: { kind: ConfigMap, apiVersion: other.example.com/v1, name: custom }',
      ),
    ).toEqual(['passed'])
  })

  it('a kind that nothing defines fails the step, with the nearest name', async () => {
    expect(await result('  - delete: { kind: Taem, name: blue }')).toEqual([
      'failed',
      'no such kind: Taem; did you mean Team?',
    ])
    const [outcome, why] = await result('  - delete: { kind: Team, apiVersion: a/v1, name: blue }')
    expect([outcome, why]).toEqual([
      'failed',
      expect.stringContaining('no such kind: Team of a/v1'),
    ])
  })
})
