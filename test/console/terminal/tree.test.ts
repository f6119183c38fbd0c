/** `skiff tree` on a real API server, by a kubeconfig. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exitCodes } from '../../../cluster/cli/exit-codes.ts'
import { admin, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { writeKubeconfig } from '../../support/test-kubeconfig.ts'
import { skiff, type Ran } from './run-command.ts'

const widgets = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}
const ofWidgets = '/apis/example.com/v1/namespaces/shop/widgets'
const ofPods = '/api/v1/namespaces/shop/pods'
const container = { name: 'app', image: 'app' }

describe('skiff tree', () => {
  const server = sharedServer()
  const folder = temporaryFolder('tree')
  const tree = async (...words: string[]): Promise<Ran> =>
    await skiff('tree', ...words, '--kubeconfig', join(folder, 'admin'))

  /** A widget owns a Secret and a pod, which a finalizer keeps; another pod has no owner. */
  beforeAll(async () => {
    writeKubeconfig(join(folder, 'admin'), server(), admin)
    writeKubeconfig(join(folder, 'eve'), server(), user('eve'))
    await server().namespace('shop')
    await server().ok('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: widgets,
    })
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } }
    await eventually(async () => await server().ok('POST', ofWidgets, { body: widget }))
    const made = await server().ok('GET', `${ofWidgets}/w`)
    const conditions = [{ type: 'Ready', status: 'False', reason: 'NoParts' }]
    await server().ok('PUT', `${ofWidgets}/w/status`, { body: { ...made, status: { conditions } } })
    const { uid } = made.metadata
    const ownerReferences = [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid }]
    await server().ok('POST', '/api/v1/namespaces/shop/secrets', {
      body: { metadata: { name: 's', ownerReferences }, stringData: { password: 'hunter2' } },
    })
    const finalizers = ['example.com/hold']
    for (const metadata of [{ name: 'owned', ownerReferences, finalizers }, { name: 'free' }]) {
      await server().ok('POST', ofPods, { body: { metadata, spec: { containers: [container] } } })
    }
    await server().ok('DELETE', `${ofPods}/owned?gracePeriodSeconds=0`)
  })

  it('shows a custom resource, what it owns of any kind, conditions and what is being deleted', async () => {
    const { code, out, err } = await tree('widget', 'w', '-n', 'shop')
    expect(err).toBe('')
    expect(code).toBe(exitCodes.ok)
    const lines = out.split('\n')
    expect(lines[1]).toMatch(/^Widget\/w +\d+s +Ready=False \(NoParts\)$/)
    expect(lines[2]).toMatch(
      /^├── Pod\/owned +\d+s +deleted \d+s ago, waits for the finalizer example.com\/hold$/,
    )
    expect(lines[3]).toMatch(/^└── Secret\/s +\d+s$/)
    expect(lines).toHaveLength(5)
  })

  it('begins with the owners with --up', async () => {
    const { out } = await tree('secret/s', '-n', 'shop', '--up')
    expect(out).toMatch(/^NAME.*\nWidget\/w .*\n└── Secret\/s .*\n$/)
    const { out: alone } = await tree('secret/s', '-n', 'shop')
    expect(alone).toMatch(/^NAME.*\nSecret\/s .*\n$/)
  })

  it('shows all objects of a namespace by owner', async () => {
    const { out } = await tree('-n', 'shop')
    expect(out).toMatch(/\nPod\/free .*Pending\n/)
    expect(out).toMatch(/\nWidget\/w .*\n├── Pod\/owned .*\n└── Secret\/s .*\n/)
    expect(out.match(/Secret\/s/g)).toHaveLength(1)
  })

  it('prints JSON with conditions, and never the content of a Secret', async () => {
    const { out } = await tree('widgets.example.com', 'w', '-n', 'shop', '-o', 'json')
    expect(out).not.toContain('hunter2')
    expect(out).not.toContain(Buffer.from('hunter2').toString('base64'))
    expect(JSON.parse(out)).toMatchObject({
      roots: [
        {
          apiVersion: 'example.com/v1',
          kind: 'Widget',
          conditions: [{ type: 'Ready', status: 'False' }],
          owns: [
            { kind: 'Pod', name: 'owned', finalizers: ['example.com/hold'], owns: [] },
            { kind: 'Secret', name: 's' },
          ],
        },
      ],
      notRead: [],
    })
  })

  it('fails with one line for what is not there, not known and not allowed', async () => {
    expect(await tree('pod', 'nope', '-n', 'shop')).toMatchObject({
      code: exitCodes['not-found'],
      err: 'error: there is no pod "nope" in namespace shop\nhint: see: kubectl get pods -A\n',
    })
    expect(await tree('widgte', 'w')).toMatchObject({
      code: exitCodes.usage,
      err: 'error: the server has no kind "widgte"\nhint: did you mean widgets?\n',
    })
    expect(await tree('pod')).toMatchObject({ code: exitCodes.usage })
    expect(await tree('--up')).toMatchObject({ code: exitCodes.usage })
    const eve = await skiff(
      'tree',
      'pod',
      'free',
      '-n',
      'shop',
      '--kubeconfig',
      join(folder, 'eve'),
    )
    expect(eve.code).toBe(exitCodes.failed)
    expect(eve.err).toContain('User "eve" cannot get resource "pods"')
  })

  it('names the kinds that the user may not list', async () => {
    const eve = await skiff('tree', '-n', 'shop', '--kubeconfig', join(folder, 'eve'))
    expect(eve.code).toBe(exitCodes.ok)
    expect(eve.out).toMatch(/^not read: pods in namespace shop: .*User "eve" cannot list/m)
  })
})
