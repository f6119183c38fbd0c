/** Kinds that are served in several versions over one stored form, all of them switched on. */
import { expect, it } from 'vitest'
import { settled } from '../../support/representations.ts'
import { describeDialects } from '../../support/shared-server.ts'

interface Shared {
  readonly stem: string
  /** Collection, in the namespace `default` where there is one. */
  readonly path: string
  readonly versions: readonly [string, string]
  /** A valid body in the first of the versions, without kind and name. */
  readonly body: object
  readonly name?: string
}

const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
const request = { name: 'r', deviceClassName: 'gpu' }
const claimSpec = { devices: { requests: [request] } }

const kinds: readonly Shared[] = [
  {
    stem: 'autoscaling',
    path: 'namespaces/default/horizontalpodautoscalers',
    versions: ['v2', 'v1'],
    body: {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
        minReplicas: 2,
        maxReplicas: 9,
        metrics: [
          {
            type: 'Pods',
            pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '10' } },
          },
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
          },
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
      },
    },
  },
  {
    stem: 'admissionregistration',
    path: 'validatingadmissionpolicies',
    versions: ['v1', 'v1beta1'],
    body: {
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: 'true', message: 'm' }],
      },
    },
  },
  {
    stem: 'admissionregistration',
    path: 'validatingadmissionpolicybindings',
    versions: ['v1', 'v1beta1'],
    body: { spec: { policyName: 'x', validationActions: ['Deny'] } },
  },
  {
    stem: 'networking',
    path: 'ipaddresses',
    versions: ['v1beta1', 'v1alpha1'],
    body: { spec: { parentRef: { resource: 'services', namespace: 'default', name: 's' } } },
    name: '10.9.8.7',
  },
  {
    stem: 'networking',
    path: 'servicecidrs',
    versions: ['v1beta1', 'v1alpha1'],
    body: { spec: { cidrs: ['10.77.0.0/24'] } },
  },
  {
    stem: 'storage',
    path: 'volumeattributesclasses',
    versions: ['v1beta1', 'v1alpha1'],
    body: { driverName: 'd.example.com', parameters: { iops: '5' } },
  },
  {
    stem: 'resource',
    path: 'deviceclasses',
    versions: ['v1beta1', 'v1alpha3'],
    body: { spec: { selectors: [{ cel: { expression: 'true' } }] } },
  },
  {
    stem: 'resource',
    path: 'namespaces/default/resourceclaims',
    versions: ['v1beta1', 'v1alpha3'],
    body: { spec: claimSpec },
  },
  {
    stem: 'resource',
    path: 'namespaces/default/resourceclaimtemplates',
    versions: ['v1beta1', 'v1alpha3'],
    body: { spec: { spec: claimSpec } },
  },
  {
    stem: 'resource',
    path: 'resourceslices',
    versions: ['v1beta1', 'v1alpha3'],
    body: {
      spec: {
        driver: 'd.example.com',
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        nodeName: 'n',
        devices: [
          {
            name: 'gpu-0',
            basic: {
              attributes: { model: { string: 'x' } },
              capacity: { memory: { value: '16Gi' } },
            },
          },
        ],
      },
    },
  },
  {
    stem: 'events',
    path: 'namespaces/default/events',
    versions: ['v1', 'core'],
    body: {
      eventTime: '2025-01-01T00:00:00.000001Z',
      action: 'a',
      reason: 'r',
      type: 'Warning',
      note: 'n',
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      series: { count: 2, lastObservedTime: '2025-01-01T00:01:00.000001Z' },
    },
  },
]

describeDialects(
  'versions over one stored form',
  (server) => {
    const rootOf = (kind: Shared, version: string): string =>
      version === 'core'
        ? `/api/v1/${kind.path}`
        : `/apis/${server().group(kind.stem)}/${version}/${kind.path}`

    it('[VER-026] an object that is written in one and read and written in the other is the same', async () => {
      let count = 0
      for (const kind of kinds) {
        const [own, other] = kind.versions
        const name = kind.name ?? `one-${(count += 1)}`
        const here = `${rootOf(kind, own)}/${name}`
        const there = `${rootOf(kind, other)}/${name}`
        await server().ok('POST', rootOf(kind, own), {
          body: { ...kind.body, metadata: { name } },
        })
        const made = await settled(server(), here)
        expect(made, here).toMatchObject(kind.body)
        const seen = await server().ok('GET', there)
        expect(seen.metadata.uid).toBe(made.metadata.uid)
        expect(seen.apiVersion).not.toBe(made.apiVersion)
        expect(await server().ok('PUT', there, { body: seen }), there).toEqual(seen)
        expect(await server().ok('GET', here), here).toEqual(made)

        // A change of what both know keeps what only the first can say.
        const merge = { 'content-type': 'application/merge-patch+json' }
        const body = { metadata: { labels: { changed: 'yes' } } }
        if (kind.stem === 'events') continue
        await server().ok('PATCH', there, { body, headers: merge })
        const { metadata, ...rest } = made
        const after = await server().ok('GET', here)
        expect(after, here).toEqual({
          ...rest,
          metadata: {
            ...metadata,
            labels: { changed: 'yes' },
            // Who owns what is told in the version in which it was said.
            managedFields: after.metadata.managedFields,
            resourceVersion: after.metadata.resourceVersion,
          },
        })
      }
    })

    it('lists and watches show each object in the version that was asked for', async () => {
      for (const kind of kinds) {
        for (const version of kind.versions) {
          const list = await server().ok('GET', rootOf(kind, version))
          expect(list.items.length, rootOf(kind, version)).toBeGreaterThan(0)
          const watch = await server().watch(`${rootOf(kind, version)}?watch=1`)
          const first = await watch.next()
          expect(first.object.apiVersion).toBe(list.apiVersion)
          const { kind: _, apiVersion: __, ...shown } = first.object
          expect(list.items).toContainEqual(shown)
          watch.close()
        }
      }
    })
  },
  { flags: ['--runtime-config=api/all=true'] },
)
