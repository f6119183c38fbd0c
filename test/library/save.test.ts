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
