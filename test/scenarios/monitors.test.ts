/** Scenarios with monitors, played on an API server of the test's process. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseScenario } from '../../scenarios/engine/scenario.ts'
import { startLiveCluster, type LiveCluster } from '../monitors/live-cluster.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { play } from './play.ts'

let live: LiveCluster
beforeAll(async () => {
  live = await startLiveCluster([])
})
afterAll(async () => await live[Symbol.asyncDispose]())

const run = async (head: string, steps: string) =>
  await play(temporaryFolder('monitors'), steps, { head, client: live.client })

const configMap = (name: string, color: string): string =>
  `  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}, namespace: default}, data: {color: ${color}}}`
const noRed = `monitors:\n  - name: no red\n    kind: configmaps\n    expression: "!has(object.data) || object.data.?color != optional.of('red')"`

describe('monitors of a scenario', () => {
  it('fail it when something is violated, though every step has passed', async () => {
    const { outcome, steps, failure } = await run(
      noRed,
      [configMap('one', 'red'), configMap('one', 'blue')].join('\n'),
    )
    expect(steps.map((step) => step.outcome)).toEqual(['passed', 'passed'])
    expect(outcome).toBe('failed')
    const report = failure.join('\n')
    expect(report).toMatch(/^monitor no red: ConfigMap default\/one .* does not fulfil/)
    expect(report).toContain('ConfigMap one in namespace default')
    expect(report).toContain('data.color: red -> blue')
  })

  it('are silent otherwise', async () => {
    const { outcome, failure } = await run(noRed, configMap('two', 'blue'))
    expect([outcome, failure]).toEqual(['passed', []])
    expect((await run('monitors: all', configMap('three', 'red'))).outcome).toBe('passed')
  })

  it('may be of kinds that come with the scenario', async () => {
    const { failure } = await run(
      `monitors:\n  - {kind: widgets.example.com, expression: object.spec.size < 3}`,
      `  - apply:
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: widgets.example.com}
      spec:
        group: example.com
        scope: Namespaced
        names: {plural: widgets, kind: Widget, singular: widget, listKind: WidgetList}
        versions:
          - name: v1
            served: true
            storage: true
            schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - expect: {kind: CustomResourceDefinition, name: widgets.example.com, where: "status.conditions[type=Established].status == True"}
  - apply: {apiVersion: example.com/v1, kind: Widget, metadata: {name: big, namespace: default}, spec: {size: 5}}`,
    )
    expect(failure[0]).toContain('monitor widgets.example.com-1: Widget default/big')
  })

  it('are checked with the file', () => {
    const parse = (monitors: string) =>
      parseScenario(`description: x\nmonitors: ${monitors}\nsteps:\n  - sleep: 1s\n`, 'x.yaml')
    expect(() => parse('[orphan]')).toThrow(
      /monitors\[0\]: must be one of identity, .*, not "orphan"/,
    )
    expect(() => parse('[{kind: pods}]')).toThrow(/monitors\[0\]/)
  })
})
