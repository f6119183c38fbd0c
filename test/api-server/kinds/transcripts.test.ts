/** What release 1.20 answered to invalid objects, held against the strategies; `since` lists what later releases word otherwise. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { strategyRuns, type StrategyRuns } from '../../support/strategy-runs.ts'

interface Transcript {
  readonly title: string
  readonly request: { readonly body?: Record<string, unknown> }
  readonly response: {
    readonly status: number
    readonly body: {
      readonly details?: { readonly causes?: readonly { field: string; message: string }[] }
    }
  }
}

const transcripts = new Map(
  readFileSync(join(import.meta.dirname, '../../cases/transcripts-1.20.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Transcript)
    .map((transcript) => [transcript.title, transcript]),
)

/** Title -> text of release 1.20 -> text of release 1.32. */
const since: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  // The grace period joined the list, and its spaces went.
  'pod spec changed': [
    [
      '`spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)',
      '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
    ],
  ],
}
const sinceAll: typeof since = {
  ...since,
  'pod immutable field': since['pod spec changed'] ?? [],
}

function causesOf(title: string): string[] {
  const causes = transcripts.get(title)?.response.body.details?.causes
  if (causes === undefined) throw new Error(`no causes in "${title}"`)
  return causes.map(({ field, message }) => {
    let text = message
    for (const [old, current] of sinceAll[title] ?? []) text = text.replace(old, current)
    return `${field}: ${text}`
  })
}

/** The object of a create as it was sent; without a name it stays without. */
function sentBy(title: string): Record<string, unknown> & { metadata: object } {
  const { kind: _kind, apiVersion: _version, ...body } = transcripts.get(title)?.request.body ?? {}
  return { ...body, metadata: { name: '', ...(body['metadata'] as object | undefined) } }
}

const configMaps = strategyRuns('configMaps')

describe('creates', () => {
  test.each<[string, StrategyRuns]>([
    ['no name', configMaps],
    ['bad label', configMaps],
    ['bad finalizer', configMaps],
    ['pod without containers', strategyRuns('pods')],
    ['deployment without selector', strategyRuns('deployments')],
    ['role bad rule', strategyRuns('roles')],
    ['csr bad signer', strategyRuns('certificateSigningRequests')],
  ])('%s', (title, runs) => {
    expect(runs.createFaults(sentBy(title))).toEqual(causesOf(title))
  })
})

const container = { name: 'c', image: 'i' }

describe('changes', () => {
  test('add finalizer while terminating', () => {
    const finalizers = ['example.com/x']
    const old = configMaps.created({ metadata: { finalizers } })
    old.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    const { metadata } = sentBy('add finalizer while terminating') as KubeObject
    expect(configMaps.updateFaults(old, { metadata: { finalizers: metadata.finalizers } })).toEqual(
      causesOf('add finalizer while terminating'),
    )
  })

  test('selector immutable', () => {
    const deployments = strategyRuns('deployments')
    const spec = (labels: object) => ({
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    })
    const old = deployments.created({ spec: spec({ a: 'b' }) })
    expect(deployments.updateFaults(old, { spec: spec({ a: 'c' }) })).toEqual(
      causesOf('selector immutable'),
    )
  })

  test('roleRef immutable', () => {
    const bindings = strategyRuns('roleBindings')
    const binding = (name: string) => ({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [],
    })
    expect(bindings.updateFaults(bindings.created(binding('r')), binding('other'))).toEqual(
      causesOf('roleRef immutable'),
    )
  })

  // Below the first line comes a difference of Go structs, whose fields are not the same in both releases.
  test.each([
    ['pod immutable field', { nodeName: 'n1' }],
    ['pod spec changed', { containers: [{ ...container, command: ['x'] }] }],
  ])('%s', (title, change) => {
    const pods = strategyRuns('pods')
    const old = pods.created({ spec: { containers: [container] } })
    const faults = pods.updateFaults(old, { spec: { ...(old['spec'] as object), ...change } })
    const firstLines = (texts: readonly string[]) => texts.map((text) => text.split('\n')[0])
    expect(firstLines(faults)).toEqual(firstLines(causesOf(title)))
  })
})

test('every refusal of an object is replayed here or belongs to somebody else', () => {
  const elsewhere = [
    'json patch failing test',
    'json patch missing path',
    'apply without a manager',
    'dry run bad value',
    'list exact without version',
    'list bad match',
    'subject access review invalid',
    'delete with bad options',
    'delete with both orphan and policy',
  ]
  const here = [
    'no name',
    'bad label',
    'bad finalizer',
    'pod without containers',
    'deployment without selector',
    'role bad rule',
    'csr bad signer',
    'add finalizer while terminating',
    'selector immutable',
    'roleRef immutable',
    'pod immutable field',
    'pod spec changed',
  ]
  const refused = [...transcripts.values()].filter(({ response }) => response.status === 422)
  expect(refused.map(({ title }) => title).toSorted()).toEqual([...elsewhere, ...here].toSorted())
})
