/** Applying manifests to a real API server: what is needed first is there, and every failure is listed with its place. */
import { describe, expect, it } from 'vitest'
import { applyManifests } from '../../library/apply-manifests.ts'
import { ManifestError } from '../../library/manifest-error.ts'
import { readManifests } from '../../library/manifests.ts'
import type { KubernetesObject } from '../../library/types.ts'
import { definitionOf } from '../support/custom-definitions.ts'
import { describeDialects, sharedServer } from '../support/shared-server.ts'
import { connectionTo } from './place.ts'

const configMap = (name: string, more: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
})

describeDialects('applyManifests', (server) => {
  it('applies namespaces and definitions before what needs them, webhooks last, and gives what is stored in the order given', async () => {
    using connection = connectionTo(server())
    const definition = definitionOf(server(), {
      group: 'ordered.example.com',
      kind: 'Boat',
      spec: { size: { type: 'integer' } },
    })
    const [boat, map, namespace] = [
      {
        apiVersion: 'ordered.example.com/v1',
        kind: 'Boat',
        metadata: { name: 'a', namespace: 'shop' },
        spec: { size: 1 },
      },
      configMap('m', { namespace: 'shop' }),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    ]
    const webhook = {
      apiVersion: `${server().group('admissionregistration')}/v1`,
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'last.example.com' },
      webhooks: [
        {
          name: 'last.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['*'] },
          ],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    }
    const objects = [webhook, boat, map, definition, namespace] as KubernetesObject[]
    const stored = await applyManifests(await readManifests(objects), connection)
    expect(stored.map(({ kind, metadata }) => `${kind} ${metadata?.name}`)).toEqual([
      'ValidatingWebhookConfiguration last.example.com',
      'Boat a',
      'ConfigMap m',
      'CustomResourceDefinition boats.ordered.example.com',
      'Namespace shop',
    ])
    expect(stored.every(({ metadata }) => metadata?.uid !== undefined)).toBe(true)
    await server().ok(
      'DELETE',
      `/apis/${server().group('admissionregistration')}/v1/validatingwebhookconfigurations/last.example.com`,
    )
  })
})

describe('applyManifests', () => {
  const server = sharedServer()

  async function apply(objects: KubernetesObject[], namespace = 'default'): Promise<unknown> {
    using connection = connectionTo(server(), { namespace })
    try {
      return await applyManifests(await readManifests(objects), connection)
    } catch (error) {
      return error
    }
  }

  it('applying the same again changes nothing, and takes over fields of others', async () => {
    const namespace = await server().namespace()
    const map = { ...configMap('a'), data: { x: '1' } }
    const [first] = (await apply([map], namespace)) as KubernetesObject[]
    expect(await apply([map], namespace)).toEqual([first])
    const path = `/api/v1/namespaces/${namespace}/configmaps/a`
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server().ok('PATCH', path, { body: { data: { x: '2' } }, headers })
    expect(await apply([map], namespace)).toMatchObject([{ data: { x: '1' } }])
  })

  it('goes on after a failure, and lists all failures with the server’s message', async () => {
    const namespace = await server().namespace()
    const error = (await apply(
      [
        configMap('Bad_Name'),
        configMap('good'),
        configMap('lost', { namespace: 'nowhere' }),
        { apiVersion: 'example.com/v1', kind: 'ConfigMop', metadata: { name: 'x' } },
      ],
      namespace,
    )) as ManifestError
    expect(error).toBeInstanceOf(ManifestError)
    expect(error.message.split('\n')).toEqual([
      '3 of 4 objects failed:',
      expect.stringMatching(
        /^ {2}objects\[0\]: ConfigMap Bad_Name: ConfigMap "Bad_Name" is invalid: metadata.name: /,
      ),
      '  objects[2]: ConfigMap nowhere/lost: namespaces "nowhere" not found',
      expect.stringMatching(
        /^ {2}objects\[3\]: ConfigMop x: no such kind: ConfigMop of example.com\/v1/,
      ),
    ])
    expect(error.faults[1]?.cause).toMatchObject({ name: 'StatusError', reason: 'NotFound' })
    await server().ok('GET', `/api/v1/namespaces/${namespace}/configmaps/good`)
  })

  it('takes definitions as controller-gen writes them, and objects of them in the same go', async () => {
    const { metadata, ...definition } = definitionOf(server(), {
      group: 'generated.example.com',
      kind: 'Boat',
    })
    const generated = {
      ...definition,
      metadata: { ...metadata, creationTimestamp: null },
      status: { acceptedNames: { kind: '', plural: '' }, conditions: [], storedVersions: [] },
    } as unknown as KubernetesObject
    const boat = {
      apiVersion: 'generated.example.com/v1',
      kind: 'Boat',
      metadata: { name: 'a', creationTimestamp: null },
    }
    expect(await apply([boat, generated])).toMatchObject([
      { kind: 'Boat' },
      { kind: 'CustomResourceDefinition' },
    ])
    expect(await apply([boat, generated])).toHaveLength(2)
  })

  it('a definition whose names are taken is a failure, and not waited for', async () => {
    const setup = { kind: 'Boat', names: { plural: 'boats' } }
    const first = definitionOf(server(), { ...setup, group: 'taken.example.com' })
    const second = definitionOf(server(), { ...setup, group: 'taken.example.com' })
    const other = {
      ...second,
      metadata: { name: 'ships.taken.example.com' },
      spec: { ...second.spec, names: { plural: 'ships', kind: 'Boat' } },
    }
    expect(await apply([first])).toHaveLength(1)
    expect(String(await apply([other]))).toContain(
      'objects[0]: CustomResourceDefinition ships.taken.example.com: is not established: "BoatList" is already in use',
    )
  })

  it('a pod waits for the service account that a controller makes', async () => {
    await server().ok('POST', '/api/v1/namespaces', { body: { metadata: { name: 'fresh' } } })
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'fresh' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    }
    const applying = apply([pod])
    const asked = (): boolean =>
      server()
        .audit()
        .some(({ verb, objectRef }) => verb === 'list' && objectRef?.['namespace'] === 'fresh')
    await expect.poll(asked).toBe(true)
    const body = { metadata: { name: 'default' } }
    await server().ok('POST', '/api/v1/namespaces/fresh/serviceaccounts', { body })
    expect(await applying).toMatchObject([{ kind: 'Pod', metadata: { name: 'web' } }])
  })

  it('stops when its signal aborts, and when the server is lost', async () => {
    using connection = connectionTo(server())
    const manifests = await readManifests([configMap('a')])
    const reason = new Error('enough')
    await expect(applyManifests(manifests, connection, AbortSignal.abort(reason))).rejects.toBe(
      reason,
    )
    connection.client.close()
    await expect(applyManifests(manifests, connection)).rejects.toMatchObject({ code: 'closed' })
  })
})
