/** `skiff lesson`: on real clusters, of which nothing is left. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '../../../cluster/cluster.ts'
import { listClusters } from '../../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { builtOnce } from '../../e2e/built.ts'
import { processesIn } from '../../e2e/machine.ts'
import { createPlace } from '../../e2e/place.ts'

const place = createPlace()
let file: string

const lesson = (check: string): string => `title: A map
summary: Make one.
cluster: { nodes: 0 }
makes: [{ kind: ConfigMap, name: chart }]
steps:
  - heading: Make it
    text: Make it.
    command: skiff status --name \${cluster}
    action: [{ create: { apiVersion: v1, kind: ConfigMap, metadata: { name: chart, finalizers: [example.com/kept] } } }]
    check: ${check}
    explanation: It is there.
`

beforeAll(async () => {
  await builtOnce()
  file = join(place.root, 'home', 'chart.yaml')
  writeFileSync(file, lesson('{ answer: { question: Which?, matches: api-server +ready } }'))
})
afterAll(() => place[Symbol.asyncDispose]())

const left = () => ({
  clusters: listClusters(place.stateRoot),
  temporary: readdirSync(join(place.root, 'tmp')).filter((name) => name.startsWith('skiff-lesson')),
  processes: processesIn(place.root).map(({ command }) => command),
})
const nothing = { clusters: [], temporary: [], processes: [] }

test('list shows names, steps and what one types', async () => {
  const { stdout } = await place.run(['lesson', 'list'])
  expect(stdout).toMatch(
    /^NAME +STEPS +TYPES +TITLE\nfirst-cluster +7 +kubectl, skiff +Your first cluster\n/,
  )
  const { stdout: json } = await place.run(['lesson', 'list', '-o', 'json'])
  expect(JSON.parse(json)[1]).toMatchObject({ name: 'join', tools: ['kubectl', 'skiff'], steps: 8 })
})

test.each([
  [['no-such'], 3, 'there is no lesson "no-such"'],
  [['first-clutser'], 3, 'did you mean first-cluster?'],
  [['join', '--name', 'default'], 2, 'lesson "join" changes what a cluster needs'],
  [['access', '--name', 'none'], 3, 'there is no cluster "none"'],
  [[], 2, 'skiff lesson run needs LESSON'],
])('run %j ends with %d', async (words, code, text) => {
  const outcome = await place.run(['lesson', 'run', ...words])
  expect(outcome.stderr).toContain(text)
  expect(outcome.code).toBe(code)
})

test('an invalid file is refused with its line before anything starts', async () => {
  const bad = join(place.root, 'home', 'bad.yaml')
  writeFileSync(bad, lesson('{ expct: 1 }'))
  const { code, stderr } = await place.run(['lesson', 'run', bad])
  expect(stderr).toContain(`${bad}:10: steps[0].check.expct: unknown field; did you mean expect?`)
  expect(code).toBe(2)
  expect(left()).toEqual(nothing)
})

test('--do performs the steps on a cluster of its own, reports, and leaves nothing', async () => {
  const { code, stdout, stderr } = await place.run(['lesson', 'run', file, '--do', '-o', 'json'])
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    name: 'chart',
    outcome: 'done',
    steps: [{ outcome: 'done' }],
  })
  expect(stderr).toContain('✓ Make it')
  expect(left()).toEqual(nothing)
})

test('Ctrl-C in the middle ends with 130 and leaves nothing', async () => {
  let isInterrupted = false
  const { code, stderr } = await place.run(['lesson', 'run', file, '-o', 'json'], {
    onError: (text, child) => {
      // A second one would end it at once.
      if (isInterrupted || !text.includes('1/1  Make it')) return
      isInterrupted = child.kill('SIGINT')
    },
  })
  expect(stderr).toContain('$ skiff status --name lesson-chart')
  expect(code).toBe(130)
  expect(left()).toEqual(nothing)
})

describe('on a running cluster', () => {
  let cluster: Cluster
  let made: string
  beforeAll(async () => {
    cluster = await place.up('mine', ['--nodes', '0'])
    made = join(place.root, 'home', 'made.yaml')
    const text = lesson('{ expect: { kind: ConfigMap, name: chart } }')
    writeFileSync(made, text.replace('skiff status', 'kubectl status'))
  })

  /** There is no kubectl in its PATH. */
  const run = (...words: string[]) =>
    place.run(['lesson', 'run', ...words, '--name', 'mine'], {
      environment: { PATH: join(place.root, 'home') },
    })

  test('it deletes what it made, with its finalizers, and keeps the cluster', async () => {
    for (const _ of ['once', 'again']) {
      const { code, stderr } = await run(made, '--do')
      expect(code, stderr).toBe(0)
    }
    const maps = cluster.client.resource(resourcesOf(cluster.client.dialect).configMaps)
    const { items } = await maps.list({ namespace: 'default' })
    expect(items.map(({ metadata }) => metadata.name)).not.toContain('chart')
    expect(listClusters(place.stateRoot)).toEqual(['mine'])
  })

  test('it refuses to start over objects of the same names, and with too few nodes', async () => {
    const maps = cluster.client.resource(resourcesOf(cluster.client.dialect).configMaps)
    await maps.create({ metadata: { name: 'chart', namespace: 'default' } })
    const taken = await run(made, '--do')
    expect(taken.stderr).toContain('the lesson makes objects that exist in cluster "mine"')
    expect(taken.stderr).toContain('ConfigMap default/chart')
    expect(taken.code).toBe(4)
    expect(await maps.get({ namespace: 'default', name: 'chart' })).toBeDefined()

    const { code, stderr } = await run('rolling-update')
    expect(stderr).toContain('the lesson needs 2 nodes, the cluster has 0')
    expect(code).toBe(2)
  })
})
