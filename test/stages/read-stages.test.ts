/** Stage files become stages, or errors that name file, line and field. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { compileStage, nextStage, possibleStages } from '../../components/stage-runner/lifecycle.ts'
import { finalizersPatch } from '../../components/stage-runner/stage-steps.ts'
import { parseStages, readStages, StageFilesError } from '../../cluster/stages/read-stages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { stage } from './stages.ts'

const parse = (text: string) => parseStages([{ file: 'a.yaml', text }])
const compiled = (...specs: readonly string[]) =>
  specs.flatMap((spec, index) => parse(stage(`s${index}`, spec)).map(compileStage))
const pod = (more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  ...more,
})
const base = 'resourceRef: { kind: Pod }\nselector: {}'

function faultsOf(act: () => unknown): readonly string[] {
  try {
    act()
  } catch (error) {
    if (error instanceof StageFilesError) return error.faults
    throw error
  }
  return []
}

describe('a Stage', () => {
  it('turns next into steps in the order of kwok, and says where each text is', () => {
    const [found] = parse(
      stage(
        'all',
        `${base}
next:
  delete: true
  statusTemplate: |
    phase: Running
  finalizers: { add: [{ value: a/b }], empty: true }
  event: { type: Warning, reason: R, message: m }`,
      ),
    )
    expect(found).toMatchObject({
      name: 'all',
      place: 'a.yaml:1',
      resource: { apiVersion: 'v1', kind: 'Pod' },
    })
    expect(found?.steps).toEqual([
      { kind: 'event', type: 'Warning', reason: 'R', message: 'm' },
      { kind: 'finalizers', add: ['a/b'], remove: [], empty: true },
      {
        kind: 'patch',
        root: 'status',
        subresource: 'status',
        type: 'strategic',
        user: undefined,
        template: { text: 'phase: Running\n', file: 'a.yaml', line: 10 },
      },
      { kind: 'delete' },
    ])
  })

  it('merges patches of other kinds than pods and nodes unless it says otherwise', () => {
    const [found] = parse(
      stage(
        's',
        'resourceRef: { apiGroup: a.io/v1, kind: Thing }\nselector: {}\nsteps: [{ patch: { template: x } }, { patch: { template: x, type: json } }]',
      ),
    )
    expect(found?.steps).toMatchObject([{ type: 'merge' }, { type: 'json' }])
  })

  it.each([
    [
      'kind: Deployment',
      ['a.yaml:1: kind Deployment is no Stage: create other objects in the cluster itself'],
    ],
    ['kind: Stage\napiVersion: v1', ['a.yaml:1: apiVersion v1 is not kwok.x-k8s.io/v1alpha1']],
    ['a: [', ['a.yaml:1: unexpected end of the stream within a flow collection']],
    [
      stage('s', `${base}\nselektor: {}`),
      ['a.yaml:7: spec.selektor: unknown field; did you mean selector?'],
    ],
    [stage('s', 'resourceRef: { kind: Pod }'), ['a.yaml:4: spec: selector is missing: a mapping']],
    [
      stage('s', `${base}\nweight: -1`),
      ['a.yaml:7: spec.weight: must be a whole number, 0 or more, not -1'],
    ],
    [
      stage('s', `${base}\nsteps: []\nnext: {}`),
      ['a.yaml:4: spec: next and steps cannot be combined'],
    ],
    [stage('s', `${base}\nsteps:\n  - {}`), ['a.yaml:8: spec.steps[0]: the step does nothing']],
    [
      stage(
        's',
        'resourceRef: { kind: Pod }\nselector:\n  matchExpressions:\n    - { key: .a, operator: In }\n    - { key: .a, cel: { expression: "true" } }\n    - { key: .a, operator: Exists, values: [b] }',
      ),
      [
        'a.yaml:8: spec.selector.matchExpressions[0]: In needs values',
        'a.yaml:9: spec.selector.matchExpressions[1]: cel and key cannot be combined',
        'a.yaml:10: spec.selector.matchExpressions[2]: Exists takes no values',
      ],
    ],
    [
      stage('s', `${base}\nsteps:\n  - apply: { template: "kind: {{ .kind }}" }`),
      [
        'a.yaml:8: spec.steps[0].apply.template: must begin with apiVersion and kind as they are, not made by actions',
      ],
    ],
    [
      stage(
        's',
        'resourceRef: { kind: Pod }\nselector:\n  matchExpressions:\n    - key: .a | test("x")\n      operator: Exists',
      ),
      [
        'a.yaml:8: jq ".a | test(\\"x\\")": test: regular expressions of jq are not supported: use startswith, endswith, contains or cel',
      ],
    ],
    [
      stage(
        's',
        'resourceRef: { kind: Pod }\nselector:\n  matchExpressions:\n    - cel:\n        expression: self.a +',
      ),
      [/^a\.yaml:9: CEL "self\.a \+": at 1:\d+: Syntax error: /],
    ],
    [
      stage('s', `${base}\nnext:\n  statusTemplate: |\n    phase: x\n    {{ Nothing }}`),
      ['a.yaml:10: template: the function Nothing is not supported'],
    ],
    [
      stage('s', `${base}\ndelay:\n  durationFrom:\n    expressionFrom: '.a['`),
      [/^a\.yaml:9: jq "\.a\[": /],
    ],
  ])('that is wrong is an error with its place %#', (text, expected) => {
    const faults = faultsOf(() => parse(text))
    expect(faults).toEqual(
      expected.map((one) =>
        typeof one === 'string' ? one : (expect.stringMatching(one) as string),
      ),
    )
  })

  it('in a file that cannot be read is an error, and kinds without stages get those of kwokctl', () => {
    const folder = temporaryFolder('stages')
    expect(faultsOf(() => readStages([join(folder, 'none.yaml')]))).toEqual([
      expect.stringContaining('none.yaml: ENOENT'),
    ])
    const file = join(folder, 'pods.yaml')
    writeFileSync(file, stage('mine', base))
    expect(readStages([file]).map(({ name }) => name)).toEqual([
      'mine',
      'node-initialize',
      'node-heartbeat-with-lease',
    ])
    expect(readStages(['default']).map(({ name }) => name)).toEqual([
      'node-initialize',
      'node-heartbeat-with-lease',
      'pod-ready',
      'pod-complete',
      'pod-delete',
    ])
  })
})

describe('a stage is chosen', () => {
  it('by labels, annotations and expressions, all of them', () => {
    const [one] = compiled(`resourceRef: { kind: Pod }
selector:
  matchLabels: { app: web }
  matchAnnotations: { stage: 'on' }
  matchExpressions:
    - { key: .status.phase, operator: In, values: [Pending, Running] }
    - { key: .spec.priority, operator: NotIn, values: ['3'] }
    - { jq: { key: .metadata.deletionTimestamp, operator: DoesNotExist } }
    - { cel: { expression: 'self.spec.priority < 5' } }`)
    const metadata = { name: 'p', labels: { app: 'web', other: 'x' }, annotations: { stage: 'on' } }
    const good = { metadata, spec: { priority: 4 }, status: { phase: 'Running' } }
    const matches = (more: object) => one?.matches(pod({ ...good, ...more }))
    expect(matches({})).toBe(true)
    expect(matches({ metadata: { ...metadata, labels: {} } })).toBe(false)
    expect(matches({ metadata: { ...metadata, annotations: {} } })).toBe(false)
    expect(matches({ metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })).toBe(
      false,
    )
    expect(matches({ status: {} })).toBe(false)
    expect(matches({ spec: { priority: 3 } })).toBe(false)
    expect(matches({ spec: { priority: 5 } })).toBe(false)
  })

  it('by weight, also from the object, as kwok does', () => {
    const from = "weightFrom: { expressionFrom: '.metadata.annotations.weight' }"
    const stages = compiled(
      `${base}\nweight: 1`,
      `${base}\nweight: 3`,
      `${base}\nweight: 0`,
      `${base}\n${from}\nweight: 2`,
    )
    const names = (object: KubeObject) =>
      possibleStages(stages, object).map(
        ({
          stage: {
            stage: { name },
          },
          weight,
        }) => `${name}=${weight}`,
      )
    expect(names(pod())).toEqual(['s0=1', 's1=3', 's3=2'])
    const weighed = (weight: string) => pod({ metadata: { name: 'p', annotations: { weight } } })
    expect(names(weighed('10'))).toEqual(['s0=1', 's1=3', 's3=10'])
    // Without a number it takes no part.
    expect(names(weighed('x'))).toEqual(['s0=1', 's1=3'])
    expect(
      [0, 0.2, 0.5, 0.9].map((drawn) =>
        stages.indexOf(nextStage(stages, pod(), () => drawn) as never),
      ),
    ).toEqual([0, 1, 1, 3])
    // All are equal where none has a weight.
    expect(names(pod()).length).toBe(3)
    expect(possibleStages(compiled(base, base), pod()).map(({ weight }) => weight)).toEqual([1, 1])
    expect(nextStage([], pod(), () => 0)).toBeUndefined()
  })

  it.each([
    ['delay: { durationMilliseconds: 1000 }', {}, 0.5, 1000],
    ['delay: { durationMilliseconds: 1000, jitterDurationMilliseconds: 5000 }', {}, 0.5, 3000],
    ['delay: { durationMilliseconds: 1000, jitterDurationMilliseconds: 400 }', {}, 0.5, 400],
    [
      "delay: { durationMilliseconds: 7, durationFrom: { expressionFrom: '.metadata.annotations.d' } }",
      { d: '2m' },
      0,
      120_000,
    ],
    [
      "delay: { durationMilliseconds: 7, durationFrom: { jq: { expression: '.metadata.annotations.d' } } }",
      {},
      0,
      7,
    ],
    [
      "delay: { durationMilliseconds: 7, durationFrom: { jq: { expression: '.metadata.annotations.d' } } }",
      { d: '' },
      0,
      0,
    ],
    [
      "delay: { durationFrom: { jq: { expression: '.metadata.annotations.d' } } }",
      { d: '2026-01-01T00:00:09Z' },
      0,
      9000,
    ],
    [
      "delay: { durationMilliseconds: 9, jitterDurationFrom: { jq: { expression: '.metadata.annotations.d' } } }",
      { d: '2020-01-01T00:00:00Z' },
      0,
      0,
    ],
    [
      "delay: { durationFrom: { cel: { expression: 'duration(self.metadata.annotations.d)' } } }",
      { d: '3s' },
      0,
      3000,
    ],
    ['', {}, 0, 0],
  ])('after %s for %j', (delay, annotations, drawn, expected) => {
    const [one] = compiled(`${base}\n${delay}`)
    const object = pod({ metadata: { name: 'p', annotations } })
    expect(one?.delayMs(object, Date.parse('2026-01-01T00:00:00Z'), () => drawn)).toBe(expected)
  })
})

describe('finalizers', () => {
  it.each([
    [{ add: ['a'] }, undefined, [{ op: 'add', path: '/metadata/finalizers', value: ['a'] }]],
    [{ add: ['a'] }, ['a'], []],
    [{ remove: ['a'] }, ['a', 'b'], [{ op: 'add', path: '/metadata/finalizers', value: ['b'] }]],
    [{ remove: ['a'] }, ['a'], [{ op: 'remove', path: '/metadata/finalizers' }]],
    [
      { empty: true, add: ['b'] },
      ['a'],
      [{ op: 'add', path: '/metadata/finalizers', value: ['b'] }],
    ],
    [{ empty: true }, undefined, []],
  ])('%j on %j', (step, present, patch) => {
    const whole = { kind: 'finalizers', add: [], remove: [], empty: false, ...step } as const
    expect(finalizersPatch(whole, present)).toEqual(patch)
  })
})
