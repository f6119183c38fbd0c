/** Chainsaw Test files run as they are; what is not supported is named with its line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import type { Client } from '../../components/client/client.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import { parseScenario, ScenarioError } from '../../scenarios/engine/scenario.ts'
import { builtOnce } from '../e2e/built.ts'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { administratorOf } from './administrator.ts'
import { playedProcesses } from './play.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder('chainsaw')
})

const head = (name: string): string =>
  `apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata:\n  name: ${name}\nspec:\n`

describe('a Test', () => {
  const server = sharedServer()
  let client: Client
  beforeAll(async () => {
    await builtOnce()
    client = administratorOf(server())
  })
  afterAll(() => client.close())

  const run = async (name: string, spec: string) => {
    const scenario = parseScenario(`${head(name)}${spec}`, join(folder, 'chainsaw-test.yaml'))
    const result = await runScenario(scenario, {
      cluster: processCluster(playedProcesses(folder, `chainsaw-${name}`, client)),
      clock: systemClock,
      signal: new AbortController().signal,
    })
    return { ...result, why: result.steps.flatMap(({ failure }) => failure).join('\n') }
  }

  it('creates, applies, patches, asserts, expects errors, waits and deletes, in a namespace of its own', async () => {
    writeFileSync(
      join(folder, 'two.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one }\ndata: { a: ($a) }\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: two }\n',
    )
    const result = await run(
      'all',
      `  bindings: [{ name: a, value: b }]
  timeouts: { assert: 2s, error: 2s, delete: 2s }
  concurrent: false
  steps:
  - name: from a file
    try:
    - apply: { file: two.yaml }
    - create: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: three, labels: { app: x } }, data: { k: v } } }
    - create:
        resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: three } }
        expect: [{ check: { ($error != null): true } }]
    - patch: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: three }, data: { more: x } } }
    - assert: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: three }, data: { k: v, more: x } } }
    - assert: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { labels: { app: x } }, data: { k: v } } }
    - assert:
        bindings: [{ name: c, value: ($a) }]
        resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: one, namespace: ($namespace) }, data: { a: ($c) } }
    - error: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: three }, data: { k: other } } }
    - sleep: { duration: 1ms }
    - wait: { apiVersion: v1, kind: ConfigMap, name: two, for: { jsonPath: { path: '{.metadata.name}', value: two } } }
    - delete: { ref: { apiVersion: v1, kind: ConfigMap, name: two } }
    - wait: { apiVersion: v1, kind: ConfigMap, name: two, for: { deletion: {} } }
  - try:
    - script:
        env: [{ name: WHO, value: ($a) }]
        content: 'X=1; echo "hello \${WHO} in $NAMESPACE \${X}"'
        check: { ($error): ~, "(contains($stdout, 'hello b in chainsaw-all 1'))": true }
    - script: { content: exit 3, check: { ($error != null): true } }
    - command: { entrypoint: echo, args: [($a)] }
    finally:
    - apply: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: last, namespace: default } } }
`,
    )
    expect(result.why).toBe('')
    expect(result.failure).toEqual([])
    expect(result.name).toBe('all')
    expect(result.steps[0]?.title).toBe('from a file')
    const last = await server().ok('GET', '/api/v1/namespaces/default/configmaps/last')
    expect(last).toMatchObject({ metadata: { name: 'last' } })
  })

  it('a failed assertion is the report, and catch runs without hiding it', async () => {
    const result = await run(
      'fails',
      `  steps:
  - try:
    - apply: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: one }, data: { a: b } } }
    - assert: { timeout: 10ms, resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: one }, data: { a: c } } }
    catch:
    - apply: { resource: { apiVersion: v1, kind: ConfigMap, metadata: { name: caught, namespace: default } } }
`,
    )
    expect(result.outcome).toBe('failed')
    expect(result.why).toContain('data.a: wanted c, got b')
    await server().ok('GET', '/api/v1/namespaces/default/configmaps/caught')
  })
})

const faults = (spec: string): readonly string[] => {
  try {
    parseScenario(`${head('bad')}${spec}`, 'chainsaw-test.yaml')
    return []
  } catch (error) {
    return (error as ScenarioError).faults
  }
}
const operation = (text: string): string => `  steps:\n  - try:\n    - ${text}\n`

test.each([
  [
    'an unknown operation',
    operation('proxy: { kind: Pod }'),
    'chainsaw-test.yaml:8: spec.steps[0].try[0].proxy: not supported; operations are apply, create,',
  ],
  [
    'a dry run',
    operation('apply: { dryRun: true, resource: { kind: A, metadata: {} } }'),
    ':8: spec.steps[0].try[0].apply.dryRun: not supported; this operation takes resource, file, expect, timeout',
  ],
  [
    'a JMESPath expression',
    operation('apply: { resource: { kind: A, metadata: { name: (join(a)) } } }'),
    ':8: spec.steps[0].try[0].apply.resource.metadata.name: (join(a)): JMESPath expressions are not supported, only ($NAME)',
  ],
  [
    'an expression as a key',
    operation('assert: { resource: { kind: A, (length(x)): 3 } }'),
    '(length(x)): expressions as keys are not supported',
  ],
  [
    'another check of a command',
    operation('script: { content: x, check: { ($stdout): x } }'),
    '($stdout): this check is not supported; supported are',
  ],
  [
    'several files',
    operation('apply: { file: "*.yaml" }'),
    ':8: spec.steps[0].try[0].apply.file: "*.yaml": only the path of one file is supported',
  ],
  ['a missing file', operation('apply: { file: none.yaml }'), 'none.yaml: no such file'],
  [
    'another cluster',
    '  clusters: {}\n  steps: [{ try: [{ sleep: { duration: 1s } }] }]\n',
    ':6: spec.clusters: not supported',
  ],
  [
    'a step template',
    '  steps:\n  - use: { template: x.yaml }\n',
    ':7: spec.steps[0].use: not supported',
  ],
  [
    'an invalid duration',
    operation('sleep: { duration: soon }'),
    'must be a duration such as 4s, 200ms or 7d, not "soon"',
  ],
  ['a test without steps', '  steps: []\n', ': spec: the test has no step'],
])('%s is named with its line', (_, spec, message) => {
  expect(faults(spec).join('\n')).toContain(message)
})

test('another kind of chainsaw file is named', () => {
  const text = 'apiVersion: chainsaw.kyverno.io/v1alpha2\nkind: Configuration\n'
  expect(() => parseScenario(text, 'c.yaml')).toThrow(
    'c.yaml:1: Configuration of chainsaw.kyverno.io/v1alpha2 is not supported: only Test of chainsaw.kyverno.io/v1alpha1 is',
  )
})
