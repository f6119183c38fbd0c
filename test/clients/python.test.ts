/** Kubernetes' Python client: typed and dynamic objects, watches, the streams of pods, files, credentials. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { PlacedCluster } from '../e2e/place.ts'
import { sharedCluster } from '../e2e/shared-cluster.ts'
import {
  requirePythonClient,
  startPythonClient,
  type PythonClient,
} from '../support/python-client.ts'

const test = requirePythonClient()
const namespace = 'python'

const manifest = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: listed}, stringData: {a: b}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: listed}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: made}
spec:
  selector: {matchLabels: {app: made}}
  template:
    metadata: {labels: {app: made}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: made}
spec: {minAvailable: 1, selector: {matchLabels: {app: made}}}
`

const shirts = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shirts.python.example' },
  spec: {
    group: 'python.example',
    names: { plural: 'shirts', singular: 'shirt', kind: 'Shirt' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.sewn' },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  count: { type: 'integer', minimum: 0 },
                  colour: { type: 'string', default: 'red' },
                },
              },
              status: { type: 'object', properties: { sewn: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
}

describe('the Python client', () => {
  let cluster: PlacedCluster
  let python: PythonClient
  beforeAll(async () => {
    cluster = await sharedCluster()
    python = startPythonClient(cluster.kubeconfig)
    await python.do('make_namespace', namespace)
    const listening = { 'skiff.dev/listen': '80', 'skiff.dev/log-every': '100ms' }
    expect((await python.do('run_pod', namespace, 'web', listening))[0]).toBe('ADDED')
  })
  afterAll(async () => {
    await python?.do('clean_up', namespace, shirts.metadata.name)
    await python?.[Symbol.asyncDispose]()
  })

  test('discovers every kind and lists the built-in ones', async () => {
    const [listed, failed] = await python.do('list_built_in')
    expect(failed).toEqual([])
    expect(listed).toBeGreaterThan(40)
  })

  test('replaces and patches, and is told of a conflict', async () => {
    const [labels, ...conflict] = await python.do('change_pod', namespace, 'web')
    expect(labels).toEqual({ app: 'web', replaced: 'yes', merged: 'yes', added: 'yes' })
    expect(conflict).toEqual([409, 'Conflict'])
  })

  test('evicts', async () => {
    await python.do('run_pod', namespace, 'evicted')
    expect(await python.do('evict', namespace, 'evicted')).toBe('Success')
  })

  test('runs commands in a pod, and talks to a shell there', async () => {
    expect(await python.do('execute', namespace, 'web', ['sh', '-c', 'echo a; b; exit 4'])).toEqual(
      [
        expect.stringMatching(/^(a\nsh: b: not found\n|sh: b: not found\na\n)$/),
        'a\n',
        'sh: b: not found\n',
        4,
      ],
    )
    const [answers, errors, code] = await python.do('converse', namespace, 'web')
    expect([answers, errors, code]).toEqual([['one', 'two'], 'sh: nothing: not found\n', 3])
  })

  test('forwards a port until its connection ends, and hears that nothing listens at another', async () => {
    expect(await python.do('forward', namespace, 'web', 80)).toEqual([
      `${namespace}/web on port 80: GET /hello\n`,
      '',
      null,
    ])
    const [answer, , error] = await python.do('forward', namespace, 'web', 81)
    expect(answer).toBe(null)
    expect(error).toMatch(/^error forwarding port 81: .*connection refused$/)
  })

  test('follows a log', async () => {
    const lines = await python.do('follow_log', namespace, 'web', 3)
    expect(lines).toEqual(['main started (attempt 0)', 'main line 1', 'main line 2'])
  })

  test('creates what a file has, once', async () => {
    expect(await python.do('create_from_yaml', namespace, manifest)).toEqual([
      ['Secret', 'ServiceAccount', 'Deployment', 'PodDisruptionBudget'],
      Array.from({ length: 4 }, () => 'AlreadyExists'),
    ])
  })

  test('uses a custom resource as soon as it is established', async () => {
    await python.do('define', shirts)
    expect(await python.do('use_custom', namespace, 'python.example/v1', 'Shirt')).toEqual([
      'red',
      [7, 4],
      422,
      [
        ['MODIFIED', 'blue'],
        ['DELETED', 'blue'],
      ],
    ])
  })

  test('watches from a list on, without a gap', async () => {
    const [seen, left] = await python.do('watch_config_maps', namespace, 50)
    expect(seen).toEqual(Array.from({ length: 50 }, (_, at) => `watched-${at}`))
    expect(left).toBe(0)
  })

  test('gets its credential from an exec plugin, and what service accounts may read', async () => {
    const who = await python.do('who_am_i', namespace, 'default')
    expect(who).toEqual([`system:serviceaccount:${namespace}:default`, true, 403])
  })
})
