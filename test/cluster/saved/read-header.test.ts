/** The header of a saved cluster decides about folders and processes of this machine, so it is checked before. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSavedHeader } from '../../../cluster/saved/read-header.ts'
import { writeSavedFile } from '../../../components/store/saved-cluster-file.ts'
import type { SavedHeader } from '../../../components/store/saved-cluster.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const path = join(temporaryFolder('read-header'), 'saved')
const header: SavedHeader = {
  writtenBy: 'skiff 0.1.0',
  dialect: 'kubernetes',
  revision: 1,
  savedAt: '2026-01-01T00:00:00Z',
}

async function readWith(fields: Partial<SavedHeader>) {
  await writeSavedFile(path, { ...header, ...fields }, [])
  return await readSavedHeader(path)
}

describe('the header of a saved cluster', () => {
  it('gives the nodes with what they are', async () => {
    const nodes = [
      { name: 'node-1', flags: { 'node-labels': 'zone=a', capacity: 'cpu=2' } },
      { name: 'simulated', simulated: 50 },
    ]
    expect(await readWith({ nodes, serviceRange: '10.0.0.0/16' })).toEqual({
      ...header,
      nodes,
      serviceRange: '10.0.0.0/16',
    })
    expect((await readWith({})).nodes).toEqual([])
  })

  it.each<[string, Partial<SavedHeader>, RegExp]>([
    [
      'a name that leads out of its folder',
      { nodes: [{ name: '../../etc' }] },
      /^invalid node name "\.\.\/\.\.\/etc"$/,
    ],
    [
      'more simulated nodes than a process carries',
      { nodes: [{ name: 'a', simulated: 1e9 }] },
      /^invalid number of simulated nodes/,
    ],
    [
      'two nodes of one name',
      { nodes: [{ name: 'a' }, { name: 'a' }] },
      /is damaged: it has two nodes of one name$/,
    ],
    [
      'a flag about this machine',
      { nodes: [{ name: 'a', flags: { 'root-dir': '/' } }] },
      /is refused: its node a sets the flag --root-dir$/,
    ],
    [
      'a flag that is no text',
      { nodes: [{ name: 'a', flags: { capacity: 3 as unknown as string } }] },
      /is damaged: its first line is no header$/,
    ],
    ['an unknown dialect', { dialect: 'klingon' }, /is of an unknown dialect, "klingon"$/],
  ])('is refused with %s', async (_, fields, message) => {
    await expect(readWith(fields)).rejects.toMatchObject({
      name: 'ClusterError',
      message: expect.stringMatching(message),
    })
  })
})
