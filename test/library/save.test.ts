/** A cluster of either form is saved to a file. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startCluster, type KubernetesObject } from '../../library/index.ts'
import { openSavedFile } from '../../components/store/saved-cluster-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder('library-save')

it.each(['embedded', 'processes'] as const)(
  'a cluster is saved with its objects and nodes, %s',
  async (form) => {
    await using cluster = await startCluster({ form, nodes: 1 })
    const made = await cluster.admin.create<KubernetesObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept' },
      data: { a: 'b' },
    })
    const path = join(folder, form)
    await cluster.save(path)
    await using saved = await openSavedFile(path)
    expect(saved.header.nodes).toEqual([{ name: 'node-1' }])
    const kvs = await Array.fromAsync(saved.kvs)
    const kept = kvs.find(({ key }) => key.endsWith('/configmaps/default/kept'))
    expect(String(kept?.modRevision)).toBe(made.metadata?.resourceVersion)
    expect(JSON.parse(kept?.value.toString() ?? '')).toMatchObject({ data: { a: 'b' } })
    await expect(cluster.save(join(folder, 'no', 'folder'))).rejects.toThrow(
      'no such file or directory',
    )
  },
)

it.each([
  ['embedded', 'processes'],
  ['processes', 'embedded'],
] as const)('a cluster that is saved, %s, goes on, %s', async (form, otherForm) => {
  const path = join(folder, `${form}-${otherForm}`)
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } }
  let resourceVersion: string | undefined
  {
    await using cluster = await startCluster({
      form,
      nodes: [{ name: 'gpu', labels: { kind: 'gpu' } }],
    })
    const made = await cluster.admin.create<KubernetesObject>(map)
    resourceVersion = made.metadata?.resourceVersion
    await cluster.save(path)
  }
  await using again = await startCluster({ form: otherForm, from: path })
  const kept = await again.admin.get({ kind: 'ConfigMap', name: 'kept' })
  expect(kept.metadata?.resourceVersion).toBe(resourceVersion)
  expect(again.nodes.map(({ name }) => name)).toEqual(['gpu'])
  await again.expect({
    kind: 'Node',
    name: 'gpu',
    where: ['status.conditions[type=Ready].status == True', 'metadata.labels.kind == gpu'],
    within: '60s',
  })
})

it('a file that is no saved cluster is refused before anything starts', async () => {
  await expect(startCluster({ from: import.meta.filename })).rejects.toThrow('save.test.ts')
})
