/** The list of annotations: what each takes, what is said of others, and that the documentation has all of them. */
import { describe, expect, test } from 'vitest'
import {
  annotationFaults,
  nodeAnnotations,
  nodeWish,
  podAnnotations,
  podWish,
  simulationAnnotations,
  storageWish,
} from '../../components/api/simulation.ts'
import type { SimulationBearer } from '../../components/api/simulation.ts'
import { readDoc } from '../docs/markdown.ts'

const key = (name: keyof typeof podAnnotations): string => podAnnotations[name]

describe('values', () => {
  const wish = (name: keyof typeof podAnnotations, text: string) =>
    podWish({ [key(name)]: text }, name, 'web')

  test.each([
    ['exitAfter', '500ms', 500],
    ['exitAfter', '1m30s', 90_000],
    ['startDelay', '2.5', 2500],
    ['exitCode', '137', 137],
    ['start', 'image-pull-error', 'image-pull-error'],
    ['listen', '80, 8080', [80, 8080]],
    ['checkpoint', 'fail', 'fail'],
    ['checkpoint', '5s', 5000],
  ] as const)('%s: %s', (name, text, value) => {
    expect(wish(name, text)).toEqual(value)
  })

  test.each([
    ['exitAfter', '5 s'],
    ['exitAfter', '-5s'],
    ['exitCode', '256'],
    ['exitCode', 'one'],
    ['start', 'Fail'],
    ['liveness', 'until'],
    ['readiness', 'after soon'],
    ['listen', '80,0'],
    ['listen', 'http'],
    ['checkpoint', 'never'],
  ] as const)('%s is not %s', (name, text) => {
    expect(wish(name, text)).toBeUndefined()
    const [fault] = annotationFaults('Pod', { [key(name)]: text })
    expect(fault?.why).toContain(`invalid value "${text}": must be `)
  })

  test('probes turn at their time', () => {
    const after = podWish({ [key('readiness')]: 'after 10s' }, 'readiness', 'web')
    const until = podWish({ [key('liveness')]: 'until 10s' }, 'liveness', 'web')
    expect([9999, 10_000].map((age) => [after?.(age), until?.(age)])).toEqual([
      [
        { passes: false, turnsInMs: 1 },
        { passes: true, turnsInMs: 1 },
      ],
      [{ passes: true }, { passes: false }],
    ])
  })

  test('of one container come before those of all, unless they cannot be read', () => {
    const annotations = { [key('exitCode')]: '1', [`${key('exitCode')}.web`]: '2' }
    expect(podWish(annotations, 'exitCode', 'web')).toBe(2)
    expect(podWish(annotations, 'exitCode', 'other')).toBe(1)
    expect(podWish({ ...annotations, [`${key('exitCode')}.web`]: 'x' }, 'exitCode', 'web')).toBe(1)
  })

  test('of a node are flags, or a reason', () => {
    const down = (text: string) => nodeWish({ [nodeAnnotations.runtimeDown]: text }, 'runtimeDown')
    expect(['true', 'false', 'no disk'].map(down)).toEqual(['simulated fault', false, 'no disk'])
  })
})

test('of storage: a claim’s annotation wins over its class’s parameter', () => {
  const annotations = { 'skiff.dev/provision': '5s' }
  expect(storageWish('provision', annotations, { provision: 'fail' })).toBe(5000)
  expect(storageWish('provision', undefined, { provision: 'fail' })).toBe('fail')
  expect(storageWish('expand', annotations, { expand: 'often' })).toBeUndefined()
})

describe('faults', () => {
  const whyOf = (bearer: SimulationBearer, annotation: string, value = '5s') =>
    annotationFaults(bearer, { [annotation]: value }, ['web'])[0]?.why

  test.each([
    ['Pod', 'skiff.dev/exitafter', 'unknown annotation; did you mean "skiff.dev/exit-after"?'],
    ['Pod', 'skiff.dev/zzz', 'unknown annotation'],
    ['Pod', 'skiff.dev/memory-pressure', 'this annotation is for nodes'],
    ['Node', 'skiff.dev/exit-after', 'this annotation is for pods'],
    ['PersistentVolumeClaim', 'skiff.dev/delete', 'this annotation is for persistent volumes'],
    ['PersistentVolume', 'skiff.dev/provision', 'this annotation is for persistent volume claims'],
    ['Pod', 'skiff.dev/exit-after.db', 'no container is named "db"; did you mean "web"?'],
    ['Pod', 'skiff.dev/exit-after.nothing-like-it', 'no container is named "nothing-like-it"'],
    [
      'Node',
      'skiff.dev/disk-pressure.x',
      'unknown annotation; did you mean "skiff.dev/disk-pressure"?',
    ],
  ] as const)('of a %s: %s', (bearer, annotation, why) => {
    expect(whyOf(bearer, annotation)).toBe(why)
  })

  test('are none for other domains and for what is right', () => {
    const annotations = { 'example.com/exit-after': 'x', 'skiff.dev/exit-after.web': '5s' }
    expect(annotationFaults('Pod', annotations, ['web'])).toEqual([])
    expect(annotationFaults('Pod', undefined)).toEqual([])
  })

  test('show no more of a long value than is needed', () => {
    expect(whyOf('Pod', 'skiff.dev/exit-code', 'x'.repeat(100_000))?.length).toBeLessThan(150)
  })
})

describe('docs/simulation.md', () => {
  const rows = [
    ...readDoc('docs/simulation.md').matchAll(/^\| `(skiff\.dev\/[^`]+)` +\| (.*?) +\|/gm),
  ]
  const documented = rows.map(([, name = '', values = '']) => ({
    name,
    examples: [...values.matchAll(/`([^`]+)`/g)].map(([, example = '']) => example),
  }))

  test('has every annotation, and no other', () => {
    const known = simulationAnnotations.map(({ key: name }) => name)
    expect(documented.map(({ name }) => name).toSorted()).toEqual(known.toSorted())
  })

  test('names values that are understood', () => {
    const bearers = new Map(simulationAnnotations.map((one) => [one.key, one.bearer]))
    for (const { name, examples } of documented) {
      for (const example of examples) {
        expect(annotationFaults(bearers.get(name) ?? 'Pod', { [name]: example })).toEqual([])
      }
    }
  })
})
