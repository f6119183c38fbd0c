/** An autoscaler that follows metrics of extension API servers: custom.metrics and external.metrics by aggregation. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { horizontalPodAutoscalerController } from '../../../components/controller-manager/horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import {
  registerExtension,
  startExtensionServer,
  whenReason,
  type ExtensionAsked,
} from '../../support/extension-server.ts'
import { startControllers } from '../../support/live-controller.ts'

/** A metrics adapter, as anybody may serve one: it answers with the value that it was last given. */
async function startAdapter(
  server: TestApiServer,
  of: { stem: string; version: string; namespace: string; kind: string },
) {
  const { stem, version, namespace, kind } = of
  const group = server.group(stem)
  const { apiDomain } = server.dialect
  const extension = await startExtensionServer({ group, namespace, apiDomain })
  extension.discovery = 'none'
  const asked: string[] = []
  let value: string | undefined
  const json = (response: ServerResponse, body: object): true => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
    return true
  }
  extension.handle = ({ url }: ExtensionAsked, response) => {
    if (url.split('?')[0] === `/apis/${group}/${version}`) {
      const groupVersion = `${group}/${version}`
      return json(response, {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion,
        resources: [],
      })
    }
    if (!url.startsWith(`/apis/${group}/${version}/namespaces/`)) return false
    asked.push(url)
    if (value === undefined) {
      response.writeHead(503).end('no figures yet')
      return true
    }
    const described = { kind: 'Service', namespace, name: 'front', apiVersion: 'v1' }
    const item = {
      describedObject: described,
      metricName: 'load',
      metricLabels: {},
      metric: { name: 'load' },
      timestamp: new Date().toISOString(),
      value,
    }
    return json(response, { kind, apiVersion: `${group}/${version}`, metadata: {}, items: [item] })
  }
  const path = await registerExtension(server, extension, { namespace, version })
  await whenReason(server, path, 'Passed')
  return {
    extension,
    asked,
    say: (next: string | undefined) => {
      value = next
    },
  }
}

type Adapter = Awaited<ReturnType<typeof startAdapter>>

describe.each(['kubernetes', 'svc'] as const)('adapters of metrics, dialect %s', (dialect) => {
  let server: TestApiServer
  let controller: AsyncDisposable
  const adapters: Adapter[] = []
  let custom: Adapter
  let external: Adapter
  let at = ''

  beforeAll(async () => {
    server = await startApiServer({
      dialect,
      flags: ['--enable-aggregator-routing=false', '--disable-admission-plugins=ServiceAccount'],
    })
    const namespace = await server.namespace('adapters')
    at = `/apis/apps/v1/namespaces/${namespace}/deployments`
    custom = await startAdapter(server, {
      stem: 'custom.metrics',
      version: 'v1beta2',
      namespace: await server.namespace('custom'),
      kind: 'MetricValueList',
    })
    external = await startAdapter(server, {
      stem: 'external.metrics',
      version: 'v1beta1',
      namespace: await server.namespace('external'),
      kind: 'ExternalMetricValueList',
    })
    adapters.push(custom, external)
    const labels = { app: 'web' }
    await server.ok('POST', at, {
      body: {
        metadata: { name: 'web' },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    })
    for (const name of ['a', 'b']) {
      const pods = `/api/v1/namespaces/${namespace}/pods`
      const body = { metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
      const pod = (await server.ok('POST', pods, { body })) as object
      const conditions = [{ type: 'Ready', status: 'True' }]
      const status = { phase: 'Running', conditions }
      await server.ok('PUT', `${pods}/${name}/status`, { body: { ...pod, status } })
    }
    controller = await startControllers(server, [horizontalPodAutoscalerController], {
      flags: ['--horizontal-pod-autoscaler-sync-period=100ms'],
    })
    const object = {
      metric: { name: 'load', selector: { matchLabels: { queue: 'fast' } } },
      describedObject: { apiVersion: 'v1', kind: 'Service', name: 'front' },
      target: { type: 'Value', value: '10' },
    }
    const elsewhere = {
      metric: { name: 'load' },
      target: { type: 'AverageValue', averageValue: '5' },
    }
    const scaleDown = { stabilizationWindowSeconds: 0 }
    const scaleUp = { policies: [{ type: 'Pods', value: 10, periodSeconds: 1 }] }
    await server.ok('POST', autoscalers(), {
      body: {
        metadata: { name: 'web' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          maxReplicas: 10,
          behavior: { scaleDown, scaleUp },
          metrics: [
            { type: 'Object', object },
            { type: 'External', external: elsewhere },
          ],
        },
      },
    })
    // No controller of Deployments runs here.
    await setStatus(2)
  })
  afterAll(async () => {
    await controller[Symbol.asyncDispose]()
    for (const { extension } of adapters) await extension[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })
  const autoscalers = () => '/apis/autoscaling/v2/namespaces/adapters/horizontalpodautoscalers'
  const statusOf = async () => (await server.ok('GET', `${autoscalers()}/web`)).status
  const replicas = async (): Promise<number> =>
    (await server.ok('GET', `${at}/web`)).spec.replicas as number
  async function setStatus(count: number): Promise<void> {
    await eventually(async () => {
      const deployment = (await server.ok('GET', `${at}/web`)) as object
      await server.ok('PUT', `${at}/web/status`, {
        body: { ...deployment, status: { replicas: count } },
      })
    })
  }
  const reason = async (type: string): Promise<string | undefined> => {
    const conditions = ((await statusOf())?.conditions ?? []) as { type: string; reason: string }[]
    return conditions.find((one) => one.type === type)?.reason
  }

  it('that have no figures leave the workload as it is, and it says why', async () => {
    await eventually(async () =>
      expect(await reason('ScalingActive')).toBe('FailedGetObjectMetric'),
    )
    expect(await replicas()).toBe(2)
    expect((await statusOf()).currentMetrics).toMatchObject([{ type: '' }, { type: '' }])
  })

  it('lead it up by the one that wants most, and down when both want less', async () => {
    custom.say('30')
    external.say('20')
    // Three times the two ready pods; four shares of five.
    await eventually(async () => expect(await replicas()).toBe(6))
    await eventually(async () => expect(await reason('ScalingActive')).toBe('ValidMetricFound'))
    expect((await statusOf()).currentMetrics).toMatchObject([
      { type: 'Object', object: { current: { value: '30' } } },
      { type: 'External', external: { current: { averageValue: expect.any(String) } } },
    ])
    await setStatus(6)
    custom.say('5')
    await eventually(async () => expect(await replicas()).toBe(4))
  })

  it('are asked for the metric by upstream’s paths, with its selector', () => {
    expect(new Set(custom.asked)).toEqual(
      new Set([
        `/apis/${server.group('custom.metrics')}/v1beta2/namespaces/adapters/services/front/load?metricLabelSelector=queue%3Dfast`,
      ]),
    )
    expect(new Set(external.asked)).toEqual(
      new Set([`/apis/${server.group('external.metrics')}/v1beta1/namespaces/adapters/load`]),
    )
  })

  it('that go away leave it as it is, and it goes on when they are back', async () => {
    const { extension } = external
    external.say(undefined)
    custom.say('0')
    await eventually(async () =>
      expect(await reason('ScalingActive')).toBe('FailedGetExternalMetric'),
    )
    const before = await replicas()
    extension.cut()
    external.say('45')
    await eventually(async () => expect(await replicas()).toBe(9))
    expect(before).toBe(4)
  })
})
