/** Assertions over state and history: each passes when it is so, and fails with a report that says what was otherwise. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Client } from '../../components/client/client.ts'
import { play } from './play.ts'
import { administratorOf } from './administrator.ts'

const folder = temporaryFolder('assertions')

describe('assertions', () => {
  const server = sharedServer()
  let client: Client
  let count = 0
  let ns = ''
  beforeAll(() => {
    client = administratorOf(server())
  })
  afterAll(() => client.close())
  beforeEach(async () => {
    count += 1
    ns = `a${count}`
    await server().ok('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ns } },
    })
  })

  const result = async (steps: string, head = '') => {
    const { outcome, steps: ran } = await play(folder, steps.replaceAll('NS', ns), { client, head })
    return { outcome, why: ran.flatMap(({ failure }) => failure).join('\n') }
  }
  const make = (name: string, value: string): string =>
    `create: { apiVersion: v1, kind: ConfigMap, metadata: { name: ${name}, namespace: NS }, data: { value: '${value}' } }`
  const set = (name: string, value: string): string =>
    `patch: { kind: ConfigMap, name: ${name}, namespace: NS, patch: { data: { value: '${value}' } } }`
  const drop = (name: string): string => `delete: { kind: ConfigMap, name: ${name}, namespace: NS }`
  const passed = { outcome: 'passed', why: '' }

  it('conditions are also CEL and JSONPath, with variables', async () => {
    expect(
      await result(
        `
  - ${make('web', '3')}
  - expect: { kind: ConfigMap, namespace: NS, name: web, cel: 'int(object.data.value) == \${n} + 1', within: 2s }
  - expect: { kind: ConfigMap, namespace: NS, name: web, where: '{.data.value} == 3', save: { v: '{.data.value}' }, within: 2s }
  - expect: { kind: ConfigMap, namespace: NS, cel: ['has(object.data)', '"\${v}" == "3"'], within: 2s }
`,
        'variables: { n: 2 }',
      ),
    ).toEqual(passed)
    const { why } = await result(`
  - expect: { kind: ConfigMap, namespace: NS, name: web, cel: object.data.size() == 2 && object.none, within: 100ms }
`)
    expect(why).toContain('object.data.size() == 2 && object.none: it is false')
  })

  it('never passes when no state is so while the steps run, and fails at the first that is', async () => {
    const never = (value: string): string => `
  - ${make('web', '1')}
  - never:
      kind: ConfigMap
      namespace: NS
      where: data.value == ${value}
      during:
        - ${set('web', '2')}
        - ${set('web', '3')}
        - ${drop('web')}
`
    expect(await result(never('4'))).toEqual(passed)
    const { why } = await result(never('2'))
    expect(why).toContain('it was so, and must never be\nexpected:\n  ConfigMap in ')
    expect(why).toMatch(/web changed: data.value: 1 -> 2/)
    expect(why).toMatch(/who wrote it:\n {2}ConfigMap web in namespace a\d+, since revision \d+/)
    expect(why).toMatch(/changed by patch\n +by {3}operator, /)
  })

  it('never and holds take a time in place of steps', async () => {
    expect(
      await result(`
  - ${make('web', '1')}
  - never: { kind: ConfigMap, namespace: NS, where: data.value == 2, for: 10ms }
  - holds: { kind: ConfigMap, namespace: NS, where: data.value == 1, for: 10ms }
`),
    ).toEqual(passed)
  })

  it('holds fails when one state is otherwise, also one that is over when it is seen', async () => {
    const { why, outcome } = await result(`
  - ${make('web', '1')}
  - holds:
      kind: ConfigMap
      namespace: NS
      name: web
      where: data.value == 1
      during: [{ ${set('web', '2')} }, { ${set('web', '1')} }]
`)
    expect(outcome).toBe('failed')
    expect(why).toContain('it did not hold all the time')
    expect(why).toContain('data.value == 1: it is 2')
  })

  it('holds has to be so from the beginning', async () => {
    const { why } = await result(`
  - holds: { kind: ConfigMap, namespace: NS, name: none, for: 1h }
`)
    expect(why).toContain('it did not hold all the time')
    expect(why).toContain('no such object')
  })

  it('happened counts creations, deletions and changes of a value, also of objects that are gone', async () => {
    const story = `
  - repeat:
      times: 3
      steps: [{ ${make('web', '1')} }, { ${set('web', '2')} }, { ${drop('web')} }]
`
    expect(
      await result(`${story}
  - happened: { kind: ConfigMap, namespace: NS, name: web, event: created, times: 3 }
  - happened: { kind: ConfigMap, namespace: NS, name: web, event: deleted, times: 3 }
  - happened: { kind: ConfigMap, namespace: NS, name: web, changes: data.value, times: 3 }
  - happened: { kind: ConfigMap, namespace: NS, where: data.value == 2, times: { atLeast: 2, atMost: 3 } }
  - happened: { kind: ConfigMap, namespace: NS, where: data.value == 5, times: 0 }
`),
    ).toEqual(passed)
    const often = await result(`${story}
  - happened: { kind: ConfigMap, namespace: NS, name: web, event: created, times: 2 }
`)
    expect(often.why).toContain('it happened 3 times, more than 2')
    expect(often.why).toMatch(/exactly 2 times\nthere was:\n {2}it happened 3 times/)
    const rarely = await result(`${story}
  - happened: { kind: ConfigMap, namespace: NS, name: web, event: created, times: 4, within: 1ms }
`)
    expect(rarely.why).toContain('it had not happened often enough after 0.001 s')
  })

  it('happened waits for what has not happened yet, and finds selections with variables', async () => {
    expect(
      await result(
        `
  - ${make('web', '1')}
  - together:
      - - happened: { kind: ConfigMap, namespace: NS, name: '\${name}', event: deleted, times: 1 }
      - - sleep: 20ms
        - ${drop('web')}
`.replace('  - create', '  - create'),
        'variables: { name: web }',
      ),
    ).toEqual(passed)
  })

  it('inOrder finds events of several kinds in their order, and says what came too early', async () => {
    const story = `
  - ${make('first', '1')}
  - create: { apiVersion: v1, kind: Secret, metadata: { name: second, namespace: NS } }
  - ${drop('first')}
`
    const secret = '{ kind: Secret, namespace: NS, event: created }'
    const gone = '{ kind: ConfigMap, namespace: NS, name: first, event: deleted }'
    const there = '{ kind: ConfigMap, namespace: NS, where: data.value == 1 }'
    expect(
      await result(`${story}  - inOrder: { events: [${there}, ${secret}, ${gone}] }\n`),
    ).toEqual(passed)
    const { why } = await result(
      `${story.replaceAll('first', 'f').replaceAll('second', 's')}  - inOrder: { events: [${gone.replace('first', 'f')}, ${secret}], within: 1ms }\n`,
    )
    expect(why).toContain('it had not happened in this order after 0.001 s')
    expect(why).toContain('2. did not happen after that')
    expect(why).toMatch(/it happened before, at \+\d\.\d s: a\d+\/s/)
  })
})
