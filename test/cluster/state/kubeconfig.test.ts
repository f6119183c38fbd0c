/** Kubeconfig: as kubectl reads it, and merged into a user's own without harm to what is there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adminKubeconfig, namedKubeconfig } from '../../../cluster/state/kubeconfig.ts'
import {
  forgetMerged,
  mergeKubeconfig,
  userKubeconfig,
} from '../../../cluster/state/merge-kubeconfig.ts'
import { createStateDir, pathsIn } from '../../../cluster/state/state-dir.ts'
import type { StatePaths } from '../../../cluster/state/state-dir.ts'
import { parseYaml } from '../../../cluster/yaml.ts'
import { formatKubeconfig } from '../../../components/client/kubeconfig.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { expectMode } from '../../support/file-mode.ts'

const own = adminKubeconfig('lab', {
  server: 'https://[::1]:6443',
  authorityPem: 'CA',
  credential: { certificatePem: 'CERT', privateKeyPem: 'KEY' },
})

async function place(): Promise<{ paths: StatePaths; file: string }> {
  const folder = temporaryFolder('skiff-kubeconfig')
  onTestFinished(() => rm(folder, { recursive: true }))
  const paths = pathsIn(join(folder, 'state'))
  createStateDir(paths)
  writeFileSync(paths.adminKubeconfig, await formatKubeconfig(own))
  return { paths, file: join(folder, 'user', 'config') }
}

const head = { apiVersion: 'v1', kind: 'Config', preferences: {} }

test('the text keeps every value, whatever signs are in it', async () => {
  expect(parseYaml(await formatKubeconfig(own))).toEqual({ ...head, ...own })
  const odd = namedKubeconfig('123: #', {
    server: 'https://127.0.0.1:1',
    ca: { file: '/a path/with: "signs"' },
    credentials: { certFile: 'C:\\x', keyFile: '/k' },
  })
  expect(parseYaml(await formatKubeconfig(odd))).toEqual({ ...head, ...odd })
})

test('the text has its fields in the order in which kubectl writes them', async () => {
  const text = await formatKubeconfig(own)
  expect(text.replaceAll(/-data: .*/g, '-data: …').split('\n')).toEqual([
    'apiVersion: v1',
    'clusters:',
    '- cluster:',
    '    certificate-authority-data: …',
    '    server: https://[::1]:6443',
    '  name: skiff-lab',
    'contexts:',
    '- context:',
    '    cluster: skiff-lab',
    '    user: skiff-lab',
    '  name: skiff-lab',
    'current-context: skiff-lab',
    'kind: Config',
    'preferences: {}',
    'users:',
    '- name: skiff-lab',
    '  user:',
    '    client-certificate-data: …',
    '    client-key-data: …',
    '',
  ])
})

test('it goes to the first file of KUBECONFIG, else to ~/.kube/config', () => {
  expect(userKubeconfig({ KUBECONFIG: ':/a:/b', HOME: '/h' })).toBe('/a')
  expect(userKubeconfig({ HOME: '/h' })).toBe('/h/.kube/config')
})

test('merging keeps what is there, makes the context current, and can be undone', async () => {
  const { paths, file } = await place()
  await mergeKubeconfig(paths, { name: 'lab', file })
  expectMode(file, 0o600)
  const other = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'work',
    clusters: [{ name: 'work', cluster: { server: 'https://work' } }],
    contexts: [{ name: 'work', context: { cluster: 'work', user: 'me' } }],
    users: [{ name: 'me', user: { token: 't' } }],
  }
  writeFileSync(file, JSON.stringify(other))
  await mergeKubeconfig(paths, { name: 'lab', file })
  await mergeKubeconfig(paths, { name: 'lab', file })
  expect(parseYaml(readFileSync(file, 'utf8'))).toEqual({
    ...other,
    'current-context': 'skiff-lab',
    clusters: [...other.clusters, ...own.clusters],
    contexts: [...other.contexts, ...own.contexts],
    users: [...other.users, ...own.users],
  })
  await forgetMerged(paths, 'lab')
  expect(parseYaml(readFileSync(file, 'utf8'))).toEqual({ ...other, 'current-context': '' })
})

test('a file that is no kubeconfig is left alone', async () => {
  const { paths, file } = await place()
  await mergeKubeconfig(paths, { name: 'lab', file })
  writeFileSync(file, 'key: [unclosed')
  await expect(mergeKubeconfig(paths, { name: 'lab', file })).rejects.toThrow('is not YAML')
  await forgetMerged(paths, 'lab')
  expect(readFileSync(file, 'utf8')).toBe('key: [unclosed')
})

test.each(['{', '{}', 'null', '7', '[7, null]'])(
  'a damaged note of where it was merged keeps nobody from forgetting: %s',
  async (damaged) => {
    const { paths } = await place()
    writeFileSync(join(paths.dir, 'merged.json'), damaged)
    await forgetMerged(paths, 'lab')
  },
)

test('a file that holds something else by now is left as it is', async () => {
  const { paths, file } = await place()
  await mergeKubeconfig(paths, { name: 'lab', file })
  for (const other of ['clusters: 7', 'clusters: [null]\ncontexts: {}', '7', '[]']) {
    writeFileSync(file, other)
    await forgetMerged(paths, 'lab')
    expect(readFileSync(file, 'utf8')).toBe(other)
  }
})
