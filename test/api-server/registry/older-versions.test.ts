/** Objects that an earlier release stored, read through the versions of this one. */
import { expect, it } from 'vitest'
import { keyBelow } from '../../../components/api-server/watch-cache/store-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDialects } from '../../support/shared-server.ts'

interface OldObject {
  /** Where its key stands: `group/plural`. */
  readonly place: string
  /** Group stem and version that it was stored in. */
  readonly stored: readonly [stem: string, version: string]
  readonly kind: string
  readonly body: object
  /** Stem and version that serve it now, and what it says there. */
  readonly served: readonly [stem: string, version: string]
  readonly read: object
  readonly clusterScoped?: boolean
  /** What must not be said any more. */
  readonly gone?: string
}

const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const bornAt = new Date().toISOString().replace(/\.\d+Z/, 'Z')
const target = { kind: 'Deployment', name: 'd' }

const objects: readonly OldObject[] = [
  {
    place: 'batch/cronjobs',
    stored: ['batch', 'v1beta1'],
    kind: 'CronJob',
    body: { spec: { schedule: '1 2 * * *', suspend: true } },
    served: ['batch', 'v1'],
    read: { spec: { schedule: '1 2 * * *', suspend: true } },
  },
  {
    place: 'discovery/endpointslices',
    stored: ['discovery', 'v1beta1'],
    kind: 'EndpointSlice',
    body: {
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          nodeName: 'n1',
          topology: {
            'kubernetes.io/hostname': 'n1',
            'topology.kubernetes.io/zone': 'z1',
            'topology.kubernetes.io/region': 'r1',
          },
        },
      ],
    },
    served: ['discovery', 'v1'],
    read: {
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          nodeName: 'n1',
          zone: 'z1',
          deprecatedTopology: { 'topology.kubernetes.io/region': 'r1' },
        },
      ],
    },
    gone: '"topology"',
  },
  {
    place: 'policy/poddisruptionbudgets',
    stored: ['policy', 'v1beta1'],
    kind: 'PodDisruptionBudget',
    body: { spec: { minAvailable: 1, selector: {} } },
    served: ['policy', 'v1'],
    read: {
      spec: {
        minAvailable: 1,
        selector: {
          matchExpressions: [
            {
              key: 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match',
              operator: 'Exists',
            },
          ],
        },
      },
    },
  },
  {
    place: 'autoscaling/horizontalpodautoscalers',
    stored: ['autoscaling', 'v2beta1'],
    kind: 'HorizontalPodAutoscaler',
    body: {
      spec: {
        scaleTargetRef: target,
        maxReplicas: 3,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 80 } },
          { type: 'Pods', pods: { metricName: 'rps', targetAverageValue: '10' } },
        ],
      },
    },
    served: ['autoscaling', 'v2'],
    read: {
      spec: {
        maxReplicas: 3,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
          },
          {
            type: 'Pods',
            pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '10' } },
          },
        ],
      },
    },
    gone: 'metricName',
  },
  {
    place: 'networking/ingresses',
    stored: ['extensions', 'v1beta1'],
    kind: 'Ingress',
    body: {
      spec: {
        backend: { serviceName: 'a', servicePort: 80 },
        rules: [
          {
            host: 'h',
            http: { paths: [{ path: '/', backend: { serviceName: 'b', servicePort: 'web' } }] },
          },
        ],
      },
    },
    served: ['networking', 'v1'],
    read: {
      spec: {
        defaultBackend: { service: { name: 'a', port: { number: 80 } } },
        rules: [
          {
            host: 'h',
            http: {
              paths: [
                {
                  path: '/',
                  pathType: 'ImplementationSpecific',
                  backend: { service: { name: 'b', port: { name: 'web' } } },
                },
              ],
            },
          },
        ],
      },
    },
    gone: 'serviceName',
  },
  {
    place: 'apps/deployments',
    stored: ['extensions', 'v1beta1'],
    kind: 'Deployment',
    body: { spec: { replicas: 0, template, rollbackTo: { revision: 3 } } },
    served: ['apps', 'v1'],
    read: {
      metadata: { annotations: { 'deprecated.deployment.rollback.revision': '3' } },
      spec: { replicas: 0, selector: { matchLabels: { app: 'a' } } },
    },
    gone: 'rollbackTo',
  },
  {
    place: 'apps/daemonsets',
    stored: ['apps', 'v1beta2'],
    kind: 'DaemonSet',
    body: { spec: { selector: { matchLabels: { app: 'a' } }, template, templateGeneration: 2 } },
    served: ['apps', 'v1'],
    read: {
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '2' } },
      spec: { updateStrategy: { type: 'OnDelete' } },
    },
    gone: 'templateGeneration',
  },
  {
    place: 'core/events',
    stored: ['events', 'v1beta1'],
    kind: 'Event',
    body: { regarding: { kind: 'Pod', name: 'p' }, note: 'n', deprecatedCount: 2 },
    served: ['', 'v1'],
    read: { involvedObject: { kind: 'Pod', name: 'p' }, message: 'n', count: 2 },
    gone: 'deprecatedCount',
  },
  {
    place: 'flowcontrol/prioritylevelconfigurations',
    stored: ['flowcontrol.apiserver', 'v1beta2'],
    kind: 'PriorityLevelConfiguration',
    body: {
      spec: {
        type: 'Limited',
        limited: { assuredConcurrencyShares: 7, limitResponse: { type: 'Reject' } },
      },
    },
    served: ['flowcontrol.apiserver', 'v1'],
    read: { spec: { limited: { nominalConcurrencyShares: 7 } } },
    clusterScoped: true,
    gone: 'assured',
  },
  {
    place: 'apiextensions/customresourcedefinitions',
    stored: ['apiextensions', 'v1beta1'],
    kind: 'CustomResourceDefinition',
    body: {
      spec: {
        group: 'example.com',
        version: 'v1',
        names: { kind: 'Thing', plural: 'things' },
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: 'A', type: 'string', JSONPath: '.spec.a' }],
        validation: { openAPIV3Schema: { type: 'object' } },
      },
    },
    served: ['apiextensions', 'v1'],
    read: {
      spec: {
        scope: 'Namespaced',
        preserveUnknownFields: true,
        conversion: { strategy: 'None' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
            subresources: { status: {} },
            additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a' }],
          },
        ],
      },
    },
    clusterScoped: true,
    gone: 'JSONPath',
  },
  {
    place: 'admissionregistration/validatingwebhookconfigurations',
    stored: ['admissionregistration', 'v1beta1'],
    kind: 'ValidatingWebhookConfiguration',
    body: { webhooks: [{ name: 'a.b.c', clientConfig: { url: 'https://127.0.0.1:1' } }] },
    served: ['admissionregistration', 'v1'],
    read: {
      webhooks: [
        {
          failurePolicy: 'Ignore',
          matchPolicy: 'Exact',
          sideEffects: 'Unknown',
          timeoutSeconds: 30,
          admissionReviewVersions: ['v1beta1'],
        },
      ],
    },
    clusterScoped: true,
  },
  {
    place: 'certificates/certificatesigningrequests',
    stored: ['certificates', 'v1beta1'],
    kind: 'CertificateSigningRequest',
    body: { spec: { request: 'eA==' } },
    served: ['certificates', 'v1'],
    read: {
      spec: {
        request: 'eA==',
        signerName: 'kubernetes.io/legacy-unknown',
        usages: ['digital signature', 'key encipherment'],
      },
    },
    clusterScoped: true,
  },
  {
    place: 'storage/csistoragecapacities',
    stored: ['storage', 'v1beta1'],
    kind: 'CSIStorageCapacity',
    body: { storageClassName: 's', capacity: '1Gi' },
    served: ['storage', 'v1'],
    read: { storageClassName: 's', capacity: '1Gi' },
  },
]

describeDialects(
  'objects of versions that are gone',
  (server) => {
    const groupVersion = ([stem, version]: readonly [string, string]): string => {
      const group = stem === 'extensions' || stem === '' ? stem : server().group(stem)
      return group === '' ? version : `${group}/${version}`
    }
    const pathOf = (object: OldObject, version: readonly [string, string]): string => {
      const [, plural = ''] = object.place.split('/')
      const root = version[0] === '' ? '/api' : '/apis'
      const scope = object.clusterScoped ? '' : '/namespaces/default'
      return `${root}/${groupVersion(version)}${scope}/${plural}`
    }

    /** The objects above are in the words of one dialect. */
    const inDialect = (value: object): any =>
      JSON.parse(JSON.stringify(value).replaceAll('kubernetes.io', server().dialect.labelDomain))

    it('[VER-063] are read in the version that replaced theirs, which is not served itself', async () => {
      await server().restartWith(async (store) => {
        for (const { place, stored, kind, body, clusterScoped } of objects) {
          const old = inDialect(body)
          const metadata = {
            name: 'old',
            uid: `uid-${place}`,
            creationTimestamp: bornAt,
            ...(clusterScoped ? {} : { namespace: 'default' }),
          }
          const value = { kind, apiVersion: groupVersion(stored), ...old, metadata }
          await store.txn({
            key: keyBelow(place, `${clusterScoped ? '' : 'default/'}old`),
            expectedRevision: 0,
            value: Buffer.from(JSON.stringify(value)),
          })
        }
      })
      for (const object of objects) {
        const { kind, read, served, stored, gone } = object
        const old = await server().request('GET', `${pathOf(object, stored)}/old`)
        expect(old.status, object.place).toBe(404)
        const path = pathOf(object, served)
        const item = await server().ok('GET', `${path}/old`)
        expect(item, object.place).toMatchObject({
          ...inDialect(read),
          kind,
          apiVersion: groupVersion(served),
        })
        expect(item.metadata).toMatchObject({
          name: 'old',
          uid: `uid-${object.place}`,
          creationTimestamp: bornAt,
          resourceVersion: expect.stringMatching(/^\d+$/),
        })
        if (gone !== undefined) expect(JSON.stringify(item)).not.toContain(gone)
        const { items } = await server().ok('GET', `${path}?fieldSelector=metadata.name%3Dold`)
        expect(items.map((one: object) => ({ ...one, kind, apiVersion: item.apiVersion }))).toEqual(
          [item],
        )
      }
    })

    it('[VER-075] the topology of an endpoint slice is shown, and nobody adds to it', async () => {
      const path = `/apis/${server().group('discovery')}/v1/namespaces/default/endpointslices`
      const merge = { 'content-type': 'application/merge-patch+json' }
      const region = inDialect({ 'topology.kubernetes.io/region': 'r1' })
      const body = { metadata: { labels: { a: 'b' } } }
      const kept = await server().ok('PATCH', `${path}/old`, { body, headers: merge })
      expect(kept.endpoints[0].deprecatedTopology).toEqual(region)
      expect(await server().ok('PUT', `${path}/old`, { body: kept })).toEqual(kept)

      const endpoint = { addresses: ['10.0.0.2'], deprecatedTopology: { a: 'b' } }
      const added = await server().ok('PUT', `${path}/old`, {
        body: { ...kept, endpoints: [...kept.endpoints, endpoint] },
      })
      for (const { deprecatedTopology } of added.endpoints)
        expect(deprecatedTopology).toBeUndefined()
      const made = await server().ok('POST', path, {
        body: { metadata: { name: 'new' }, addressType: 'IPv4', endpoints: [endpoint] },
      })
      expect(made.endpoints).toEqual([{ addresses: ['10.0.0.2'], conditions: {} }])
    })

    it('are stored in the new version by the next write, even by one that changes nothing', async () => {
      const storage = server().group('storage')
      const path = `/apis/${storage}/v1/namespaces/default/csistoragecapacities/old`
      const before = await server().ok('GET', path)
      const merge = { 'content-type': 'application/merge-patch+json' }
      const after = await server().ok('PATCH', path, { body: {}, headers: merge })
      expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion)
      expect(after).toEqual({ ...before, metadata: after.metadata })
      const again = await server().ok('PATCH', path, { body: {}, headers: merge })
      expect(again.metadata.resourceVersion).toBe(after.metadata.resourceVersion)
      let stored = ''
      await server().restartWith(async (store) => {
        stored = String((await store.get('/registry/csistoragecapacities/default/old'))?.value)
      })
      expect(JSON.parse(stored).apiVersion).toBe(`${storage}/v1`)
    })

    it('are deleted like others', async () => {
      const object = objects.find(({ kind }) => kind === 'Ingress') as OldObject
      const path = pathOf(object, object.served)
      await server().ok('DELETE', `${path}/old`)
      await eventually(async () => {
        expect((await server().request('GET', `${path}/old`)).status).toBe(404)
      })
    })
  },
  { store: 'sqlite' },
)
